/**
 * A term: the right to write, while it lasts. It is taken before a plan is computed, and checked again before each
 * write is sent: a plan that was computed in one term is never written in another.
 */
import { managerErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { Clock } from '../../clock/clock.ts'
import type { Election } from './election.ts'
import type { Shards } from './shards.ts'

export interface Term {
  /** Returns a check whether the term still lasts. Undefined: another replica has the right. */
  begin(): (() => boolean) | undefined
}

export function leaderTerm(election: Election, clock: Clock): Term {
  return {
    begin() {
      const fence = election.fence()
      return fence && (() => election.isHeld(fence, clock.now()))
    },
  }
}

export function shardTerm(shards: Shards, item: string, clock: Clock): Term {
  return {
    begin() {
      const fence = shards.fence(item)
      return fence && (() => shards.isHeld(fence, clock.now()))
    },
  }
}

/** All of several terms are needed. */
export function allOf(terms: readonly Term[]): Term {
  return {
    begin() {
      const held = terms.map((term) => term.begin())
      if (held.includes(undefined)) return undefined
      return () => held.every((isHeld) => isHeld!())
    },
  }
}

/**
 * The check for one reconcile: if another replica has the right now, it stays false even when this replica gets the
 * right meanwhile.
 */
export function beginTerm(term: Term): () => boolean {
  return term.begin() ?? (() => false)
}

/** A write or call that was not made. Retried like a conflict. */
export function termOver(): MusterError {
  return new MusterError(managerErrors.TermOver, 'Another replica has the right to write this, or will have it soon.')
}
