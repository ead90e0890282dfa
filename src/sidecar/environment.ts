/** The environment of a program that the sidecar starts: PATH, and what its configuration names. */
import { ownMember } from '../kube/json-member.ts'
import { isJsonObject, type Json } from '../kube/json.ts'
import type { EnvironmentSpec } from './action.ts'

export type Variables = Readonly<Record<string, string | undefined>>

export function environmentFor(spec: EnvironmentSpec, own: Variables, input?: Json): Record<string, string> {
  const passed = ['PATH', ...spec.pass].flatMap((name) => {
    const value = own[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  const given = Object.entries(spec.fromInput).flatMap(([name, member]) => {
    const value = isJsonObject(input) ? ownMember(input, member) : undefined
    return value === undefined || value === null || typeof value === 'object' ? [] : [[name, String(value)] as const]
  })
  return Object.fromEntries([...passed, ...Object.entries(spec.set), ...given])
}
