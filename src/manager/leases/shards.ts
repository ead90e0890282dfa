/**
 * Sharding: replicas split items (operators, clusters) among themselves, so that no two of them work on the same item.
 *
 * Each replica holds a Lease of its own and watches those of the others; rendezvous hashing decides which one wins an
 * item (`rendezvous.ts`). Two replicas that count each other never win the same item, whichever others they count. So
 * two rules are enough:
 *
 * 1. A replica works only while a renewal that it sent less than the renew deadline ago has come back through its
 * watch. That proves that its lease is renewed, and that it has seen every lease that existed when it sent the renewal.
 * 2. It starts to work when all others have stated in their leases that they count it, or when a lease duration has
 * passed: by then replicas that did not see it have stopped, by rule 1.
 *
 * A replica that stops by rule 1 may have been given up by the others, and starts again by rule 2, in a new life.
 * `member-table.ts` decides when a replica is given up: never before it has stopped. Clocks are not compared; they may
 * run at rates as different as renew deadline and lease duration are.
 *
 * A replica that sees a member become overdue renews at that moment, and not at its next regular renewal: the share of
 * a dead replica moves a lease duration after its last renewal was seen, plus the time of one renewal.
 */
import type { Clock, Timer } from '../../clock/clock.ts'
import type { Random } from '../../clock/random.ts'
import type { Client } from '../../client/client.ts'
import { managerErrors } from '../errors.ts'
import { clientErrors } from '../../client/errors.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import type { Lease } from '../../kube/types/coordination/v1.ts'
import { type Attempt, createHold } from './hold.ts'
import { type LeaseName, leaseRequests, type LeaseTimes, leaseTimes } from './lease.ts'
import { memberLeaseName, type MemberRecord, readMember, releasedLease, writeMember } from './member-lease.ts'
import { createMemberTable } from './member-table.ts'
import { watchMembers } from './member-watch.ts'
import { winnerOf } from './rendezvous.ts'
import { observeLease } from './lease-observation.ts'

export interface ShardsOptions extends Partial<LeaseTimes> {
  readonly client: Client
  readonly clock: Clock
  readonly random: Random
  /** Namespace and name prefix of the leases: the same for all replicas that share the work. */
  readonly group: LeaseName
  /**
   * Unique to this process, and valid as part of a name. A process with the identity of a dead one waits until that
   * lease expires.
   */
  readonly identity: string
  /** The Pod of this process, which then owns the lease: it is garbage-collected with the Pod. @default none */
  readonly pod?: { readonly name: string; readonly uid: string } | undefined
  /** Twice the weight, twice the items. @default 1 */
  readonly weight?: number | undefined
  /** A round failed; the next one is not delayed. @default ignored */
  readonly onProblem?: ((error: unknown) => void) | undefined
}

/** A replica that counts. */
interface ShardMember {
  readonly identity: string
  readonly weight: number
}

/** Fencing token: the period in which this replica owns an item. */
export interface ShardFence {
  readonly item: string
  readonly holder: string
  readonly life: string
  readonly arrivals: number
}

export interface Shards {
  /** All members, including this replica while it works. */
  readonly members: readonly ShardMember[]
  /** Whether this replica owns the item at this moment. */
  owns(item: string): boolean
  /** Take it before computing what to write. Undefined: another replica owns the item. */
  fence(item: string): ShardFence | undefined
  /** Whether this replica has owned the item ever since, and a write may still be sent. */
  isHeld(fence: ShardFence, now: number): boolean
  /**
   * The owned items may have changed. Others take over when the promises returned by listeners are settled, or after a
   * lease duration: end the work on lost items. Returns a function that unsubscribes.
   */
  onChange(listener: () => void | Promise<void>): () => void
  /** Stops owning items and hands over at once: call it when the work is done. */
  leave(): Promise<void>
}

export function joinShards(options: ShardsOptions): Shards {
  const { client, clock, random, group, identity, pod, weight = 1, onProblem = () => undefined } = options
  const what = `shards ${group.namespace}/${group.name}`
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = leaseTimes(options, what)
  if (!(weight > 0) || !Number.isFinite(weight))
    throw new MusterError(managerErrors.InvalidConfiguration, `${what}: weight must be greater than 0, not ${weight}.`)
  const self = { name: memberLeaseName(group, identity), weight }
  const requests = leaseRequests(client)
  const stop = new AbortController()
  /** The wait between two renewals. Aborting it sends the next one. */
  let pause = new AbortController()
  // A request that hangs must leave time for another.
  const timeoutMs = renewDeadlineMs / 2
  const sending = { timeoutMs, signal: stop.signal }

  /** Identifies the writes of this process; another may share our identity by mistake. */
  const nonce = Math.floor(random.next() * 2 ** 52).toString(36)
  let lives = 0
  let since = clock.now()
  const life = (): string => `${nonce}.${lives}`

  /** Our lease as the server last returned it. */
  let own: Lease | undefined
  let answered = 0
  /** Renewals that were sent and have not come back. */
  const attempts = new Map<number, Attempt>()
  const hold = createHold({ clock, lengthMs: renewDeadlineMs, onEnd: breakOff })
  const namesake = observeLease(clock)
  /** The server has our life, without interruption since. */
  let isKnown = false
  let isWorking = false
  let isLeaving = false
  let patience: Timer | undefined
  /** Settled by the first list of this life: a replica that renews without a working watch would block its share. */
  let sight = Promise.withResolvers<void>()
  let isSeeing = false

  const table = createMemberTable({
    clock,
    onChange: onMembers,
    onRemains: (record) => void sweep(record),
    onOverdue: () => pause.abort(),
  })
  const listeners = new Set<() => void | Promise<void>>()
  /** Lives of the members that may take the items they win: our work on those items has ended. */
  let yielded: { readonly version: number; readonly lives: ReadonlySet<string> } = { version: 0, lives: new Set() }
  let version = 0
  /** Whether we would own an item, for all items that were asked about. */
  const won = new Map<string, boolean>()

  const isOurs = (record: MemberRecord): boolean => record.life.startsWith(`${nonce}.`)
  const read = (lease: Lease): MemberRecord => readMember(lease, leaseDurationMs)

  async function notifyListeners(): Promise<void> {
    const endings = [...listeners].map(async (listener) => await listener())
    for (const ending of await Promise.allSettled(endings)) if (ending.status === 'rejected') onProblem(ending.reason)
  }

  function onMembers(): void {
    won.clear()
    void yieldTo({ version: ++version, lives: new Set(table.members.map((member) => member.life)) })
  }

  async function yieldTo(next: typeof yielded): Promise<void> {
    await notifyListeners()
    if (next.version > yielded.version) yielded = next
  }

  /** Others may have given us up: we lose all items, and join again in a new life. */
  function breakOff(): void {
    hold.end()
    for (const attempt of attempts.values()) hold.drop(attempt)
    attempts.clear()
    patience?.cancel()
    isKnown = false
    lives++
    since = clock.now()
    if (isSeeing) sight = Promise.withResolvers()
    isSeeing = false
    watch.restart()
    if (!isWorking) return
    isWorking = false
    void notifyListeners()
  }

  function begin(): void {
    if (isWorking || isLeaving) return
    patience?.cancel()
    isWorking = true
    void notifyListeners()
  }

  function beginIfCounted(): void {
    if (isKnown && table.members.every(({ counts }) => counts.has(life()))) begin()
  }

  /** Our lease came through the watch, or at the end of a list. */
  function onOwn(record: MemberRecord): void {
    if (!isOurs(record)) {
      // Another process has our identity: the lease is not ours.
      if (own) onOwnGone()
      return
    }
    const attempt = record.life === life() ? attempts.get(record.renewal) : undefined
    if (!attempt) return
    if (isKnown && !hold.isHeld(clock.now())) {
      breakOff()
      return
    }
    if (!hold.prove(attempt)) return
    for (const [renewal, earlier] of attempts) {
      if (renewal > record.renewal) break
      if (renewal < record.renewal) hold.drop(earlier)
      attempts.delete(renewal)
    }
    if (!isKnown) {
      isKnown = true
      patience = clock.after(Math.max(leaseDurationMs, ...table.members.map(({ lastsMs }) => lastsMs)), begin)
    }
    table.proven(record.renewal)
    beginIfCounted()
  }

  const watch = watchMembers({
    client,
    clock,
    group,
    timeoutMs,
    retryPeriodMs,
    onProblem,
    onAll(all) {
      isSeeing = true
      sight.resolve()
      const records = all.map(read)
      table.replace(records.filter(({ name }) => name !== self.name))
      const found = records.find(({ name }) => name === self.name)
      if (found) onOwn(found)
      else if (isKnown) onOwnGone()
    },
    onSeen(lease) {
      const record = read(lease)
      if (record.name === self.name) {
        onOwn(record)
        return
      }
      table.see(record)
      beginIfCounted()
    },
    onGone({ metadata: { name = '', uid } }) {
      if (name !== self.name) table.lose(name)
      else if (own?.metadata.uid === uid) onOwnGone()
    },
  })

  function onOwnGone(): void {
    own = undefined
    breakOff()
  }

  /**
   * Our lease, to be renewed; undefined: there is none. @throws when another process holds it and it has not expired
   */
  async function find(): Promise<Lease | undefined> {
    let lease: Lease
    try {
      lease = await requests.read({ namespace: group.namespace, name: self.name }, sending)
    } catch (error) {
      if (isMusterError(error, clientErrors.NotFound)) return undefined
      throw error
    }
    const record = read(lease)
    if (isOurs(record)) return lease
    if (isKnown) breakOff()
    namesake.update(JSON.stringify([lease.metadata.uid, record.life, record.renewal]), record.lastsMs)
    if (record.isReleased || namesake.isOverdue) return lease
    throw new MusterError(
      managerErrors.InvalidConfiguration,
      `${what}: the identity "${identity}" is another process's, or was.`,
    )
  }

  async function send(): Promise<void> {
    const renewal = table.sending()
    const attempt = hold.attempt()
    attempts.set(renewal, attempt)
    const counts = table.members.map((member) => member.life).filter((one) => yielded.lives.has(one))
    const said = { group, identity, pod, weight, life: life(), since, renewal, counts, leaseDurationMs }
    const lease = writeMember(own, said, clock.now())
    own = own ? await requests.update(lease, sending) : await requests.create(lease, sending)
    answered = renewal
  }

  async function renew(): Promise<void> {
    try {
      await send()
    } catch (error) {
      if (!isMusterError(error, clientErrors.Conflict, clientErrors.NotFound, clientErrors.AlreadyExists)) throw error
      own = undefined
      own = await find()
      if (!own && isKnown) breakOff()
      else await send()
    }
  }

  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      if ([...attempts.values()].some(({ isOver }) => isOver)) breakOff()
      await sight.promise
      if (stop.signal.aborted) return
      pause = new AbortController()
      const { signal } = pause
      const slept = clock.sleep(retryPeriodMs * (1 - 0.1 * random.next()), signal).catch(() => undefined)
      try {
        await renew()
      } catch (error) {
        if (!stop.signal.aborted) onProblem(error)
      }
      await slept
      // The renewal that was just sent has had no time to come back.
      if (signal.aborted) continue
      // The server accepted renewals that the watch does not show: the watch may be broken, and would miss everything
      // else too.
      const pending = [...attempts.keys()].filter((renewal) => renewal <= answered)
      if (pending.length >= 2) watch.restart()
    }
  }

  /** A lease of a stopped member is deleted by one of the remaining ones. */
  async function sweep({ name, lease }: MemberRecord): Promise<void> {
    if (!isKnown || winnerOf(name, [self, ...table.members]) !== self) return
    try {
      await requests.remove(lease, sending)
    } catch (error) {
      if (!isMusterError(error, clientErrors.Conflict, clientErrors.NotFound) && !stop.signal.aborted) onProblem(error)
    }
  }

  async function letGo(): Promise<void> {
    const lease = await requests.read({ namespace: group.namespace, name: self.name }, { timeoutMs })
    if (!isOurs(read(lease))) return
    const released = await requests.update(releasedLease(lease, clock.now()), { timeoutMs })
    await requests.remove(released, { timeoutMs })
  }

  const running = run()
  const wins = (item: string): boolean => {
    let isWon = won.get(item)
    if (isWon === undefined) won.set(item, (isWon = winnerOf(item, [self, ...table.members]) === self))
    return isWon
  }
  const owns = (item: string, now: number): boolean => isWorking && hold.isHeld(now) && wins(item)
  let left: Promise<void> | undefined

  return {
    get members() {
      const others = table.members.map((member) => ({ identity: member.identity, weight: member.weight }))
      return isWorking ? [{ identity, weight }, ...others] : others
    },
    owns: (item) => owns(item, clock.now()),
    fence: (item) =>
      owns(item, clock.now()) ? { item, holder: identity, life: life(), arrivals: table.arrivals } : undefined,
    isHeld: (fence, now) =>
      fence.life === life() && owns(fence.item, now) && !table.isBeatenSince(fence.arrivals, self, fence.item),
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    leave() {
      left ??= (async () => {
        isLeaving = true
        isWorking = false
        await notifyListeners()
        stop.abort()
        pause.abort()
        sight.resolve()
        await Promise.all([running, watch.stop()])
        patience?.cancel()
        hold.end()
        for (const attempt of attempts.values()) hold.drop(attempt)
        namesake.stop()
        table.stop()
        await letGo().catch((error: unknown) => {
          if (!isMusterError(error, clientErrors.NotFound)) onProblem(error)
        })
      })()
      return left
    },
  }
}
