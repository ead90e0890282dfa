/**
 * Tenure: which process of a run may write, and until when. Several processes at once are told apart by a real Lease on
 * the simulated server, taken and renewed by the manager's own election in virtual time. The wire sees every request
 * about it, and so knows by itself until when a process may write: what leaves later was not fenced.
 *
 * Only runs whose faults need a Lease have one: all others have one process at a time, and pay nothing.
 */
import type { Storage } from '../../apiserver/storage/storage.ts'
import type { Clock } from '../../clock/clock.ts'
import type { Client } from '../../client/client.ts'
import type { TransportRequest } from '../../transport/transport.ts'
import { isMusterError } from '../../kube/errors.ts'
import type { Json, JsonObject } from '../../kube/json.ts'
import { type LeaseName, leaseResource, type LeaseTimes } from '../../manager/leases/lease.ts'
import { type Fault, faultTable } from './fault.ts'
import type { SimulatedLife } from './life.ts'
import { sampleTable } from '../environment/world.ts'
import type { Incident } from './record.ts'
import type { SimulatedTime } from './time.ts'
import type { Trace } from './trace.ts'

/** What a process elects its leader with. */
export interface LeaseSeat extends LeaseTimes {
  readonly lease: LeaseName
  readonly identity: string
  /** Nobody waits for what is due by it. */
  readonly clock: Clock
}

export interface LeaseObserver {
  /** Somebody leads. */
  isLed(): boolean
  /**
   * All that is left to do is to renew the lease: who leads can go on to, and has done so since the last thing happened. Before, it may
   * not know: one whose clock was set back leads again when it hears of that. Or nobody ever asked who leads.
   */
  isSettled(since: number): boolean
  /** Writes that left a process when somebody else might lead. */
  incidents(): readonly Incident[]
  /** A request about the Lease was carried out; what is returned is to be called when the process hears of it. */
  answered(life: SimulatedLife, sent: TransportRequest, sentAt: number, status: number): () => void
  /** Something leaves that cannot be taken back: a write, a command, a call. */
  leaves(life: SimulatedLife, what: string): void
}

const lease: LeaseName = { namespace: 'kube-system', name: 'simulated-manager' }
/** The usual times, but for the rhythm: a renewal costs as much as a write, and none of them is looked at. */
const times: LeaseTimes = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 5_000 }

/** How long a process is cut off or stopped: longer than its lease and a look at it. */
export const absenceMs = 22_000
/** When the second process goes in good order, counted from when it came. */
export const successionMs = 26_000

export function needsLeases(faults: readonly Fault[]): boolean {
  return faults.some(({ kind }) => faultTable[kind].group === 'leaders')
}

/** Somebody deletes the Lease, and both may lead until its holder looks again. */
export async function removeLease(client: Client): Promise<void> {
  await client.delete(leaseResource, lease).catch((error: unknown) => {
    if (!isMusterError(error, 'NotFound')) throw error
  })
}

export function seatOf(life: SimulatedLife): LeaseSeat {
  return { lease, identity: identityOf(life), clock: life.upkeep, ...times }
}

function identityOf({ number }: SimulatedLife): string {
  return `process-${number}`
}

export const leasePath: string = `/apis/${leaseResource.group}/${leaseResource.version}/namespaces/${lease.namespace}/leases`

/** About who leads, and no work of the operator. */
export function isAboutLease({ path }: TransportRequest): boolean {
  return path.startsWith(leasePath)
}

export function openLeaseObserver(time: SimulatedTime, storage: Storage, trace: Trace): LeaseObserver {
  const until = new Map<SimulatedLife, number>()
  const strays = new Map<string, Incident>()
  let isAskedFor = false
  const holder = (): Json | undefined => {
    const spec = storage.table(sampleTable(leaseResource)).get(lease.namespace, lease.name)?.['spec'] as
      | JsonObject
      | undefined
    return spec?.['holderIdentity']
  }
  return {
    isLed: () => until.size > 0,
    isSettled(since) {
      if (!isAskedFor) return true
      const now = time.now()
      for (const [life, end] of until) {
        if (end <= now || life.isOver || identityOf(life) !== holder()) continue
        const isFree = life.cutUntil <= now && life.stoppedUntil <= now && life.lapsedUntil <= now
        return isFree && end - times.leaseDurationMs > since
      }
      return false
    },
    incidents: () => [...strays.values()],
    answered(life, { method }, sentAt, status) {
      isAskedFor = true
      if (status >= 300) return () => undefined
      if (holder() !== identityOf(life)) {
        return () => {
          if (until.delete(life)) trace.note(`process ${life.number} sees that it no longer leads`, told)
        }
      }
      if (method === 'GET') return () => undefined
      return () => {
        if ((until.get(life) ?? 0) <= time.now()) trace.note(`process ${life.number} leads`, told)
        until.set(life, sentAt + times.leaseDurationMs)
      }
    },
    leaves(life, what) {
      if ((until.get(life) ?? 0) > time.now()) return
      const text = `process ${life.number} sends ${what} when its term is over: another one may lead`
      if (!strays.has(what)) strays.set(what, { kind: 'term', object: what, text })
    },
  }
}

const told = { isTold: true } as const
