import { afterEach, describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { app, App, appOperator, type AppController } from '../../../test/app-operator.ts'
import { harbourOperator, pier, Ship, ship } from '../../../test/coordinator-operator.ts'
import { type RenderInput, Site, site, siteOperator } from '../../../test/task-operator.ts'
import { createSharedCache } from '../../cache/shared-cache.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import { seededRandom } from '../../clock/random.ts'
import type { Json } from '../../kube/json.ts'
import type { Resource } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { ConfigMap, Deployment, Secret, StatefulSet } from '../../kube/kinds.ts'
import { defineOperator, type Operator } from '../../operator/operator.ts'
import { defineController } from '../../operator/controller.ts'
import { referenced } from '../../operator/view/input.ts'
import { giveUp } from '../../operator/failure.ts'
import { integer, list, object as record, optional, string } from '../../operator/kind/field.ts'
import { defineKind } from '../../operator/kind/kind.ts'
import type { ObjectOf } from '../../kube/typed-resource.ts'
import type { View } from '../../operator/view/view.ts'
import { defineDependent } from '../../operator/dependent/dependent.ts'
import { defineTask } from '../../operator/task/task.ts'
import { pausedLabel } from '../run/paused.ts'
import { openTestEnvironment, type TestEnvironment } from '../testing/test-environment.ts'
// Loaded when the first plan is made: virtual time does not wait for that.
import './filling.ts'
import { dryRun, type DryRunOptions, type OperatorPlan, type PlannedChange } from './dry-run.ts'
import { planLines } from './text.ts'

/** Servers that share a password, as in the example: a ConfigMap, a Secret made from another, a Deployment that needs both. */
const Memcached = defineKind({
  group: 'cache.example.com',
  version: 'v1alpha1',
  kind: 'Memcached',
  spec: {
    size: integer({ default: 1 }),
    memoryMegabytes: integer({ default: 64 }),
    passwordFrom: optional(string()),
  },
  status: { nodes: optional(list(string())) },
})
type Memcached = ObjectOf<typeof Memcached>

const passwordOf = ({ metadata, spec }: Memcached, view: View): string | undefined =>
  spec.passwordFrom === undefined
    ? undefined
    : view.get(Secret, { namespace: metadata.namespace, name: spec.passwordFrom })?.data?.['password']

const settings = defineDependent({
  for: Memcached,
  kind: ConfigMap,
  fromCR: ({ cr: { spec } }) => ({ data: { MEMORY: String(spec.memoryMegabytes) } }),
})
const copy = defineDependent({
  for: Memcached,
  kind: Secret,
  activeWhen: ({ cr: { spec } }) => spec.passwordFrom !== undefined,
  writtenWhen: ({ cr: own, view }) =>
    passwordOf(own, view) !== undefined || `a password in Secret ${own.spec.passwordFrom}`,
  fromCR: ({ cr: own, view }) => ({ data: { PASSWORD: passwordOf(own, view) } }),
})
const labels = { app: 'memcached' }
const servers = defineDependent({
  for: Memcached,
  kind: Deployment,
  dependsOn: [settings, copy],
  fromCR: ({ cr: { metadata, spec } }) => ({
    spec: {
      replicas: spec.size,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [{ name: 'memcached', image: 'memcached', envFrom: [{ configMapRef: { name: metadata.name } }] }],
        },
      },
    },
  }),
})
const memcached = defineOperator({
  name: 'memcached',
  controllers: [
    defineController({
      for: Memcached,
      dependents: [settings, copy, servers],
      reads: [
        referenced(Secret, { from: Memcached, namePath: '$.spec.passwordFrom', namespacePath: '$.metadata.namespace' }),
      ],
      check({ cr: { metadata, spec } }) {
        if (spec.passwordFrom === metadata.name)
          giveUp('PasswordFromItself', `spec.passwordFrom names ${metadata.name}.`)
      },
      status: () => ({ nodes: [] }),
    }),
  ],
})

let testEnv: TestEnvironment
afterEach(() => testEnv.close())

/** A plan, and the requests that it took. */
async function plan(
  operator: Operator,
  options: Partial<DryRunOptions> = {},
): Promise<OperatorPlan & { readonly requests: readonly string[] }> {
  const { clock, server } = testEnv
  const requests: string[] = []
  const inner = inProcessTransport(server)
  const transport = {
    ...inner,
    send(request: Parameters<typeof inner.send>[0]) {
      requests.push(`${request.method} ${request.path}`)
      return inner.send(request)
    },
  }
  const client = createClient({ transport, clock, random: seededRandom(3) })
  const cache = createSharedCache({ client, clock, random: seededRandom(4) })
  let isDone = false
  const planning = dryRun({ operator, client, cache, clock, ...options }).finally(() => (isDone = true))
  planning.catch(() => undefined)
  await clock.until(() => isDone)
  try {
    return { ...(await planning), requests }
  } finally {
    cache.close()
    await client.close()
  }
}

const what = ({ action, object }: PlannedChange): string => `${action} ${object.kind} ${object.name}`
const text = (shown: OperatorPlan): string =>
  planLines(shown)
    .map((line) => line.text)
    .join('\n')

const cr = (name: string, spec: object = {}, metadata: object = {}): UntypedObject => ({
  apiVersion: 'cache.example.com/v1alpha1',
  kind: 'Memcached',
  metadata: { name, namespace: 'default', ...metadata },
  spec,
})
const secret = (name: string, password: string): UntypedObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: 'default' },
  data: { password: btoa(password) },
})

describe('a dry run', () => {
  it('shows all writes, wave after wave, and only reads', async () => {
    testEnv = await openTestEnvironment(memcached, { stopped: true })
    await testEnv.create(Memcached, cr('a'))
    const { requests, ...shown } = await plan(memcached)
    expect(shown.changes.map(what)).toEqual(['create ConfigMap a', 'create Deployment a', 'change Memcached a'])
    expect(shown.changes[2]?.fields.map(({ path }) => path)).toEqual(['status'])
    expect(shown.crs).toEqual([{ cr: 'default/a', kind: 'Memcached', controller: 'memcached', outcome: 'settled' }])
    expect(requests.length).toBeGreaterThan(0)
    expect(requests.filter((request) => !request.startsWith('GET '))).toEqual([])
  })

  it('is empty when everything is up to date', async () => {
    testEnv = await openTestEnvironment(memcached)
    await testEnv.create(Memcached, cr('a'))
    await testEnv.settle()
    const shown = await plan(memcached)
    expect(shown.changes).toEqual([])
    expect(text(shown)).toBe('# memcached: nothing to do for 1 CR.')
  })

  it('shows changes as a diff, and dependents that are no longer desired', async () => {
    testEnv = await openTestEnvironment(memcached)
    await testEnv.create(Secret, secret('pw', 'correct horse'))
    await testEnv.create(Memcached, cr('a', { size: 1, passwordFrom: 'pw' }))
    await testEnv.settle()
    await testEnv.stop()
    await testEnv.client.patch(
      Memcached,
      { name: 'a', namespace: 'default' },
      { spec: { size: 3, passwordFrom: null } },
      { type: 'merge' },
    )
    const shown = await plan(memcached)
    expect(shown.changes.map(what)).toEqual(['change Deployment a', 'delete Secret a', 'change Memcached a'])
    expect(shown.changes[0]?.fields).toContainEqual({ path: 'spec.replicas', before: 1, after: 3 })
    expect(text(shown)).toContain('-  replicas: 1\n+  replicas: 3')
    expect(text(shown)).toContain('--- v1/Secret/default/a\n+++ /dev/null')
    expect(text(shown)).toContain('# memcached: 0 to create, 2 to change, 1 to delete.')
  })

  it('shows no change of values that the server defaults or normalises: claim templates, references, zero values', async () => {
    const Gadget = defineKind({
      group: 'test.example.com',
      version: 'v1',
      kind: 'Gadget',
      spec: {
        size: optional(integer()),
        parts: optional(list(record({ name: string(), weight: integer({ default: 7 }) }))),
      },
    })
    const set = defineDependent({
      for: App,
      kind: StatefulSet,
      fromCR: ({ cr: { spec } }) => ({
        spec: {
          replicas: spec.size,
          serviceName: 'a',
          minReadySeconds: 0,
          selector: { matchLabels: labels },
          template: {
            metadata: { labels },
            spec: {
              containers: [
                {
                  name: 'a',
                  image: 'a:1',
                  stdin: false,
                  env: [{ name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } }],
                  resources: { requests: { memory: '1024Mi' } },
                },
              ],
              tolerations: [{ key: 'a', operator: 'Exists' }],
              volumes: [{ name: 'v', configMap: { name: 'v', items: [{ key: 'a', path: 'a' }] } }],
            },
          },
          volumeClaimTemplates: [
            {
              metadata: { name: 'data' },
              spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1024Mi' } } },
            },
          ],
        },
      }),
    })
    const gadget = defineDependent({
      for: App,
      kind: Gadget,
      fromCR: ({ cr: { spec } }) => ({ spec: { size: spec.size, parts: [{ name: 'one' }] } }),
    })
    const operator = appOperator({ dependents: [set, gadget] })
    testEnv = await openTestEnvironment(operator)
    await testEnv.create(App, app('a', { size: 1 }))
    await testEnv.settle()
    await testEnv.stop()
    await testEnv.client.patch(App, { name: 'a', namespace: 'default' }, { spec: { size: 3 } }, { type: 'merge' })
    const shown = await plan(operator)
    const mark = 'metadata.annotations["muster.dev/desired"]'
    const paths = shown.changes.map((one) => [what(one), one.fields.map(({ path }) => path).toSorted()])
    expect(paths.slice(0, 2)).toEqual([
      ['change StatefulSet a', [mark, 'spec.replicas']],
      ['change Gadget a', [mark, 'spec.size']],
    ])
  })

  it('shows no Secret value, wherever it appears', async () => {
    const password = 'correct-horse-battery'
    const spread: AppController = {
      reads: [Secret],
      dependents: [
        defineDependent({
          for: App,
          kind: Secret,
          fromCR: ({ cr: { metadata }, view }) => ({
            metadata: {
              annotations: {
                copied: view.get(Secret, { name: 'pw', namespace: metadata.namespace })?.data?.['password'] ?? '',
              },
            },
            data: { again: view.get(Secret, { name: 'pw', namespace: metadata.namespace })?.data?.['password'] ?? '' },
          }),
        }),
        defineDependent({
          for: App,
          kind: ConfigMap,
          fromCR: ({ view }) => ({
            data: {
              url: `http://me:${atob(view.get(Secret, { name: 'pw', namespace: 'default' })?.data?.['password'] ?? '')}@db`,
            },
          }),
        }),
      ],
      status: ({ view }) => ({
        seen: view.get(Secret, { name: 'pw', namespace: 'default' })?.data?.['password'] ?? '',
      }),
    }
    const operator = appOperator(spread)
    testEnv = await openTestEnvironment(operator)
    await testEnv.create(Secret, secret('pw', 'an-older-password'))
    await testEnv.create(App, app('a'))
    await testEnv.settle()
    await testEnv.stop()
    await testEnv.client.patch(
      Secret,
      { name: 'pw', namespace: 'default' },
      { data: { password: btoa(password) } },
      { type: 'merge' },
    )
    const shown = await plan(operator)
    expect(shown.changes.map(what)).toEqual(['change Secret a', 'change ConfigMap a', 'change App a'])
    const all = `${JSON.stringify(shown)}${text(shown)}`
    expect(all).not.toContain(password)
    expect(all).not.toContain(btoa(password))
    expect(text(shown)).toContain('+  again: (another secret)')
    expect(text(shown)).toContain('+  url: (another secret)')
    // What was hashed can be guessed.
    expect(text(shown)).not.toMatch(/muster.dev\/desired: kit/)
  })

  it('reports why a CR would fail, what another waits for, and which is paused', async () => {
    testEnv = await openTestEnvironment(memcached, { stopped: true })
    await testEnv.create(Memcached, cr('fails', { passwordFrom: 'fails' }))
    await testEnv.create(Memcached, cr('waits', { passwordFrom: 'nowhere' }))
    await testEnv.create(Memcached, cr('paused', {}, { labels: { [pausedLabel]: 'true' } }))
    const shown = await plan(memcached)
    const outcomes = Object.fromEntries(
      shown.crs.map(({ cr: key, outcome, message = '' }) => [key, `${outcome} ${message}`]),
    )
    expect(outcomes).toEqual({
      'default/fails': expect.stringContaining('failed CRChecker, cr: spec.passwordFrom names fails'),
      'default/waits': 'waiting secret waits for a password in Secret nowhere',
      'default/paused': 'paused ',
    })
    expect(shown.changes.filter((change) => change.cr === 'default/paused')).toEqual([])
  })

  it('plans for the requested CRs, and reports a missing one', async () => {
    testEnv = await openTestEnvironment(memcached, { stopped: true })
    for (const name of ['a', 'b']) await testEnv.create(Memcached, cr(name))
    expect((await plan(memcached, { crs: ['default/b'] })).crs.map((one) => one.cr)).toEqual(['default/b'])
    expect((await plan(memcached, { crs: ['a'] })).crs.map((one) => one.cr)).toEqual(['default/a'])
    await expect(plan(memcached, { crs: ['default/c'] })).rejects.toThrow(
      'there is no Memcached "default/c". Did you mean "default/a"?',
    )
  })

  it('waits for tasks, however long they take, and shows what follows from them', async () => {
    const render = defineTask({
      name: 'render',
      async run({ chart }: RenderInput) {
        // Longer than a step may take.
        await testEnv.clock.sleep(100_000)
        return `rendered ${chart}`
      },
    })
    testEnv = await openTestEnvironment(siteOperator(render), { stopped: true })
    for (const name of ['a', 'b']) await testEnv.create(Site, site(name))
    const begun = testEnv.clock.now()
    const { changes, crs } = await plan(siteOperator(render))
    expect(crs).toMatchObject([{ outcome: 'settled' }, { outcome: 'settled' }])
    const texts = changes.flatMap(({ object, after }) => (object.kind === 'ConfigMap' ? [after?.['data']] : []))
    expect(texts).toEqual([{ text: 'rendered web' }, { text: 'rendered web' }])
    expect(testEnv.clock.now() - begun).toBeLessThan(200_000)
  })

  it('reads decisions of coordinators, and follows those that assumed writes change', async () => {
    const operator = harbourOperator()
    testEnv = await openTestEnvironment(operator, { stopped: true })
    await testEnv.create(ConfigMap, pier('one', 10))
    // The later one has priority, so the earlier one is planned first, and is told of it.
    await testEnv.create(Ship, ship('a', { length: 6 }))
    await testEnv.create(Ship, ship('b', { length: 6, priority: 1 }))
    const { changes, crs } = await plan(operator)
    expect(crs).toMatchObject([{ outcome: 'settled' }, { outcome: 'settled' }])
    const planned = Object.fromEntries(changes.map(({ object, after }) => [object.name, after?.['status']]))
    expect(planned).toMatchObject({ a: { isDocked: false, ahead: 0 }, b: { isDocked: true } })
  })

  it('follows objects from one controller into another', async () => {
    const Parent = defineKind({ group: 'test.example.com', version: 'v1', kind: 'Parent', spec: {}, status: {} })
    const child = defineDependent({ for: Parent, kind: App, fromCR: () => ({ spec: { text: 'from above' } }) })
    const config = defineDependent({
      for: App,
      kind: ConfigMap,
      fromCR: ({ cr: { spec } }) => ({ data: { text: spec.text } }),
    })
    const operator = defineOperator({
      name: 'family',
      controllers: [
        defineController({ for: Parent, dependents: [child] }),
        defineController({ for: App, dependents: [config] }),
      ],
    })
    testEnv = await openTestEnvironment(operator, { stopped: true })
    await testEnv.create(Parent, {
      apiVersion: 'test.example.com/v1',
      kind: 'Parent',
      metadata: { name: 'a', namespace: 'default' },
      spec: {},
    })
    const shown = await plan(operator)
    expect(shown.changes.map(what)).toEqual(['create App a', 'change Parent a', 'create ConfigMap a'])
    expect(shown.crs.map(({ kind, outcome }) => [kind, outcome])).toEqual([
      ['Parent', 'settled'],
      ['App', 'settled'],
    ])
    expect(shown.changes[2]?.after).toMatchObject({ data: { text: 'from above' } })
    await testEnv.start()
    await testEnv.settle()
    expect(
      testEnv.writes.map(({ path }) => path.replace(/\?.*/, '').split('/').slice(-2).join('/')).toSorted(),
    ).toEqual(['a/status', 'a/status', 'apps/a', 'configmaps/a'])
  })

  it('cannot plan for missing kinds, and names them', async () => {
    testEnv = await openTestEnvironment(memcached, { stopped: true, bare: true })
    await expect(plan(memcached)).rejects.toThrow('Memcached (memcacheds.cache.example.com/v1alpha1) is not installed')
  })
})

describe('an executed plan', () => {
  /** Everything that the operator may have written, as far as it wrote it. */
  const state = async (kinds: readonly Resource[]): Promise<Readonly<Record<string, Json>>> => {
    const lists = await Promise.all(kinds.map((kind) => testEnv.client.list(kind, { namespace: 'default' })))
    const objects = lists.flatMap(({ items }) => items)
    return Object.fromEntries(
      objects.map((object) => [`${object.kind} ${object.metadata.name}`, object as unknown as Json]),
    )
  }
  const kinds: readonly Resource[] = [ConfigMap, Secret, Deployment, Memcached]

  const step = fc.oneof(
    fc.record({
      what: fc.constant('ask' as const),
      name: fc.constantFrom('a', 'b'),
      // The health of none goes by a default that only the server knows.
      size: fc.integer({ min: 1, max: 5 }),
      memoryMegabytes: fc.constantFrom(64, 128),
      passwordFrom: fc.constantFrom(null, 'pw'),
    }),
    fc.record({
      what: fc.constantFrom('drop' as const, 'break' as const, 'lose' as const),
      name: fc.constantFrom('a', 'b'),
    }),
  )

  it('makes exactly these changes, each as it was shown', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 3 }),
        fc.array(step, { minLength: 1, maxLength: 3 }),
        async (past, now) => {
          testEnv = await openTestEnvironment(memcached, { seed: 5 })
          const happen = async (steps: typeof past): Promise<void> => {
            for (const one of steps) {
              const name = { name: one.name, namespace: 'default' }
              const person = { fieldManager: 'person', force: true } as const
              if (one.what === 'ask') {
                const { size, memoryMegabytes, passwordFrom } = one
                const spec = { size, memoryMegabytes, ...(passwordFrom !== null && { passwordFrom }) }
                await testEnv.client.apply(Memcached, cr(one.name, spec), person)
              } else if (one.what === 'drop') await testEnv.client.delete(Memcached, name).catch(() => undefined)
              else if (one.what === 'lose') await testEnv.client.delete(ConfigMap, name).catch(() => undefined)
              else
                await testEnv.client
                  .patch(Deployment, name, { spec: { replicas: 9 } }, { type: 'merge' })
                  .catch(() => undefined)
            }
            await testEnv.clock.settle()
          }
          await testEnv.create(Secret, secret('pw', 'correct horse'))
          await happen(past)
          await testEnv.settle()
          await testEnv.stop()
          await happen(now)
          const before = await state(kinds)
          const { changes } = await plan(memcached)
          await testEnv.start()
          await testEnv.settle()
          const after = await state(kinds)
          const really = [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap(
            (name): readonly string[] => {
              const [was, is] = [before[name], after[name]] as unknown as readonly (UntypedObject | undefined)[]
              if (was?.metadata.resourceVersion === is?.metadata.resourceVersion) return []
              return [`${was ? (is ? 'change' : 'delete') : 'create'} ${name}`]
            },
          )
          expect(changes.map(what).toSorted()).toEqual(really.toSorted())
          const shown = changes.filter(({ object, after: planned }) => object.kind !== 'Secret' && planned)
          for (const { object, after: planned } of shown) {
            expect(after[`${object.kind} ${object.name}`]).toMatchObject(withoutTimes(planned!) as object)
          }
          await testEnv.close()
        },
      ),
      { numRuns: 12 },
    )
  })
})

/** When it really happens is later than it was planned. */
function withoutTimes(value: Json): Json {
  return JSON.parse(
    JSON.stringify(value, (key, member: unknown) => (key === 'lastTransitionTime' ? undefined : member)),
  ) as Json
}
