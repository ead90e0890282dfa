/**
 * Inputs are declared and enforced: an operator acts with the role that follows from its inputs, and needs no more. On
 * the embedded server in `npm test`, on a real one in `npm run test:real`.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { UntypedObject } from '../../src/kube/object.ts'
import { defineController } from '../../src/operator/controller.ts'
import { exactly, labelled } from '../../src/operator/view/input.ts'
import { defineKind } from '../../src/operator/kind/kind.ts'
import { ConfigMap, Secret } from '../../src/kube/kinds.ts'
import { defineOperator } from '../../src/operator/operator.ts'
import { roleOf } from '../../src/operator/role.ts'
import { string } from '../../src/operator/kind/field.ts'
import { resourceOf, type TypedResource } from '../../src/kube/typed-resource.ts'
import { openOperatorEnvironment, type RunningOperator, type OperatorEnvironment } from '../operator-environment.ts'

const suffix = crypto.randomUUID().slice(0, 8)
const namespace = `inputs-${suffix}`
const Namespace: TypedResource = resourceOf('v1', 'Namespace')

const Report = defineKind({
  group: `inputs-${suffix}.example.com`,
  version: 'v1',
  kind: 'Report',
  spec: { text: string({ default: '' }) },
  status: { seen: string() },
})

/** Two Secrets by name in one namespace, and ConfigMaps by label. */
const operator = defineOperator({
  name: `inputs-${suffix}`,
  controllers: [
    defineController({
      for: Report,
      reads: [
        exactly(Secret, { name: 'one', namespace }),
        exactly(Secret, { name: 'two', namespace }),
        labelled(ConfigMap, { labels: { tier: 'db' } }),
      ],
      status: ({ view }) => ({
        seen: [
          ...['one', 'two'].map((name) => view.get(Secret, { name, namespace })?.data?.['v'] ?? 'none'),
          ...view.list(ConfigMap, { labels: { matchLabels: { tier: 'db' } } }).map(({ metadata }) => metadata.name),
        ].join(' '),
      }),
    }),
  ],
})

const secret = (name: string, v: string): UntypedObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace },
  data: { v: btoa(v) },
})

let environment: OperatorEnvironment
let running: RunningOperator

beforeAll(async () => {
  environment = await openOperatorEnvironment(operator)
  const { client } = environment
  await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  for (const name of ['one', 'other']) await client.create(Secret, secret(name, '1'))
  for (const [name, tier] of [
    ['a', 'db'],
    ['b', 'web'],
  ] as const) {
    const metadata = { name, namespace, labels: { tier } }
    await client.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata })
  }
  const report = { apiVersion: `inputs-${suffix}.example.com/v1`, kind: 'Report', metadata: { name: 'r', namespace } }
  await client.create(Report, { ...report, spec: { text: '' } })
})

afterAll(async () => {
  await running.stop()
  const { client } = environment
  for (const resource of [Secret, ConfigMap, Report]) await client.deleteCollection(resource, { namespace })
  await client.delete(Namespace, { name: namespace })
  await client.delete(resourceOf('apiextensions.k8s.io/v1', 'CustomResourceDefinition'), {
    name: `reports.inputs-${suffix}.example.com`,
  })
  await environment.close()
})

const seen = async (): Promise<string | undefined> =>
  (await environment.client.get(Report, { name: 'r', namespace })).status?.seen

describe('an operator that may read two Secrets by name, and ConfigMaps', () => {
  it('has no permission for other Secrets', () => {
    const rules = roleOf(operator).rules?.filter(({ resources }) => resources?.includes('secrets'))
    expect(rules).toEqual([
      { apiGroups: [''], resources: ['secrets'], resourceNames: ['one', 'two'], verbs: ['list', 'watch'] },
    ])
  })

  it('sees both Secrets and their changes, and caches nothing else', async () => {
    running = await environment.run(namespace)
    await environment.until(seen, (text) => text === `${btoa('1')} none a`)
    const { client } = environment
    await client.create(Secret, secret('two', '2'))
    await environment.until(seen, (text) => text === `${btoa('1')} ${btoa('2')} a`)
    // One leaves the selection, another enters it.
    for (const [name, tier] of [
      ['a', 'web'],
      ['b', 'db'],
    ] as const) {
      await client.patch(ConfigMap, { name, namespace }, { metadata: { labels: { tier } } }, { type: 'merge' })
    }
    await client.delete(Secret, { name: 'one', namespace })
    await environment.until(seen, (text) => text === `none ${btoa('2')} b`)
    const held = running.report().map(({ resource, objects, watches }) => `${resource.plural} ${objects} ${watches}`)
    expect(held).toEqual(expect.arrayContaining(['secrets 1 2', 'configmaps 1 1']))
  })
})
