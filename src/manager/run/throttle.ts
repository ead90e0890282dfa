/**
 * The throttle of one controller: recognises keys that write the same object over and over
 * (`findings/repetition.ts`), and limits them to one reconcile a minute, until one of their inputs changes.
 */
import { formatResource, type Resource } from '../../kube/kind.ts'
import { kindText } from '../../operator/dependent/entry.ts'
import type { Ledger } from '../../operator/ledger.ts'
import type { InputChange, ObjectName } from '../../operator/view/view.ts'
import type { ConflictFinding, HotLoop } from '../findings/finding.ts'
import {
  defaultRepetition,
  noRepetition,
  noteLedger,
  writtenObjectKey,
  type Repetition,
} from '../findings/repetition.ts'
import type { SchedulerLane } from '../schedule/lane.ts'
import { crKey, isSpecChange } from './cr-key.ts'

interface ThrottleOptions {
  /** The controller's kind. */
  readonly kind: Resource
  readonly lane: Pick<SchedulerLane, 'hold' | 'release'>
  /** The name of a key in the lane. */
  readonly idOf: (key: string) => string
}

export interface Throttle {
  /** A reconcile has ended. Returns why its key is throttled from now on, if it is. */
  note(key: string, ledger: Ledger, hasReason: boolean): readonly (HotLoop | ConflictFinding)[]
  isThrottled(key: string): boolean
  release(key: string): void
  /** Whether the key has written this object recently. */
  hasWritten(key: string, resource: Resource, name: ObjectName): boolean
  /**
   * Whether the object is an output of the key: the status of its CR, or an object that it has written recently. A
   * change of an output does not release the key, no matter which client made it.
   */
  isOutput(key: string, change: InputChange): boolean
  forget(key: string): void
}

/** A throttled key runs once in this time. */
const throttleMs = 60_000

export function createThrottle({ kind, lane, idOf }: ThrottleOptions): Throttle {
  const kindName = formatResource(kind)
  const repetitions = new Map<string, Repetition>()
  /** Throttled keys, with the objects they write in a loop. */
  const throttled = new Map<string, ReadonlySet<string>>()

  const hasWritten = (key: string, place: string): boolean => repetitions.get(key)?.writes.has(place) === true

  return {
    note(key, ledger, hasReason) {
      const before = repetitions.get(key) ?? noRepetition
      const { repetition, findings } = noteLedger(before, ledger, defaultRepetition, hasReason)
      if (repetition.writes.size > 0) repetitions.set(key, repetition)
      else repetitions.delete(key)
      for (const finding of findings) {
        lane.hold(idOf(key), throttleMs)
        const isReleasedByInputs = finding.kind === 'conflict' || !finding.isFollowing
        if (isReleasedByInputs) throttled.set(key, new Set(ledger.entries.map(writtenObjectKey)))
      }
      return findings
    },
    isThrottled: (key) => throttled.has(key),
    release(key) {
      throttled.delete(key)
      lane.release(idOf(key))
    },
    hasWritten: (key, resource, name) => hasWritten(key, placeOf(resource, name)),
    isOutput(key, { resource, before, after }) {
      const object = (after ?? before)!
      if (formatResource(resource) === kindName && crKey(object) === key) return !isSpecChange(before, after)
      const { name = '', namespace } = object.metadata
      const place = placeOf(resource, { name, namespace })
      return hasWritten(key, place) || throttled.get(key)?.has(place) === true
    },
    forget(key) {
      repetitions.delete(key)
      throttled.delete(key)
    },
  }
}

function placeOf(resource: Resource, name: ObjectName): string {
  return writtenObjectKey({ kind: kindText(resource), name, subject: '' })
}
