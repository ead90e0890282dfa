/** Cases for every API server: `npm test` runs them on the embedded one, `npm run test:real` on a real one. */
import { ConfigMap, Deployment, Secret } from '@muster-dev/muster/operator'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  find,
  openOperatorEnvironment,
  markDeploymentReady,
  type RunningOperator,
  type OperatorEnvironment,
} from '../../test/operator-environment.ts'
import { Memcached, operator } from './operator.ts'

const name = 'sample'
const children = [ConfigMap, Secret, Deployment]

let environment: OperatorEnvironment
let namespace: string
let running: RunningOperator

beforeAll(async () => {
  environment = await openOperatorEnvironment(operator)
})
afterAll(async () => {
  await running.stop()
  await environment.close()
}, 120_000)
beforeEach(async () => {
  await running?.stop()
  namespace = await environment.namespace()
  running = await environment.run(namespace)
})

function memcached(spec: object, called = name) {
  const metadata = { namespace, name: called }
  return { apiVersion: 'cache.example.com/v1alpha1', kind: 'Memcached', metadata, spec }
}

const cr = () => environment.client.get(Memcached, { namespace, name })
const deployment = () => find(environment.client, Deployment, { namespace, name })
const change = (spec: object) => environment.client.patch(Memcached, { namespace, name }, { spec }, { type: 'merge' })

function conditionsOf({ metadata, status }: Memcached): readonly string[] {
  return (status?.conditions ?? []).map((condition) => {
    const age = condition.observedGeneration === metadata.generation ? '' : ' of an older generation'
    return `${condition.type} ${condition.status} ${condition.reason}${age}`
  })
}

/** Waits for the status of the CR, and acts as the Deployment controller meanwhile. */
async function untilConditions(...wanted: readonly string[]): Promise<Memcached> {
  const look = async () => {
    const now = await deployment()
    const { metadata, status } = now ?? {}
    if (now && status?.observedGeneration !== metadata?.generation) {
      await markDeploymentReady(environment.client, Deployment, { namespace, name })
    }
    return await cr()
  }
  return await environment.until(look, (now) => JSON.stringify(conditionsOf(now)) === JSON.stringify(wanted))
}

const atRest = ['Reconciled True Success', 'Ready True Ready']

async function createAndSettle(spec: object): Promise<Memcached> {
  await environment.client.create(Memcached, memcached(spec))
  const settled = await untilConditions(...atRest)
  await running.idle()
  return settled
}

describe('memcached', { timeout: 60_000 }, () => {
  it('creates the dependents of a CR with owner references, and reports status', async () => {
    const { metadata } = await createAndSettle({ size: 2 })
    for (const kind of [ConfigMap, Deployment]) {
      const child = await find(environment.client, kind, { namespace, name })
      expect(child?.metadata.ownerReferences).toEqual([
        {
          apiVersion: 'cache.example.com/v1alpha1',
          kind: 'Memcached',
          name,
          uid: metadata.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ])
    }
    expect(await find(environment.client, Secret, { namespace, name })).toBeUndefined()
    expect((await deployment())?.spec?.replicas).toBe(2)
    const { status } = await environment.until(cr, (now) => now.status?.nodes?.length === 2)
    expect(status).toMatchObject({ nodes: ['sample-0', 'sample-1'], observedGeneration: 1 })
    expect(running.sent.filter((answer) => answer.status >= 400)).toEqual([])
  })

  it('follows a change of size', async () => {
    await createAndSettle({ size: 1 })
    await change({ size: 3 })
    await untilConditions(...atRest)
    await environment.until(cr, (now) => now.status?.nodes?.length === 3)
    await change({ size: 0 })
    await untilConditions(...atRest)
    const { status } = await environment.until(cr, (now) => now.status?.nodes?.length === 0)
    expect(status?.observedGeneration).toBe(3)
    expect((await deployment())?.spec?.replicas).toBe(0)
  })

  it('corrects drift with one write', async () => {
    await createAndSettle({ size: 2 })
    const before = running.writes().length
    await environment.client.patch(Deployment, { namespace, name }, { spec: { replicas: 5 } }, { type: 'merge' })
    await environment.until(deployment, (now) => now?.spec?.replicas === 2)
    await untilConditions(...atRest)
    await running.idle()
    const applied = running
      .writes()
      .slice(before)
      .filter(({ path }) => path.includes('/deployments/'))
    expect(applied).toHaveLength(1)
    const entries = running.ledgers.flatMap((ledger) => ledger.entries)
    expect(entries.find(({ operation }) => operation === 'corrected')?.fields).toEqual(['spec.replicas'])
  })

  it('keeps fields of other field managers', async () => {
    await createAndSettle({ size: 1 })
    const foreign = {
      metadata: { labels: { team: 'blue' }, annotations: { 'example.com/note': 'by hand' } },
      spec: {
        minReadySeconds: 3,
        template: { spec: { containers: [{ name: 'proxy', image: 'proxy:1' }] } },
      },
    }
    await environment.client.apply(
      Deployment,
      { apiVersion: 'apps/v1', kind: 'Deployment', ...foreign, metadata: { ...foreign.metadata, namespace, name } },
      { fieldManager: 'somebody' },
    )
    await untilConditions(...atRest)
    await running.idle()
    const applied = () => running.writes().filter(({ path }) => path.includes('/deployments/'))
    expect(applied()).toHaveLength(1)
    // Its own next write keeps them, too.
    await change({ size: 2 })
    await untilConditions(...atRest)
    expect(applied()).toHaveLength(2)
    const now = await deployment()
    expect(now?.metadata.labels).toMatchObject({ team: 'blue' })
    expect(now?.metadata.annotations).toMatchObject({ 'example.com/note': 'by hand' })
    expect(now?.spec).toMatchObject({ replicas: 2, minReadySeconds: 3 })
    expect(now?.spec?.template.spec?.containers.map((container) => container.name)).toEqual(['memcached', 'proxy'])
  })

  it('waits for a Secret that is created later', async () => {
    await environment.client.create(Memcached, memcached({ passwordFrom: 'from-above' }))
    await untilConditions('Reconciled False Waiting', 'Ready False Missing')
    expect(await deployment()).toBeUndefined()
    await environment.client.create(Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace, name: 'from-above' },
      data: { password: 'c2VzYW1l' },
    })
    await untilConditions(...atRest)
    expect((await find(environment.client, Secret, { namespace, name }))?.data).toEqual({ PASSWORD: 'c2VzYW1l' })
  })

  it('writes nothing after a restart', async () => {
    await createAndSettle({ size: 2 })
    await environment.until(cr, (now) => now.status?.nodes?.length === 2)
    await running.stop()
    running = await environment.run(namespace)
    await running.idle()
    expect(running.ledgers).toHaveLength(1)
    expect(running.sent.filter(({ method }) => method !== 'GET')).toEqual([])
  })

  it('recreates a deleted dependent', async () => {
    await createAndSettle({ size: 1 })
    const old = await deployment()
    await environment.client.delete(Deployment, { namespace, name })
    const made = await environment.until(
      deployment,
      (now) => now !== undefined && now.metadata.uid !== old?.metadata.uid,
    )
    expect(made?.spec?.replicas).toBe(1)
    await untilConditions(...atRest)
  })

  it('finalizes a deleted CR, and starts again with a new CR of the same name', async () => {
    const { metadata } = await createAndSettle({ size: 1 })
    const before = running.writes().length
    await environment.client.delete(Memcached, { namespace, name })
    await environment.until(
      () => find(environment.client, Memcached, { namespace, name }),
      (now) => now === undefined,
    )
    await running.idle()
    expect(running.writes().slice(before)).toEqual([])
    await environment.client.create(Memcached, memcached({ size: 2 }))
    // Acts as the garbage collector where there is none.
    for (const kind of children) {
      const child = await find(environment.client, kind, { namespace, name })
      if (child?.metadata.ownerReferences?.[0]?.uid !== metadata.uid) continue
      await environment.client.delete(kind, { namespace, name })
    }
    const anew = await untilConditions(...atRest)
    expect(anew.metadata.uid).not.toBe(metadata.uid)
    expect((await deployment())?.metadata.ownerReferences?.[0]?.uid).toBe(anew.metadata.uid)
    expect((await deployment())?.spec?.replicas).toBe(2)
  })

  it('brings 1,000 CRs to rest with three writes each, and writes nothing after a restart', async () => {
    const count = 1000
    const names = Array.from({ length: count }, (_, index) => `sample-${index}`)
    await Promise.all(names.map((each) => environment.client.create(Memcached, memcached({ size: 1 }, each))))
    const seen = async () => {
      await running.idle()
      return new Set(running.ledgers.map(({ key }) => key)).size
    }
    await environment.until(seen, (found) => found === count)
    const { items } = await environment.client.list(Memcached, { namespace })
    expect(items.filter((item) => conditionsOf(item).includes('Reconciled True Success'))).toHaveLength(count)
    const written = Map.groupBy(running.writes(), ({ method, path, status }) => {
      return `${method} ${
        path
          .split('?')[0]
          ?.replace(/sample-\d+/, 'NAME')
          .split(`${namespace}/`)[1]
      } ${status}`
    })
    expect(Object.fromEntries([...written].map(([what, all]) => [what, all.length]))).toEqual({
      'PATCH configmaps/NAME 201': count,
      'PATCH deployments/NAME 201': count,
      'PATCH memcacheds/NAME/status 200': count,
    })
    await running.stop()
    running = await environment.run(namespace)
    await running.idle()
    expect(running.ledgers).toHaveLength(count)
    expect(running.sent.filter(({ method }) => method !== 'GET')).toEqual([])
  }, 300_000)
})
