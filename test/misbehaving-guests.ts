/**
 * Operators that misbehave in every known way, in a worker and in a process, on an embedded server beside a correct
 * operator. Threads and processes are real; the clock that monitors them is advanced by hand, so no test waits for real
 * time.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createApiServer } from '../src/apiserver/server/api-server.ts'
import { createSharedCache, type SharedCache } from '../src/cache/shared-cache.ts'
import type { Client } from '../src/client/client.ts'
import { createClient } from '../src/client/create-client.ts'
import { inProcessTransport } from '../src/client/in-process.ts'
import { systemClock } from '../src/clock/system-clock.ts'
import { type VirtualClock, virtualClock } from '../src/clock/virtual-clock.ts'
import type { JsonObject } from '../src/kube/json.ts'
import type { Resource } from '../src/kube/kind.ts'
import type { KubeObject, UntypedObject } from '../src/kube/object.ts'
import { ConfigMap } from '../src/kube/kinds.ts'
import type { Ledger } from '../src/operator/ledger.ts'
import type { Situation } from '../src/operator/reconcile.ts'
import { app, App, appOperator } from './app-operator.ts'
import { type OperatorHost, hostOperator } from '../src/manager/hosting/host.ts'
import { defaultGuestLimits } from '../src/manager/isolation/launch/limits.ts'
import { Misbehaving } from '../src/manager/isolation/misbehaving-guest/operator.ts'
import { openRunner, type RunnerOptions } from '../src/manager/isolation/open-runner.ts'
import type { IsolationLevel, Runner } from '../src/manager/isolation/runner.ts'

/** A file of the isolation tests. */
export const here = (name: string): string =>
  fileURLToPath(new URL(`../src/manager/isolation/${name}`, import.meta.url))
const misbehaving = here('misbehaving-guest/operator.ts')

export const crds: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
}

/** Past and future events. */
export interface Events<T> {
  readonly past: readonly T[]
  push(event: T): void
  /** The first event for which the condition holds, past or future. */
  first(holds: (event: T) => boolean): Promise<T>
}

export function events<T>(): Events<T> {
  const past: T[] = []
  const waiting = new Set<(event: T) => void>()
  return {
    past,
    push(event) {
      past.push(event)
      for (const hear of waiting) hear(event)
    },
    first(holds) {
      const found = past.find(holds)
      if (found !== undefined) return Promise.resolve(found)
      return new Promise((resolve) => {
        const hear = (event: T): void => {
          if (!holds(event)) return
          waiting.delete(hear)
          resolve(event)
        }
        waiting.add(hear)
      })
    },
  }
}

/** A manager with two operators: a correct one, and one that misbehaves as its CR says. */
export interface Manager {
  readonly client: Client
  readonly runner: Runner
  /** Advanced by hand: it monitors the guest. */
  readonly clock: VirtualClock
  readonly ledgers: Events<Ledger>
  readonly begun: Events<string>
  readonly lines: JsonObject[]
  /** The other operator reconciles a new CR from its creation to its deletion. */
  prove(): Promise<void>
  close(): Promise<void>
}

export async function openManager(level: IsolationLevel, options: Partial<RunnerOptions> = {}): Promise<Manager> {
  const clock = virtualClock()
  const lines: JsonObject[] = []
  const log = (line: JsonObject): void => void lines.push(line)
  const runner = await openRunner(level, { module: misbehaving, clock, log, ...options })
  const client = createClient({ transport: inProcessTransport(createApiServer({ clock: systemClock })) })
  const ledgers = events<Ledger>()
  const begun = events<string>()
  const good = appOperator({
    writes: [ConfigMap],
    reconcile: ({ cr }) => ({
      objects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: cr.metadata.name, namespace: 'default' } }],
    }),
  })
  for (const kind of [...good.kinds, ...runner.operator.kinds]) {
    await client.create(crds, kind.crd() as unknown as UntypedObject)
  }
  const cache: SharedCache = createSharedCache({ client })
  const onLedger = (ledger: Ledger): void => ledgers.push(ledger)
  const spied = (situation: Situation<KubeObject>): Situation<KubeObject> => ({
    ...situation,
    view: {
      ...situation.view,
      get(resource, name) {
        if (name.name === 'begun') begun.push(situation.cr.metadata.name ?? '')
        return situation.view.get(resource, name)
      },
    },
  })
  const hosts: readonly OperatorHost[] = [
    hostOperator({ operator: good, client, cache, onLedger }),
    hostOperator({
      operator: runner.operator,
      client,
      cache,
      onLedger,
      run: (situation, execute) => runner.run(spied(situation), execute),
    }),
  ]
  await Promise.all(hosts.map((host) => host.start()))
  let proofs = 0
  return {
    client,
    runner,
    clock,
    ledgers,
    begun,
    lines,
    async prove() {
      const name = `good-${++proofs}`
      const done = ledgers.first((ledger) => ledger.operator === 'kit' && ledger.key === `default/${name}`)
      await client.create(App, app(name))
      expect((await done).failure).toBeUndefined()
    },
    async close() {
      // First the guest: closing would wait for its active runs.
      await runner.close()
      await Promise.all(hosts.map((host) => host.stop()))
      cache.close()
      await client.close()
    },
  }
}

export const backOff = { firstMs: 10, mostMs: 1000 }
let many = 0

/** Requests the misbehaviour, and resolves when it has started. */
export async function misbehave(manager: Manager, how: string, what?: string): Promise<string> {
  const name = `m${++many}`
  const begun = manager.begun.first((other) => other === name)
  await manager.client.create(Misbehaving, {
    apiVersion: 'test.example.com/v1',
    kind: 'Misbehaving',
    metadata: { name, namespace: 'default' },
    spec: { how, ...(what !== undefined && { what }) },
  })
  await begun
  return name
}

export function conclusionOf(
  manager: Manager,
  name: string,
  holds: (ledger: Ledger) => boolean = () => true,
): Promise<Ledger> {
  return manager.ledgers.first(
    (ledger) =>
      ledger.operator === 'misbehaving' && ledger.key === `default/${name}` && ledger.path.length > 0 && holds(ledger),
  )
}

/** The same CR with correct behaviour: a restarted guest reconciles it. */
export async function recovers(manager: Manager, name: string): Promise<void> {
  const done = conclusionOf(manager, name, ({ failure }) => !failure)
  await manager.client.patch(
    Misbehaving,
    { namespace: 'default', name },
    { spec: { how: 'nothing' } },
    { type: 'merge' },
  )
  await manager.clock.advance(backOff.mostMs)
  await done
  const made: ConfigMap = await manager.client.get(ConfigMap, { namespace: 'default', name })
  expect(made.data).toEqual({ seen: 'nothing' })
}

/** The reason on the CR. */
export async function reasonOnCr(manager: Manager, name: string): Promise<string | undefined> {
  const { status }: Misbehaving = await manager.client.get(Misbehaving, { namespace: 'default', name })
  return status?.conditions?.find(({ type }) => type === 'Reconciled')?.reason
}

/** Real threads and processes are slow on a busy machine. */
export const slowTest = { timeout: 60_000 } as const

export interface ContainmentCases {
  /** Cases besides those of both levels: title, how, reason, message. */
  readonly cases: readonly (readonly [string, string, string, RegExp])[]
}

/** The guarantees of both levels. */
export function testContainment(level: Exclude<IsolationLevel, 'inline'>, { cases }: ContainmentCases): void {
  describe(`an operator at the level ${level}`, slowTest, () => {
    let manager: Manager
    beforeAll(async () => {
      const limits = { memoryMb: 48, messageBytes: 2 ** 20, reads: 500, reconcileMs: 20_000, backOff }
      manager = await openManager(level, { limits })
    }, slowTest.timeout)
    afterAll(() => manager.close())

    it('that blocks its event loop is ended, reported on its CR and restarted; the other operators continue meanwhile', async () => {
      const name = await misbehave(manager, 'spin')
      await manager.prove()
      // The heartbeat, and twice the time to answer it.
      await manager.clock.advance(1.5 * defaultGuestLimits.silentMs)
      const { failure, requeueAfterMs } = await conclusionOf(manager, name)
      expect(failure).toMatchObject({ reason: 'OperatorUnresponsive', retry: 'transient' })
      expect(requeueAfterMs).toBeGreaterThan(0)
      expect(await reasonOnCr(manager, name)).toBe('OperatorUnresponsive')
      await manager.prove()
      await recovers(manager, name)
    })

    it.each([
      ['leaks memory', 'leak', 'OperatorCrashed', /out of memory, of which it has 48 MiB/] as const,
      ['ends its process', 'exit', 'OperatorCrashed', /exit code 3/] as const,
      ['leaves a rejection alone', 'reject', 'OperatorCrashed', /left alone/] as const,
      ...cases,
    ])('that %s is ended and started again', async (_title, how, reason, message) => {
      const name = await misbehave(manager, how)
      await manager.prove()
      if (how === 'buffers') {
        // The buffers are full when the guest reconciles another object; they are checked four times a second.
        await conclusionOf(manager, await misbehave(manager, 'nothing'))
        await manager.clock.advance(250)
      }
      const { failure } = await conclusionOf(manager, name)
      expect(failure).toMatchObject({ reason, message: expect.stringMatching(message) as string })
      expect(await reasonOnCr(manager, name)).toBe(reason)
      await recovers(manager, name)
    })

    it('that hangs over one object fails there alone, and goes on with the others', async () => {
      const started = manager.lines.length
      const name = await misbehave(manager, 'hang')
      // The time of four heartbeats. Each is answered before another object is done.
      for (let sign = 0; sign < 4; sign++) {
        await manager.clock.advance(defaultGuestLimits.silentMs / 2)
        expect((await conclusionOf(manager, await misbehave(manager, 'nothing'))).failure).toBeUndefined()
      }
      expect((await conclusionOf(manager, name)).failure).toMatchObject({ reason: 'ReconcileTimeout' })
      expect(manager.lines.slice(started)).toEqual([])
      await recovers(manager, name)
    })

    it.each([
      ['throws', 'throw', 'Error', /on purpose/],
      ['says too much at once', 'huge', 'GuestMisbehaved', /1048576 bytes are allowed/],
      ['changes what it has read', 'freeze', 'FrozenObject', /data/],
      ['changes its CR', 'freezeCr', 'FrozenObject', /name/],
      ['reads what it did not declare', 'undeclared', 'UndeclaredInput', /secrets\/v1/],
    ])('that %s fails, and is not ended', async (_title, how, reason, message) => {
      await manager.prove()
      const started = manager.lines.length
      const name = await misbehave(manager, how)
      const { failure } = await conclusionOf(manager, name)
      expect(failure).toMatchObject({ reason, message: expect.stringMatching(message) as string })
      expect(manager.lines.slice(started)).toEqual([])
      await recovers(manager, name)
    })

    it('asks once for what it reads twice, and is given the same', async () => {
      const name = await misbehave(manager, 'twice')
      await conclusionOf(manager, name)
      const { status }: Misbehaving = await manager.client.get(Misbehaving, { namespace: 'default', name })
      expect(status?.seen).toBe('true')
      expect(manager.begun.past.filter((other) => other === name)).toEqual([name])
    })

    it('can reach neither network nor files, programs, threads, signals, databases or the environment', async () => {
      const folder = mkdtempSync(path.join(tmpdir(), 'muster-secret-'))
      const file = path.join(folder, 'kubeconfig')
      writeFileSync(file, 'secret')
      const server = await listen()
      try {
        const { port } = server.address() as { readonly port: number }
        const name = await misbehave(manager, 'snoop', JSON.stringify({ port, file, folder }))
        await conclusionOf(manager, name)
        const { status }: Misbehaving = await manager.client.get(Misbehaving, { namespace: 'default', name })
        expect(status?.seen).toBe('nothing')
      } finally {
        server.close()
        rmSync(folder, { recursive: true })
      }
    })
  })

  describe(`the level ${level}`, slowTest, () => {
    it('does not open for a module that throws when it is loaded', async () => {
      await expect(openRunner(level, { module: here('misbehaving-guest/throws-at-load.ts') })).rejects.toMatchObject({
        name: 'OperatorNotLoaded',
        message: expect.stringContaining('on purpose, at load') as string,
      })
    })

    it('does not wait longer than it may for a module that is never loaded', async () => {
      const clock = virtualClock()
      const opening = openRunner(level, { module: here('misbehaving-guest/spins-at-load.ts'), clock })
      const ended = opening.then(
        () => undefined,
        (error: unknown) => error,
      )
      // The preceding work takes real time; the limit itself is advanced by hand.
      const state = { isOver: false }
      void ended.finally(() => (state.isOver = true))
      while (!state.isOver) await clock.advance(defaultGuestLimits.startMs)
      expect(await ended).toMatchObject({ name: 'OperatorUnresponsive' })
    })

    // Its own module is the only file that cannot be hidden from it.
    const within = { module: misbehaving, secrets: [misbehaving] }

    it('is refused where a secret is within reach, and says what is not enforced', async () => {
      await expect(openRunner(level, within)).rejects.toMatchObject({
        name: 'IsolationRefused',
        message: expect.stringContaining('files') as string,
      })
    })

    it('cannot read the working directory of the manager, which is not its own', async () => {
      const secrets = [path.resolve('README.md'), path.resolve('scripts', 'test.ts')]
      const runner = await openRunner(level, { module: misbehaving, secrets })
      // Opened: it tried to read them, and failed.
      expect(runner.level).toBe(level)
      await runner.close()
    })

    it('is not enforced only where that is allowed, and then says so loudly', async () => {
      const lines: JsonObject[] = []
      const runner = await openRunner(level, { ...within, allowUnenforced: true, log: (line) => void lines.push(line) })
      await runner.close()
      expect(lines).toContainEqual(
        expect.objectContaining({
          msg: expect.stringContaining('NOT ISOLATED') as string,
          error: expect.stringContaining('files') as string,
        }),
      )
    })
  })
}

async function listen(): Promise<Server> {
  const server = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return server
}
