import { describe, expect, it } from 'vitest'
import {
  type App,
  App as AppKind,
  app,
  operations,
  read,
  since,
  openAppEnvironment,
} from '../../../test/app-operator.ts'
import type { Client } from '../../client/client.ts'
import type { TypedResource } from '../../kube/typed-resource.ts'
import type { KubeObject } from '../../kube/object.ts'
import { boolean, integer, list, map, optional, string } from '../../operator/kind/field.ts'
import { defineKind } from '../../operator/kind/kind.ts'
import { ConfigMap, Deployment, PodDisruptionBudget, Secret, Service, ServiceAccount } from '../../kube/kinds.ts'
import { defineDependent, type DependentOverlay, type DependentOptions } from '../../operator/dependent/dependent.ts'
import { resourceOf } from '../../kube/typed-resource.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { TestEnvironment } from './test-environment.ts'

const Gadget = defineKind({
  group: 'test.example.com',
  version: 'v1',
  kind: 'Gadget',
  spec: {
    flag: optional(boolean()),
    count: optional(integer()),
    note: optional(string()),
    tags: optional(map(string())),
    parts: optional(list(string())),
  },
})

type Options<T extends KubeObject> = Omit<DependentOptions<App, T, undefined>, 'for' | 'kind'>

/** An operator that keeps one object for each App, which has one. */
async function keeping<T extends KubeObject>(
  kind: TypedResource<T>,
  options: Options<T>,
  spec: Readonly<Record<string, unknown>> = {},
): Promise<TestEnvironment> {
  const testEnv = await openAppEnvironment({
    dependents: [defineDependent({ for: AppKind, kind, id: 'child', ...options })],
  })
  await testEnv.create(AppKind, app('a', spec))
  await testEnv.settle()
  return testEnv
}

function pods(container: object = {}, replicas = 1): DependentOverlay<Deployment> {
  return {
    spec: {
      replicas,
      selector: { matchLabels: { app: 'a' } },
      template: {
        metadata: { labels: { app: 'a' } },
        spec: { containers: [{ name: 'app', image: 'app:1', ...container }] },
      },
    },
  }
}

async function edit(client: Client, kind: TypedResource, patch: object, fieldManager = 'kubectl-edit'): Promise<void> {
  await client.patch(kind, { name: 'a', namespace: 'default' }, patch, { type: 'strategic', fieldManager })
}

async function rest(testEnv: TestEnvironment): Promise<readonly string[]> {
  const { sent } = since(testEnv)
  await testEnv.settle()
  return sent()
}

/** Wakes the operator without asking for anything else. */
async function poke(testEnv: TestEnvironment): Promise<void> {
  await testEnv.client.patch(
    AppKind,
    { name: 'a', namespace: 'default' },
    { metadata: { annotations: { poked: String(testEnv.clock.now()) } } },
    { type: 'merge', fieldManager: 'poker' },
  )
  await testEnv.settle()
}

/** Nothing is sent: not by itself, not when woken, not by a successor. */
async function expectQuiet(testEnv: TestEnvironment): Promise<void> {
  expect(await rest(testEnv)).toEqual([])
  const woken = since(testEnv)
  const ledgers = testEnv.ledgers.length
  await poke(testEnv)
  expect(testEnv.ledgers.length).toBeGreaterThan(ledgers)
  expect(woken.sent()).toEqual([])
  const again = since(testEnv)
  const before = testEnv.ledgers.length
  await testEnv.restart()
  await testEnv.settle()
  expect(testEnv.ledgers.length).toBeGreaterThan(before)
  expect(again.writes()).toEqual([])
  expect(again.sent().filter((request) => !/^GET \/(?:apis?|api\/v1|apis\/[^/]+\/[^/]+)$/.test(request))).toEqual([])
}

describe('no write when no owned field has changed', () => {
  const amounts = [
    { cpu: '0.5', memory: '1024Mi' },
    { cpu: '1000m', memory: '1Gi' },
    { cpu: 1, memory: 1e9 },
  ]
  it.each(amounts)('after defaulting, and with quantities in another format: %j', async (requests) => {
    const testEnv = await keeping(Deployment, {
      initial: pods({ resources: { requests, limits: requests }, ports: [{ containerPort: 80 }] }),
    })
    expect(operations(testEnv.ledgers)).toEqual(['created child', 'statusWritten cr'])
    await expectQuiet(testEnv)
    await testEnv.close()
  })

  it('with empty or zero values, which servers drop', async () => {
    const testEnv = await keeping(Deployment, {
      initial: pods({ env: [], args: [], stdin: false, workingDir: '', securityContext: {} }, 0),
      fromCR: () => ({ metadata: { labels: {}, annotations: {} }, spec: { paused: false, minReadySeconds: 0 } }),
    })
    await expectQuiet(testEnv)
    await testEnv.close()
  })

  it('with stringData of a Secret', async () => {
    const testEnv = await keeping(Secret, { initial: { stringData: { user: 'admin', word: 'pässwörd' } } })
    const { data } = (await read(testEnv.client, Secret, 'a')) as { data?: Record<string, string> }
    expect(Buffer.from(data?.['word'] ?? '', 'base64').toString()).toBe('pässwörd')
    await expectQuiet(testEnv)
    await testEnv.close()
  })

  it('with undefined values in an overlay', async () => {
    const testEnv = await keeping(ConfigMap, { fromCR: ({ cr }) => ({ data: { a: 'b', none: cr.spec.parts?.['x'] } }) })
    await expectQuiet(testEnv)
    expect((await read(testEnv.client, ConfigMap, 'a'))['data']).toEqual({ a: 'b' })
    await testEnv.close()
  })

  it('when an autoscaler sets a field outside the scope', async () => {
    const testEnv = await keeping(Deployment, { initial: pods(), scope: { except: ['spec.replicas'] } })
    const { writes } = since(testEnv)
    await testEnv.client.setScale(Deployment, { name: 'a', namespace: 'default' }, 4)
    await testEnv.settle()
    expect(writes().filter((write) => write.includes('/deployments/'))).toEqual([])
    await expectQuiet(testEnv)
    expect((await read(testEnv.client, Deployment, 'a'))['spec']).toMatchObject({ replicas: 4 })
    await testEnv.close()
  })

  it('when another manager adds labels, annotations, data and containers', async () => {
    const testEnv = await keeping(Deployment, { initial: pods({ ports: [{ containerPort: 80 }] }) })
    const { writes } = since(testEnv)
    await edit(testEnv.client, Deployment, {
      metadata: { labels: { team: 'blue' }, annotations: { 'mesh.example.com/injected': 'yes' } },
      spec: { template: { spec: { containers: [{ name: 'proxy', image: 'proxy:1' }] } } },
    })
    await testEnv.settle()
    expect(writes().filter((write) => write.includes('/deployments/'))).toEqual([])
    await expectQuiet(testEnv)
    const { spec, metadata } = (await read(testEnv.client, Deployment, 'a')) as unknown as Deployment
    expect(spec?.template.spec?.containers.map(({ name }) => name).toSorted()).toEqual(['app', 'proxy'])
    expect(metadata.labels?.['team']).toBe('blue')
    await testEnv.close()
  })

  it('when another client writes the same value in another form', async () => {
    const testEnv = await keeping(Deployment, { initial: pods({ resources: { requests: { cpu: '500m' } } }) })
    await edit(testEnv.client, Deployment, {
      spec: { template: { spec: { containers: [{ name: 'app', resources: { requests: { cpu: '0.5' } } }] } } },
    })
    await testEnv.settle()
    await expectQuiet(testEnv)
    await testEnv.close()
  })

  it('when other managers co-own desired fields, and the CR changes them', async () => {
    const testEnv = await keeping(Deployment, {
      initial: pods(),
      fromCR: ({ cr }) => pods({ image: `app:${cr.spec.text}` }),
      scope: { except: ['spec.replicas'] },
    })
    await testEnv.client.setScale(Deployment, { name: 'a', namespace: 'default' }, 4)
    await edit(testEnv.client, Deployment, {
      spec: { template: { spec: { containers: [{ name: 'proxy', image: 'proxy:1' }] } } },
    })
    await testEnv.client.patch(AppKind, { name: 'a', namespace: 'default' }, { spec: { text: '2' } }, { type: 'merge' })
    await testEnv.settle()
    const { spec } = (await read(testEnv.client, Deployment, 'a')) as unknown as Deployment
    expect(spec?.replicas).toBe(4)
    expect(spec?.template.spec?.containers.map(({ image }) => image).toSorted()).toEqual(['app:2', 'proxy:1'])
    await expectQuiet(testEnv)
    await testEnv.close()
  })
})

describe('drift of owned fields is corrected', () => {
  it('once, with the changed paths', async () => {
    const testEnv = await keeping(Deployment, { initial: pods({ resources: { requests: { cpu: '500m' } } }) })
    const { writes } = since(testEnv)
    const from = testEnv.ledgers.length
    await edit(testEnv.client, Deployment, {
      spec: {
        replicas: 7,
        template: { spec: { containers: [{ name: 'app', image: 'evil:1', resources: { requests: { cpu: '2' } } }] } },
      },
    })
    await testEnv.settle()
    expect(writes()).toEqual(['PATCH /apis/apps/v1/namespaces/default/deployments/a'])
    const [entry] = testEnv.ledgers.slice(from).flatMap(({ entries }) => entries.filter(({ fields }) => fields))
    expect(entry).toMatchObject({ operation: 'corrected', subject: 'child' })
    expect(entry?.fields?.toSorted()).toEqual([
      'spec.replicas',
      'spec.template.spec.containers[name="app"].image',
      'spec.template.spec.containers[name="app"].resources.requests.cpu',
    ])
    expect((await read(testEnv.client, Deployment, 'a'))['spec']).toMatchObject({ replicas: 1 })
    await expectQuiet(testEnv)
    await testEnv.close()
  })

  it('when the object, a value, a label or an item of a keyed list is removed', async () => {
    const testEnv = await keeping(Deployment, {
      initial: pods({
        env: [
          { name: 'A', value: '1' },
          { name: 'B', value: '2' },
        ],
      }),
      fromCR: () => ({ metadata: { labels: { tier: 'web' } } }),
    })
    const whole = await read(testEnv.client, Deployment, 'a')
    const changes = [
      () => edit(testEnv.client, Deployment, { metadata: { labels: { tier: null } } }),
      () =>
        edit(testEnv.client, Deployment, {
          spec: { template: { spec: { containers: [{ name: 'app', env: [{ name: 'A', $patch: 'delete' }] }] } } },
        }),
      async () => void (await testEnv.client.delete(Deployment, { name: 'a', namespace: 'default' })),
    ]
    for (const change of changes) {
      const { writes } = since(testEnv)
      await change()
      await testEnv.settle()
      expect(writes()).toHaveLength(1)
      const is = (await read(testEnv.client, Deployment, 'a')) as unknown as Deployment
      expect(is.metadata.labels).toEqual(whole.metadata.labels)
      expect(is.spec?.template.spec?.containers[0]?.env?.map(({ name }) => name).toSorted()).toEqual(['A', 'B'])
    }
    await expectQuiet(testEnv)
    await testEnv.close()
  })

  const falsy: readonly (readonly [string, () => Promise<TestEnvironment>, TypedResource, object])[] = [
    [
      'false and zero behind pointers',
      () =>
        keeping(Deployment, { initial: pods({ securityContext: { allowPrivilegeEscalation: false, runAsUser: 0 } }) }),
      Deployment,
      {
        spec: {
          template: {
            spec: {
              containers: [{ name: 'app', securityContext: { allowPrivilegeEscalation: null, runAsUser: null } }],
            },
          },
        },
      },
    ],
    [
      'an empty struct behind a pointer',
      () => keeping(Deployment, { initial: pods({ securityContext: {} }) }),
      Deployment,
      { spec: { template: { spec: { containers: [{ name: 'app', securityContext: null }] } } } },
    ],
    [
      'false at the top',
      () => keeping(ServiceAccount, { initial: { automountServiceAccountToken: false } }),
      ServiceAccount,
      { automountServiceAccountToken: null },
    ],
    [
      'an empty entry and an empty label',
      () => keeping(ConfigMap, { initial: { metadata: { labels: { empty: '' } }, data: { empty: '', a: 'b' } } }),
      ConfigMap,
      { metadata: { labels: { empty: null } }, data: { empty: null } },
    ],
    [
      'false, zero, an empty string, list or map of a custom object',
      () =>
        keeping(Gadget, {
          // What generators of manifests leave behind: it is neither written nor missed.
          initial: `
            metadata: { creationTimestamp: null, labels: {} }
            spec: { flag: false, count: 0, note: "", tags: {}, parts: [] }
            status: {}
          `,
        }),
      Gadget,
      { spec: { flag: null, count: null, note: null, tags: null, parts: null } },
    ],
  ]
  it.each(falsy)('when %s is removed', async (_, open, kind, patch) => {
    const testEnv = await open()
    const { metadata, ...whole } = await read(testEnv.client, kind, 'a')
    const { writes } = since(testEnv)
    await testEnv.client.patch(kind, { name: 'a', namespace: 'default' }, patch, {
      type: kind === Gadget ? 'merge' : 'strategic',
      fieldManager: 'kubectl-edit',
    })
    await testEnv.settle()
    expect(writes()).toHaveLength(1)
    const is = await read(testEnv.client, kind, 'a')
    expect(is).toMatchObject(whole)
    expect(is.metadata.labels).toEqual(metadata.labels)
    await expectQuiet(testEnv)
    await testEnv.close()
  })

  it('when another client adds to an atomic map, such as the selector of a Service', async () => {
    const testEnv = await keeping(Service, {
      initial: { spec: { selector: { app: 'a' }, ports: [{ port: 80 }] } },
    })
    await expectQuiet(testEnv)
    await edit(testEnv.client, Service, { spec: { selector: { other: 'b' } } })
    await testEnv.settle()
    const { spec } = (await read(testEnv.client, Service, 'a')) as unknown as Service
    expect(spec?.selector).toEqual({ app: 'a' })
    await expectQuiet(testEnv)
    await testEnv.close()
  })

  it('when another client adds to a selector, which is atomic with its labels', async () => {
    const testEnv = await keeping(PodDisruptionBudget, {
      initial: { spec: { minAvailable: 1, selector: { matchLabels: { app: 'a' } } } },
    })
    await expectQuiet(testEnv)
    await edit(testEnv.client, PodDisruptionBudget, { spec: { selector: { matchLabels: { other: 'b' } } } })
    await testEnv.settle()
    const { spec } = (await read(testEnv.client, PodDisruptionBudget, 'a')) as unknown as PodDisruptionBudget
    expect(spec?.selector?.matchLabels).toEqual({ app: 'a' })
    await expectQuiet(testEnv)
    await testEnv.close()
  })

  it('when another client removes the owner reference', async () => {
    const testEnv = await keeping(ConfigMap, { initial: { data: { a: 'b' } } })
    await testEnv.client.patch(
      ConfigMap,
      { name: 'a', namespace: 'default' },
      { metadata: { ownerReferences: null } },
      { type: 'merge' },
    )
    await testEnv.settle()
    expect((await read(testEnv.client, ConfigMap, 'a')).metadata.ownerReferences).toHaveLength(1)
    await expectQuiet(testEnv)
    await testEnv.close()
  })

  it('when another client removes or changes the annotation', async () => {
    const testEnv = await keeping(ConfigMap, { initial: { data: { a: 'b' } } })
    const { annotations } = (await read(testEnv.client, ConfigMap, 'a')).metadata
    for (const mark of [null, 'nonsense', 'kit.app:0000', 'other.app:0000']) {
      const patch = { metadata: { annotations: { 'muster.dev/desired': mark } } }
      await testEnv.client.patch(ConfigMap, { name: 'a', namespace: 'default' }, patch, { type: 'merge' })
      await testEnv.settle()
      expect((await read(testEnv.client, ConfigMap, 'a')).metadata.annotations).toEqual(annotations)
    }
    await expectQuiet(testEnv)
    await testEnv.close()
  })
})

describe('a field that the CR no longer sets is removed from the child', () => {
  it('a field, an entry of a map, an item of a keyed list', async () => {
    const testEnv = await keeping(
      Deployment,
      {
        initial: pods(),
        fromCR: ({ cr }) => ({
          metadata: { annotations: cr.spec.parts },
          spec: {
            minReadySeconds: cr.spec.parts && 5,
            template: {
              spec: {
                containers: [
                  { name: 'app', env: Object.entries(cr.spec.parts ?? {}).map(([name, value]) => ({ name, value })) },
                ],
              },
            },
          },
        }),
      },
      { parts: { X: '1', Y: '2' } },
    )
    const ref = { name: 'a', namespace: 'default' }
    await testEnv.client.patch(AppKind, ref, { spec: { parts: { X: null } } }, { type: 'merge' })
    await testEnv.settle()
    const one = (await read(testEnv.client, Deployment, 'a')) as unknown as Deployment
    expect(one.spec?.template.spec?.containers[0]?.env).toEqual([{ name: 'Y', value: '2' }])
    expect(one.metadata.annotations).not.toHaveProperty('X')
    await testEnv.client.patch(AppKind, ref, { spec: { parts: null } }, { type: 'merge' })
    await testEnv.settle()
    const none = (await read(testEnv.client, Deployment, 'a')) as unknown as Deployment
    expect(none.spec?.template.spec?.containers[0]?.env).toBeUndefined()
    expect(none.spec?.minReadySeconds).toBeUndefined()
    await expectQuiet(testEnv)
    await testEnv.close()
  })
})

describe('a scope keeps the named fields and leaves the rest to other managers', () => {
  const initial: DependentOverlay<ConfigMap> = {
    metadata: { labels: { mine: '1' }, annotations: { kept: '1', loose: '1' } },
    data: { a: '1', b: '1' },
  }
  const drift = {
    metadata: { labels: { mine: '2' }, annotations: { kept: '2', loose: '2' } },
    data: { a: '2', b: '2' },
  }
  const cases = [
    { scope: { labels: true }, kept: { labels: true } },
    { scope: { annotations: ['kept'] }, kept: { kept: true } },
    { scope: { annotations: true }, kept: { kept: true, loose: true } },
    { scope: { data: true }, kept: { a: true, b: true } },
    { scope: { paths: ['data.a'] }, kept: { a: true } },
    { scope: { labels: true, paths: ['data["b"]'] }, kept: { labels: true, b: true } },
    { scope: { data: true, except: ['data.b'] }, kept: { a: true } },
    { scope: { except: ['data', 'metadata.labels'] }, kept: { kept: true, loose: true } },
    { scope: {}, kept: { labels: true, kept: true, loose: true, a: true, b: true } },
  ]
  it.each(cases)('$scope', async ({ scope, kept }) => {
    const testEnv = await keeping(ConfigMap, {
      initial,
      scope,
      fromCR: ({ cr }) => ({ metadata: { labels: { size: String(cr.spec.size) } } }),
    })
    const is = await read(testEnv.client, ConfigMap, 'a')
    expect(is).toMatchObject(initial)
    const expected = (): object => {
      const value = (name: string): string => (name in kept ? '1' : '2')
      return {
        metadata: { labels: { mine: value('labels') }, annotations: { kept: value('kept'), loose: value('loose') } },
        data: { a: value('a'), b: value('b') },
      }
    }
    await testEnv.client.patch(ConfigMap, { name: 'a', namespace: 'default' }, drift, { type: 'merge' })
    await testEnv.settle()
    expect(await read(testEnv.client, ConfigMap, 'a')).toMatchObject(expected())
    // A change of the CR writes the object, and still what others keep is as they want it.
    await testEnv.client.patch(AppKind, { name: 'a', namespace: 'default' }, { spec: { size: 3 } }, { type: 'merge' })
    await testEnv.settle()
    expect(await read(testEnv.client, ConfigMap, 'a')).toMatchObject(expected())
    await expectQuiet(testEnv)
    await testEnv.close()
  })

  const image = 'spec.template.spec.containers[name=app].image'
  it.each([
    { scope: { except: [image] }, images: ['app:9', 'side:1'] },
    { scope: { paths: [image, 'metadata.labels'] }, images: ['app:1', 'side:9'] },
    { scope: { except: ['spec.template.spec.containers[name=side]'] }, images: ['app:1', 'side:9'] },
    { scope: { paths: ['spec.template.spec.containers[name=side]', 'metadata.labels'] }, images: ['app:9', 'side:1'] },
  ])('down to an item of a keyed list: $scope', async ({ scope, images }) => {
    const both = [
      { name: 'app', image: 'app:1', ports: [{ containerPort: 80 }] },
      { name: 'side', image: 'side:1' },
    ]
    const testEnv = await keeping(Deployment, {
      initial: { spec: { ...pods().spec, template: { ...pods().spec?.template, spec: { containers: both } } } },
      fromCR: ({ cr }) => ({ metadata: { labels: { size: String(cr.spec.size) } } }),
      scope,
    })
    await edit(testEnv.client, Deployment, {
      spec: {
        template: {
          spec: {
            containers: [
              { name: 'app', image: 'app:9' },
              { name: 'side', image: 'side:9' },
            ],
          },
        },
      },
    })
    await testEnv.settle()
    const imagesNow = async (): Promise<unknown> => {
      const { spec } = (await read(testEnv.client, Deployment, 'a')) as unknown as Deployment
      expect(spec?.template.spec?.containers[0]?.ports).toHaveLength(1)
      return spec?.template.spec?.containers
        .toSorted((a, b) => (a.name < b.name ? -1 : 1))
        .map((container) => container.image)
    }
    expect(await imagesNow()).toEqual(images)
    await testEnv.client.patch(AppKind, { name: 'a', namespace: 'default' }, { spec: { size: 3 } }, { type: 'merge' })
    await testEnv.settle()
    expect(await imagesNow()).toEqual(images)
    expect((await read(testEnv.client, Deployment, 'a')).metadata.labels).toMatchObject({ size: '3' })
    await expectQuiet(testEnv)
    await testEnv.close()
  })
})

describe('a server that normalises a value', () => {
  it('gets one more apply, and then none', async () => {
    const Lease = resourceOf<UntypedObject>('coordination.k8s.io/v1', 'Lease')
    // The server keeps it as 2026-01-01T00:00:00.000000Z.
    const testEnv = await keeping(Lease, {
      initial: { spec: { holderIdentity: 'me', renewTime: '2026-01-01T02:00:00.000000+02:00' } },
    })
    expect((await read(testEnv.client, Lease, 'a'))['spec']).toMatchObject({ renewTime: '2026-01-01T00:00:00.000000Z' })
    for (let round = 0; round < 5; round++) await poke(testEnv)
    const about = testEnv.writes.filter(({ path }) => path.includes('/leases/'))
    expect(about.length).toBeLessThanOrEqual(2)
    const { writes } = since(testEnv)
    await poke(testEnv)
    await testEnv.settle(3_600_000)
    expect(writes()).toEqual([])
    await testEnv.restart()
    await poke(testEnv)
    await poke(testEnv)
    expect(writes().length).toBeLessThanOrEqual(1)
    // The operator still corrects a change by a user.
    await testEnv.client.patch(
      Lease,
      { name: 'a', namespace: 'default' },
      { spec: { renewTime: '2027-01-01T00:00:00.000000Z' } },
      { type: 'merge' },
    )
    await testEnv.settle()
    expect((await read(testEnv.client, Lease, 'a'))['spec']).toMatchObject({ renewTime: '2026-01-01T00:00:00.000000Z' })
    await testEnv.close()
  })
})
