/** A finding: a mistake of an operator, or a conflict with another field manager, with the evidence. */
import type { ObjectName } from '../../operator/view/view.ts'

export type Finding = HotLoop | ConflictFinding | Blocking | Quarantined | OverBudget | CoordinatorMistake | Offence

interface Found {
  readonly operator: string
  readonly controller: string
  /** The CR it is about: `namespace/name`. Empty: all of them, and `controller` is a coordinator. */
  readonly key: string
  readonly at: number
}

/** An operator writes the same object repeatedly although none of its inputs has changed, or faster than intended. */
export interface HotLoop extends Found {
  readonly kind: 'hotLoop'
  readonly object: WrittenObject
  /** Fields that differ from write to write. */
  readonly fields: readonly string[]
  readonly times: number
  readonly withinMs: number
  /** An input changed as often as the writes: a loop through a client outside of this manager. */
  readonly isFollowing: boolean
}

/** Two field managers undo each other's writes. */
export interface ConflictFinding extends Found {
  readonly kind: 'conflict'
  readonly object: WrittenObject
  readonly fields: readonly string[]
  readonly times: number
  readonly withinMs: number
  /** Other field managers that own the fields; empty when they are unknown. */
  readonly with: readonly string[]
}

/** An operator at the level `inline` blocked the thread that all operators share. */
export interface Blocking extends Found {
  readonly kind: 'blocking'
  readonly step: string
  readonly heldMs: number
  /** Others that may have caused it: `operator, controller, for key`. Empty where it is certain. */
  readonly or: readonly string[]
}

/** An operator hung a manager, and is not run in its thread again: see `watchdog/`. */
export interface Quarantined extends Found {
  readonly kind: 'quarantined'
  readonly step: string
  readonly heldSeconds: number
  /** The line of code, where known. */
  readonly line: string
  /** When it happened, as RFC 3339, and on which replica. */
  readonly since: string
  readonly replica: string
  /** Where it is recorded: `namespace/name, key KEY`. */
  readonly record: string
}

/** An operator exceeds its budget: its lane is held until it is within it again. Not about a single object. */
export interface OverBudget extends Found {
  readonly kind: 'overBudget'
  readonly budget: 'memory' | 'requests'
  /** In bytes, or requests a minute. */
  readonly used: number
  readonly allowed: number
}

/** A coordinator failed and starts anew, or would be asked for decisions without end. Not about a single object. */
interface CoordinatorMistake extends Found {
  readonly kind: 'coordinator'
  readonly message: string
}

/**
 * A violated rule: undeclared access, one object written several times in a reconcile, or an object of another owner,
 * which keeps it. For external programs: an output that violates the contract, and a call to an address that is not on
 * its list.
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

/** One line for people: operator, cause, evidence. */
export function describeFinding(finding: Finding): string {
  const who = whoOf(finding)
  switch (finding.kind) {
    case 'hotLoop': {
      const why = finding.isFollowing
        ? 'while one of its inputs changed as often'
        : 'although none of its inputs changed'
      return `${who}: wrote ${describeObject(finding.object)} ${often(finding)} ${why}; each time it differs in ${listed(finding.fields)}.`
    }
    case 'conflict':
      return `${who}: corrected ${listed(finding.fields)} of ${describeObject(finding.object)} ${often(finding)}, and ${finding.with.join(', ') || 'another field manager'} changed it back.`
    case 'blocking': {
      const others = finding.or.length === 0 ? '' : `, or did ${finding.or.join(', or ')}`
      return `${who}: held the thread for ${(finding.heldMs / 1000).toFixed(1)} s at step ${finding.step}${others}. All other operators waited meanwhile; the isolation levels worker and process prevent that.`
    }
    case 'quarantined': {
      const line = finding.line === '' ? '' : `, ${finding.line}`
      return `${who}: held the thread of ${finding.replica} for ${finding.heldSeconds} s at step ${finding.step}${line} (${finding.since}), and that process was ended. It runs at the level worker until its module or its settings change, or its entry is removed (ConfigMap ${finding.record}).`
    }
    case 'overBudget':
      return finding.budget === 'memory'
        ? `${finding.operator}: ${mebibytes(finding.used)} are cached for it, and ${mebibytes(finding.allowed)} are allowed. It is held until there is less, or more is allowed.`
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
  return key === '' ? `${operator}, coordinator ${controller}` : `${operator}, controller ${controller}, for ${key}`
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
  return fields.length === 0 ? 'an unknown field' : fields.join(', ')
}
