/** The leases of a group as they come and change: a list, then a watch from there, and again when that ends. */
import type { Clock } from '../../clock/clock.ts'
import { statusError } from '../../client/api-error.ts'
import { readJson } from '../../client/body.ts'
import type { Client } from '../../client/client.ts'
import { readList } from '../../client/list.ts'
import { listPath } from '../../client/paths.ts'
import type { Lease } from '../../kube/types/coordination/v1.ts'
import { type LeaseName, leaseResource } from './lease.ts'
import { groupLabel } from './member-lease.ts'

export interface MemberWatchOptions {
  readonly client: Client
  readonly clock: Clock
  readonly group: LeaseName
  /** The longest wait for an answer. */
  readonly timeoutMs: number
  /** The least time from one list to the next. */
  readonly retryPeriodMs: number
  readonly onAll: (leases: readonly Lease[]) => void
  readonly onSeen: (lease: Lease) => void
  readonly onGone: (lease: Lease) => void
  readonly onProblem: (error: unknown) => void
}

export interface MemberWatch {
  /** Lists anew: the watch is not to be trusted. */
  restart(): void
  stop(): Promise<void>
}

/** How long the server is asked to keep a watch open. */
const watchSeconds = 290

export function watchMembers(options: MemberWatchOptions): MemberWatch {
  const { client, clock, group, timeoutMs, retryPeriodMs, onProblem } = options
  const stop = new AbortController()
  let attempt = new AbortController()
  const selection = { namespace: group.namespace, labelSelector: `${groupLabel}=${group.name}` }

  async function once(signal: AbortSignal): Promise<void> {
    // Asked once: there is a rhythm to this loop, too.
    const path = listPath(leaseResource, selection)
    const { body } = await client.request({ method: 'GET', path, timeoutMs, signal, retry: false })
    const { items, metadata } = readList<Lease>(leaseResource, await readJson(body, 'the list of members'))
    if (signal.aborted) return
    options.onAll(items)
    const { resourceVersion } = metadata
    const watching = { ...selection, resourceVersion, timeoutSeconds: watchSeconds, timeoutMs, signal }
    for await (const { type, object } of client.watch<Lease>(leaseResource, watching)) {
      // What came while the stream was being left is not looked at: the next list tells it.
      if (signal.aborted) return
      if (type === 'ERROR') throw statusError(object)
      if (type === 'ADDED' || type === 'MODIFIED') options.onSeen(object)
      if (type === 'DELETED') options.onGone(object)
    }
  }

  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      attempt = new AbortController()
      const pause = clock.sleep(retryPeriodMs, stop.signal).catch(() => undefined)
      try {
        await once(AbortSignal.any([attempt.signal, stop.signal]))
      } catch (error) {
        if (!attempt.signal.aborted && !stop.signal.aborted) onProblem(error)
      }
      await pause
    }
  }

  const running = run()
  return {
    restart: () => attempt.abort(),
    stop() {
      stop.abort()
      return running
    },
  }
}
