/** The same operator at several isolation levels: it declares the same, and has the same result for the same CRs. */
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createApiServer } from '../src/apiserver/server/api-server.ts'
import { createSharedCache } from '../src/cache/shared-cache.ts'
import type { Client } from '../src/client/client.ts'
import { createClient } from '../src/client/create-client.ts'
import { inProcessTransport } from '../src/client/in-process.ts'
import { systemClock } from '../src/clock/system-clock.ts'
import { clientErrors } from '../src/client/errors.ts'
import { isMusterError } from '../src/kube/muster-error.ts'
import { formatResource, type Resource } from '../src/kube/kind.ts'
import type { KubeObject, UntypedObject } from '../src/kube/object.ts'
import type { StandardStatus } from '../src/operator/kind/kind.ts'
import { ConfigMap, Deployment, Secret } from '../src/kube/kinds.ts'
import type { Ledger } from '../src/operator/ledger.ts'
import { roleOf } from '../src/operator/role.ts'
import { crds, slowTest } from './misbehaving-guests.ts'
import { hostOperator } from '../src/manager/hosting/host.ts'
import { openRunner } from '../src/manager/isolation/open-runner.ts'
import type { IsolationLevel, Runner } from '../src/manager/isolation/runner.ts'

const memcached = fileURLToPath(new URL('../examples/memcached/operator.ts', import.meta.url))

/** The first is the reference for the others. */
export function expectSameAt(levels: readonly [IsolationLevel, ...IsolationLevel[]]): void {
  describe(`the same operator, at the levels ${levels.join(', ')}`, slowTest, () => {
    let runners: readonly Runner[] = []
    beforeAll(async () => {
      runners = await Promise.all(levels.map((level) => openRunner(level, { module: memcached })))
    }, slowTest.timeout)
    afterAll(() => Promise.all(runners.map((runner) => runner.close())))

    it('declares the same: inputs, outputs, kinds, role', () => {
      const [first, ...others] = runners.map(({ operator }) => ({
        name: operator.name,
        inputs: operator.inputs.map(formatResource),
        outputs: operator.outputs.map(formatResource),
        crds: operator.kinds.map((kind) => kind.crd()),
        role: roleOf(operator),
      }))
      for (const other of others) expect(other).toEqual(first)
    })

    it('makes the same of the same CRs', async () => {
      const ends = await Promise.all(
        runners.map(async (runner) => {
          const client = await openCluster()
          const operations = await work(runner, client)
          const state = await stateOf(client)
          await client.close()
          return { operations, state }
        }),
      )
      expect(ends[0]).toMatchObject({
        operations: expect.arrayContaining(['created configMap', 'created secret', 'created deployment']) as unknown,
        state: {
          deployment: { spec: { replicas: 3 } },
          conditions: ['Reconciled True Success', 'Ready False LessReplicas'],
        },
      })
      for (const end of ends) expect(end).toEqual(ends[0])
    })

    it('finds nothing to do where it has worked at another level', async () => {
      const client = await openCluster()
      await work(runners[0]!, client)
      const quiet = ['unchanged configMap', 'unchanged secret', 'unchanged deployment']
      for (const runner of runners) expect(await work(runner, client)).toEqual(quiet)
      await client.close()
    })
  })
}

const sample = { namespace: 'default', name: 'sample' }
const Memcached: Resource = {
  group: 'cache.example.com',
  version: 'v1alpha1',
  kind: 'Memcached',
  plural: 'memcacheds',
  namespaced: true,
}

/** A cluster without the operator's kinds, but with a Secret that a CR names. */
async function openCluster(): Promise<Client> {
  const client = createClient({ transport: inProcessTransport(createApiServer({ clock: systemClock })) })
  const metadata = { namespace: 'default', name: 'from-above' }
  await client.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata, data: { password: 'c2VzYW1l' } })
  return client
}

/** The operator starts, works until idle, and stops. Returns its operations without waiting ones. */
async function work({ operator, run }: Runner, client: Client): Promise<readonly string[]> {
  const cache = createSharedCache({ client })
  const ledgers: Ledger[] = []
  const host = hostOperator({ operator, client, cache, run, onLedger: (ledger) => void ledgers.push(ledger) })
  const spec = { size: 3, passwordFrom: 'from-above' }
  const cr = { apiVersion: 'cache.example.com/v1alpha1', kind: 'Memcached', metadata: sample, spec }
  try {
    for (const kind of operator.kinds) await made(client, crds, kind.crd() as unknown as UntypedObject)
    await made(client, Memcached, cr)
    await host.start()
    await host.idle()
  } finally {
    await host.stop()
    cache.close()
  }
  return ledgers.flatMap(({ entries }) =>
    entries.flatMap(({ operation, subject }) => (operation === 'waiting' ? [] : [`${operation} ${subject}`])),
  )
}

/** Created, unless it exists. */
async function made(client: Client, resource: Resource, object: UntypedObject): Promise<void> {
  try {
    await client.create(resource, object)
  } catch (error) {
    if (!isMusterError(error, clientErrors.AlreadyExists)) throw error
  }
}

/** All objects, without values that differ between clusters: names, times, and hashes of them. */
async function stateOf(client: Client): Promise<unknown> {
  const { status }: KubeObject & { readonly status?: StandardStatus } = await client.get(Memcached, sample)
  const get = async (resource: Resource): Promise<unknown> => {
    const object: UntypedObject = await client.get(resource, sample)
    const { labels, annotations = {}, ownerReferences = [] } = object.metadata
    const owners = ownerReferences.map(({ kind, name }) => `${kind} ${name}`)
    return { ...object, metadata: { labels, annotations: Object.keys(annotations), owners } }
  }
  return {
    configMap: await get(ConfigMap),
    secret: await get(Secret),
    deployment: await get(Deployment),
    observedGeneration: status?.observedGeneration,
    conditions: status?.conditions?.map((each) => `${each.type} ${each.status} ${each.reason}`),
  }
}
