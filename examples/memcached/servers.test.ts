/** Cases for every API server: `npm test` runs them on the embedded one, `npm run test:real` on a real one. */
import { ConfigMap, Deployment, Secret } from '@muster-dev/muster/operator'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { find, openStage, playDeployment, type Running, type Stage } from '../../test/stage.ts'
import { Memcached, operator } from './operator.ts'

const name = 'sample'
const children = [ConfigMap, Secret, Deployment]

let stage: Stage
let namespace: string
let running: Running

beforeAll(async () => {
  stage = await openStage(operator)
})
afterAll(async () => {
  await running.stop()
  await stage.close()
}, 120_000)
beforeEach(async () => {
  await running?.stop()
  namespace = await stage.namespace()
  running = await stage.run(namespace)
})

function memcached(spec: object, called = name) {
  const metadata = { namespace, name: called }
  return { apiVersion: 'cache.example.com/v1alpha1', kind: 'Memcached', metadata, spec }
}

const cr = () => stage.client.get<Memcached>(Memcached, { namespace, name })
const deployment = () => find(stage.client, Deployment, { namespace, name })
const change = (spec: object) => stage.client.patch(Memcached, { namespace, name }, { spec }, { type: 'merge' })

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
      await playDeployment(stage.client, Deployment, { namespace, name })
    }
    return await cr()
  }
  return await stage.until(look, (now) => JSON.stringify(conditionsOf(now)) === JSON.stringify(wanted))
}

const atRest = ['Reconciled True Success', 'Ready True Ready']

async function createAndSettle(spec: object): Promise<Memcached> {
  await stage.client.create(Memcached, memcached(spec))
  const settled = await untilConditions(...atRest)
  await running.idle()
  return settled
}

describe('memcached', { timeout: 60_000 }, () => {
  it('makes what a CR asks for, each with its owner, and reports', async () => {
    const { metadata } = await createAndSettle({ size: 2 })
    for (const kind of [ConfigMap, Deployment]) {
      const child = await find(stage.client, kind, { namespace, name })
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
    expect(await find(stage.client, Secret, { namespace, name })).toBeUndefined()
    expect((await deployment())?.spec?.replicas).toBe(2)
    const { status } = await stage.until(cr, (now) => now.status?.nodes?.length === 2)
    expect(status).toMatchObject({ nodes: ['sample-0', 'sample-1'], observedGeneration: 1 })
    expect(running.sent.filter((answer) => answer.status >= 400)).toEqual([])
  })

  it('follows a change of size', async () => {
    await createAndSettle({ size: 1 })
    await change({ size: 3 })
    await untilConditions(...atRest)
    await stage.until(cr, (now) => now.status?.nodes?.length === 3)
    await change({ size: 0 })
    await untilConditions(...atRest)
    const { status } = await stage.until(cr, (now) => now.status?.nodes?.length === 0)
    expect(status?.observedGeneration).toBe(3)
    expect((await deployment())?.spec?.replicas).toBe(0)
  })

  it('corrects drift with one write', async () => {
    await createAndSettle({ size: 2 })
    const before = running.writes().length
    await stage.client.patch(Deployment, { namespace, name }, { spec: { replicas: 5 } }, { type: 'merge' })
    await stage.until(deployment, (now) => now?.spec?.replicas === 2)
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

  it('leaves alone what others add', async () => {
    await createAndSettle({ size: 1 })
    const foreign = {
      metadata: { labels: { team: 'blue' }, annotations: { 'example.com/note': 'by hand' } },
      spec: {
        minReadySeconds: 3,
        template: { spec: { containers: [{ name: 'proxy', image: 'proxy:1' }] } },
      },
    }
    await stage.client.apply(
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

  it('waits for a Secret that comes later', async () => {
    await stage.client.create(Memcached, memcached({ passwordFrom: 'from-above' }))
    await untilConditions('Reconciled False Waiting', 'Ready False Missing')
    expect(await deployment()).toBeUndefined()
    await stage.client.create(Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace, name: 'from-above' },
      data: { password: 'c2VzYW1l' },
    })
    await untilConditions(...atRest)
    expect((await find(stage.client, Secret, { namespace, name }))?.data).toEqual({ PASSWORD: 'c2VzYW1l' })
  })

  it('writes nothing after a restart', async () => {
    await createAndSettle({ size: 2 })
    await stage.until(cr, (now) => now.status?.nodes?.length === 2)
    await running.stop()
    running = await stage.run(namespace)
    await running.idle()
    expect(running.ledgers).toHaveLength(1)
    expect(running.sent.filter(({ method }) => method !== 'GET')).toEqual([])
  })

  it('makes a child again that a person deleted', async () => {
    await createAndSettle({ size: 1 })
    const old = await deployment()
    await stage.client.delete(Deployment, { namespace, name })
    const made = await stage.until(deployment, (now) => now !== undefined && now.metadata.uid !== old?.metadata.uid)
    expect(made?.spec?.replicas).toBe(1)
    await untilConditions(...atRest)
  })

  it('lets go of a CR that is deleted, and starts anew with one of the same name', async () => {
    const { metadata } = await createAndSettle({ size: 1 })
    const before = running.writes().length
    await stage.client.delete(Memcached, { namespace, name })
    await stage.until(
      () => find(stage.client, Memcached, { namespace, name }),
      (now) => now === undefined,
    )
    await running.idle()
    expect(running.writes().slice(before)).toEqual([])
    await stage.client.create(Memcached, memcached({ size: 2 }))
    // Acts as the garbage collector where there is none.
    for (const kind of children) {
      const child = await find(stage.client, kind, { namespace, name })
      if (child?.metadata.ownerReferences?.[0]?.uid !== metadata.uid) continue
      await stage.client.delete(kind, { namespace, name })
    }
    const anew = await untilConditions(...atRest)
    expect(anew.metadata.uid).not.toBe(metadata.uid)
    expect((await deployment())?.metadata.ownerReferences?.[0]?.uid).toBe(anew.metadata.uid)
    expect((await deployment())?.spec?.replicas).toBe(2)
  })

  it('brings 1,000 CRs to rest with three writes each, and writes nothing after a restart', async () => {
    const count = 1000
    const names = Array.from({ length: count }, (_, index) => `sample-${index}`)
    await Promise.all(names.map((each) => stage.client.create(Memcached, memcached({ size: 1 }, each))))
    const seen = async () => {
      await running.idle()
      return new Set(running.ledgers.map(({ key }) => key)).size
    }
    await stage.until(seen, (found) => found === count)
    const { items } = await stage.client.list<Memcached>(Memcached, { namespace })
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
    running = await stage.run(namespace)
    await running.idle()
    expect(running.ledgers).toHaveLength(count)
    expect(running.sent.filter(({ method }) => method !== 'GET')).toEqual([])
  }, 300_000)
})
