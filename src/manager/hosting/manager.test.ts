import { describe, expect, it } from 'vitest'
import { crds, embedded } from '../../../test/embedded.ts'
import { createSharedCache } from '../../cache/shared-cache.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { defineConfig } from '../../operator/config.ts'
import { defineController } from '../../operator/controller.ts'
import { integer } from '../../operator/kind/field.ts'
import { defineKind, type Kind } from '../../operator/kind/kind.ts'
import { ConfigMap, Secret } from '../../kube/kinds.ts'
import { defineOperator, type Operator } from '../../operator/operator.ts'
import { defineDependent } from '../../operator/dependent/dependent.ts'
import { resourceOf } from '../../kube/typed-resource.ts'
import { defineWebhook } from '../../operator/kind/webhook.ts'
import { createActivity } from '../observability/activity.ts'
import { describeFinding, type Finding } from '../findings/finding.ts'
import { createManager, type Manager } from './manager.ts'
import { createMetrics } from '../observability/metrics.ts'

/** A kind of its own, a ConfigMap for each CR, and Secrets that it reads. */
function smallOperator(index: number, make: (size: number) => string = String): Operator & { readonly own: Kind } {
  const own = defineKind({
    group: 'many.example.com',
    version: 'v1',
    kind: `Thing${index}`,
    spec: { size: integer({ default: 1 }) },
  })
  const config = defineDependent({
    for: own,
    kind: ConfigMap,
    name: ({ cr }) => `${cr.metadata.name}-${index}`,
    fromCR: ({ cr, view }) => ({
      data: {
        size: make(cr.spec.size),
        secrets: String(view.list(Secret, { namespace: cr.metadata.namespace }).length),
      },
    }),
  })
  const controller = defineController({ for: own, dependents: [config], reads: [Secret] })
  return { ...defineOperator({ name: `small-${index}`, controllers: [controller] }), own }
}

const thing = ({ own }: { readonly own: Kind }, name = 'a'): UntypedObject => ({
  apiVersion: 'many.example.com/v1',
  kind: own.kind,
  metadata: { name, namespace: 'default' },
  spec: {},
})

interface Scene {
  readonly manager: Manager
  readonly cluster: ReturnType<typeof embedded>
  readonly cache: ReturnType<typeof createSharedCache>
  readonly findings: Finding[]
  readonly metrics: ReturnType<typeof createMetrics>
  /** Waits in virtual time. */
  readonly until: <T>(promise: Promise<T>) => Promise<T>
  readonly add: (operator: Operator & { readonly own: Kind }) => Promise<void>
}

function open(): Scene {
  const cluster = embedded()
  const { clock, client } = cluster
  const cache = createSharedCache({ client, clock })
  const findings: Finding[] = []
  const metrics = createMetrics()
  const manager = createManager({ client, cache, clock, metrics, onFinding: (finding) => void findings.push(finding) })
  const until = async <T>(promise: Promise<T>): Promise<T> => {
    let isDone = false
    const noting = promise.finally(() => (isDone = true))
    noting.catch(() => undefined)
    await clock.until(() => isDone)
    return await promise
  }
  return {
    manager,
    cluster,
    cache,
    findings,
    metrics,
    until,
    async add(operator) {
      await client.create(crds, operator.own.crd() as unknown as UntypedObject)
      await until(manager.add(operator))
    },
  }
}

describe('a manager', () => {
  it('hosts fifty operators with one watch and one copy of shared objects', async () => {
    const { manager, cluster, cache, add, until } = open()
    const operators = Array.from({ length: 50 }, (_, index) => smallOperator(index))
    for (const operator of operators) await add(operator)
    for (const operator of operators) await cluster.client.create(operator.own, thing(operator))
    await cluster.clock.advance(2000)
    await until(manager.idle())
    const { items } = await cluster.client.list(ConfigMap, { namespace: 'default' })
    expect(items.filter(({ metadata }) => metadata.name?.startsWith('a-'))).toHaveLength(50)
    const secrets = cache.report().find(({ resource }) => resource.kind === 'Secret')
    expect(secrets).toMatchObject({ watches: 1 })
    expect(secrets?.consumers).toHaveLength(50)
    // One event triggers each operator that reads the Secret, once, and no other operator.
    await cluster.client.create(Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's', namespace: 'default' },
    })
    await cluster.clock.advance(2000)
    await until(manager.idle())
    const after = await cluster.client.list(ConfigMap, { namespace: 'default' })
    const counts = after.items.flatMap(({ metadata, data }) =>
      metadata.name?.startsWith('a-') ? [data?.['secrets']] : [],
    )
    expect(new Set(counts)).toEqual(new Set(['1']))
    await until(manager.stop())
  })

  it('writes and reports nothing for a reconcile whose term has ended, and everything for one whose has not', async () => {
    const { manager, cluster, until } = open()
    const own = defineKind({ group: 'many.example.com', version: 'v1', kind: 'Termed', spec: {} })
    let isOurs = true
    let isEnding = true
    const operator = defineOperator({
      name: 'termed',
      controllers: [
        defineController({
          for: own,
          check() {
            if (isEnding) isOurs = false
            throw new Error('not today')
          },
        }),
      ],
    })
    await cluster.client.create(crds, own.crd() as unknown as UntypedObject)
    await cluster.client.create(own, own.draft({ name: 'a', namespace: 'default' }, {}) as unknown as UntypedObject)
    await until(manager.add(operator, { term: { begin: () => (isOurs ? () => isOurs : undefined) } }))
    await cluster.clock.advance(100)
    expect(isOurs).toBe(false)
    const Event = resourceOf('v1', 'Event')
    const written = async (): Promise<readonly unknown[]> => {
      const { status } = (await cluster.client.get(own, { name: 'a', namespace: 'default' })) as { status?: unknown }
      return [(await cluster.client.list(Event, { namespace: 'default' })).items.length > 0, status !== undefined]
    }
    expect(await written()).toEqual([false, false])
    isEnding = false
    isOurs = true
    await cluster.clock.advance(60_000)
    expect(await written()).toEqual([true, true])
    await until(manager.stop())
  })

  it('keeps nothing of an operator that failed to start, and starts it when possible', async () => {
    const { manager, cluster, until } = open()
    const own = defineKind({ group: 'many.example.com', version: 'v1', kind: 'Asked', spec: {} })
    const operator = defineOperator({
      name: 'asked',
      controllers: [defineController({ for: own })],
      webhooks: [defineWebhook({ for: own, validate: () => undefined })],
    })
    await cluster.client.create(crds, own.crd() as unknown as UntypedObject)
    let isRefused = true
    const webhooks = {
      set: () => undefined,
      settled: () => (isRefused ? Promise.reject(new Error('no certificate')) : Promise.resolve()),
      delete: () => Promise.resolve(),
    }
    await expect(until(manager.add(operator, { webhooks }))).rejects.toThrow('no certificate')
    expect([...manager.lanes()]).toEqual([])
    isRefused = false
    await until(manager.add(operator, { webhooks }))
    expect([...manager.lanes().keys()]).toEqual(['asked'])
    await until(manager.stop())
  })

  it('opens nothing for an operator that is removed during its start', async () => {
    const { manager, cluster, cache, until } = open()
    const own = defineKind({ group: 'many.example.com', version: 'v1', kind: 'Removed', spec: {} })
    const operator = defineOperator({
      name: 'removed',
      controllers: [defineController({ for: own })],
      webhooks: [defineWebhook({ for: own, validate: () => undefined })],
    })
    await cluster.client.create(crds, own.crd() as unknown as UntypedObject)
    const settled = Promise.withResolvers<void>()
    const webhooks = { set: () => undefined, settled: () => settled.promise, delete: () => Promise.resolve() }
    const added = manager.add(operator, { webhooks })
    await until(manager.remove('removed'))
    settled.resolve()
    await until(added)
    await cluster.clock.advance(1000)
    expect(cache.report()).toEqual([])
  })

  it('pauses all of them at run time, and reconciles missed changes when they resume', async () => {
    const { manager, cluster, add, until } = open()
    const { client, clock } = cluster
    const operators = [smallOperator(1), smallOperator(2), smallOperator(3)]
    for (const operator of operators) await add(operator)
    for (const operator of operators) await client.create(operator.own, thing(operator))
    await clock.advance(5000)
    const sizes = async (): Promise<readonly (string | undefined)[]> =>
      (await client.list(ConfigMap, { namespace: 'default' })).items.flatMap(({ metadata, data }) =>
        metadata.name?.startsWith('a-') ? [data?.['size']] : [],
      )
    const resize = async (size: number): Promise<void> => {
      for (const { own } of operators)
        await client.patch(own, { name: 'a', namespace: 'default' }, { spec: { size } }, { type: 'merge' })
      await clock.advance(60_000)
    }
    expect(await sizes()).toEqual(['1', '1', '1'])
    manager.pause()
    await resize(2)
    // A user also deletes a dependent.
    await client.delete(ConfigMap, { name: 'a-3', namespace: 'default' })
    await clock.advance(60_000)
    expect(await sizes()).toEqual(['1', '1'])
    expect([...manager.lanes().values()].map(({ isPaused, heldBy, running }) => [isPaused, heldBy, running])).toEqual(
      operators.map(() => [true, 'pause', 0]),
    )
    // One of them alone is let go on, and then all.
    manager.resume('small-1')
    await clock.advance(1000)
    expect(await sizes()).toEqual(['2', '1'])
    manager.resume()
    await clock.advance(1000)
    expect(await sizes()).toEqual(['2', '2', '2'])
    await until(manager.stop())
  })

  it('pauses one operator, and removes one without affecting the others or its objects', async () => {
    const { manager, cluster, add, until } = open()
    const [one, two] = [smallOperator(1), smallOperator(2)]
    await add(one)
    await add(two)
    manager.pause('small-1')
    for (const operator of [one, two]) await cluster.client.create(operator.own, thing(operator))
    await cluster.clock.advance(5000)
    const names = async (): Promise<readonly string[]> =>
      (await cluster.client.list(ConfigMap, { namespace: 'default' })).items.flatMap(({ metadata }) =>
        metadata.name?.startsWith('a-') ? [metadata.name] : [],
      )
    expect(await names()).toEqual(['a-2'])
    expect(manager.lanes().get('small-1')).toMatchObject({ waiting: 1, heldBy: 'pause' })
    manager.resume('small-1')
    await cluster.clock.advance(1000)
    expect(await names()).toEqual(['a-1', 'a-2'])
    await until(manager.remove('small-1'))
    expect([...manager.lanes().keys()]).toEqual(['small-2'])
    expect(await names()).toEqual(['a-1', 'a-2'])
    expect(() => manager.pause('small-1')).toThrow('There is no operator small-1 here.')
    await expect(manager.add(two)).rejects.toThrow('hosted already')
    const strict = { ...smallOperator(9), config: defineConfig({ size: integer() }) }
    await expect(manager.add(strict)).rejects.toThrow('size')
    expect(manager.lanes().has(strict.name)).toBe(false)
    await until(manager.stop())
  })

  it('detects a hot loop within seconds, names the flipping fields, throttles it, and releases it when its input changes', async () => {
    const { manager, cluster, findings, metrics, add, until } = open()
    let turn = 0
    let isMad = true
    const mad = smallOperator(1, (size) => (isMad ? String(turn++) : String(size)))
    // Its own write does not trigger the operator; a user who patches the ConfigMap each time does.
    await add(mad)
    await cluster.client.create(mad.own, thing(mad))
    const poke = async (): Promise<void> => {
      await cluster.client.patch(
        ConfigMap,
        { name: 'a-1', namespace: 'default' },
        { metadata: { labels: { poke: String(turn) } } },
        { type: 'merge' },
      )
      await cluster.clock.advance(100)
    }
    await cluster.clock.advance(100)
    for (let round = 0; round < 20; round++) await poke()
    expect(findings).toHaveLength(1)
    expect(describeFinding(findings[0]!)).toMatch(
      /^small-1, controller thing1, for default\/a: wrote ConfigMap default\/a-1 8 times in 0\.\d s although none of its inputs changed; each time it differs in data\.size\.$/,
    )
    expect(metrics.render()).toContain('muster_findings_total{controller="small-1/thing1",kind="hotLoop"} 1')
    const during = turn
    for (let round = 0; round < 20; round++) await poke()
    expect(turn).toBe(during)
    const report = createActivity({ clock: cluster.clock }).report({ lanes: manager.lanes(), informers: [] })
    expect(metrics.render(report)).toContain('muster_lane_held{operator="small-1",gate="throttle"} 1\n')
    isMad = false
    await cluster.client.patch(mad.own, { name: 'a', namespace: 'default' }, { spec: { size: 7 } }, { type: 'merge' })
    await cluster.clock.advance(100)
    expect((await cluster.client.get(ConfigMap, { name: 'a-1', namespace: 'default' })).data).toMatchObject({
      size: '7',
    })
    await until(manager.stop())
  })

  it('detects the client that reverts its writes, names it, and does not flood the server', async () => {
    const { manager, cluster, findings, add, until } = open()
    const operator = smallOperator(1)
    await add(operator)
    await cluster.client.create(operator.own, thing(operator))
    await cluster.clock.advance(100)
    let undone = 0
    for (let round = 0; round < 100; round++) {
      const { data } = await cluster.client.get(ConfigMap, { name: 'a-1', namespace: 'default' })
      if (data?.['size'] === '1') {
        undone++
        await cluster.client.patch(
          ConfigMap,
          { name: 'a-1', namespace: 'default' },
          { data: { size: 'mine' } },
          { type: 'merge', fieldManager: 'somebody' },
        )
      }
      await cluster.clock.advance(100)
    }
    expect(findings).toMatchObject([{ kind: 'conflict', fields: ['data.size'], with: ['somebody'] }])
    expect(undone).toBeLessThan(12)
    await until(manager.stop())
  })

  it('does not reconcile a paused CR, whatever happens to it, and corrects everything when it is resumed', async () => {
    const { manager, cluster, add, until } = open()
    const operator = smallOperator(1)
    await add(operator)
    const paused = thing(operator)
    const labels = { 'muster.dev/paused': 'true' }
    await cluster.client.create(operator.own, { ...paused, metadata: { ...paused.metadata, labels } })
    await cluster.clock.advance(60_000)
    const name = { name: 'a', namespace: 'default' }
    await expect(cluster.client.get(ConfigMap, { ...name, name: 'a-1' })).rejects.toMatchObject({ name: 'NotFound' })
    expect((await cluster.client.get(operator.own as never, name))['status']).toBeUndefined()
    await cluster.client.patch(
      operator.own,
      name,
      { metadata: { labels: { 'muster.dev/paused': null } } },
      { type: 'merge' },
    )
    await cluster.clock.advance(1000)
    expect(await cluster.client.get(ConfigMap, { ...name, name: 'a-1' })).toBeDefined()
    await until(manager.stop())
  })
})
