/**
 * A term: the right to write, as long as it lasts. It is taken before anything is worked out, and looked at again before
 * each write leaves: what was worked out in one term is not written in another.
 */
import { MusterError } from '../../kube/errors.ts'
import type { Outcome } from '../../operator/plan.ts'
import type { Clock } from '../../clock/clock.ts'
import type { Drive } from '../drive.ts'
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

/** Runs whose writes do not leave once the term is over. They come again as those that were overtaken do. */
export function fenced(drive: Drive, term: Term): Drive {
  return async (situation, execute) => {
    const isHeld = term.begin()
    return await drive(situation, async (wave, run) => {
      if (isHeld?.()) return await execute(wave, run)
      const error = new MusterError('TermOver', 'Another replica has the right to write this, or will have it soon.')
      return wave.map((): Outcome => ({ result: 'failed', error }))
    })
  }
}
