/**
 * Claims: room that is kept for a waiting workload until others have left it. Either they are evicted for it, or it waits for their
 * end.
 *
 * A workload that leaves keeps what it has until it is gone, so nothing is counted twice: on the claimed nodes only the difference is held
 * back, and in the plan of the quota the claimant is there and the leavers are not. What starts meanwhile has to fit both what is now
 * and what is planned.
 */
import type { ChargeOption } from './flavors.ts'
import type { NodeAssignment } from '../nodes/node-table.ts'
import { makePodShape } from '../pods/pod-shape.ts'
import { amountsByNode, heldNodes, charge, occupy, type Room, type Running } from './running-set.ts'
import type { Waiting } from './workload-class.ts'

export interface Claim {
  readonly waiting: Waiting
  readonly option: ChargeOption
  readonly assignments: readonly NodeAssignment[]
  readonly leavers: Set<Running>
  /** Others were evicted for it. Otherwise it gives way to what is ahead of it. */
  readonly isEviction: boolean
  /** When all leavers have ended, as far as it is declared; what ends before may use the room. */
  readonly at: number | undefined
  /** What is held back on nodes. */
  holds: readonly NodeAssignment[]
  /** The state in which it could not start yet. */
  triedAt: string
}

export interface Claims {
  readonly size: number
  all(): Iterable<Claim>
  get(id: string): Claim | undefined
  add(claim: Omit<Claim, 'holds' | 'triedAt'>): Claim
  /** Leavers that were not evicted are part of the plan again. */
  remove(claim: Claim): void
  /** The running workload has gone, or its pods have changed. */
  noteLeaver(running: Running, isGone: boolean): void
  /** A workload that uses claimed room and ends in time has started. */
  join(claim: Claim, running: Running, assignments: readonly NodeAssignment[]): void
}

export function createClaims(room: Room): Claims {
  const claims = new Map<string, Claim>()

  const hold = (claim: Claim): void => {
    const { assignments, leavers } = claim
    const theirs = amountsByNode([...leavers].flatMap(heldNodes))
    claim.holds = [...amountsByNode(assignments)].flatMap(([node, needed]): readonly NodeAssignment[] => {
      const freed = theirs.get(node)
      const rest = new Map<string, number>()
      for (const [resource, amount] of needed) {
        const missing = amount - (freed?.get(resource) ?? 0)
        if (missing > 0) rest.set(resource, missing)
      }
      // One made-up pod stands for all that is held back here.
      return rest.size === 0 ? [] : [{ node, shape: { ...makePodShape(rest), requests: rest }, count: 1 }]
    })
    occupy(room, claim.holds, 1)
  }

  const unhold = (claim: Claim): void => {
    occupy(room, claim.holds, -1)
    claim.holds = []
  }

  return {
    get size() {
      return claims.size
    },
    all: () => claims.values(),
    get: (id) => claims.get(id),
    add(made) {
      const claim: Claim = { ...made, holds: [], triedAt: '' }
      const { id } = claim.waiting.workload
      claims.set(id, claim)
      for (const running of claim.leavers) {
        if (running.isPlanned) charge(room, running.charges, -1, 'planned')
        running.isPlanned = false
        running.awaitedBy = id
      }
      charge(room, claim.option.charges, 1, 'planned')
      hold(claim)
      return claim
    },
    remove(claim) {
      claims.delete(claim.waiting.workload.id)
      unhold(claim)
      charge(room, claim.option.charges, -1, 'planned')
      for (const running of claim.leavers) {
        running.awaitedBy = undefined
        if (running.leaving || running.isPlanned) continue
        running.isPlanned = true
        charge(room, running.charges, 1, 'planned')
      }
    },
    noteLeaver(running, isGone) {
      const claim = running.awaitedBy === undefined ? undefined : claims.get(running.awaitedBy)
      if (!claim) return
      unhold(claim)
      if (isGone) claim.leavers.delete(running)
      hold(claim)
    },
    join(claim, running, assignments) {
      unhold(claim)
      occupy(room, assignments, 1)
      claim.leavers.add(running)
      running.awaitedBy = claim.waiting.workload.id
      hold(claim)
    },
  }
}
