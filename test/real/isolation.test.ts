/**
 * Operators in a process of their own, in the sandbox of this machine. Where it has none (no user namespaces,
 * no util-linux, a container that forbids unshare) the level must be refused, and say why: that is looked at instead.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { Client } from '../../src/client/client.ts'
import { createClient } from '../../src/client/create-client.ts'
import { httpTransport } from '../../src/client/http/http-transport.ts'
import { connectionFromKubeconfig } from '../../src/client/load-connection.ts'
import { systemClock } from '../../src/clock/system-clock.ts'
import { type Condition, findCondition } from '../../src/kube/meta/condition.ts'
import type { UntypedObject } from '../../src/kube/object.ts'
import { Misbehaving } from '../../src/manager/isolation/misbehaving-guest/operator.ts'
import { openRunner } from '../../src/manager/isolation/open-runner.ts'
import type { IsolationLevel } from '../../src/manager/isolation/runner.ts'
import { createManager } from '../../src/manager/hosting/manager.ts'
import { ConfigMap } from '../../src/kube/kinds.ts'
import type { Ledger } from '../../src/operator/ledger.ts'
import type { Canary } from '../../src/manager/isolation/protocol/protocol.ts'
import { type SandboxOptions, sandboxProblem } from '../../src/manager/isolation/sandbox/sandbox.ts'
import { backOff, testContainment, crds, events, here, slowTest } from '../misbehaving-guests.ts'
import { expectSameAt } from '../isolation-levels.ts'

const home = mkdtempSync(path.join(tmpdir(), 'muster-sandbox-'))
afterAll(() => rmSync(home, { recursive: true }))
const sandboxOptions: SandboxOptions = {
  root: mkdtempSync(path.join(home, 'root-')),
  readable: [process.execPath],
  memoryMb: 1024,
}
/** Whether this machine can run a sandbox at all. No server listens on the port. */
const problem = await sandboxProblem(sandboxOptions, { port: 1, files: [] })

const describeProcessLevel = (): void => {
  testContainment('process', {
    cases: [
      ['yields waves without an end', 'waves', 'GuestMisbehaved', /wave 65 of one reconcile/],
      [
        'announces more than is allowed, bypassing the kit',
        'flood',
        'GuestMisbehaved',
        /4294967295 bytes at once; 1048576 are/,
      ],
      ['sends unknown messages, bypassing the kit', 'forge', 'GuestMisbehaved', /a message that makes no sense/],
      ['sends invalid JSON, bypassing the kit', 'garble', 'GuestMisbehaved', /something that is no JSON/],
      ['sends heartbeats without an end, bypassing the kit', 'chatter', 'GuestMisbehaved', /keeps sending messages/],
    ],
  })
  expectSameAt(['inline', 'process'])
  describeSandbox()
}

const describeWithoutSandbox = (why: string): void => {
  describe('the level process, on a machine without namespaces', slowTest, () => {
    it('is rejected, with cause and cure', async () => {
      expect(why).toMatch(/; install util-linux$|; allow unprivileged user namespaces here|it needs Linux$/)
      await expect(openRunner('process', { module: here('misbehaving-guest/operator.ts') })).rejects.toMatchObject({
        name: 'IsolationRefused',
        message: expect.stringContaining(why) as string,
      })
    })
  })
}

describeMachine()
describeServer(problem === undefined ? ['worker', 'process'] : ['worker'])

function describeMachine(): void {
  if (problem === undefined) describeProcessLevel()
  else describeWithoutSandbox(problem)
}

function describeSandbox(): void {
  describe('a sandbox', () => {
    const file = path.join(home, 'secret')
    let server: Server
    let canary: Canary
    beforeAll(async () => {
      writeFileSync(file, 'secret')
      server = createServer((socket) => socket.destroy())
      await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
      canary = { port: (server.address() as { readonly port: number }).port, files: [file] }
    })
    afterAll(() => void server.close())

    it('keeps a program from network, files and signals without its cooperation', async () => {
      expect(await sandboxProblem(sandboxOptions, canary)).toBeUndefined()
    })

    it('mounts an already visible path once', async () => {
      const twice = [...sandboxOptions.readable, path.dirname(process.execPath), '/usr/bin/env']
      expect(await sandboxProblem({ ...sandboxOptions, readable: twice }, canary)).toBeUndefined()
    })

    it('that leaks is detected, with the name of the leak', async () => {
      const open = { ...sandboxOptions, readable: [...sandboxOptions.readable, file] }
      expect(await sandboxProblem(open, canary)).toBe(`the sandbox leaks: files (${file})`)
    })

    it.each([
      ['has no folder to run in', { root: '/nowhere' }, /\/nowhere/],
      ['exposes a missing file', { readable: [process.execPath, '/nothing'] }, /\/nothing/],
      ['has too little memory for Node itself', { memoryMb: 64 }, /exit code|ulimit|memory|Fatal/i],
    ])('that %s cannot be created, and says why', async (_what, wrong, why) => {
      const found = await sandboxProblem({ ...sandboxOptions, ...wrong }, canary)
      expect(found).toMatch(/^no sandbox can be built/)
      expect(found).toMatch(why)
    })
  })
}

function describeServer(levels: readonly Exclude<IsolationLevel, 'inline'>[]): void {
  describe('on a real server', slowTest, () => {
    let client: Client
    beforeAll(async () => {
      client = createClient({
        transport: httpTransport(await connectionFromKubeconfig(inject('cluster').kubeconfig), { clock: systemClock }),
      })
      await client.create(crds, Misbehaving.crd() as unknown as UntypedObject)
      const name = `${Misbehaving.plural}.${Misbehaving.group}`
      for await (const { object } of client.watch(crds, { fieldSelector: `metadata.name=${name}` })) {
        const { conditions = [] } = (object as { readonly status?: { readonly conditions?: readonly Condition[] } })
          .status ?? { conditions: [] }
        if (findCondition(conditions, 'Established')?.status === 'True') break
      }
    }, slowTest.timeout)
    afterAll(async () => {
      await client.delete(crds, { name: `${Misbehaving.plural}.${Misbehaving.group}` })
      await client.close()
    })

    it.each(levels)('an operator at the level %s works, crashes, reports it on its CR, and recovers', async (level) => {
      const ledgers = events<Ledger>()
      const runner = await openRunner(level, { module: here('misbehaving-guest/operator.ts'), limits: { backOff } })
      const manager = createManager({ client, onLedger: (ledger) => ledgers.push(ledger) })
      const name = { namespace: 'default', name: `isolation-suite-${level}` }
      const cr = (how: string): UntypedObject => ({
        apiVersion: 'test.example.com/v1',
        kind: 'Misbehaving',
        metadata: name,
        spec: { how },
      })
      try {
        await manager.add(runner.operator, { run: runner.run })
        await client.create(Misbehaving, cr('nothing'))
        await ledgers.first(({ failure, path: steps }) => !failure && steps.length > 0)
        expect(await client.get(ConfigMap, name)).toMatchObject({ data: { seen: 'nothing' } })
        await client.patch(Misbehaving, name, { spec: { how: 'exit' } }, { type: 'merge' })
        const { failure } = await ledgers.first((ledger) => ledger.failure !== undefined)
        expect(failure).toMatchObject({
          reason: 'OperatorCrashed',
          message: expect.stringContaining('exit code 3') as string,
        })
        const told: Misbehaving = await client.get(Misbehaving, name)
        expect(told.status?.conditions).toContainEqual(
          expect.objectContaining({ type: 'Reconciled', reason: 'OperatorCrashed' }),
        )
        const crashed = ledgers.past.length
        await client.patch(Misbehaving, name, { spec: { how: 'twice' } }, { type: 'merge' })
        await ledgers.first(
          (ledger) => ledgers.past.indexOf(ledger) >= crashed && !ledger.failure && ledger.path.length > 0,
        )
        expect(await client.get(ConfigMap, name)).toMatchObject({ data: { seen: 'true' } })
      } finally {
        await runner.close()
        await manager.stop()
        // What was never made is gone already.
        for (const kind of [Misbehaving, ConfigMap]) await client.delete(kind, name).catch(() => undefined)
      }
    })
  })
}
