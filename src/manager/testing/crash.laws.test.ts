import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  App as AppKind,
  app,
  appOperator,
  exists,
  type FaultyTransport,
  faultyTransport,
} from '../../../test/app-operator.ts'
import { clientErrors } from '../../client/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { ClusterRole, ConfigMap, Deployment, Secret } from '../../kube/kinds.ts'
import type { Operator } from '../../operator/operator.ts'
import type { Resource } from '../../kube/kind.ts'
import { defineDependent } from '../../operator/dependent/dependent.ts'
import type { TypedResource } from '../../kube/typed-resource.ts'
import { openTestEnvironment, type TestEnvironment } from './test-environment.ts'

const ref = { name: 'a', namespace: 'default' }

const config = defineDependent({
  for: AppKind,
  kind: ConfigMap,
  fromCR: ({ cr }) => ({ data: { text: cr.spec.text } }),
})
const parts = defineDependent({
  for: AppKind,
  kind: Secret,
  id: 'part',
  each: ({ cr }) => cr.spec.parts ?? {},
  fromCR: ({ item }) => ({ stringData: { item } }),
})
const role = defineDependent({
  for: AppKind,
  kind: ClusterRole,
  activeWhen: ({ cr }) => cr.spec.size > 1,
  initial: { rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] },
})
const deployment = defineDependent({
  for: AppKind,
  kind: Deployment,
  dependsOn: [config],
  fromCR: ({ cr }) => ({
    spec: {
      replicas: cr.spec.size,
      selector: { matchLabels: { app: 'a' } },
      template: {
        metadata: { labels: { app: 'a' } },
        spec: {
          containers: [
            {
              name: 'app',
              image: 'app:1',
              env: Object.entries(cr.spec.parts ?? {}).map(([name, value]) => ({ name, value })),
            },
          ],
        },
      },
    },
  }),
})

/** An operator with something outside: a set of names that must be empty when no CR is left. */
function withOutside(): { readonly operator: Operator; readonly outside: Set<string> } {
  const outside = new Set<string>()
  const operator = appOperator({
    dependents: [config, parts, role, deployment],
    steps: {
      async Updater({ cr }, next) {
        outside.add(cr.metadata.name)
        await next()
      },
    },
    finalize({ cr }) {
      outside.delete(cr.metadata.name)
      return 'done'
    },
    status: ({ all }) => ({
      names: all(parts)
        .map(({ metadata }) => metadata.name)
        .toSorted(),
    }),
    backOff: { firstMs: 500, mostMs: 2000 },
  })
  return { operator, outside }
}

type Act =
  | { readonly what: 'create' | 'delete' | 'loseConfig' | 'driftConfig' | 'driftDeployment' | 'restart' }
  | { readonly what: 'text'; readonly text: string }
  | { readonly what: 'size'; readonly size: number }
  | { readonly what: 'parts'; readonly parts: Readonly<Record<string, string>> }

async function act(testEnv: TestEnvironment, given: Act): Promise<void> {
  const { client } = testEnv
  const spec = async (value: object): Promise<void> =>
    void (await client.patch(AppKind, ref, [{ op: 'replace', path: '/spec', value }], { type: 'json' }))
  const current = async (): Promise<object> => (await client.get(AppKind, ref))['spec']
  try {
    switch (given.what) {
      case 'create':
        await testEnv.create(AppKind, app('a', { parts: { x: '1' } }))
        break
      case 'delete':
        await client.delete(AppKind, ref)
        break
      case 'loseConfig':
        await client.delete(ConfigMap, ref)
        break
      case 'driftConfig':
        await client.patch(ConfigMap, ref, { data: { text: 'drift', theirs: 'kept' } }, { type: 'merge' })
        break
      case 'driftDeployment':
        await client.patch(Deployment, ref, { spec: { replicas: 9, paused: true } }, { type: 'merge' })
        break
      case 'restart':
        await testEnv.restart()
        break
      case 'text':
        await spec({ ...(await current()), text: given.text })
        break
      case 'size':
        await spec({ ...(await current()), size: given.size })
        break
      case 'parts':
        await spec({ ...(await current()), parts: given.parts })
        break
    }
  } catch (error) {
    // What is not there cannot be changed; what is there cannot be made.
    if (!(error instanceof MusterError)) throw error
  }
}

/** What is there in the end, without what no two runs have in common. */
async function endState(testEnv: TestEnvironment): Promise<readonly unknown[]> {
  const kinds: readonly TypedResource[] = [AppKind, ConfigMap, Secret, ClusterRole, Deployment]
  const found: unknown[] = []
  for (const kind of kinds) {
    const { items } = await testEnv.client.list(kind as Resource, kind.namespaced ? { namespace: 'default' } : {})
    for (const item of items) {
      const { name, labels, annotations, finalizers, ownerReferences = [] } = item.metadata
      if (kind === ClusterRole && labels?.['app.kubernetes.io/managed-by'] !== 'kit') continue
      const { apiVersion: _, metadata: __, ...rest } = item
      const marks = { ...annotations, ...(annotations?.['muster.dev/desired'] && { 'muster.dev/desired': 'marked' }) }
      const owner = labels?.['muster.dev/owner'] === undefined ? {} : { 'muster.dev/owner': 'the CR' }
      const status = rest['status'] as { readonly conditions?: readonly Record<string, unknown>[] } | undefined
      const conditions = status?.conditions
        ?.map(({ lastTransitionTime: _time, observedGeneration: _generation, ...condition }) => condition)
        .toSorted((a, b) => (String(a['type']) < String(b['type']) ? -1 : 1))
      found.push({
        ...rest,
        name,
        labels: { ...labels, ...owner },
        annotations: marks,
        finalizers,
        owners: ownerReferences.map((reference) => reference.name),
        ...(status && { status: { ...status, observedGeneration: 0, ...(conditions && { conditions }) } }),
      })
    }
  }
  return found
}

interface Cut {
  /** Which write of the operator, counted from 0. */
  readonly write: number
  /** Whether it still reaches the server. */
  readonly isDone: boolean
}

async function run(
  script: readonly Act[],
  cuts: readonly Cut[],
): Promise<{ readonly end: readonly unknown[]; readonly writes: number; readonly outside: readonly string[] }> {
  const { operator, outside } = withOutside()
  const line: FaultyTransport = faultyTransport()
  const testEnv = await openTestEnvironment(operator, { wire: line.through })
  let writes = 0
  let isDead = false
  const lost = (): never => {
    throw new MusterError(clientErrors.Aborted, 'The process is gone.')
  }
  line.hinder = async ({ method, path }) => {
    if (isDead) lost()
    if (method === 'GET' || path.includes('/events')) return
    const cut = cuts.find(({ write }) => write === writes)
    writes++
    if (!cut) return
    isDead = true
    if (!cut.isDone) lost()
  }
  const revive = async (): Promise<void> => {
    // It may die again while it comes back.
    while (isDead) {
      await testEnv.stop()
      isDead = false
      await testEnv.start()
      await testEnv.settle()
    }
  }
  for (const step of script) {
    await act(testEnv, step)
    await testEnv.settle()
    await revive()
  }
  await testEnv.settle(10_000)
  const end = await endState(testEnv)
  const before = testEnv.writes.length
  await testEnv.settle(10_000)
  expect(testEnv.writes.length).toBe(before)
  const isLeft = await exists(testEnv.client, AppKind, 'a')
  expect([...outside]).toEqual(isLeft ? ['a'] : [])
  await testEnv.close()
  return { end, writes, outside: [...outside] }
}

const acts: fc.Arbitrary<Act> = fc.oneof(
  fc.constantFrom<Act>(
    { what: 'create' },
    { what: 'delete' },
    { what: 'loseConfig' },
    { what: 'driftConfig' },
    { what: 'driftDeployment' },
    { what: 'restart' },
  ),
  fc.constantFrom('one', 'two', 'three').map((text): Act => ({ what: 'text', text })),
  fc.integer({ min: 0, max: 3 }).map((size): Act => ({ what: 'size', size })),
  fc
    .dictionary(fc.constantFrom('x', 'y', 'z'), fc.constantFrom('1', '2'), { maxKeys: 3 })
    .map((given): Act => ({ what: 'parts', parts: { ...given } })),
)

describe('a process may end at any point', () => {
  const script: readonly Act[] = [
    { what: 'create' },
    { what: 'size', size: 2 },
    { what: 'parts', parts: { y: '2' } },
    { what: 'driftConfig' },
    { what: 'delete' },
  ]

  it('before or after each of its writes, and the end state is the same', async () => {
    const without = await run(script, [])
    const beforeTheEnd = await run(script.slice(0, -1), [])
    expect(without.writes).toBeGreaterThan(10)
    for (let write = 0; write < without.writes; write++) {
      const cut = { write, isDone: write % 2 === 0 }
      expect((await run(script, [cut])).end, `cut at write ${write}`).toEqual(without.end)
    }
    for (let write = 1; write < beforeTheEnd.writes; write += 2) {
      const { end } = await run(script.slice(0, -1), [{ write, isDone: true }])
      expect(end, `cut at write ${write}`).toEqual(beforeTheEnd.end)
    }
  }, 60_000)

  it('with concurrent changes of other clients', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(acts, { minLength: 1, maxLength: 5 }),
        fc.array(fc.record({ write: fc.integer({ min: 0, max: 20 }), isDone: fc.boolean() }), { maxLength: 3 }),
        async (middle, cuts) => {
          const whole: readonly Act[] = [{ what: 'create' }, ...middle]
          const { end } = await run(whole, [])
          expect((await run(whole, cuts)).end).toEqual(end)
        },
      ),
      { numRuns: 8 },
    )
  }, 60_000)
})
