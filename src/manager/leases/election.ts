/**
 * Leader election on a Lease: at most one of all candidates leads.
 *
 *     look ──free, or expired──▶ take ──▶ renew, every retry period ──▶ release: the next look takes it at once
 *      ▲                          │         │
 *      └──another was faster──────┘         └──not renewed within the renew deadline: stop leading, and look again
 *
 * The renew deadline is shorter than the lease duration: a leader that cannot reach the server has stopped before
 * another candidate may take over. Clocks of different machines are not compared: a leader counts from when it sent its
 * last renewal (`hold.ts`), the candidates from when they saw it (`lease-observation.ts`), and look again at the moment it
 * expires. Candidates keep their caches filled, so that the first write follows the take-over at once.
 *
 * No clock can prevent a process from checking `isHeld`, being suspended before its write leaves, and resuming a minute
 * later. Against that, make writes conditional: on a `resourceVersion`, or by server-side apply without force.
 */
import type { Clock } from '../../clock/clock.ts'
import type { Random } from '../../clock/random.ts'
import type { Client } from '../../client/client.ts'
import { clientErrors } from '../../client/errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import type { Lease } from '../../kube/types/coordination/v1.ts'
import { createHold } from './hold.ts'
import { durationOf, type LeaseName, leaseRequests, type LeaseTimes, leaseTimes, microTime, spread } from './lease.ts'
import { observeLease } from './lease-observation.ts'

export interface ElectionOptions extends Partial<LeaseTimes> {
  readonly client: Client
  readonly clock: Clock
  readonly random: Random
  readonly lease: LeaseName
  /** Unique to this process. Two processes that share one by mistake are still told apart. */
  readonly identity: string
  /** The leader has changed. A leader is notified before another candidate can lead. */
  readonly onChange: (state: ElectionState) => void
  /** A round failed; the next one is not delayed. @default ignored */
  readonly onProblem?: ((error: unknown) => void) | undefined
}

export interface ElectionState {
  readonly isLeader: boolean
  /** The holder of the lease, as last seen; undefined: none. */
  readonly leader: string | undefined
}

/** Fencing token of a leader's term; unique to that term. */
interface LeaseFence {
  readonly holder: string
  readonly transitions: number
}

export interface Election {
  /** Whether this process leads at this moment. */
  isLeader(): boolean
  /** The holder of the lease, as last seen; undefined: none. */
  leader(): string | undefined
  /** The current term; take it before computing what to write. Undefined: not the leader. */
  fence(): LeaseFence | undefined
  /**
   * Whether a write of that term may still be sent. It has `leaseDurationMs − renewDeadlineMs` to arrive before another
   * candidate leads: set its time-out accordingly.
   */
  isHeld(fence: LeaseFence, now: number): boolean
  /**
   * Stops leading and lets the next candidate lead at once: call it when the work is done. If the response is lost, the
   * lease expires.
   */
  release(): Promise<void>
}

/** Attempts of a release that conflicts with a renewal of our own in progress. */
const releaseTries = 3

export function electLeader(options: ElectionOptions): Election {
  const { clock, random, identity, lease: ref, onChange, onProblem = () => undefined } = options
  const times = leaseTimes(options, `election of ${ref.namespace}/${ref.name}`)
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = times
  const requests = leaseRequests(options.client)
  const stop = new AbortController()
  /** The wait between two rounds. Aborting it starts the next one. */
  let pause = new AbortController()
  // A request that hangs must leave time for another.
  const sending = { timeoutMs: renewDeadlineMs / 2, signal: stop.signal }
  const hold = createHold({ clock, lengthMs: renewDeadlineMs, onEnd: reportChange })
  const observation = observeLease(clock, () => pause.abort())

  /** The lease as the server last returned it. */
  let known: Lease | undefined
  /** The term that we last requested; it identifies our own lease when the response was lost. */
  let term: { readonly transitions: number; readonly since: string } | undefined
  let reported: ElectionState = { isLeader: false, leader: undefined }
  /** A lease that was deleted still counts as held until it expires. */
  let isTaken = false
  /** Makes renewals distinct even if the clock was set back. */
  let renewals = 0
  /** The highest term number seen; a lease that was deleted and created again must not fall behind it. */
  let latest = -1

  function state(): ElectionState {
    return { isLeader: hold.isHeld(clock.now()), leader: known?.spec?.holderIdentity || undefined }
  }

  function reportChange(): void {
    const now = state()
    if (now.isLeader === reported.isLeader && now.leader === reported.leader) return
    reported = now
    try {
      onChange(now)
    } catch (error) {
      onProblem(error)
    }
  }

  /**
   * A changed clock ends a hold between two rounds, without a timer: the first caller that asks notices. The change is
   * then reported, and the next round starts at once, since refused writes are waiting.
   */
  function isLeading(now: number): boolean {
    const isHeld = hold.isHeld(now)
    if (!isHeld && reported.isLeader) {
      queueMicrotask(() => {
        if (!reported.isLeader || hold.isHeld(clock.now())) return
        reportChange()
        pause.abort()
      })
    }
    return isHeld
  }

  const isOurs = (lease: Lease): boolean =>
    lease.spec?.holderIdentity === identity &&
    lease.spec.leaseTransitions === term?.transitions &&
    lease.spec.acquireTime === term?.since

  function see(lease: Lease | undefined): void {
    if (lease) {
      const { holderIdentity, leaseTransitions, renewTime } = lease.spec ?? {}
      isTaken = Boolean(holderIdentity) && !isOurs(lease)
      latest = Math.max(latest, leaseTransitions ?? 0)
      const now = JSON.stringify([lease.metadata.uid, holderIdentity, leaseTransitions, renewTime])
      observation.update(now, durationOf(lease, leaseDurationMs))
    }
    known = lease
  }

  async function look(): Promise<Lease | undefined> {
    try {
      return await requests.read(ref, sending)
    } catch (error) {
      if (isMusterError(error, clientErrors.NotFound)) return undefined
      throw error
    }
  }

  /** Takes or renews the lease on the known version. @throws Conflict when another candidate was faster */
  async function take(): Promise<void> {
    const now = microTime(clock.now(), renewals++ % 1000)
    // Requesting a term again is the same term: perhaps only the response was lost.
    const isNew = !(known && isOurs(known)) && term?.transitions !== latest + 1
    if (isNew) term = { transitions: latest + 1, since: now }
    const lease: Lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: known?.metadata ?? ref,
      spec: {
        holderIdentity: identity,
        leaseDurationSeconds: leaseDurationMs / 1000,
        acquireTime: term!.since,
        renewTime: now,
        leaseTransitions: term!.transitions,
      },
    }
    const attempt = hold.attempt()
    try {
      see(known ? await requests.update(lease, sending) : await requests.create(lease, sending))
    } catch (error) {
      hold.drop(attempt)
      throw error
    }
    if (stop.signal.aborted || !hold.prove(attempt)) hold.drop(attempt)
  }

  async function round(): Promise<void> {
    if (known && isOurs(known) && hold.isHeld(clock.now())) {
      try {
        await take()
        return
      } catch (error) {
        if (!isMusterError(error, clientErrors.Conflict, clientErrors.NotFound)) throw error
      }
    }
    see(await look())
    if (known && isOurs(known)) {
      await take()
      return
    }
    // Another candidate has taken the lease.
    hold.end()
    reportChange()
    if (!isTaken || observation.isOverdue) await take()
  }

  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      const pauseMs = hold.isHeld(clock.now()) ? retryPeriodMs : retryPeriodMs * (1 + spread * random.next())
      pause = new AbortController()
      const slept = clock.sleep(pauseMs, pause.signal).catch(() => undefined)
      try {
        await round()
      } catch (error) {
        const isRace = isMusterError(error, clientErrors.Conflict, clientErrors.AlreadyExists)
        if (!isRace && !stop.signal.aborted) onProblem(error)
      }
      reportChange()
      await slept
    }
  }

  async function letGo(): Promise<void> {
    for (let tries = 0; tries < releaseTries; tries++) {
      const lease = await requests.read(ref, { timeoutMs: sending.timeoutMs })
      if (!isOurs(lease)) return
      const now = microTime(clock.now())
      const spec = { leaseDurationSeconds: 1, acquireTime: now, renewTime: now, leaseTransitions: term!.transitions }
      try {
        await requests.update({ ...lease, spec }, { timeoutMs: sending.timeoutMs })
        return
      } catch (error) {
        if (!isMusterError(error, clientErrors.Conflict)) throw error
      }
    }
  }

  const running = run()
  let released: Promise<void> | undefined

  return {
    isLeader: () => isLeading(clock.now()),
    leader: () => state().leader,
    fence: () => (isLeading(clock.now()) && term ? { holder: identity, transitions: term.transitions } : undefined),
    isHeld: ({ holder, transitions }, now) =>
      holder === identity && transitions === term?.transitions && isLeading(now),
    release() {
      released ??= (async () => {
        stop.abort()
        pause.abort()
        hold.end()
        observation.stop()
        reportChange()
        await running
        if (term) await letGo().catch(onProblem)
      })()
      return released
    },
  }
}
