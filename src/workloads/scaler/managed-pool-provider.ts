/**
 * Managed pools: nodes that a cluster manager keeps, reached over HTTP. A provider finds, makes, resizes and removes a pool by an id
 * that is chosen before: so each call may be repeated, and a pool is never made twice. Its errors are classed by what helps.
 */
import { OperatorError } from '../../operator/failure.ts'

export interface ManagedPoolState {
  readonly replicas: number
  /** Nodes that are there; undefined if the manager does not say. */
  readonly current: number | undefined
  readonly instanceType: string
  /** Why it cannot be provided. */
  readonly failure: string | undefined
}

export interface WantedPool {
  readonly id: string
  readonly instanceType: string
  readonly replicas: number
  /** Of its nodes. */
  readonly labels: Readonly<Record<string, string>>
}

export interface ManagedPoolProvider {
  /** Undefined: there is none. */
  find(id: string): Promise<ManagedPoolState | undefined>
  create(pool: WantedPool): Promise<void>
  resize(id: string, replicas: number): Promise<void>
  /** A pool that is gone already is no error. */
  remove(id: string): Promise<void>
}

/** What makes the pool as it is wanted: one step of it at a time; its state after that. */
export async function ensurePool(
  provider: ManagedPoolProvider,
  wanted: WantedPool,
): Promise<ManagedPoolState | undefined> {
  const found = await provider.find(wanted.id)
  if (wanted.replicas === 0) {
    if (found) await provider.remove(wanted.id)
    return undefined
  }
  if (!found) {
    await provider.create(wanted)
    return { replicas: wanted.replicas, current: 0, instanceType: wanted.instanceType, failure: undefined }
  }
  if (found.instanceType !== wanted.instanceType) {
    throw new OperatorError(
      'PoolTaken',
      `There is a pool ${wanted.id} of machines of the type ${found.instanceType} already. Remove it, or the ManagedNodePool.`,
      { retry: 'terminal' },
    )
  }
  if (found.replicas !== wanted.replicas) await provider.resize(wanted.id, wanted.replicas)
  return { ...found, replicas: wanted.replicas }
}
