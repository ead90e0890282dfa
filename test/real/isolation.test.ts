/**
 * Operators in a process of their own, with the walls of this machine around them. Where it has none (no user namespaces,
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
import { type Condition, findCondition } from '../../src/kube/condition.ts'
import type { UntypedObject } from '../../src/kube/object.ts'
import { Mischief } from '../../src/manager/isolation/mischief/operator.ts'
import { openRunner } from '../../src/manager/isolation/open-runner.ts'
import type { IsolationLevel } from '../../src/manager/isolation/runner.ts'
import { createManager } from '../../src/manager/hosting/manager.ts'
import { ConfigMap } from '../../src/operator/kinds.ts'
import type { Ledger } from '../../src/operator/ledger.ts'
import type { Canary } from '../../src/manager/isolation/protocol.ts'
import { type SandboxOptions, sandboxTrouble } from '../../src/manager/isolation/sandbox.ts'
import { backOff, containment, crds, events, here, patience } from '../isolated.ts'
import { sameAt } from '../levels.ts'

const home = mkdtempSync(path.join(tmpdir(), 'muster-walls-'))
afterAll(() => rmSync(home, { recursive: true }))
const walls: SandboxOptions = {
  root: mkdtempSync(path.join(home, 'root-')),
  readable: [process.execPath],
  memoryMb: 1024,
}
/** Nobody listens there: what is asked is whether there can be walls at all. */
const trouble = await sandboxTrouble(walls, { port: 1, files: [] })

const behindWalls = (): void => {
  containment('process', {
    deeds: [
      ['wants wave after wave', 'waves', 'GuestMisbehaved', /wave 65 of one reconcile/],
      [
        'announces more than is allowed, past the kit',
        'flood',
        'GuestMisbehaved',
        /4294967295 bytes at once; 1048576 are/,
      ],
      ['says what nobody understands, past the kit', 'forge', 'GuestMisbehaved', /a message that makes no sense/],
      ['says what is no JSON, past the kit', 'garble', 'GuestMisbehaved', /something that is no JSON/],
      ['gives signs of life without an end, past the kit', 'chatter', 'GuestMisbehaved', /keeps sending messages/],
    ],
  })
  sameAt(['inline', 'process'])
  describeWalls()
}

const withoutWalls = (why: string): void => {
  describe('the level process, on a machine without walls', patience, () => {
    it('is refused, with cause and cure', async () => {
      expect(why).toMatch(/; install util-linux$|; allow unprivileged user namespaces here|it needs Linux$/)
      await expect(openRunner('process', { module: here('mischief/operator.ts') })).rejects.toMatchObject({
        name: 'IsolationRefused',
        message: expect.stringContaining(why) as string,
      })
    })
  })
}

describeMachine()
describeServer(trouble === undefined ? ['worker', 'process'] : ['worker'])

function describeMachine(): void {
  if (trouble === undefined) behindWalls()
  else withoutWalls(trouble)
}

function describeWalls(): void {
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

    it('keeps a program from network, files and signals without any help of that program', async () => {
      expect(await sandboxTrouble(walls, canary)).toBeUndefined()
    })

    it('shows what it already shows only once', async () => {
      const twice = [...walls.readable, path.dirname(process.execPath), '/usr/bin/env']
      expect(await sandboxTrouble({ ...walls, readable: twice }, canary)).toBeUndefined()
    })

    it('that does not hold is found out, and what got through is named', async () => {
      const open = { ...walls, readable: [...walls.readable, file] }
      expect(await sandboxTrouble(open, canary)).toBe(`its walls do not hold: files (${file})`)
    })

    it.each([
      ['has no place to be', { root: '/nowhere' }, /\/nowhere/],
      ['has something to show that is not there', { readable: [process.execPath, '/nothing'] }, /\/nothing/],
      ['has no memory for Node itself', { memoryMb: 64 }, /exit code|ulimit|memory|Fatal/i],
    ])('that %s cannot be built, and says why', async (_what, wrong, why) => {
      const found = await sandboxTrouble({ ...walls, ...wrong }, canary)
      expect(found).toMatch(/^no sandbox can be built/)
      expect(found).toMatch(why)
    })
  })
}

function describeServer(levels: readonly Exclude<IsolationLevel, 'inline'>[]): void {
  describe('on a real server', patience, () => {
    let client: Client
    beforeAll(async () => {
      client = createClient({
        transport: httpTransport(await connectionFromKubeconfig(inject('cluster').kubeconfig), { clock: systemClock }),
      })
      await client.create(crds, Mischief.crd() as unknown as UntypedObject)
      const name = `${Mischief.plural}.${Mischief.group}`
      for await (const { object } of client.watch(crds, { fieldSelector: `metadata.name=${name}` })) {
        const { conditions = [] } = (object as { readonly status?: { readonly conditions?: readonly Condition[] } })
          .status ?? { conditions: [] }
        if (findCondition(conditions, 'Established')?.status === 'True') break
      }
    }, patience.timeout)
    afterAll(async () => {
      await client.delete(crds, { name: `${Mischief.plural}.${Mischief.group}` })
      await client.close()
    })

    it.each(levels)('an operator at the level %s works, crashes, says so on its CR, and works again', async (level) => {
      const ledgers = events<Ledger>()
      const runner = await openRunner(level, { module: here('mischief/operator.ts'), limits: { backOff } })
      const manager = createManager({ client, onLedger: (ledger) => ledgers.push(ledger) })
      const name = { namespace: 'default', name: `isolation-suite-${level}` }
      const cr = (how: string): UntypedObject => ({
        apiVersion: 'test.example.com/v1',
        kind: 'Mischief',
        metadata: name,
        spec: { how },
      })
      try {
        await manager.add(runner.operator, { run: runner.run })
        await client.create(Mischief, cr('nothing'))
        await ledgers.first(({ failure, path: steps }) => !failure && steps.length > 0)
        expect(await client.get(ConfigMap, name)).toMatchObject({ data: { seen: 'nothing' } })
        await client.patch(Mischief, name, { spec: { how: 'exit' } }, { type: 'merge' })
        const { failure } = await ledgers.first((ledger) => ledger.failure !== undefined)
        expect(failure).toMatchObject({
          reason: 'OperatorCrashed',
          message: expect.stringContaining('exit code 3') as string,
        })
        const told: Mischief = await client.get(Mischief, name)
        expect(told.status?.conditions).toContainEqual(
          expect.objectContaining({ type: 'Reconciled', reason: 'OperatorCrashed' }),
        )
        const crashed = ledgers.past.length
        await client.patch(Mischief, name, { spec: { how: 'twice' } }, { type: 'merge' })
        await ledgers.first(
          (ledger) => ledgers.past.indexOf(ledger) >= crashed && !ledger.failure && ledger.path.length > 0,
        )
        expect(await client.get(ConfigMap, name)).toMatchObject({ data: { seen: 'true' } })
      } finally {
        await runner.close()
        await manager.stop()
        // What was never made is gone already.
        for (const kind of [Mischief, ConfigMap]) await client.delete(kind, name).catch(() => undefined)
      }
    })
  })
}
