import { describe, expect, it } from 'vitest'
import { components, deployment, job } from '../../../test/appwrapper-environment.ts'
import type { JsonObject } from '../../kube/json.ts'
import { builtinResource } from '../../kube/builtin.ts'
import { asObject } from '../../kube/json-object.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { AccessAttributes, Admission } from '../../operator/kind/webhook.ts'
import { appWrapperWebhook, userLabelValue } from './admission.ts'

const asked: AccessAttributes[] = []
const webhook = appWrapperWebhook({ defaultQueueName: 'team', checksAccess: true })

function request(spec: JsonObject, old?: JsonObject, metadata: JsonObject = {}): Admission<KubeObject> {
  const object = (content: JsonObject) =>
    asObject({
      apiVersion: 'workload.codeflare.dev/v1beta2',
      kind: 'AppWrapper',
      metadata: { name: 'x', namespace: 'shop', ...metadata },
      spec: content,
    })
  return {
    operation: old ? 'UPDATE' : 'CREATE',
    object: object(spec),
    old: old && object(old),
    name: 'x',
    namespace: 'shop',
    subresource: '',
    user: { username: 'ada@example.com', uid: '1:2', groups: [], extra: new Map() },
    dryRun: false,
    now: 0,
    may: async (attributes) => {
      asked.push(attributes)
      return attributes.kind.kind !== 'Secret'
    },
    resourceOf: async (kind) => builtinResource(kind),
  }
}

/** The fields that are refused. */
async function refused(spec: JsonObject, old?: JsonObject, metadata?: JsonObject): Promise<readonly string[]> {
  const verdict = await webhook.validate!(request(spec, old, metadata))
  return (Array.isArray(verdict) ? verdict : []).map(({ field, message }) => `${field}: ${message}`)
}

describe('admission of AppWrappers', () => {
  it('adds queue, user and finalizer; the user is always the one of the request', async () => {
    const labels = { 'workload.codeflare.dev/user': 'someone-else' }
    const stored = await webhook.mutate!(request(components(job('a', 1)), undefined, { labels, finalizers: ['other'] }))
    expect(stored?.metadata).toMatchObject({
      labels: {
        'kueue.x-k8s.io/queue-name': 'team',
        'workload.codeflare.dev/user': 'ada_example.com',
        'workload.codeflare.dev/userid': '1_2',
      },
      finalizers: ['other', 'appwrappers.workload.codeflare.dev/workloads'],
    })
    const named = await webhook.mutate!(
      request(components(job('a', 1)), undefined, { labels: { 'kueue.x-k8s.io/queue-name': 'mine' } }),
    )
    expect(named?.metadata.labels?.['kueue.x-k8s.io/queue-name']).toBe('mine')
    expect(userLabelValue(`--${'x'.repeat(80)}`)).toBe('x'.repeat(61))
    expect(userLabelValue('..')).toBe('')
  })

  it('asks for each component whether the user may create it', async () => {
    asked.length = 0
    expect(await refused(components(job('a', 1), deployment('b', 1)))).toEqual([])
    const question = { verb: 'create', namespace: 'shop' }
    expect(asked).toMatchObject([
      { ...question, kind: { group: 'batch', plural: 'jobs' } },
      { ...question, kind: { group: 'apps', plural: 'deployments' } },
    ])
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' } }
    expect(await refused(components(job('a', 1), secret))).toEqual([
      'spec.components[1].template: Forbidden: User ada@example.com is not authorized to create secrets in shop',
    ])
    const unknown = { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 't' } }
    await refused(components(job('a', 1), unknown))
    expect(asked.at(-1)).toMatchObject({ ...question, kind: { group: 'example.com', plural: '*' } })
  })

  it('refuses what cannot be wrapped', async () => {
    const nested = { apiVersion: 'workload.codeflare.dev/v1beta1', kind: 'AppWrapper', metadata: { name: 'n' } }
    const elsewhere = { ...job('a', 1), metadata: { name: 'a', namespace: 'bank' } }
    const misspelt = job('a', 1, {}, { template: { spec: { container: [] } } })
    const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 's' } }
    const cases: readonly (readonly [JsonObject, RegExp])[] = [
      [components(nested), /\.template: Forbidden: an AppWrapper/],
      [components(elsewhere), /metadata\.namespace: Invalid value: "bank"/],
      [components(misspelt), /podSets: Invalid value: "template\.spec\.template": .*container/],
      [components({ kind: 'Job' }), /\.template: Required value: its template has no apiVersion/],
      [components(service), /spec\.components: Invalid value: 0: must have 1 to 8 pod sets/],
      [components(...Array.from({ length: 9 }, (_, index) => job(`j${index}`, 1))), /Invalid value: 9/],
      [{}, /Invalid value: 0/],
    ]
    for (const [spec, expected] of cases) expect((await refused(spec)).join('\n')).toMatch(expected)
    const declared = (podSets: readonly JsonObject[]): JsonObject => ({
      components: [{ template: job('a', 2), podSets }],
    })
    const path = 'template.spec.template'
    expect(await refused(declared([{ path, replicas: 2 }]))).toEqual([])
    for (const podSets of [
      [{ path }],
      [
        { path, replicas: 2 },
        { path, replicas: 2 },
      ],
      [{ path: 'spec', replicas: 2 }],
    ])
      expect(await refused(declared(podSets))).not.toEqual([])
  })

  it('lets v1beta1 wrap what cannot be created, but nothing that the user may not', async () => {
    const spec = (template: JsonObject): JsonObject => ({ lifeCycle: 'Requeue', components: [{ template }] })
    expect(await refused(spec({ kind: 'Pod' }))).toEqual([])
    expect(await refused(spec({ apiVersion: 'v1', kind: 'Service', metadata: { name: 's' } }))).toEqual([])
    expect(await refused(spec({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' } }))).toHaveLength(1)
  })

  it('refuses changes of what is wrapped, and allows those of the admission', async () => {
    const old = components(job('a', 1))
    const [component] = old['components'] as readonly JsonObject[]
    const changed = (more: JsonObject): JsonObject => ({ components: [{ ...component, ...more }] })
    expect(await refused(changed({ podSetInfos: [{ nodeSelector: { a: 'b' } }] }), old)).toEqual([])
    expect(await refused({ ...old, suspend: true }, old)).toEqual([])
    expect(await refused(components(job('a', 2)), old)).toHaveLength(1)
    expect(await refused(components(job('a', 1), job('b', 1)), old)).toHaveLength(1)
    expect(await refused(changed({ podSets: [{ path: 'template' }] }), old)).toHaveLength(1)
    expect(await refused({ ...old, managedBy: 'x' }, old)).toHaveLength(1)
    expect(await refused({ ...old, lifeCycle: 'Requeue' }, old)).toHaveLength(1)
    expect(await refused(components(), old, { deletionTimestamp: '2026-01-01T00:00:00Z' })).toEqual([])
  })
})
