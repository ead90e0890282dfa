/**
 * Failing machines: each has its own clock, which may drift and jump, can be paused and resumed, lose its network or
 * crash. All of them use one embedded API server, in virtual time.
 */
import { type ApiServer, createApiServer } from '../src/apiserver/server/api-server.ts'
import { type Clock, sleepOn, type Timer } from '../src/clock/clock.ts'
import { type Random, seededRandom } from '../src/clock/random.ts'
import { type VirtualClock, virtualClock } from '../src/clock/virtual-clock.ts'
import type { Client } from '../src/client/client.ts'
import { createClient } from '../src/client/create-client.ts'
import { inProcessTransport } from '../src/client/in-process.ts'
import type { Transport, TransportRequest } from '../src/transport/transport.ts'
import { transportErrors } from '../src/transport/errors.ts'
import { MusterError } from '../src/kube/muster-error.ts'

/**
 * - `up`: requests and responses take a few milliseconds
 * - `slow`: each takes seconds, and a request may arrive after its sender has given up
 * - `deaf`: requests arrive, responses are lost
 * - `blind`: leases can be neither listed nor watched; everything else is up
 * - `refused`: connections break and new ones fail
 * - `silent`: nothing arrives and nothing fails; pending requests continue when the network does
 */
export type Network = 'up' | 'slow' | 'deaf' | 'blind' | 'refused' | 'silent'

export interface Machine {
  readonly clock: Clock
  readonly client: Client
  readonly random: Random
  /** The requests it has sent, including watches. */
  readonly sent: readonly { readonly method: string; readonly path: string; readonly at: number }[]
  readonly isDead: boolean
  readonly isPaused: boolean
  network: Network
  /** Its clock is set forward or back. */
  jump(ms: number): void
  /** None of its code runs until `resume`; its clock continues. */
  pause(): void
  resume(): void
  /** Open streams deliver nothing more, and do not end. */
  stall(): void
  /** `kill -9`. */
  kill(): void
}

export interface MachineRoom {
  readonly clock: VirtualClock
  readonly server: ApiServer
  /** A client of the test itself. */
  readonly client: Client
  /** `rate`: seconds of its clock per real second. @default 1 */
  machine(rate?: number): Machine
  /** Called after every event on a machine that may have changed its state. */
  onStep: () => void
  close(): Promise<void>
}

export function createMachineRoom(seed = 1): MachineRoom {
  const clock = virtualClock()
  const random = seededRandom(seed)
  const server = createApiServer({ clock, random: seededRandom(seed + 1) })
  const client = createClient({ transport: inProcessTransport(server), clock, random })
  const machines: Machine[] = []
  let isLooking = false

  /** Reactions to an event follow within a few turns. */
  const step = (): void => {
    world.onStep()
    if (isLooking) return
    isLooking = true
    let turns = 5
    const look = (): void => {
      world.onStep()
      if (--turns > 0) setImmediate(look)
      else isLooking = false
    }
    setImmediate(look)
  }

  const world: MachineRoom = {
    clock,
    server,
    client,
    onStep: () => undefined,
    machine(rate = 1) {
      const machine = createMachine({ world, rate, random: seededRandom(seed + 2 + machines.length), step })
      machines.push(machine)
      return machine
    },
    async close() {
      world.onStep = () => undefined
      for (const machine of machines) machine.kill()
      await clock.settle()
      await client.close()
    },
  }
  return world
}

interface MachineInput {
  readonly world: MachineRoom
  readonly rate: number
  readonly random: Random
  readonly step: () => void
}

function createMachine({ world, rate, random, step }: MachineInput): Machine {
  const { clock: truth } = world
  const origin = truth.now()
  let offset = Math.round(random.next() * 3_600_000)
  let waiting: (() => void)[] = []
  let isPaused = false
  let isDead = false
  let network: Network = 'up'
  let healed: (() => void)[] = []
  const sent: Machine['sent'][number][] = []
  let stalls = 0

  const run = (act: () => void): void => {
    if (isDead) return
    if (isPaused) {
      waiting.push(act)
      return
    }
    act()
    step()
  }
  const after = (ms: number, fire: () => void): Timer => {
    let isCancelled = false
    const timer = truth.after(ms / rate, () => run(() => !isCancelled && fire()))
    return {
      cancel() {
        isCancelled = true
        timer.cancel()
      },
    }
  }
  const clock: Clock = {
    now: () => Math.floor(origin + offset + (truth.now() - origin) * rate),
    after,
    sleep: (ms, signal) => sleepOn(after, ms, signal),
  }

  /** The time when the machine runs again; never, when it is dead. */
  const awake = (): Promise<void> => new Promise((resolve) => run(resolve))
  const lost = (): MusterError => new MusterError(transportErrors.ConnectionLost, 'the connection broke.')
  const isSilent = (): boolean => network === 'silent'
  const passing = async (): Promise<void> => {
    await new Promise<void>((resolve) => void truth.after(travelMs(), resolve))
    while (isSilent()) await new Promise<void>((resolve) => healed.push(resolve))
    if (network === 'refused') throw lost()
  }
  const travelMs = (): number => (network === 'slow' ? random.next() * 6_000 : random.next() * 20)

  const wire = inProcessTransport(world.server)
  const transport: Transport = {
    ...wire,
    async send(request: TransportRequest) {
      sent.push({ method: request.method, path: request.path, at: truth.now() })
      try {
        await passing()
        // A request in flight cannot be cancelled; a stream ends with its caller.
        const isStream = /[?&]watch=/.test(request.path)
        const isAboutMany = isStream || /\/leases(?:\?|$)/.test(request.path)
        if (network === 'blind' && request.method === 'GET' && isAboutMany) throw lost()
        const response = await wire.send({ ...request, signal: isStream ? request.signal : undefined })
        await passing()
        if (network === 'deaf') throw lost()
        return { ...response, body: arriving(response.body, isStream) }
      } finally {
        await awake()
      }
    },
  }
  async function* arriving(body: AsyncIterable<Uint8Array>, isStream: boolean): AsyncGenerator<Uint8Array> {
    const opened = stalls
    for await (const chunk of body) {
      if (stalls > opened) continue
      try {
        await passing()
        if (network === 'blind' && isStream) throw lost()
      } finally {
        await awake()
      }
      yield chunk
    }
  }

  return {
    clock,
    client: createClient({ transport, clock, random }),
    random,
    sent,
    get isDead() {
      return isDead
    },
    get isPaused() {
      return isPaused
    },
    get network() {
      return network
    },
    set network(next) {
      network = next
      const going = healed
      healed = []
      for (const go of going) go()
    },
    jump(ms) {
      offset += ms
      step()
    },
    pause() {
      isPaused = true
    },
    resume() {
      isPaused = false
      step()
      const due = waiting
      waiting = []
      for (const act of due) run(act)
    },
    stall: () => void stalls++,
    kill() {
      isDead = true
      void wire.close()
    },
  }
}
