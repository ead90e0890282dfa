/**
 * Leader election on a Lease: of all candidates, at most one leads.
 *
 *     look ──free, or overdue──▶ take ──▶ renew, every retry period ──▶ release: the next look takes it at once
 *      ▲                          │         │
 *      └──somebody was faster─────┘         └──not renewed for the renew deadline: leads no more, and looks again
 *
 * The renew deadline is shorter than the lease: a leader that cannot reach the server has stopped before anybody else
 * may begin. No two clocks are compared: a leader counts from when it sent its last renewal (`hold.ts`), the others from
 * when they saw it (`sighting.ts`), and look again at the moment it is overdue. Candidates do everything but lead; keep
 * their caches filled, and the first write follows the take-over at once.
 *
 * What no clock can prevent is a process that asks `isHeld`, is stopped before its write leaves, and goes on a minute
 * later. For that, writes are to be made on a version: `resourceVersion`, or server-side apply without force.
 */
import type { Clock } from '../../clock/clock.ts'
import type { Random } from '../../clock/random.ts'
import type { Client } from '../../client/client.ts'
import { isMusterError } from '../../kube/errors.ts'
import type { Lease } from '../../kube/types/coordination/v1.ts'
import { createHold } from './hold.ts'
import { durationOf, type LeaseName, leaseRequests, type LeaseTimes, leaseTimes, microTime, spread } from './lease.ts'
import { createSighting } from './sighting.ts'

export interface ElectionOptions extends Partial<LeaseTimes> {
  readonly client: Client
  readonly clock: Clock
  readonly random: Random
  readonly lease: LeaseName
  /** Of this process alone: two that share one are taken for two all the same. */
  readonly identity: string
  /** Who leads has changed. Told to a leader before anybody else can lead. */
  readonly onChange: (state: ElectionState) => void
  /** What a round failed of; the next is tried in time. @default ignored */
  readonly onProblem?: ((error: unknown) => void) | undefined
}

export interface ElectionState {
  readonly isLeader: boolean
  /** Whom the lease names, as last seen; undefined: nobody. */
  readonly leader: string | undefined
}

/** A leader's term: nobody else has another one of the same. */
export interface LeaseFence {
  readonly holder: string
  readonly transitions: number
}

export interface Election {
  /** Leads at this very moment. */
  isLeader(): boolean
  /** Whom the lease names, as last seen; undefined: nobody. */
  leader(): string | undefined
  /** The present term; take it before working out what to write. Undefined: does not lead. */
  fence(): LeaseFence | undefined
  /**
   * Whether a write of that term may still leave. It then has `leaseDurationMs − renewDeadlineMs` to arrive before
   * anybody else leads: let it time out by then.
   */
  isHeld(fence: LeaseFence, now: number): boolean
  /** Leads no more, and lets the next one lead at once: call it when the work is done. A lost answer costs a lease time. */
  release(): Promise<void>
}

/** How often a release that meets a renewal of our own, under way, is tried again. */
const releaseTries = 3

export function electLeader(options: ElectionOptions): Election {
  const { clock, random, identity, lease: ref, onChange, onProblem = () => undefined } = options
  const times = leaseTimes(options, `election of ${ref.namespace}/${ref.name}`)
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = times
  const requests = leaseRequests(options.client)
  const stop = new AbortController()
  /** Between two rounds. Ended early, the next one is now. */
  let pause = new AbortController()
  // One request that hangs must leave time for another.
  const sending = { timeoutMs: renewDeadlineMs / 2, signal: stop.signal }
  const hold = createHold({ clock, lengthMs: renewDeadlineMs, onEnd: tell })
  const sighting = createSighting(clock, () => pause.abort())

  /** As the server last showed it. */
  let known: Lease | undefined
  /** The term that we have asked for last; by it we know our own lease when the answer was lost. */
  let term: { readonly transitions: number; readonly since: string } | undefined
  let told: ElectionState = { isLeader: false, leader: undefined }
  /** Somebody's lease that vanished still is somebody's, until it is overdue. */
  let isTaken = false
  /** A clock that was set back must not make one renewal look like another. */
  let renewals = 0
  /** The highest number of a term that we have seen; a lease that was deleted and made anew must not go back. */
  let latest = -1

  function state(): ElectionState {
    return { isLeader: hold.isHeld(clock.now()), leader: known?.spec?.holderIdentity || undefined }
  }

  function tell(): void {
    const now = state()
    if (now.isLeader === told.isLeader && now.leader === told.leader) return
    told = now
    try {
      onChange(now)
    } catch (error) {
      onProblem(error)
    }
  }

  /**
   * A clock that was set ends a hold between two rounds, and no timer tells of it: who asks is the first to know. Then it is told, and
   * looked at again at once, since what is refused meanwhile is put off.
   */
  function isLeading(now: number): boolean {
    const isHeld = hold.isHeld(now)
    if (!isHeld && told.isLeader) {
      queueMicrotask(() => {
        if (!told.isLeader || hold.isHeld(clock.now())) return
        tell()
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
      sighting.see(now, durationOf(lease, leaseDurationMs))
    }
    known = lease
  }

  async function look(): Promise<Lease | undefined> {
    try {
      return await requests.read(ref, sending)
    } catch (error) {
      if (isMusterError(error, 'NotFound')) return undefined
      throw error
    }
  }

  /** Takes or renews the lease on the state that is known. @throws Conflict when somebody was faster */
  async function take(): Promise<void> {
    const now = microTime(clock.now(), renewals++ % 1000)
    // A term asked for twice is the same term: it may be the answer that was lost, and not the request.
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
        if (!isMusterError(error, 'Conflict', 'NotFound')) throw error
      }
    }
    see(await look())
    if (known && isOurs(known)) {
      await take()
      return
    }
    // Whoever took it from us has it.
    hold.end()
    tell()
    if (!isTaken || sighting.isOverdue) await take()
  }

  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      const pauseMs = hold.isHeld(clock.now()) ? retryPeriodMs : retryPeriodMs * (1 + spread * random.next())
      pause = new AbortController()
      const slept = clock.sleep(pauseMs, pause.signal).catch(() => undefined)
      try {
        await round()
      } catch (error) {
        const isRace = isMusterError(error, 'Conflict', 'AlreadyExists')
        if (!isRace && !stop.signal.aborted) onProblem(error)
      }
      tell()
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
        if (!isMusterError(error, 'Conflict')) throw error
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
        sighting.stop()
        tell()
        await running
        if (term) await letGo().catch(onProblem)
      })()
      return released
    },
  }
}
