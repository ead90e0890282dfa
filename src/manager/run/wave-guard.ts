/**
 * The last check before a wave is sent: a reconcile decides on what the cache showed when it began, and some writes
 * must not rest on an outdated state.
 */
import type { Client } from '../../client/client.ts'
import { clientErrors } from '../../client/errors.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import type { Resource } from '../../kube/kind.ts'
import type { KubeObject } from '../../kube/object.ts'
import { type Mutation, mutationName, type Wave } from '../../operator/plan.ts'
import { crKey, crName } from './cr-key.ts'
import type { RunContext } from './run-context.ts'
import type { Throttle } from './throttle.ts'

interface WaveGuardOptions {
  /** The controller's kind. */
  readonly kind: Resource
  readonly client: Client
  /** The CR as the cache has it now. */
  readonly peek: (key: string) => KubeObject | undefined
  readonly throttle: Pick<Throttle, 'hasWritten'>
}

/** Why the wave is not sent; undefined: it may be. */
type WaveGuard = (run: RunContext, wave: Wave) => Promise<MusterError | undefined>

export function createWaveGuard({ kind, client, peek, throttle }: WaveGuardOptions): WaveGuard {
  /** The object was written recently and is missing. */
  const isRecreated = (key: string, mutation: Mutation): boolean =>
    mutation.verb === 'apply' &&
    mutation.why === 'missing' &&
    throttle.hasWritten(key, mutation.resource, mutationName(mutation))

  /** Runs whose CR the API server has confirmed. */
  const confirmed = new WeakSet<RunContext>()

  /**
   * No owner reference ties an embedded object to its CR: made for a CR that is gone, it would stay for ever. And what is removed
   * at the end of a CR may belong to another one of the same name by now.
   */
  const isForGoneCr = async (run: RunContext, wave: Wave): Promise<boolean> => {
    const isMade = ({ embedded, ...mutation }: Mutation): boolean =>
      embedded !== undefined && mutation.verb === 'apply' && mutation.why === 'missing'
    const isRemoved = ({ embedded, ...mutation }: Mutation): boolean =>
      embedded !== undefined && ((mutation.verb === 'delete' && mutation.why === 'finalized') || isRelease(mutation))
    const isEnd = wave.some(isRemoved)
    if (confirmed.has(run) || !(isEnd || wave.some(isMade))) return false
    const isGone = isEnd ? await isReplaced(run.cr) : await isDeletedUnseen(run.cr)
    if (!isGone) confirmed.add(run)
    return isGone
  }

  const isReplaced = async (cr: KubeObject): Promise<boolean> => {
    try {
      const { metadata } = await client.get(kind, crName(crKey(cr)))
      return metadata.uid !== cr.metadata.uid
    } catch (error) {
      return isMusterError(error, clientErrors.NotFound)
    }
  }

  /**
   * A dependent that keeps vanishing may be garbage-collected with an owner whose deletion our cache has not seen yet.
   * Creating it again would fight the garbage collector, so the API server is asked.
   */
  const isDeletedUnseen = async (cr: KubeObject): Promise<boolean> => {
    if (cr.metadata.deletionTimestamp !== undefined) return false
    try {
      const { metadata } = await client.get(kind, crName(crKey(cr)))
      return metadata.uid !== cr.metadata.uid || metadata.deletionTimestamp !== undefined
    } catch (error) {
      return isMusterError(error, clientErrors.NotFound)
    }
  }

  return async (run, wave) => {
    const { key, cr, crVersion } = run
    // A finalizer that is added now confirms the CR: its write names the version.
    if (wave.some(({ verb }) => verb === 'finalizers')) confirmed.add(run)
    const refused = (why: string): MusterError => new MusterError(clientErrors.Conflict, `${kind.kind} ${key} ${why}.`)
    // A delete cannot be undone: it must be decided on the newest CR, and the reconcile may have begun long ago.
    if (
      wave.some((one) => one.verb === 'delete' || isRelease(one)) &&
      peek(key)?.metadata.resourceVersion !== crVersion
    )
      return refused('has changed since this run began')
    const isEmbedding = wave.some(({ embedded }) => embedded !== undefined)
    const isGone =
      (isEmbedding && (await isForGoneCr(run, wave))) ||
      (wave.some((mutation) => isRecreated(key, mutation)) && (await isDeletedUnseen(cr)))
    if (isGone) return refused('is being deleted or gone, which the cache does not show yet')
    return undefined
  }
}

function isRelease(mutation: Pick<Mutation, 'verb'> & { readonly why?: string }): boolean {
  return mutation.verb === 'marks' && mutation.why === 'released'
}
