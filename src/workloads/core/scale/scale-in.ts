/**
 * The end of a scale decision for one pool: which machines go, which labels and marks machines have, and whether that differs from
 * what is stored.
 */
import { assignMachines, chooseVictims } from './machine-choice.ts'
import { failedSince, type PoolDraft, type PoolRecord, takeIdle } from './node-pool.ts'
import { askAgain, type MachineDecision, type PoolDecision, type Round } from './scale-round.ts'

/** What is written for a pool; undefined if nothing is. */
export function concludePool(draft: PoolDraft, round: Round): PoolDecision | undefined {
  const { pool } = draft
  if (pool.sort === 'pattern') return undefined
  const victims = scaleIn(draft, round)
  const { claims, idle, failures, replicas } = draft
  const notBefore = draft.notBefore <= round.now && failures === 0 ? 0 : draft.notBefore
  const record: PoolRecord = { claims, idle, failures, notBefore }
  const machines = machineDecisions(draft, victims)
  const hasNone = pool.replicas === 0 && pool.machines.length === 0 && claims.length + idle.length === 0
  const isEmpty = replicas === 0 && hasNone
  // Until it has cooled down, it says that its pattern has failed.
  if (isEmpty && pool.sort === 'own') askAgain(round, notBefore)
  const isObsolete = isEmpty && pool.sort === 'own' && notBefore <= round.now
  const isSame = replicas === pool.replicas && JSON.stringify(record) === JSON.stringify(pool.record)
  return isSame && machines.size === 0 && !isObsolete ? undefined : { replicas, record, machines, isObsolete }
}

/**
 * Takes machines away that are idle for too long, or at once if another workload waits for their place in the maximum. Machines are
 * marked first; the replicas follow when all marks are stored. Machines that are to be deleted next.
 */
function scaleIn(draft: PoolDraft, round: Round): ReadonlySet<string> {
  const { now, settings, isBlocked } = round
  const { pool } = draft
  const isDue = (since: number): boolean => since + settings.graceMs <= now || isBlocked
  for (const { since } of draft.idle) if (!isDue(since)) askAgain(round, since + settings.graceMs)
  const due = draft.idle.reduce((sum, { count, since }) => sum + (isDue(since) ? count : 0), 0)
  if (due === 0) return new Set()
  const spares = ({ since }: { readonly since: number }): boolean => !isDue(since)
  const removable = Math.min(due, Math.max(0, draft.replicas - pool.min))
  // Below its minimum a pool is not scaled: the machines are the pool's own from now on.
  takeIdle(draft, due - removable, spares)
  const assignment = assignMachines(pool.machines, draft)
  for (let count = removable; count > 0; count--) {
    const victims = pool.names
      ? chooseVictims(pool.machines, assignment, draft.replicas - count)
      : unnamed(draft, count)
    if (!victims) continue
    if (!victims.every(({ isMarked }) => isMarked) && pool.names) return new Set(victims.map(({ name }) => name))
    draft.replicas -= count
    takeIdle(draft, count, spares)
    break
  }
  return new Set()
}

/** Where machines cannot be named, a pool shrinks only by what failed, or while none of its machines is in use. */
function unnamed({ pool, idle }: PoolDraft, count: number): readonly [] | undefined {
  const lost = idle.reduce((sum, one) => sum + (one.since === failedSince ? one.count : 0), 0)
  return count <= lost || pool.machines.every(({ users }) => users.length === 0) ? [] : undefined
}

function machineDecisions(draft: PoolDraft, victims: ReadonlySet<string>): ReadonlyMap<string, MachineDecision> {
  const { machines, replicas } = draft.pool
  const { owners } = assignMachines(machines, draft)
  const live = machines.filter(({ isLeaving }) => !isLeaving)
  const isShrinking = live.length > Math.min(replicas, draft.replicas)
  const decisions = new Map<string, MachineDecision>()
  for (const { name, owner, isMarked } of live) {
    const wanted = owners.get(name)
    // A mark of a machine that was not added by the scaler is a person's.
    const keepsMark = isMarked && (isShrinking || wanted === undefined)
    const decision = { owner: wanted, isMarked: victims.has(name) || keepsMark }
    if (wanted !== owner || decision.isMarked !== isMarked) decisions.set(name, decision)
  }
  return decisions
}
