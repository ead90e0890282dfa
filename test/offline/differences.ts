/** Where we and the recorded server disagree, one readable line each; an empty list is what every suite wants. */
import { isMusterError } from '../../src/kube/muster-error.ts'
import { type Json, equalJson, isJsonObject, stringifyJson } from '../../src/kube/json.ts'
import type { Vector } from '../vectors/read.ts'

/**
 * `undefined` stands for a refusal, on both sides; ours refuse by raising a MusterError, anything else is a defect.
 * `known` names the vectors where we differ on purpose, and why; one that no longer differs is a line too.
 */
export function differences<V extends Vector>(
  vectors: readonly V[],
  ours: (vector: V) => Json | undefined,
  servers: (vector: V) => Json | undefined,
  known: Readonly<Record<string, string>> = {},
): readonly string[] {
  const unknown = Object.keys(known).filter((name) => !vectors.some((vector) => vector.name === name))
  return [
    ...unknown.map((name) => `${name}: known to differ, but there is no such vector`),
    ...vectors.flatMap((vector) => {
      const difference = compare(
        attempt(() => ours(vector)),
        servers(vector),
      )
      if (known[vector.name] !== undefined)
        return difference === undefined ? [`${vector.name}: known to differ, but does not any more`] : []
      return difference === undefined ? [] : [`${vector.name}${difference}`]
    }),
  ]
}

/** The value, or `undefined` when it was refused. */
export function attempt<T>(compute: () => T): T | undefined {
  try {
    return compute()
  } catch (error) {
    if (isMusterError(error)) return undefined
    throw error
  }
}

/** The first place where two values differ, and how. */
function compare(ours: Json | undefined, server: Json | undefined, place = ''): string | undefined {
  if (equalJson(ours, server)) return undefined
  const keys = keysOf(ours)
  if (keys && keysOf(server)) {
    for (const key of new Set([...keys, ...(keysOf(server) ?? [])])) {
      const inner = compare(memberOf(ours, key), memberOf(server, key), `${place}.${key}`)
      if (inner !== undefined) return inner
    }
  }
  return `${place}: we say ${show(ours)}, the server ${show(server)}`
}

function keysOf(value: Json | undefined): readonly string[] | undefined {
  return isJsonObject(value) || Array.isArray(value) ? Object.keys(value) : undefined
}

const memberOf = (value: Json | undefined, key: string): Json | undefined =>
  (value as Readonly<Record<string, Json | undefined>>)[key]

const show = (value: Json | undefined): string => (value === undefined ? 'nothing' : stringifyJson(value))
