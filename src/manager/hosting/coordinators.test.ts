import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { crds, embedded } from '../../../test/embedded.ts'
import {
  harbourConfig,
  harbourCoordinator,
  type HarbourCoordinator,
  harbourOperator,
  pier,
  Ship,
  ship,
} from '../../../test/coordinator-operator.ts'
import { createSharedCache } from '../../cache/shared-cache.ts'
import type { JsonObject } from '../../kube/json.ts'
import { ConfigMap, Secret } from '../../kube/kinds.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import { defineController } from '../../operator/controller.ts'
import { Coordination } from '../../operator/coordinator/coordination.ts'
import { type CoordinatorChange, defineCoordinator } from '../../operator/coordinator/coordinator.ts'
import type { Ledger } from '../../operator/ledger.ts'
import { defineOperator, type Operator } from '../../operator/operator.ts'
import { noReferences } from '../../operator/view/coverage.ts'
import { labelled, referenced } from '../../operator/view/input.ts'
import type { Finding } from '../findings/finding.ts'
import { createMetrics } from '../observability/metrics.ts'
import { hostOperator } from './host.ts'
import { createManager, type HostedOptions } from './manager.ts'

let close: (() => Promise<void>) | undefined
afterEach(() => close?.())

/** An operator on a manager; its CRD is installed. */
async function open(operator: Operator, { isBare = false, ...hosting }: HostedOptions & { isBare?: boolean } = {}) {
  const { clock, client, server } = embedded()
  const ledgers: Ledger[] = []
  const lines: JsonObject[] = []
  const findings: Finding[] = []
  const metrics = createMetrics()
  const manager = createManager({
    client,
    clock,
    metrics,
    log: (line) => void lines.push(line),
    onLedger: (ledger) => void ledgers.push(ledger),
    onFinding: (finding) => void findings.push(finding),
  })
  const until = async <T>(promise: Promise<T>): Promise<T> => {
    let isDone = false
    const noting = promise.finally(() => (isDone = true))
    noting.catch(() => undefined)
    await clock.until(() => isDone)
    return await promise
  }
  if (!isBare) await client.create(crds, Ship.crd() as unknown as UntypedObject)
  await until(manager.add(operator, hosting))
  close = () => until(manager.stop())
  const rest = async (ms = 2000): Promise<void> => {
    await clock.advance(ms)
    await until(manager.idle())
    await clock.settle()
  }
  const docked = async (): Promise<readonly string[]> => {
    const { items } = await client.list(Ship)
    return items.flatMap(({ metadata, status }) => (status?.isDocked === true ? [metadata.name] : [])).toSorted()
  }
  return { clock, client, server, manager, ledgers, lines, findings, metrics, until, rest, docked }
}

const place = (name: string) => ({ name, namespace: 'default' })

describe('a coordinator in a manager', () => {
  it('is asked once for a batch of changes, before the CRs that they concern run', async () => {
    const batches: number[] = []
    let taken = 0
    const coordinator = harbourCoordinator({
      onTake: () => void taken++,
      onDecide: () => {
        batches.push(taken)
        taken = 0
      },
    })
    const { client, rest, ledgers, metrics, docked } = await open(harbourOperator(coordinator))
    await client.create(ConfigMap, pier('one', 100))
    await rest()
    batches.length = 0
    await Promise.all(Array.from({ length: 50 }, (_, index) => client.create(Ship, ship(`s${index}`, { length: 2 }))))
    await rest()
    expect(await docked()).toHaveLength(50)
    // One for the new ships, and few for what the reconciles wrote.
    expect(batches[0]).toBe(50)
    expect(batches.length).toBeLessThan(20)
    // No CR ran without its decision, and none twice for it: one status write each.
    expect(ledgers).toHaveLength(50)
    expect(
      ledgers.filter(({ entries }) => entries.some(({ operation }) => operation === 'statusWritten')),
    ).toHaveLength(50)
    const text = metrics.render()
    expect(text).toContain('muster_coordinator_decide_time_seconds_count{coordinator="harbour/harbour"}')
    expect(text).toContain('muster_coordinator_decisions_total{coordinator="harbour/harbour"} 50')
  })

  it('has the decisions of a fresh list, whatever happens to the objects, and each reader has the last one', async () => {
    const edit = fc.record({
      what: fc.constantFrom(
        'ship',
        'ship',
        'pier',
        'pier',
        'delete ship',
        'delete pier',
        'priority',
        'rest',
        'restart',
      ),
      name: fc.constantFrom('a', 'b', 'c', 'd'),
      length: fc.integer({ min: 1, max: 6 }),
    })
    // Different decisions are made, and change, in most runs.
    let decisions = 0
    await fc.assert(
      fc.asyncProperty(fc.array(edit, { minLength: 15, maxLength: 40, size: 'max' }), async (edits) => {
        let taken = new Map<string, KubeObject>()
        const coordinator = harbourCoordinator({
          onTake({ resource, object, before }) {
            const id = `${resource.kind} ${(object ?? before)!.metadata.name}`
            expect(before).toBe(taken.get(id))
            if (object) taken.set(id, object)
            else taken.delete(id)
          },
        })
        const seen = new Map<string, unknown>()
        const operator = observing(coordinator, seen)
        const { client, manager, rest, until } = await open(operator)
        const ignore = (work: Promise<unknown>): Promise<unknown> => work.catch(() => undefined)
        for (const { what, name, length } of edits) {
          if (what === 'ship') await ignore(client.create(Ship, ship(name, { length })))
          if (what === 'pier') await ignore(client.create(ConfigMap, pier(name, length)))
          if (what === 'delete ship') await ignore(client.delete(Ship, place(name)))
          if (what === 'delete pier') await ignore(client.delete(ConfigMap, place(name)))
          if (what === 'priority')
            await ignore(client.patch(Ship, place(name), { spec: { priority: length } }, { type: 'merge' }))
          if (what === 'rest') await rest(length)
          if (what === 'restart') {
            await until(manager.remove('harbour'))
            taken = new Map()
            await until(manager.add(operator))
          }
        }
        await rest()
        const fresh = new Coordination(harbourCoordinator(), noReferences)
        const ships = await client.list(Ship)
        const piers = await client.list(ConfigMap, { labelSelector: 'pier=yes' })
        fresh.start(harbourConfig.read({}), {
          list: ({ kind }): readonly KubeObject[] => (kind === 'Ship' ? ships.items : piers.items),
        })
        fresh.decide(0)
        decisions += fresh.decisions.size
        const uids = new Set(ships.items.map(({ metadata }) => metadata.uid))
        expect(Object.fromEntries([...seen].filter(([uid]) => uids.has(uid)))).toEqual(
          Object.fromEntries(fresh.decisions),
        )
        await close?.()
        close = undefined
      }),
      { numRuns: 15 },
    )
    expect(decisions).toBeGreaterThan(5)
  })

  it('that fails decides nothing until it has started anew from a fresh list; CRs are suspended meanwhile', async () => {
    let failing: string | undefined
    const coordinator = harbourCoordinator({
      onTake: ({ object }) => {
        if (object?.metadata.name === failing) throw new Error('an odd ship')
      },
    })
    const { client, clock, rest, ledgers, findings, lines, docked, metrics } = await open(harbourOperator(coordinator))
    await client.create(ConfigMap, pier('one', 10))
    await client.create(Ship, ship('a', { length: 1 }))
    await rest()
    failing = 'b'
    await client.create(Ship, ship('b', { length: 1 }))
    await client.create(Ship, ship('c', { length: 1 }))
    await clock.settle()
    expect(ledgers.at(-1)).toMatchObject({ isSuspended: true, waiting: 'the decisions of coordinator harbour' })
    expect(await docked()).toEqual(['a'])
    expect(lines.filter(({ level }) => level === 'error').map(({ msg }) => msg)).toEqual([
      'harbour, coordinator harbour: failed, and starts anew in 1 s: an odd ship',
    ])
    // Each attempt fails, later and later.
    await clock.advance(20_000)
    const message = (seconds: number): string => `failed, and starts anew in ${seconds} s: an odd ship`
    expect(findings.map((finding) => 'message' in finding && finding.message)).toEqual([1, 2, 4, 8, 16].map(message))
    expect(metrics.render()).toContain('muster_findings_total{controller="harbour/harbour",kind="coordinator"} 5')
    expect(await docked()).toEqual(['a'])
    failing = undefined
    await rest(20_000)
    expect(await docked()).toEqual(['a', 'b', 'c'])
    expect((await client.get(Ship, place('a'))).status?.conditions?.[0]).toMatchObject({ status: 'True' })
  })

  it('that asks for a time that has passed, or flips for ever, is reported and slowed down', async () => {
    let asked = 0
    const coordinator = defineCoordinator({
      name: 'restless',
      reads: [ConfigMap],
      start: () => ({ flips: 0 }),
      take: () => undefined,
      decide: (state, now) => ({ decisions: [['x', ++asked && ++state.flips]], again: now + 1 }),
    })
    const controller = defineController({ for: Ship, coordinators: [coordinator], reconcile: () => ({}) })
    const { clock, client, findings } = await open(defineOperator({ name: 'restless', controllers: [controller] }))
    await clock.advance(600_000)
    expect(asked).toBeLessThan(60)
    expect(findings).toMatchObject([{ kind: 'coordinator', controller: 'restless', key: '' }])
    // A change of an input is decided at once all the same.
    const before = asked
    await client.create(ConfigMap, pier('one', 1))
    await clock.advance(1)
    expect(asked).toBe(before + 1)
  })

  it('starts anew with a changed configuration, and wakes the readers of what differs then', async () => {
    const { client, until, rest, clock } = await open(observing(harbourCoordinator(), new Map()))
    const seen = new Map<string, unknown>()
    const operator = { ...observing(harbourCoordinator(), seen), name: 'other' }
    const cache = createSharedCache({ client, clock })
    const host = hostOperator({ operator, client, cache, clock, config: { reserve: 9 } })
    await until(host.start())
    await client.create(ConfigMap, pier('one', 10))
    await client.create(Ship, ship('a', { length: 2 }))
    await rest()
    expect([...seen.values()]).toEqual([{ docks: false, ahead: 0 }])
    host.reconfigure({ config: { reserve: 1 } })
    await rest()
    expect([...seen.values()]).toEqual([{ docks: true }])
    await until(host.stop())
    cache.close()
  })

  it('decides on standby, and its CRs run from the decisions at hand when this replica leads', async () => {
    let decided = 0
    const coordinator = harbourCoordinator({ onDecide: () => void decided++ })
    const { client, manager, rest, ledgers, docked, clock, until } = await open(harbourOperator(coordinator), {
      paused: 'standby',
    })
    await client.create(ConfigMap, pier('one', 10))
    await client.create(Ship, ship('a', { length: 2 }))
    await clock.advance(1000)
    expect(decided).toBeGreaterThan(0)
    expect(ledgers).toEqual([])
    manager.resume(undefined, 'standby')
    await rest()
    expect(await docked()).toEqual(['a'])
    // Removed, as when its cluster is released, it is asked nothing any more.
    await until(manager.remove('harbour'))
    const { length } = ledgers
    const before = decided
    await client.create(Ship, ship('b', { length: 2 }))
    await clock.advance(600_000)
    expect([decided, ledgers.length]).toEqual([before, length])
  })

  it('follows kinds that come and go, and references', async () => {
    const taken: string[] = []
    const note = ({ resource, object, before }: CoordinatorChange): void => {
      const word = object ? (before ? 'changed' : 'came') : 'went'
      taken.push(`${resource.kind} ${(object ?? before)!.metadata.name} ${word}`)
    }
    const coordinator = defineCoordinator({
      name: 'follower',
      reads: [
        Ship,
        labelled(ConfigMap, { labels: { pier: 'yes' } }),
        referenced(Secret, {
          from: labelled(ConfigMap, { labels: { pier: 'yes' } }),
          namePath: '$.data.key',
          namespacePath: '$.metadata.namespace',
        }),
      ],
      start: () => ({}),
      take: (_state, change) => note(change),
      decide: () => ({ decisions: [] }),
    })
    const controller = defineController({ for: ConfigMap, coordinators: [coordinator], reconcile: () => ({}) })
    const operator = defineOperator({ name: 'follower', controllers: [controller] })
    const { client, rest } = await open(operator, { isBare: true })
    const secret = (name: string) => ({ apiVersion: 'v1', kind: 'Secret', metadata: place(name) })
    await client.create(Secret, secret('one'))
    await client.create(Secret, secret('two'))
    const onePier = pier('p', 1)
    await client.create(ConfigMap, { ...onePier, data: { key: 'one' } })
    await rest()
    expect(taken.toSorted()).toEqual(['ConfigMap p came', 'Secret one came'])
    taken.length = 0
    await client.patch(ConfigMap, place('p'), { data: { key: 'two' } }, { type: 'merge' })
    await rest()
    expect(taken.toSorted()).toEqual(['ConfigMap p changed', 'Secret one went', 'Secret two came'])
    taken.length = 0
    await client.create(crds, Ship.crd() as unknown as UntypedObject)
    await rest()
    await client.create(Ship, ship('a', { length: 1 }))
    await rest()
    await client.delete(crds, { name: 'ships.harbour.example.com' })
    await rest()
    expect(taken).toEqual(['Ship a came', 'Ship a went'])
  })
})

/** Notes the decision that the last reconcile of each ship read. */
function observing(coordinator: HarbourCoordinator, seen: Map<string, unknown>): Operator {
  return defineOperator({
    name: 'harbour',
    config: harbourConfig,
    controllers: [
      defineController({
        for: Ship,
        config: harbourConfig,
        coordinators: [coordinator],
        reconcile({ cr, decision }) {
          const uid = cr.metadata.uid ?? ''
          seen.set(uid, decision(coordinator, uid))
          return {}
        },
      }),
    ],
  })
}
