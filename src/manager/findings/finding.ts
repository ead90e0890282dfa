/** A finding: something that an operator does wrong, or that is done to it, with the evidence. */
import type { ObjectName } from '../../operator/view.ts'

export type Finding = HotLoop | Conflict | Offence

interface Found {
  readonly operator: string
  readonly controller: string
  /** The CR it happened for: `namespace/name`. */
  readonly key: string
  readonly at: number
}

/** An operator writes the same object again and again, though nothing it goes by has changed. */
export interface HotLoop extends Found {
  readonly kind: 'hotLoop'
  readonly object: WrittenObject
  /** What it writes differently each time. */
  readonly fields: readonly string[]
  readonly times: number
  readonly withinMs: number
}

/** Two undo each other's writes. */
export interface Conflict extends Found {
  readonly kind: 'conflict'
  readonly object: WrittenObject
  readonly fields: readonly string[]
  readonly times: number
  readonly withinMs: number
  /** Field managers that own the fields beside this operator; empty when nobody could tell. */
  readonly with: readonly string[]
}

/** Against a rule: what was not declared, or one object written several times in a run. */
export interface Offence extends Found {
  readonly kind: 'undeclaredRead' | 'undeclaredWrite' | 'severalWrites'
  readonly message: string
}

export interface WrittenObject {
  /** `apps/v1 Deployment` */
  readonly kind: string
  readonly name: ObjectName
}

/** One line for people: who, what, the evidence. */
export function describeFinding(finding: Finding): string {
  const who = `${finding.operator}, controller ${finding.controller}, for ${finding.key}`
  switch (finding.kind) {
    case 'hotLoop':
      return `${who}: wrote ${place(finding.object)} ${often(finding)} although nothing it goes by changed; each time it differs in ${listed(finding.fields)}.`
    case 'conflict':
      return `${who}: put ${listed(finding.fields)} of ${place(finding.object)} right ${often(finding)}, and ${finding.with.join(', ') || 'somebody else'} changed it back.`
    default:
      return `${who}: ${finding.message}`
  }
}

function often({ times, withinMs }: { readonly times: number; readonly withinMs: number }): string {
  return `${times} times in ${(withinMs / 1000).toFixed(1)} s`
}

function place({ kind, name }: WrittenObject): string {
  const where = name.namespace === undefined ? name.name : `${name.namespace}/${name.name}`
  return `${kind.split(' ').at(-1)} ${where}`
}

function listed(fields: readonly string[]): string {
  return fields.length === 0 ? 'a field that cannot be told' : fields.join(', ')
}
