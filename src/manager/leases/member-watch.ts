/** Lists and watches the leases of a group, and lists again when the watch ends. */
import type { Clock } from '../../clock/clock.ts'
import { statusError } from '../../client/api-error.ts'
import { readJson } from '../../client/body.ts'
import type { Client } from '../../client/client.ts'
import { readList } from '../../client/list.ts'
import { listPath } from '../../client/paths.ts'
import type { Lease } from '../../kube/types/coordination/v1.ts'
import { type LeaseName, leaseResource } from './lease.ts'
import { groupLabel } from './member-lease.ts'

interface MemberWatchOptions {
  readonly client: Client
  readonly clock: Clock
  readonly group: LeaseName
  /** Time limit of a response. */
  readonly timeoutMs: number
  /** Minimum time between two lists. */
  readonly retryPeriodMs: number
  readonly onAll: (leases: readonly Lease[]) => void
  readonly onSeen: (lease: Lease) => void
  readonly onGone: (lease: Lease) => void
  readonly onProblem: (error: unknown) => void
}

interface MemberWatch {
  /** Lists again: the watch may be broken. */
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
    // Without retries: this loop has its own schedule.
    const path = listPath(leaseResource, selection)
    const { body } = await client.request({ method: 'GET', path, timeoutMs, signal, retry: false })
    const { items, metadata } = readList<Lease>(leaseResource, await readJson(body, 'the list of members'))
    if (signal.aborted) return
    options.onAll(items)
    const { resourceVersion } = metadata
    const watching = { ...selection, resourceVersion, timeoutSeconds: watchSeconds, timeoutMs, signal }
    for await (const { type, object } of client.watch<Lease>(leaseResource, watching)) {
      // Events that arrive while the stream is being closed are ignored: the next list includes them.
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
