/** Webhooks, policies, definitions, certificates, flow control and devices: what is filled in, refused, may not change. */
import { beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/kube/json.ts'
import { outcomeOf, tryChange, tryCreate } from './outcome.ts'
import { openServer } from './server.ts'

const server = openServer()
let namespace = ''
beforeAll(async () => {
  namespace = await server.namespace()
})

const registration = 'admissionregistration.k8s.io/v1'
const flow = 'flowcontrol.apiserver.k8s.io/v1'
const resource = 'resource.k8s.io/v1'
const groups: Readonly<Record<string, string>> = {
  validatingwebhookconfigurations: registration,
  mutatingwebhookconfigurations: registration,
  validatingadmissionpolicies: registration,
  validatingadmissionpolicybindings: registration,
  mutatingadmissionpolicies: registration,
  mutatingadmissionpolicybindings: registration,
  customresourcedefinitions: 'apiextensions.k8s.io/v1',
  apiservices: 'apiregistration.k8s.io/v1',
  certificatesigningrequests: 'certificates.k8s.io/v1',
  flowschemas: flow,
  prioritylevelconfigurations: flow,
  deviceclasses: resource,
  resourceclaims: resource,
  resourceclaimtemplates: resource,
  resourceslices: resource,
}
const pathOf = (plural: string): string =>
  `/apis/${groups[plural]}/${plural.startsWith('resourceclaim') ? `namespaces/${namespace}/${plural}` : plural}`

const validating = 'validatingwebhookconfigurations'
const mutating = 'mutatingwebhookconfigurations'
const rules = [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }]
const hook = {
  name: 'a.example.com',
  clientConfig: { url: 'https://example.com/hook' },
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  rules,
}
const hooked = (...webhooks: readonly JsonObject[]): JsonObject => ({ webhooks })
const served = { clientConfig: { service: { namespace: 'n', name: 's' } } }
const matchConstraints = { resourceRules: rules }
const policy = { matchConstraints, validations: [{ expression: 'true' }] }
const crd = (spec: JsonObject = {}): JsonObject => ({
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    names: { plural: 'widgets', kind: 'Widget' },
    scope: 'Namespaced',
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    ...spec,
  },
})
// A certificate request, made once: CN=somebody.
const request =
  'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlITk1IVUNBUUF3RXpFUk1BOEdBMVVFQXd3SWMyOXRaV0p2Wkhrd1dUQVRCZ2NxaGtqT1BRSUJCZ2dxaGtqTwpQUU1CQndOQ0FBUmsxU0RRenZkckFSVVREMDZJbnM3djZpTDd3cml3WWI5LzVZTC9MVW45cnhYNjdYRThSSkJQCkwzNFJqbzlISnFiL1R5eExuc0luRk91WHJ5UzlmeXNob0FBd0NnWUlLb1pJemowRUF3SURTQUF3UlFJZ2ZtTjQKTDhMZUlkU0VvTS8ra0VOSVBhZmJ3aU1HV1BzSFdISWswS21pWm5zQ0lRREJORjlhY2hST2c5MDV6d2I0N0I1RgpTUGN6dFZ2V3NkZ1EzWUk5dG5UUW1RPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg=='
const flowRules = [
  {
    subjects: [{ kind: 'User', user: { name: 'u' } }],
    resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'] }],
  },
]
const claim = { devices: { requests: [{ name: 'gpu', exactly: { deviceClassName: 'gpu.example.com' } }] } }

describe('a new object', () => {
  it.each<[string, string, JsonObject]>([
    ['validating webhook', validating, hooked(hook)],
    ['validating webhook of a service', validating, hooked({ ...hook, ...served })],
    ['mutating webhook', mutating, hooked({ ...hook, failurePolicy: 'Ignore', timeoutSeconds: 5 })],
    ['webhook of nothing', validating, {}],
    ['policy', 'validatingadmissionpolicies', { spec: policy }],
    [
      'policy of everything',
      'validatingadmissionpolicies',
      {
        spec: {
          ...policy,
          paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
          auditAnnotations: [{ key: 'a', valueExpression: "'x'" }],
          matchConditions: [{ name: 'c', expression: 'true' }],
          variables: [{ name: 'v', expression: '1' }],
          validations: [{ expression: 'variables.v == 1', messageExpression: "'no'", reason: 'Forbidden' }],
        },
      },
    ],
    [
      'policy binding',
      'validatingadmissionpolicybindings',
      {
        spec: {
          policyName: 'p',
          validationActions: ['Deny'],
          matchResources: { namespaceSelector: {}, resourceRules: rules },
          paramRef: { name: 'x', parameterNotFoundAction: 'Allow' },
        },
      },
    ],
    [
      'mutating policy',
      'mutatingadmissionpolicies',
      {
        spec: {
          matchConstraints,
          reinvocationPolicy: 'Never',
          mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression: 'Object{}' } }],
        },
      },
    ],
    ['mutating policy binding', 'mutatingadmissionpolicybindings', { spec: { policyName: 'p' } }],
    [
      'API service',
      'apiservices',
      {
        metadata: { name: 'v1.own.example.com' },
        spec: {
          group: 'own.example.com',
          version: 'v1',
          groupPriorityMinimum: 100,
          versionPriority: 10,
          service: { namespace: 'n', name: 's' },
          insecureSkipTLSVerify: true,
        },
      },
    ],
    ['flow schema', 'flowschemas', { spec: { priorityLevelConfiguration: { name: 'p' }, rules: flowRules } }],
    ['priority level', 'prioritylevelconfigurations', { spec: { type: 'Limited', limited: {} } }],
    [
      'priority level with queues',
      'prioritylevelconfigurations',
      { spec: { type: 'Limited', limited: { limitResponse: { type: 'Queue', queuing: {} } } } },
    ],
    [
      'device class',
      'deviceclasses',
      { metadata: { name: 'gpu.example.com' }, spec: { selectors: [{ cel: { expression: 'true' } }] } },
    ],
    ['device claim', 'resourceclaims', { spec: claim }],
    ['device claim template', 'resourceclaimtemplates', { spec: { spec: claim } }],
  ])('%s', async (_what, plural, body) => {
    expect(await tryCreate(server, pathOf(plural), body)).toMatchSnapshot()
  })
})

describe('rejects', () => {
  it.each<[string, string, JsonObject]>([
    ['a webhook of no name', validating, hooked({ ...hook, name: 'a' })],
    ['a webhook of an empty name', validating, hooked({ ...hook, name: '' })],
    ['two webhooks of a name', validating, hooked(hook, hook)],
    ['a webhook of no side effects', validating, hooked({ ...hook, sideEffects: undefined })],
    ['a webhook of side effects', mutating, hooked({ ...hook, sideEffects: 'Some' })],
    ['a webhook of no versions', validating, hooked({ ...hook, admissionReviewVersions: undefined })],
    ['a webhook of unknown versions', validating, hooked({ ...hook, admissionReviewVersions: ['v9', 'A'] })],
    ['a webhook of the same version twice', validating, hooked({ ...hook, admissionReviewVersions: ['v1', 'v1'] })],
    ['a webhook of nowhere', validating, hooked({ ...hook, clientConfig: {} })],
    [
      'a webhook of two places',
      validating,
      hooked({ ...hook, clientConfig: { ...hook.clientConfig, ...served.clientConfig } }),
    ],
    [
      'a webhook of bad URLs',
      validating,
      hooked(
        { ...hook, clientConfig: { url: 'http://u@x/?q#f' } },
        { ...hook, name: 'b.example.com', clientConfig: { url: 'https:///' } },
      ),
    ],
    [
      'a webhook of a bad service',
      validating,
      hooked({ ...hook, clientConfig: { service: { namespace: '', name: '', path: 'x', port: 0 } } }),
    ],
    [
      'a webhook of a bad path',
      validating,
      hooked({ ...hook, clientConfig: { service: { namespace: 'n', name: 's', path: '/a//b' } } }),
    ],
    [
      'a webhook of unknown policies',
      mutating,
      hooked({ ...hook, failurePolicy: 'X', matchPolicy: 'Y', reinvocationPolicy: 'Z' }),
    ],
    ['a webhook of a long wait', validating, hooked({ ...hook, timeoutSeconds: 31 })],
    ['a webhook of no wait', validating, hooked({ ...hook, timeoutSeconds: 0 })],
    [
      'a webhook of empty rules',
      validating,
      hooked({ ...hook, rules: [{ operations: [], apiGroups: [], apiVersions: [], resources: [] }] }),
    ],
    [
      'a webhook of bad rules',
      validating,
      hooked({
        ...hook,
        rules: [
          {
            operations: ['*', 'CREATE', 'X'],
            apiGroups: ['*', 'a'],
            apiVersions: ['*', ''],
            resources: ['*/*', 'a', '', 'pods/*', 'pods/status'],
            scope: 'X',
          },
        ],
      }),
    ],
    [
      'a webhook of bad selectors',
      validating,
      hooked({
        ...hook,
        namespaceSelector: { matchLabels: { 'a b': 'c' } },
        objectSelector: { matchExpressions: [{ key: 'a', operator: 'X' }] },
      }),
    ],
    [
      'a webhook of bad conditions',
      validating,
      hooked({
        ...hook,
        matchConditions: [
          { name: '', expression: '' },
          { name: 'a', expression: 'true' },
          { name: 'a', expression: 'true' },
        ],
      }),
    ],
    ['an empty policy', 'validatingadmissionpolicies', {}],
    [
      'a policy of bad members',
      'validatingadmissionpolicies',
      {
        spec: {
          ...policy,
          failurePolicy: 'X',
          paramKind: { apiVersion: '', kind: '' },
          validations: [{ expression: '' }, { expression: 'true', reason: 'X', message: 'a\nb' }],
          variables: [{ name: '', expression: '' }],
          auditAnnotations: [{ key: '', valueExpression: '' }],
        },
      },
    ],
    [
      'a policy without rules',
      'validatingadmissionpolicies',
      { spec: { ...policy, matchConstraints: { resourceRules: [] } } },
    ],
    ['an empty policy binding', 'validatingadmissionpolicybindings', {}],
    [
      'a policy binding of bad actions',
      'validatingadmissionpolicybindings',
      { spec: { policyName: 'A_', validationActions: ['Deny', 'Warn', 'Deny', 'X'] } },
    ],
    [
      'a policy binding of bad parameters',
      'validatingadmissionpolicybindings',
      { spec: { policyName: 'p', validationActions: ['Deny'], paramRef: { name: 'x', selector: {} } } },
    ],
    ['an empty mutating policy', 'mutatingadmissionpolicies', {}],
    [
      'an API service of a bad name',
      'apiservices',
      { spec: { group: 'own.example.com', version: 'v1', groupPriorityMinimum: 0, versionPriority: 2000 } },
    ],
    [
      'an empty API service',
      'apiservices',
      {
        metadata: { name: 'v1.own.example.com' },
        spec: {
          group: 'own.example.com',
          version: 'V1',
          groupPriorityMinimum: 1,
          versionPriority: 1,
          service: { namespace: '', name: '', port: 0 },
          insecureSkipTLSVerify: true,
          caBundle: 'eA==',
        },
      },
    ],
    ['an empty certificate request', 'certificatesigningrequests', { spec: { request: '', signerName: '' } }],
    [
      'an invalid certificate request',
      'certificatesigningrequests',
      { spec: { request: 'eA==', signerName: 'a', usages: ['x', 'x'], expirationSeconds: 1 } },
    ],
    ['an empty flow schema', 'flowschemas', {}],
    [
      'a flow schema of bad rules',
      'flowschemas',
      {
        spec: {
          priorityLevelConfiguration: { name: 'A_' },
          matchingPrecedence: -1,
          rules: [
            { subjects: [] },
            {
              subjects: [{ kind: 'X' }, { kind: 'User' }],
              resourceRules: [{ verbs: [], apiGroups: [], resources: [] }],
            },
          ],
        },
      },
    ],
    ['an empty priority level', 'prioritylevelconfigurations', {}],
    ['a priority level of both', 'prioritylevelconfigurations', { spec: { type: 'Exempt', exempt: {}, limited: {} } }],
    [
      'a device claim of nothing named',
      'resourceclaims',
      { spec: { devices: { requests: [{ name: 'A_' }, { name: 'b', exactly: { deviceClassName: '' } }] } } },
    ],
    ['a device class of no expression', 'deviceclasses', { spec: { selectors: [{}] } }],
  ])('%s', async (_what, plural, body) => {
    expect(await tryCreate(server, pathOf(plural), body)).toMatchSnapshot()
  })
})

describe('a change', () => {
  it.each<[string, string, JsonObject, JsonObject]>([
    [
      'of a webhook',
      validating,
      hooked({ ...hook, name: 'never.example.com', rules: [] }),
      { webhooks: [{ ...hook, rules: [], timeoutSeconds: 3 }] },
    ],
    [
      'of a webhook to nonsense',
      validating,
      hooked({ ...hook, name: 'never.example.com', rules: [] }),
      { webhooks: [{ ...hook, name: 'x' }] },
    ],
    [
      'of a device claim',
      'resourceclaims',
      { spec: claim },
      { spec: { devices: { requests: [{ name: 'other', exactly: { deviceClassName: 'gpu.example.com' } }] } } },
    ],
  ])('%s', async (_what, plural, first, patch) => {
    expect(await tryChange(server, pathOf(plural), first, patch)).toMatchSnapshot()
  })
})

describe('a definition', () => {
  it('need not contain derived fields', async () => {
    // The status holds the outcome: on the embedded server at once, on a real one a moment later.
    const { spec } = (await tryCreate(server, pathOf('customresourcedefinitions'), crd())) as JsonObject
    expect(spec).toMatchSnapshot()
  })
})

describe('events', () => {
  const core = (): string => `/api/v1/namespaces/${namespace}/events`
  const newer = (): string => `/apis/events.k8s.io/v1/namespaces/${namespace}/events`
  const time = '2020-01-01T00:00:00.000000Z'
  const note = {
    eventTime: time,
    action: 'a',
    reason: 'r',
    reportingController: 'example.com/c',
    reportingInstance: 'i',
    type: 'Normal',
    note: 'n',
  }

  it('are the same through both groups', async () => {
    const regarding = { kind: 'Pod', namespace, name: 'p', apiVersion: 'v1' }
    await server.must('POST', newer(), {
      body: { metadata: { name: 'new' }, ...note, regarding, series: { count: 2, lastObservedTime: time } },
    })
    expect(outcomeOf(server, await server.call('GET', `${core()}/new`))).toMatchSnapshot('in the core group')
    const old = {
      involvedObject: regarding,
      reason: 'r',
      message: 'm',
      source: { component: 'c' },
      count: 3,
      type: 'Warning',
      firstTimestamp: '2020-01-01T00:00:00Z',
      lastTimestamp: '2020-01-01T00:00:01Z',
    }
    await server.must('POST', core(), { body: { metadata: { name: 'old' }, ...old } })
    expect(outcomeOf(server, await server.call('GET', `${newer()}/old`))).toMatchSnapshot('in the newer group')
    const list = await server.must('GET', newer())
    expect((list['items'] as readonly JsonObject[]).map((item) => (item['metadata'] as JsonObject)['name'])).toEqual([
      'new',
      'old',
    ])
  })

  it.each<[string, 'core' | 'newer', JsonObject]>([
    ['empty', 'newer', {}],
    [
      'with old fields',
      'newer',
      {
        ...note,
        deprecatedCount: 1,
        deprecatedSource: { component: 'c' },
        deprecatedFirstTimestamp: '2020-01-01T00:00:00Z',
        type: 'X',
        series: { count: 1, lastObservedTime: time },
      },
    ],
    ['of the new kind without more', 'core', { eventTime: time, reason: 'r'.repeat(129), message: 'm'.repeat(1025) }],
    ['of another namespace', 'core', { involvedObject: { namespace: 'elsewhere', name: 'x' } }],
  ])('are rejected: %s', async (_what, group, body) => {
    expect(
      await tryCreate(
        server,
        group === 'core' ? core() : newer(),
        group === 'core' ? { involvedObject: { namespace }, ...body } : { regarding: { namespace }, ...body },
      ),
    ).toMatchSnapshot()
  })

  it('may change their series only', async () => {
    const regarding = { kind: 'Pod', namespace, name: 'p' }
    await server.must('POST', newer(), { body: { metadata: { name: 'series' }, ...note, regarding } })
    const change = async (body: JsonObject): Promise<unknown> =>
      outcomeOf(
        server,
        await server.call('PATCH', `${newer()}/series?dryRun=All`, { body, type: 'application/merge-patch+json' }),
      )
    expect(await change({ series: { count: 2, lastObservedTime: time } })).toMatchSnapshot('its series')
    expect(await change({ note: 'other', type: 'Warning', regarding: { name: 'q' } })).toMatchSnapshot('the rest')
  })
})

describe('a certificate request', () => {
  it('belongs to its sender', async () => {
    const path = pathOf('certificatesigningrequests')
    const spec = {
      request,
      signerName: 'example.com/own',
      usages: ['client auth'],
      username: 'root',
      groups: ['system:masters'],
    }
    const outcome = await tryCreate(server, path, { spec })
    expect(outcome).toMatchSnapshot()
  })
})
