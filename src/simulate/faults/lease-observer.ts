/**
 * The lease observer: which process of a run may write, and until when. In runs with several processes the leader holds
 * a real Lease on the simulated server, acquired and renewed by the manager's own leader election in virtual time. The
 * wire sees every request for the Lease, and so knows independently until when a process may write: a later write was
 * not fenced.
 *
 * Only runs whose faults need a Lease have one: all others have one process at a time.
 */
import type { Storage } from '../../apiserver/storage/storage.ts'
import type { Clock } from '../../clock/clock.ts'
import type { Client } from '../../client/client.ts'
import type { TransportRequest } from '../../transport/transport.ts'
import { clientErrors } from '../../client/errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import type { Json, JsonObject } from '../../kube/json.ts'
import { type LeaseName, leaseResource, type LeaseTimes } from '../../manager/leases/lease.ts'
import { type Fault, faultTable } from './fault.ts'
import type { SimulatedProcess } from './simulated-process.ts'
import { sampleTable } from '../environment/world.ts'
import type { Incident } from './record.ts'
import type { SimulatedTime } from './time.ts'
import type { Trace } from './trace.ts'

/** The leader-election settings of a process. */
export interface LeaseSeat extends LeaseTimes {
  readonly lease: LeaseName
  readonly identity: string
  /** A clock whose timers do not keep the run from being at rest. */
  readonly clock: Clock
}

export interface LeaseObserver {
  /** Whether a process leads. */
  isLed(): boolean
  /**
   * Whether renewals are all that is left to do: the leader can renew, and has done so since the last change. Before
   * that it may not know: a process whose clock was set back leads again once it learns of it. True also if no process
   * ever requested the Lease.
   */
  isSettled(since: number): boolean
  /** Writes that a process sent after its term. */
  incidents(): readonly Incident[]
  /**
   * A request for the Lease was answered by the server; the returned function is called when the process receives the
   * answer.
   */
  answered(proc: SimulatedProcess, sent: TransportRequest, sentAt: number, status: number): () => void
  /** An effect leaves the process: a write, a command, a call. */
  leaves(proc: SimulatedProcess, what: string): void
}

const lease: LeaseName = { namespace: 'kube-system', name: 'simulated-manager' }
/** The usual times, but for the renewal interval: a renewal costs as much as a write. */
const times: LeaseTimes = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 5_000 }

/** How long a process is cut off or stopped: longer than its lease and one retry period. */
export const absenceMs = 22_000
/** When the second process shuts down gracefully, counted from its start. */
export const successionMs = 26_000

export function needsLeases(faults: readonly Fault[]): boolean {
  return faults.some(({ kind }) => faultTable[kind].group === 'leaders')
}

/** Deletes the Lease, as a user would: both may lead until its holder checks again. */
export async function removeLease(client: Client): Promise<void> {
  await client.delete(leaseResource, lease).catch((error: unknown) => {
    if (!isMusterError(error, clientErrors.NotFound)) throw error
  })
}

export function seatOf(proc: SimulatedProcess): LeaseSeat {
  return { lease, identity: identityOf(proc), clock: proc.upkeep, ...times }
}

function identityOf({ number }: SimulatedProcess): string {
  return `process-${number}`
}

const leasePath: string = `/apis/${leaseResource.group}/${leaseResource.version}/namespaces/${lease.namespace}/leases`

/** Whether the request is for leader election, not work of the operator. */
export function isAboutLease({ path }: TransportRequest): boolean {
  return path.startsWith(leasePath)
}

export function openLeaseObserver(time: SimulatedTime, storage: Storage, trace: Trace): LeaseObserver {
  const until = new Map<SimulatedProcess, number>()
  const lateEffects = new Map<string, Incident>()
  let isRequested = false
  const holder = (): Json | undefined => {
    const spec = storage.table(sampleTable(leaseResource)).get(lease.namespace, lease.name)?.['spec'] as
      | JsonObject
      | undefined
    return spec?.['holderIdentity']
  }
  return {
    isLed: () => until.size > 0,
    isSettled(since) {
      if (!isRequested) return true
      const now = time.now()
      for (const [proc, end] of until) {
        if (end <= now || proc.isOver || identityOf(proc) !== holder()) continue
        const isFree = proc.cutUntil <= now && proc.stoppedUntil <= now && proc.lapsedUntil <= now
        return isFree && end - times.leaseDurationMs > since
      }
      return false
    },
    incidents: () => [...lateEffects.values()],
    answered(proc, { method }, sentAt, status) {
      isRequested = true
      if (status >= 300) return () => undefined
      if (holder() !== identityOf(proc)) {
        return () => {
          if (until.delete(proc)) trace.note(`process ${proc.number} sees that it no longer leads`, inReport)
        }
      }
      if (method === 'GET') return () => undefined
      return () => {
        if ((until.get(proc) ?? 0) <= time.now()) trace.note(`process ${proc.number} leads`, inReport)
        until.set(proc, sentAt + times.leaseDurationMs)
      }
    },
    leaves(proc, what) {
      if ((until.get(proc) ?? 0) > time.now()) return
      const text = `process ${proc.number} sends ${what} when its term is over: another one may lead`
      if (!lateEffects.has(what)) lateEffects.set(what, { kind: 'term', object: what, text })
    },
  }
}

const inReport = { inReport: true } as const
