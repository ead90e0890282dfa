import { describe, expect, it } from 'vitest'
import { crds, embedded } from '../../../test/embedded.ts'
import { type ControlledRender, controlledRender, Site, site, siteOperator } from '../../../test/task-operator.ts'
import { createSharedCache } from '../../cache/shared-cache.ts'
import { clientErrors } from '../../client/errors.ts'
import type { JsonObject } from '../../kube/json.ts'
import { ConfigMap, Secret } from '../../kube/kinds.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { defineController } from '../../operator/controller.ts'
import type { Ledger } from '../../operator/ledger.ts'
import { defineOperator } from '../../operator/operator.ts'
import type { Finding } from '../findings/finding.ts'
import { createMetrics, type Metrics } from '../observability/metrics.ts'
import { createTaskRunner, type TaskRunner } from '../tasks/task-runner.ts'
import { createManager, type Manager } from './manager.ts'

interface Scene extends ControlledRender {
  readonly manager: Manager
  readonly cluster: ReturnType<typeof embedded>
  readonly other: ReturnType<typeof embedded>
  readonly tasks: TaskRunner
  readonly ledgers: Ledger[]
  readonly lines: JsonObject[]
  readonly findings: Finding[]
  readonly metrics: Metrics
  readonly until: <T>(promise: Promise<T>) => Promise<T>
  readonly rest: () => Promise<void>
}

/** Two operators on one cluster, and one of them on a second one, too. */
async function open(): Promise<Scene> {
  const cluster = embedded()
  const { clock, client } = cluster
  const other = embedded()
  const ledgers: Ledger[] = []
  const lines: JsonObject[] = []
  const findings: Finding[] = []
  const metrics = createMetrics()
  const tasks = createTaskRunner({ clock })
  const manager = createManager({
    client,
    clock,
    tasks,
    metrics,
    log: (line) => void lines.push(line),
    onLedger: (ledger) => void ledgers.push(ledger),
    onFinding: (finding) => void findings.push(finding),
  })
  const controlled = controlledRender()
  const until = async <T>(promise: Promise<T>): Promise<T> => {
    let isDone = false
    const noting = promise.finally(() => (isDone = true))
    noting.catch(() => undefined)
    await clock.until(() => isDone)
    return await promise
  }
  for (const { client: each } of [cluster, other]) await each.create(crds, Site.crd() as unknown as UntypedObject)
  const [one, two] = [siteOperator(controlled.render, 'one'), siteOperator(controlled.render, 'two')]
  await until(manager.add(one))
  await until(manager.add(two))
  const there = { client: other.client, cache: createSharedCache({ client: other.client, clock }) }
  await until(manager.add(one, { as: 'one@other', cluster: there }))
  const rest = async (): Promise<void> => {
    await clock.advance(2000)
    await until(manager.idle())
  }
  return { ...controlled, manager, cluster, other, tasks, ledgers, lines, findings, metrics, until, rest }
}

async function textsOf({ client }: ReturnType<typeof embedded>): Promise<Readonly<Record<string, string | undefined>>> {
  const { items } = await client.list(ConfigMap, { namespace: 'default' })
  return Object.fromEntries(items.map(({ metadata, data }) => [metadata.name, data?.['text']]))
}

const place = { name: 'a', namespace: 'default' }

describe('a task in a manager', () => {
  it('suspends reconciles without a failure or a status, and is worked out once for all operators and clusters', async () => {
    const { manager, cluster, other, attempts, ledgers, lines, metrics, findings, rest, until } = await open()
    for (const name of ['a', 'b']) await cluster.client.create(Site, site(name))
    await other.client.create(Site, site('a'))
    await rest()
    expect(attempts.map(({ input }) => input)).toEqual([{ chart: 'web' }])
    expect(
      ledgers.map(({ operator, key, failure, isSuspended, waiting }) => [operator, key, failure, isSuspended, waiting]),
    ).toEqual(
      [
        ['one', 'default/a'],
        ['two', 'default/a'],
        ['one', 'default/b'],
        ['two', 'default/b'],
        ['one', 'default/a'],
      ].map(([operator, key]) => [operator, key, undefined, true, 'the result of task example.com/render']),
    )
    expect(lines.at(-1)).toMatchObject({
      level: 'debug',
      msg: 'Reconciled; waiting',
      waiting: 'the result of task example.com/render',
    })
    expect((await cluster.client.get(Site, place)).status).toBeUndefined()
    // Nothing happens until the task ends, however long it takes.
    await cluster.clock.advance(60_000)
    expect(ledgers).toHaveLength(5)
    attempts[0]!.resolve('rendered')
    await rest()
    expect(ledgers.filter(({ isSuspended }) => isSuspended)).toHaveLength(5)
    expect(await textsOf(cluster)).toMatchObject({ 'a-one': 'rendered', 'a-two': 'rendered', 'b-one': 'rendered' })
    expect(await textsOf(other)).toMatchObject({ 'a-one': 'rendered' })
    expect(attempts).toHaveLength(1)
    expect(findings).toEqual([])
    expect(metrics.render()).not.toMatch(/^controller_runtime_reconcile_errors_total\{/m)
    await until(manager.stop())
  })

  it('keeps a reconcile suspended whose author code catches everything: nothing of it is written', async () => {
    const { manager, cluster, attempts, render, ledgers, rest, until } = await open()
    for (const name of ['one', 'two']) await until(manager.remove(name))
    const careless = defineController({
      for: Site,
      tasks: [render],
      writes: [ConfigMap],
      async reconcile({ cr: { metadata }, result }) {
        const text = await result(render, { chart: 'web' }).catch(() => 'nothing')
        const { name, namespace = '' } = metadata
        return { objects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data: { text } }] }
      },
      steps: {
        async Updater({ result }, next) {
          await result(render, { chart: 'more' }).catch(() => 'nothing')
          await next()
        },
      },
    })
    await until(manager.add(defineOperator({ name: 'careless', controllers: [careless] })))
    await cluster.client.create(Site, site('a'))
    for (const [index, step] of ['ObjectsGetter', 'Updater'].entries()) {
      await rest()
      expect(ledgers.at(-1)).toMatchObject({ isSuspended: true })
      expect(ledgers.at(-1)!.path.at(-1)).toBe(step)
      expect(await textsOf(cluster)).not.toHaveProperty('a')
      attempts[index]!.resolve('rendered')
    }
    await rest()
    expect(await textsOf(cluster)).toHaveProperty('a', 'rendered')
    await until(manager.stop())
  })

  it('is aborted when its last CR is deleted or asks for something else, and when the manager stops', async () => {
    const { manager, cluster, attempts, tasks, rest, until } = await open()
    for (const name of ['a', 'b']) await cluster.client.create(Site, site(name))
    await rest()
    const change = { spec: { chart: 'other' } }
    await cluster.client.patch(Site, place, change, { type: 'merge' })
    await rest()
    expect(attempts.map(({ context }) => context.signal.aborted)).toEqual([false, false])
    await cluster.client.delete(Site, { ...place, name: 'b' })
    await rest()
    expect(attempts.map(({ context }) => context.signal.aborted)).toEqual([true, false])
    await until(manager.stop())
    expect(attempts.map(({ context }) => context.signal.aborted)).toEqual([true, true])
    expect(tasks.state()).toMatchObject({ queued: 0, running: 0, failed: 0 })
  })

  it('that fails shows its error on the CRs, and wakes them when it is tried again', async () => {
    const { manager, cluster, attempts, ledgers, rest, until } = await open()
    await cluster.client.create(Site, site('a'))
    await rest()
    attempts[0]!.reject(
      new MusterError(clientErrors.Unreachable, 'registry.example.com is down', { retryAfterMs: 60_000 }),
    )
    await rest()
    const condition = async () => (await cluster.client.get(Site, place)).status?.conditions?.[0]
    expect(await condition()).toMatchObject({ status: 'False', reason: 'Unreachable' })
    await cluster.clock.advance(30_000)
    const { length } = ledgers
    await cluster.clock.advance(40_000)
    expect(attempts).toHaveLength(2)
    // Suspended again: the error of the last attempt still shows.
    expect(await condition()).toMatchObject({ status: 'False', reason: 'Unreachable' })
    expect(ledgers.length - length).toBeLessThanOrEqual(4)
    attempts[1]!.resolve('rendered')
    await rest()
    expect(await condition()).toMatchObject({ status: 'True' })
    await until(manager.stop())
  })

  it('never shows its secrets: not in the log, not in a status, not in an Event', async () => {
    const { manager, cluster, other, attempts, lines, ledgers, rest, until } = await open()
    const token = 'hunter2-hunter2'
    const data = { token: Buffer.from(token).toString('base64') }
    await cluster.client.create(Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { ...place, name: 'login' },
      data,
    })
    await cluster.client.create(Site, site('a', 'web', 'login'))
    await rest()
    // The second cluster has no such Secret: its operator did not read what it must hide.
    await other.client.create(Site, site('a', 'web'))
    await rest()
    expect(attempts[0]!.context.secrets).toEqual({ token })
    attempts[0]!.reject(new Error(`https://me:${token}@registry.example.com: 401, tried ${data.token}`))
    await rest()
    const events = { group: '', version: 'v1', kind: 'Event', plural: 'events', namespaced: true }
    const shown = await Promise.all(
      [cluster, other].flatMap(({ client }) => [client.list(Site), client.list(ConfigMap), client.list(events)]),
    )
    const text = JSON.stringify([shown, lines, ledgers])
    expect(text).toContain('registry.example.com: 401')
    expect(text).not.toContain('hunter2')
    expect(text).not.toContain(data.token)
    await until(manager.stop())
  })
})
