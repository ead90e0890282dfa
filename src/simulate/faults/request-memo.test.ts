/** A server with a known history gives the answer, and makes the change, that it would compute. */
import { describe, expect, it } from 'vitest'
import type { TransportRequest, TransportResponse } from '../../transport/transport.ts'
import type { Client } from '../../client/client.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import { systemRandom } from '../../clock/random.ts'
import { builtinResource } from '../../kube/builtin.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { createRecall, noRecall, type Recall } from './recall.ts'
import { ConfigMap, Pod, ServiceAccount } from '../../kube/kinds.ts'
import { type SimulatedCluster, openCluster, type Snapshot } from './cluster.ts'

const tokenReviews = builtinResource({ group: 'authentication.k8s.io', version: 'v1', kind: 'TokenReview' })!

interface Forked extends SimulatedCluster {
  readonly client: Client
  /** `201`, or `201 remembered` for an answer whose very bytes were given before. */
  readonly answers: string[]
}

const snapshot = (): Snapshot => {
  const cluster = openCluster({ seed: 1, workloads: false })
  cluster.halt()
  return cluster.snapshot()
}

/** Of answers that several clusters gave: the same bytes in the same place are one answer. */
const given = new WeakSet<Uint8Array>()

function fork(from: Snapshot, recall: Recall): Forked {
  const cluster = openCluster({ seed: 1, from, workloads: false, recall })
  const answers: string[] = []
  const handle = async (request: TransportRequest): Promise<TransportResponse> => {
    const answer = await cluster.server.handle(request)
    if (request.method !== 'GET') answers.push(`${answer.status}${given.has(answer.whole!) ? ' remembered' : ''}`)
    given.add(answer.whole!)
    return answer
  }
  const transport = inProcessTransport({ handle })
  return { ...cluster, answers, client: createClient({ transport, clock: cluster.time, random: systemRandom }) }
}

const config = (name: string, text = 'a', owner?: string) => ({
  apiVersion: 'v1' as const,
  kind: 'ConfigMap' as const,
  metadata: {
    name,
    namespace: 'default',
    ...(owner !== undefined && {
      ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner }],
    }),
  },
  data: { text },
})
const ref = (name: string) => ({ namespace: 'default', name })

/** Everything that is stored, and everything that ever was. */
const stored = ({ storage }: SimulatedCluster): readonly string[] =>
  [...storage.tables()]
    .flatMap((table) => (table.changesSince(0) ?? []).map((change) => JSON.stringify(change)))
    .toSorted()

async function act({ client }: Forked): Promise<void> {
  const { metadata } = await client.create(ConfigMap, config('owner'))
  await client.create(ConfigMap, config('owned', 'a', metadata.uid))
  await client.create(ConfigMap, config('owner')).catch(() => undefined)
  await client.patch(ConfigMap, ref('owned'), { data: { text: 'b' } }, { type: 'merge' })
  await client.delete(ConfigMap, ref('owner'))
}

describe('a request memo', () => {
  it('computes a request once: a repeated request gets the same bytes, and leads to the same objects', async () => {
    const [from, recall] = [snapshot(), createRecall()]
    const [first, second, alone] = [fork(from, recall), fork(from, recall), fork(from, noRecall)]
    for (const one of [first, second, alone]) await act(one)
    const statuses = ['201', '201', '409', '200', '200']
    expect(first.answers).toEqual(statuses)
    expect(second.answers).toEqual(statuses.map((status) => `${status} remembered`))
    expect(alone.answers).toEqual(statuses)
    expect(stored(second)).toEqual(stored(first))
    expect(stored(alone)).toEqual(stored(first))
    // The garbage collector has done its part in each.
    expect(second.storage.table('configmaps').get('default', 'owned')).toBeUndefined()
    expect(second.storage.revision).toBe(first.storage.revision)
  })

  it('delivers watch events of replayed changes', async () => {
    const [from, recall] = [snapshot(), createRecall()]
    const told = async (): Promise<readonly string[]> => {
      const one = fork(from, recall)
      const seen: string[] = []
      one.storage.table('configmaps').listen({
        change: ({ type, object, revision }) => seen.push(`${type} ${object.metadata.name} ${revision}`),
        end: () => undefined,
      })
      await act(one)
      return seen
    }
    const [before, after] = [await told(), await told()]
    expect(before).toHaveLength(5)
    expect(after).toEqual(before)
  })

  it('ends where another request, a spontaneous change or another time follows', async () => {
    const [from, recall] = [snapshot(), createRecall()]
    const attempt = async (meanwhile: (one: Forked) => Promise<unknown>): Promise<string | undefined> => {
      const one = fork(from, recall)
      await one.client.create(ConfigMap, config('x'))
      await meanwhile(one)
      await one.client.create(ConfigMap, config('y'))
      return one.answers.at(-1)
    }
    const nothing = (): Promise<void> => Promise.resolve()
    expect(await attempt(nothing)).toBe('201')
    expect(await attempt(nothing)).toBe('201 remembered')
    expect(await attempt(({ time }) => time.run(900))).toBe('201 remembered')
    expect(await attempt(({ time }) => time.run(1000))).toBe('201')
    expect(await attempt(({ client }) => client.create(ConfigMap, config('z')))).toBe('201')
    const byItself = ({ storage }: Forked): Promise<unknown> =>
      Promise.resolve(storage.put('configmaps', { ...config('w'), metadata: { ...config('w').metadata, uid: 'w' } }))
    expect(await attempt(byItself)).toBe('201')
    expect(await attempt(byItself)).toBe('201 remembered')
    // What was refused changes nothing.
    expect(await attempt(({ client }) => client.create(ConfigMap, config('x')).catch(() => undefined))).toBe(
      '201 remembered',
    )
  })

  it('is not used for concurrent requests of a process', async () => {
    const [from, recall] = [snapshot(), createRecall()]
    const attempt = async (): Promise<Forked> => {
      const one = fork(from, recall)
      await Promise.all(['x', 'y', 'z'].map((name) => one.client.create(ConfigMap, config(name))))
      await one.client.create(ConfigMap, config('after'))
      return one
    }
    const [first, second] = [await attempt(), await attempt()]
    expect(second.answers).toEqual(['201', '201', '201', '201'])
    expect(stored(second)).toEqual(stored(first))
  })

  it('never assigns two objects one uid', async () => {
    const one = fork(snapshot(), createRecall())
    const uids = new Set<string>()
    for (let count = 0; count < 200; count++) {
      const { metadata } = await one.client.create(ConfigMap, config(`c${count}`))
      uids.add(metadata.uid!)
      await one.client.create(ConfigMap, config(`c${count}`)).catch(() => undefined)
    }
    expect(uids.size).toBe(200)
  })

  it('never returns a token that another server signed', async () => {
    const [from, recall] = [snapshot(), createRecall()]
    const account = ref('robot')
    const attempt = async (): Promise<readonly [string, boolean | undefined]> => {
      const one = fork(from, recall)
      await one.client.create(ServiceAccount, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: account })
      const { token } = await one.client.createToken(account, { expirationSeconds: 3600 })
      const spec = { token }
      const kind = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', metadata: { name: '' } }
      const review = await one.client.create<UntypedObject>(tokenReviews, { ...kind, spec })
      return [token, (review['status'] as { readonly authenticated?: boolean }).authenticated]
    }
    const [[one, isGood], [other, isGoodToo]] = [await attempt(), await attempt()]
    expect(other).not.toBe(one)
    expect([isGood, isGoodToo]).toEqual([true, true])
  })

  it('handles a deleted pod, which changes twice', async () => {
    const [from, recall] = [snapshot(), createRecall()]
    const containers = [{ name: 'a', image: 'a' }]
    const attempt = async (): Promise<Forked> => {
      const one = fork(from, recall)
      await one.client.create(Pod, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: ref('p'),
        spec: { containers },
      })
      await one.client.delete(Pod, ref('p'), { gracePeriodSeconds: 0 })
      return one
    }
    const [first, second] = [await attempt(), await attempt()]
    expect(second.answers).toEqual(['201 remembered', '200'])
    expect(stored(second)).toEqual(stored(first))
    expect(second.storage.revision).toBe(first.storage.revision)
  })
})
