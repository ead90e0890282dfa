/** Budgets of hosted operators, on an embedded server that counts what it is asked. */
import { describe, expect, it } from 'vitest'
import { crds, embedded } from '../../../test/embedded.ts'
import { createSharedCache } from '../../cache/shared-cache.ts'
import { createClient } from '../../client/create-client.ts'
import type { Transport } from '../../transport/transport.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { defineController } from '../../operator/controller.ts'
import { integer } from '../../operator/kind/field.ts'
import { defineKind, type Kind } from '../../operator/kind/kind.ts'
import { ConfigMap, Secret } from '../../kube/kinds.ts'
import { defineOperator, type Operator } from '../../operator/operator.ts'
import { defineDependent } from '../../operator/dependent/dependent.ts'
import { createActivity } from '../observability/activity.ts'
import { readConfiguration } from '../config/configuration.ts'
import { gatesOf } from '../config/options-of.ts'
import type { Finding } from '../findings/finding.ts'
import { createManager } from '../hosting/manager.ts'
import { createMetrics } from '../observability/metrics.ts'
import { countedCache, countedClient } from './counted.ts'

function operatorOf(name: string): Operator & { readonly own: Kind } {
  const own = defineKind({
    group: 'budgets.example.com',
    version: 'v1',
    kind: name.charAt(0).toUpperCase() + name.slice(1),
    spec: { size: integer({ default: 1 }) },
  })
  const config = defineDependent({
    for: own,
    kind: ConfigMap,
    name: ({ cr }) => `${name}-${cr.metadata.name}`,
    fromCR: ({ cr }) => ({ data: { size: String(cr.spec.size) } }),
  })
  const controller = defineController({ for: own, dependents: [config], reads: [Secret] })
  return { ...defineOperator({ name, controllers: [controller] }), own }
}

const crOf = ({ own }: { readonly own: Kind }, name: string): UntypedObject => ({
  apiVersion: 'budgets.example.com/v1',
  kind: own.kind,
  metadata: { name, namespace: 'default' },
  spec: {},
})

function open() {
  const cluster = embedded()
  const { client, clock } = cluster
  const findings: Finding[] = []
  const metrics = createMetrics()
  const manager = createManager({ client, clock, metrics, onFinding: (finding) => void findings.push(finding) })
  const until = async <T>(promise: Promise<T>): Promise<T> => {
    let isDone = false
    promise.finally(() => (isDone = true)).catch(() => undefined)
    await clock.until(() => isDone)
    return await promise
  }
  const made = async (name: string): Promise<number> =>
    (await client.list(ConfigMap, { namespace: 'default' })).items.filter(({ metadata }) =>
      metadata.name?.startsWith(`${name}-`),
    ).length
  return { manager, client, clock, findings, metrics, until, made }
}

describe('a manager', () => {
  it('holds an operator that exceeds its request budget, and no other; all its work is done in the end', async () => {
    const { manager, client, clock, findings, metrics, until, made } = open()
    const [greedy, calm] = [operatorOf('greedy'), operatorOf('calm')]
    for (const operator of [greedy, calm]) await client.create(crds, operator.own.crd() as unknown as UntypedObject)
    await until(manager.add(greedy, { gates: { budget: { requestsPerMinute: 30 } } }))
    await until(manager.add(calm))
    for (let index = 0; index < 20; index++) {
      for (const operator of [greedy, calm]) await client.create(operator.own, crOf(operator, `c${index}`))
    }
    await clock.advance(10_000)
    expect(await made('calm')).toBe(20)
    const early = await made('greedy')
    expect(early).toBeGreaterThan(0)
    expect(early).toBeLessThan(20)
    expect(manager.lanes().get('greedy')).toMatchObject({ heldBy: 'budget' })
    expect(manager.lanes().get('calm')).toMatchObject({ heldBy: 'nothing' })
    expect(findings).toMatchObject([{ kind: 'overBudget', operator: 'greedy', budget: 'requests', allowed: 30 }])
    expect(metrics.render()).toMatch(/muster_findings_total\{[^}]*greedy[^}]*kind="overBudget"\} 1/)
    const report = createActivity({ clock }).report({ lanes: manager.lanes(), informers: [] })
    const held = metrics.render(report).match(/^muster_lane_held.*$/gm)
    expect(held).toEqual(['muster_lane_held{operator="greedy",gate="budget"} 1'])
    await clock.advance(600_000)
    expect(await made('greedy')).toBe(20)
    await until(manager.stop())
  })

  it('holds an operator that exceeds its memory budget from the start, and releases it when the budget is raised', async () => {
    const { manager, client, clock, findings, until, made } = open()
    const heavy = operatorOf('heavy')
    await client.create(crds, heavy.own.crd() as unknown as UntypedObject)
    for (let index = 0; index < 20; index++) {
      const metadata = { name: `s${index}`, namespace: 'default' }
      await client.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata, data: { a: btoa('x'.repeat(4000)) } })
    }
    const own: Finding[] = []
    const onFinding = (finding: Finding): void => void own.push(finding)
    await until(manager.add(heavy, { gates: { budget: { memoryBytes: 10_000 } }, onFinding }))
    await client.create(heavy.own, crOf(heavy, 'a'))
    await clock.advance(60_000)
    expect(await made('heavy')).toBe(0)
    expect(manager.lanes().get('heavy')).toMatchObject({ waiting: 1, heldBy: 'budget' })
    // The operator's own onFinding receives the finding in place of the manager's.
    expect(own).toMatchObject([{ kind: 'overBudget', operator: 'heavy', budget: 'memory', allowed: 10_000 }])
    expect(findings).toEqual([])
    manager.regate('heavy', { budget: { memoryBytes: 1e9 } })
    await clock.advance(1000)
    expect(await made('heavy')).toBe(1)
    await until(manager.stop())
  })
})

describe('settings', () => {
  it('have numeric budgets, where zero means no limit', () => {
    const { settings } = readConfiguration([], [operatorOf('cache')])
    const { gates, budgets } = settings.operators['cache']!
    expect(gatesOf(gates, budgets).budget).toEqual({})
    const some = { ...budgets, cacheMi: 2, requestsPerMinute: 60 }
    expect(gatesOf(gates, some).budget).toEqual({ memoryBytes: 2 * 2 ** 20, requestsPerMinute: 60 })
  })
})

describe('counted requests', () => {
  it('are those of its client and writer, each once, without those that fill the cache', async () => {
    const cluster = embedded()
    let sent = 0
    const { transport } = cluster.client
    const counting: Transport = {
      ...transport,
      send: (request) => {
        if (!request.path.includes('watch=')) sent++
        return transport.send(request)
      },
    }
    const client = createClient({ transport: counting, clock: cluster.clock })
    const cache = createSharedCache({ client: cluster.client, clock: cluster.clock })
    let counted = 0
    const onRequest = (): void => void counted++
    const own = countedClient(client, onRequest)
    const writer = countedCache(cache, onRequest).writer('a', client)
    const metadata = { name: 'a', namespace: 'default' }
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata }
    await own.create(ConfigMap, object)
    await own.get(ConfigMap, metadata)
    await own.listPage(ConfigMap, { namespace: 'default' })
    await writer.apply(ConfigMap, { ...object, data: { b: 'c' } }, { fieldManager: 'a' })
    await writer.delete(ConfigMap, metadata)
    await expect(own.get(ConfigMap, metadata)).rejects.toMatchObject({ name: 'NotFound' })
    expect(counted).toBe(6)
    expect(sent).toBe(6)
    cache.close()
  })
})
