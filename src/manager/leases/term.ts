/**
 * A term: the right to write, as long as it lasts. It is taken before anything is worked out, and looked at again before
 * each write leaves: what was worked out in one term is not written in another.
 */
import { MusterError } from '../../kube/errors.ts'
import type { Live } from '../../operator/live.ts'
import type { Clock } from '../../clock/clock.ts'
import type { Election } from './election.ts'
import type { Shards } from './shards.ts'

export interface Term {
  /** What says whether it still lasts. Undefined: it is somebody else's. */
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

/** Of several rights, all are needed. */
export function allOf(terms: readonly Term[]): Term {
  return {
    begin() {
      const held = terms.map((term) => term.begin())
      if (held.includes(undefined)) return undefined
      return () => held.every((isHeld) => isHeld!())
    },
  }
}

/** What a run begins with: one that is somebody else's is never held, not even when the right comes meanwhile. */
export function beginTerm(term: Term): () => boolean {
  return term.begin() ?? (() => false)
}

/** A write or a call that was not made. It comes again as those that were overtaken do. */
export function termOver(): MusterError {
  return new MusterError('TermOver', 'Another replica has the right to write this, or will have it soon.')
}

/** Commands and calls that are not made once the term is over: what they do cannot be undone either. */
export function fencedLive(live: Live, isHeld: () => boolean): Live {
  return {
    available: live.available,
    exec: async (...command) => {
      if (!isHeld()) throw termOver()
      return await live.exec(...command)
    },
    http: async (call) => {
      if (!isHeld()) throw termOver()
      return await live.http(call)
    },
  }
}
