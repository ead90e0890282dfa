/**
 * Operators that misbehave in every way we know, in a worker and in a process, on an embedded server and beside an operator
 * that behaves. Threads and processes are real; the clock that watches them is moved by hand, so nothing here waits for
 * time to pass.
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
import { ConfigMap } from '../src/operator/kinds.ts'
import type { Ledger } from '../src/operator/ledger.ts'
import type { Situation } from '../src/operator/reconcile.ts'
import { app, App, appOperator } from './kit.ts'
import { type OperatorHost, hostOperator } from '../src/manager/hosting/host.ts'
import { defaultGuestLimits } from '../src/manager/isolation/limits.ts'
import { Mischief } from '../src/manager/isolation/mischief/operator.ts'
import { openRunner, type RunnerOptions } from '../src/manager/isolation/open-runner.ts'
import type { IsolationLevel, Runner } from '../src/manager/isolation/runner.ts'

/** A file of the isolation tests. */
export const here = (name: string): string =>
  fileURLToPath(new URL(`../src/manager/isolation/${name}`, import.meta.url))
const mischief = here('mischief/operator.ts')

export const crds: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
}

/** What happened, and what will. */
export interface Events<T> {
  readonly past: readonly T[]
  push(event: T): void
  /** The first of which it holds, of those that were and those that come. */
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

/** A manager with two operators: one that behaves, and one that does what it is told. */
export interface Manager {
  readonly client: Client
  readonly runner: Runner
  /** Moved by hand: it watches the guest. */
  readonly clock: VirtualClock
  readonly ledgers: Events<Ledger>
  readonly begun: Events<string>
  readonly lines: JsonObject[]
  /** The other operator takes a new CR from its creation to its end. */
  prove(): Promise<void>
  close(): Promise<void>
}

export async function openManager(level: IsolationLevel, options: Partial<RunnerOptions> = {}): Promise<Manager> {
  const clock = virtualClock()
  const lines: JsonObject[] = []
  const log = (line: JsonObject): void => void lines.push(line)
  const runner = await openRunner(level, { module: mischief, clock, log, ...options })
  const client = createClient({ transport: inProcessTransport(createApiServer({ clock: systemClock })) })
  const ledgers = events<Ledger>()
  const begun = events<string>()
  const good = appOperator({
    writes: [ConfigMap],
    reconcile: ({ cr }) => ({
      objects: [
        { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: cr.metadata.name ?? '', namespace: 'default' } },
      ],
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
      // First the guest: what it keeps under way would be waited for.
      await runner.close()
      await Promise.all(hosts.map((host) => host.stop()))
      cache.close()
      await client.close()
    },
  }
}

export const backOff = { firstMs: 10, mostMs: 1000 }
let many = 0

/** Asks for it, and resolves when the deed is under way. */
export async function ask(manager: Manager, how: string, what?: string): Promise<string> {
  const name = `m${++many}`
  const begun = manager.begun.first((other) => other === name)
  await manager.client.create(Mischief, {
    apiVersion: 'test.example.com/v1',
    kind: 'Mischief',
    metadata: { name, namespace: 'default' },
    spec: { how, ...(what !== undefined && { what }) },
  })
  await begun
  return name
}

export function concluded(
  manager: Manager,
  name: string,
  holds: (ledger: Ledger) => boolean = () => true,
): Promise<Ledger> {
  return manager.ledgers.first(
    (ledger) =>
      ledger.operator === 'mischief' && ledger.key === `default/${name}` && ledger.path.length > 0 && holds(ledger),
  )
}

/** The same CR, reformed: it is reconciled by a guest that was started again. */
export async function recovers(manager: Manager, name: string): Promise<void> {
  const done = concluded(manager, name, ({ failure }) => !failure)
  await manager.client.patch(Mischief, { namespace: 'default', name }, { spec: { how: 'nothing' } }, { type: 'merge' })
  await manager.clock.advance(backOff.mostMs)
  await done
  const made: ConfigMap = await manager.client.get(ConfigMap, { namespace: 'default', name })
  expect(made.data).toEqual({ seen: 'nothing' })
}

/** What the CR says about it. */
export async function reasonOn(manager: Manager, name: string): Promise<string | undefined> {
  const { status }: Mischief = await manager.client.get(Mischief, { namespace: 'default', name })
  return status?.conditions?.find(({ type }) => type === 'Reconciled')?.reason
}

/** Real threads and processes on a busy machine take what they take. */
export const patience = { timeout: 60_000 } as const

export interface Containment {
  /** Deeds beside those that are the same at either level, and what becomes of them: how, reason, message. */
  readonly deeds: readonly (readonly [string, string, string, RegExp])[]
}

/** What holds at either level. */
export function containment(level: Exclude<IsolationLevel, 'inline'>, { deeds }: Containment): void {
  describe(`an operator at the level ${level}`, patience, () => {
    let manager: Manager
    beforeAll(async () => {
      const limits = { memoryMb: 48, messageBytes: 2 ** 20, reads: 500, reconcileMs: 20_000, backOff }
      manager = await openManager(level, { limits })
    }, patience.timeout)
    afterAll(() => manager.close())

    it('that blocks its event loop is ended, told of on its CR and started again; the others go on meanwhile', async () => {
      const name = await ask(manager, 'spin')
      await manager.prove()
      // Asked for a sign of life, and given twice the time to give one.
      await manager.clock.advance(1.5 * defaultGuestLimits.silentMs)
      const { failure, requeueAfterMs } = await concluded(manager, name)
      expect(failure).toMatchObject({ reason: 'OperatorUnresponsive', retry: 'transient' })
      expect(requeueAfterMs).toBeGreaterThan(0)
      expect(await reasonOn(manager, name)).toBe('OperatorUnresponsive')
      await manager.prove()
      await recovers(manager, name)
    })

    it.each([
      ['leaks memory', 'leak', 'OperatorCrashed', /out of memory, of which it has 48 MiB/] as const,
      ['ends its process', 'exit', 'OperatorCrashed', /exit code 3/] as const,
      ['leaves a rejection alone', 'reject', 'OperatorCrashed', /left alone/] as const,
      ...deeds,
    ])('that %s is ended and started again', async (_deed, how, reason, message) => {
      const name = await ask(manager, how)
      await manager.prove()
      if (how === 'buffers') {
        // They are full when it has time for another object; how full, is looked at four times a second.
        await concluded(manager, await ask(manager, 'nothing'))
        await manager.clock.advance(250)
      }
      const { failure } = await concluded(manager, name)
      expect(failure).toMatchObject({ reason, message: expect.stringMatching(message) as string })
      expect(await reasonOn(manager, name)).toBe(reason)
      await recovers(manager, name)
    })

    it('that hangs over one object fails there alone, and goes on with the others', async () => {
      const started = manager.lines.length
      const name = await ask(manager, 'hang')
      // The time of four signs of life. Each is given before another object is done with.
      for (let sign = 0; sign < 4; sign++) {
        await manager.clock.advance(defaultGuestLimits.silentMs / 2)
        expect((await concluded(manager, await ask(manager, 'nothing'))).failure).toBeUndefined()
      }
      expect((await concluded(manager, name)).failure).toMatchObject({ reason: 'ReconcileTimeout' })
      expect(manager.lines.slice(started)).toEqual([])
      await recovers(manager, name)
    })

    it.each([
      ['throws', 'throw', 'Error', /on purpose/],
      ['says too much at once', 'huge', 'GuestMisbehaved', /1048576 bytes are allowed/],
      ['changes what it has read', 'freeze', 'FrozenObject', /data/],
      ['changes its CR', 'freezeCr', 'FrozenObject', /name/],
      ['reads what it did not declare', 'undeclared', 'UndeclaredInput', /secrets\/v1/],
    ])('that %s fails, and is not ended', async (_deed, how, reason, message) => {
      await manager.prove()
      const started = manager.lines.length
      const name = await ask(manager, how)
      const { failure } = await concluded(manager, name)
      expect(failure).toMatchObject({ reason, message: expect.stringMatching(message) as string })
      expect(manager.lines.slice(started)).toEqual([])
      await recovers(manager, name)
    })

    it('asks once for what it reads twice, and is given the same', async () => {
      const name = await ask(manager, 'twice')
      await concluded(manager, name)
      const { status }: Mischief = await manager.client.get(Mischief, { namespace: 'default', name })
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
        const name = await ask(manager, 'snoop', JSON.stringify({ port, file, folder }))
        await concluded(manager, name)
        const { status }: Mischief = await manager.client.get(Mischief, { namespace: 'default', name })
        expect(status?.seen).toBe('nothing')
      } finally {
        server.close()
        rmSync(folder, { recursive: true })
      }
    })
  })

  describe(`the level ${level}`, patience, () => {
    it('does not open for a module that throws when it is loaded', async () => {
      await expect(openRunner(level, { module: here('mischief/throws-at-load.ts') })).rejects.toMatchObject({
        name: 'OperatorNotLoaded',
        message: expect.stringContaining('on purpose, at load') as string,
      })
    })

    it('does not wait longer than it may for a module that is never loaded', async () => {
      const clock = virtualClock()
      const opening = openRunner(level, { module: here('mischief/spins-at-load.ts'), clock })
      const ended = opening.then(
        () => undefined,
        (error: unknown) => error,
      )
      // What has to be looked at first takes its time; the limit itself is moved by hand.
      const state = { isOver: false }
      void ended.finally(() => (state.isOver = true))
      while (!state.isOver) await clock.advance(defaultGuestLimits.startMs)
      expect(await ended).toMatchObject({ name: 'OperatorUnresponsive' })
    })

    // Its own module is the one file that cannot be kept from it.
    const within = { module: mischief, secrets: [mischief] }

    it('is refused where a secret is within reach, and says what is not enforced', async () => {
      await expect(openRunner(level, within)).rejects.toMatchObject({
        name: 'IsolationRefused',
        message: expect.stringContaining('files') as string,
      })
    })

    it('cannot read the working directory of the manager, which is not its own', async () => {
      const secrets = [path.resolve('README.md'), path.resolve('scripts', 'test.ts')]
      const runner = await openRunner(level, { module: mischief, secrets })
      // Opened: it has tried to read them, and could not.
      expect(runner.level).toBe(level)
      await runner.close()
    })

    it('is not enforced only where that is allowed, and then says so loudly', async () => {
      const lines: JsonObject[] = []
      const runner = await openRunner(level, { ...within, allowUnenforced: true, log: (line) => void lines.push(line) })
      await runner.close()
      expect(lines.map(({ warning }) => warning)).toContainEqual(expect.stringMatching(/^NOT ISOLATED .*files/))
    })
  })
}

async function listen(): Promise<Server> {
  const server = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return server
}
