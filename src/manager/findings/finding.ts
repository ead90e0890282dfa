/** A finding: something that an operator does wrong, or that is done to it, with the evidence. */
import type { ObjectName } from '../../operator/view.ts'

export type Finding = HotLoop | ConflictFinding | Blocking | Quarantined | OverBudget | Offence

interface Found {
  readonly operator: string
  readonly controller: string
  /** The CR it happened for: `namespace/name`. */
  readonly key: string
  readonly at: number
}

/** An operator writes the same object again and again, though nothing it goes by has changed; or faster than can be meant. */
export interface HotLoop extends Found {
  readonly kind: 'hotLoop'
  readonly object: WrittenObject
  /** What it writes differently each time. */
  readonly fields: readonly string[]
  readonly times: number
  readonly withinMs: number
  /** Something that it goes by changed as often: a circle through somebody outside. */
  readonly isFollowing: boolean
}

/** Two undo each other's writes. */
export interface ConflictFinding extends Found {
  readonly kind: 'conflict'
  readonly object: WrittenObject
  readonly fields: readonly string[]
  readonly times: number
  readonly withinMs: number
  /** Field managers that own the fields beside this operator; empty when nobody could tell. */
  readonly with: readonly string[]
}

/** An operator at the level `inline` kept the thread to itself: nobody else got on meanwhile. */
export interface Blocking extends Found {
  readonly kind: 'blocking'
  readonly step: string
  readonly heldMs: number
  /** Others that may have done it instead: `operator, controller, for key`. Empty where it is certain. */
  readonly or: readonly string[]
}

/** An operator stopped a manager for good, and is not run in its thread again: see `watchdog/`. */
export interface Quarantined extends Found {
  readonly kind: 'quarantined'
  readonly step: string
  readonly heldSeconds: number
  /** The line of code, where it could be seen. */
  readonly line: string
  /** When it happened, as RFC 3339, and in which replica. */
  readonly since: string
  readonly replica: string
  /** Where that is recorded: `namespace/name, key KEY`. */
  readonly record: string
}

/** An operator uses more than it was given: it waits until that is no longer so. It is about no object in particular. */
export interface OverBudget extends Found {
  readonly kind: 'overBudget'
  readonly budget: 'memory' | 'requests'
  /** In bytes, or requests a minute. */
  readonly used: number
  readonly allowed: number
}

/**
 * Against a rule: what was not declared, one object written several times in a run, or one that belongs to somebody else:
 * whoever has it keeps it, and nothing flips. Of a program: an output that is
 * not as the contract wants it, and an address that is not on its list.
 */
export interface Offence extends Found {
  readonly kind:
    | 'undeclaredRead'
    | 'undeclaredWrite'
    | 'severalWrites'
    | 'contested'
    | 'refusedOutput'
    | 'refusedEgress'
  readonly message: string
}

export interface WrittenObject {
  /** `apps/v1 Deployment` */
  readonly kind: string
  readonly name: ObjectName
}

/** One line for people: who, what, the evidence. */
export function describeFinding(finding: Finding): string {
  const who = whoOf(finding)
  switch (finding.kind) {
    case 'hotLoop': {
      const why = finding.isFollowing
        ? 'as something it goes by changed as often'
        : 'although nothing it goes by changed'
      return `${who}: wrote ${describeObject(finding.object)} ${often(finding)} ${why}; each time it differs in ${listed(finding.fields)}.`
    }
    case 'conflict':
      return `${who}: put ${listed(finding.fields)} of ${describeObject(finding.object)} right ${often(finding)}, and ${finding.with.join(', ') || 'somebody else'} changed it back.`
    case 'blocking': {
      const others = finding.or.length === 0 ? '' : `, or did ${finding.or.join(', or ')}`
      return `${who}: held the thread for ${(finding.heldMs / 1000).toFixed(1)} s at step ${finding.step}${others}. Nobody else got on meanwhile; the levels worker and process keep that apart.`
    }
    case 'quarantined': {
      const line = finding.line === '' ? '' : `, ${finding.line}`
      return `${who}: held the thread of ${finding.replica} for ${finding.heldSeconds} s at step ${finding.step}${line} (${finding.since}), and that process was ended. It runs at the level worker until its module or its settings change, or its entry is taken away (ConfigMap ${finding.record}).`
    }
    case 'overBudget':
      return finding.budget === 'memory'
        ? `${finding.operator}: ${mebibytes(finding.used)} are cached for it, and ${mebibytes(finding.allowed)} are allowed. It waits until there is less, or more is allowed.`
        : `${finding.operator}: made ${finding.used} requests within a minute, and ${finding.allowed} are allowed. It waits.`
    default:
      return `${who}: ${finding.message}`
  }
}

export function whoOf({
  operator,
  controller,
  key,
}: {
  readonly operator: string
  readonly controller: string
  readonly key: string
}): string {
  return `${operator}, controller ${controller}, for ${key}`
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`
}

function often({ times, withinMs }: { readonly times: number; readonly withinMs: number }): string {
  return `${times} times in ${(withinMs / 1000).toFixed(1)} s`
}

/** `Deployment default/web` */
export function describeObject({ kind, name }: WrittenObject): string {
  const where = name.namespace === undefined ? name.name : `${name.namespace}/${name.name}`
  return `${kind.split(' ').at(-1)} ${where}`
}

function listed(fields: readonly string[]): string {
  return fields.length === 0 ? 'a field that cannot be told' : fields.join(', ')
}
