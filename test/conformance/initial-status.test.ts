/** What a new object of every kind looks like: which members it has, and its first status. */
import { describe, expect, it } from 'vitest'
import { builtinResources } from '../../src/kube/builtin.ts'
import type { Json, JsonObject } from '../../src/kube/json.ts'
import { ca } from '../loopback.ts'
import { definition, object } from './custom-kind.ts'
import { at, openServer } from './server.ts'

const server = openServer()

const podSpec = { containers: [{ name: 'c', image: 'i' }] }
const template = { metadata: { labels: { a: 'b' } }, spec: podSpec }
const selector = { matchLabels: { a: 'b' } }
const task = { template: { spec: { ...podSpec, restartPolicy: 'Never' } } }
const scaled = { maxReplicas: 3, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' } }
const role = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'x' }
const matchConstraints = {
  resourceRules: [{ apiGroups: ['x.y'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['z'] }],
}
const uid = (last: number): string => `00000000-0000-4000-8000-00000000000${last}`
/** A request for a certificate without a subject, signed by its key. */
const certificateRequest =
  'MH8wMwIBADAAMCowBQYDK2VwAyEAeieIIZS09Bulwx/8eVAsj32J8P/9znMqqjATWAFHmc+gADAFBgMrZXADQQD6YlUS8u7H4bRIQP2SObRR0F0fdflKHZhM8OkcTOC1QKIPihqupjDxwdeAuqpZVI94w9kTxhHokyMOkMqBW7ED'
const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${certificateRequest}\n-----END CERTIFICATE REQUEST-----\n`

/** By group, version and resource: what an object needs, beside its name. */
const bodies: Readonly<Record<string, object>> = {
  'v1/configmaps': {},
  'v1/endpoints': {},
  'v1/events': {},
  'v1/limitranges': {},
  'v1/namespaces': {},
  'v1/nodes': {},
  'v1/persistentvolumeclaims': {
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  },
  'v1/persistentvolumes': {
    spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/x' } },
  },
  'v1/pods': { spec: podSpec },
  'v1/podtemplates': { template },
  'v1/replicationcontrollers': { spec: { selector: { a: 'b' }, template } },
  'v1/resourcequotas': {},
  'v1/secrets': {},
  'v1/serviceaccounts': {},
  'v1/services': { spec: { ports: [{ port: 80 }] } },
  'admissionregistration.k8s.io/v1/mutatingadmissionpolicies': {
    spec: {
      reinvocationPolicy: 'Never',
      matchConstraints,
      mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression: 'Object{}' } }],
    },
  },
  'admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings': { spec: { policyName: 'x' } },
  'admissionregistration.k8s.io/v1/mutatingwebhookconfigurations': {},
  'admissionregistration.k8s.io/v1/validatingadmissionpolicies': {
    spec: { matchConstraints, validations: [{ expression: 'true' }] },
  },
  'admissionregistration.k8s.io/v1/validatingadmissionpolicybindings': {
    spec: { policyName: 'x', validationActions: ['Deny'] },
  },
  'admissionregistration.k8s.io/v1/validatingwebhookconfigurations': {},
  'apiextensions.k8s.io/v1/customresourcedefinitions': definition(`${server.unique('group')}.example.com`, object({})),
  'apiregistration.k8s.io/v1/apiservices': {
    metadata: { name: 'v1.first-status.example.com' },
    spec: {
      group: 'first-status.example.com',
      version: 'v1',
      groupPriorityMinimum: 10,
      versionPriority: 10,
      service: { namespace: 'x', name: 'y' },
      insecureSkipTLSVerify: true,
    },
  },
  'apps/v1/controllerrevisions': { revision: 1, data: { a: 1 } },
  'apps/v1/daemonsets': { spec: { selector, template } },
  'apps/v1/deployments': { spec: { selector, template } },
  'apps/v1/replicasets': { spec: { selector, template } },
  'apps/v1/statefulsets': { spec: { selector, template, serviceName: 'x' } },
  'autoscaling/v1/horizontalpodautoscalers': { spec: scaled },
  'autoscaling/v2/horizontalpodautoscalers': { spec: scaled },
  'batch/v1/cronjobs': { spec: { schedule: '* * * * *', jobTemplate: { spec: task } } },
  'batch/v1/jobs': { spec: task },
  'certificates.k8s.io/v1/certificatesigningrequests': {
    spec: {
      request: Buffer.from(pem).toString('base64'),
      signerName: 'example.com/x',
      usages: ['client auth'],
    },
  },
  'certificates.k8s.io/v1/clustertrustbundles': { spec: { trustBundle: ca.cert } },
  'certificates.k8s.io/v1/podcertificaterequests': {
    spec: {
      signerName: 'example.com/x',
      podName: 'p',
      podUID: uid(1),
      serviceAccountName: 'default',
      serviceAccountUID: uid(2),
      nodeName: 'n',
      nodeUID: uid(3),
      stubPKCS10Request: certificateRequest,
    },
  },
  'coordination.k8s.io/v1/leases': {},
  'discovery.k8s.io/v1/endpointslices': { addressType: 'IPv4', endpoints: [] },
  'events.k8s.io/v1/events': {
    action: 'Do',
    reason: 'Why',
    type: 'Normal',
    reportingController: 'example.com/x',
    reportingInstance: 'i',
    eventTime: '2026-01-01T00:00:00.000000Z',
  },
  'flowcontrol.apiserver.k8s.io/v1/flowschemas': {
    spec: { priorityLevelConfiguration: { name: 'exempt' }, matchingPrecedence: 1000 },
  },
  'flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations': {
    spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } },
  },
  'networking.k8s.io/v1/ingressclasses': { spec: { controller: 'example.com/x' } },
  'networking.k8s.io/v1/ingresses': {
    spec: { defaultBackend: { service: { name: 's', port: { number: 80 } } } },
  },
  'networking.k8s.io/v1/ipaddresses': {
    metadata: { name: '10.1.2.3' },
    spec: { parentRef: { resource: 'services', name: 'x', namespace: 'y' } },
  },
  'networking.k8s.io/v1/networkpolicies': { spec: { podSelector: {} } },
  'networking.k8s.io/v1/servicecidrs': { spec: { cidrs: ['10.77.0.0/24'] } },
  'node.k8s.io/v1/runtimeclasses': { handler: 'x' },
  'policy/v1/poddisruptionbudgets': { spec: { minAvailable: 1, selector } },
  'rbac.authorization.k8s.io/v1/clusterrolebindings': { roleRef: role },
  'rbac.authorization.k8s.io/v1/clusterroles': {},
  'rbac.authorization.k8s.io/v1/rolebindings': { roleRef: role },
  'rbac.authorization.k8s.io/v1/roles': {},
  'resource.k8s.io/v1/deviceclasses': { spec: {} },
  'resource.k8s.io/v1/devicetaintrules': { spec: { taint: { key: 'example.com/x', effect: 'NoSchedule' } } },
  'resource.k8s.io/v1/resourceclaims': { spec: {} },
  'resource.k8s.io/v1/resourceclaimtemplates': { spec: { spec: {} } },
  'resource.k8s.io/v1/resourceslices': {
    spec: { driver: 'x.y', nodeName: 'n', pool: { name: 'p', generation: 1, resourceSliceCount: 1 }, devices: [] },
  },
  'scheduling.k8s.io/v1/priorityclasses': { value: 1 },
  'storage.k8s.io/v1/csidrivers': { spec: {} },
  'storage.k8s.io/v1/csinodes': { spec: { drivers: [] } },
  'storage.k8s.io/v1/csistoragecapacities': { storageClassName: 'x' },
  'storage.k8s.io/v1/storageclasses': { provisioner: 'x' },
  'storage.k8s.io/v1/volumeattachments': {
    spec: { attacher: 'x', nodeName: 'n', source: { persistentVolumeName: 'p' } },
  },
  'storage.k8s.io/v1/volumeattributesclasses': { driverName: 'x', parameters: { a: 'b' } },
  'storagemigration.k8s.io/v1/storageversionmigrations': { spec: { resource: { group: '', resource: 'secrets' } } },
}

interface Stored {
  readonly path: string
  readonly key: string
}

/** Every built-in resource of which objects can be made and listed, as the server tells it. */
async function stored(namespace: string): Promise<readonly Stored[]> {
  const { groups } = (await server.must('GET', '/apis')) as unknown as {
    readonly groups: readonly {
      readonly name: string
      readonly versions: readonly { readonly groupVersion: string }[]
    }[]
  }
  const known = new Set(builtinResources().map(({ group }) => group))
  const versions = groups.flatMap((group) => (known.has(group.name) ? group.versions : []))
  const found = ['v1', ...versions.map(({ groupVersion }) => groupVersion)].map(async (groupVersion) => {
    const base = groupVersion === 'v1' ? '/api/v1' : `/apis/${groupVersion}`
    const { resources } = (await server.must('GET', base)) as unknown as {
      readonly resources: readonly {
        readonly name: string
        readonly namespaced: boolean
        readonly verbs: readonly string[]
      }[]
    }
    return resources
      .filter(({ name, verbs }) => !name.includes('/') && verbs.includes('create') && verbs.includes('list'))
      .map(({ name, namespaced }) => ({
        path: `${base}${namespaced ? `/namespaces/${namespace}` : ''}/${name}`,
        key: `${groupVersion}/${name}`,
      }))
  })
  return (await Promise.all(found)).flat()
}

/** Moments differ from run to run. */
function timeless(value: Json | undefined): Json {
  const text = JSON.stringify(value ?? null)
  return JSON.parse(text.replaceAll(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, '"TIME"')) as Json
}

describe('a new object', () => {
  it('of every kind has these members, and this status', async () => {
    const namespace = await server.namespace()
    await server.call('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, {
      body: { metadata: { name: 'default' } },
    })
    const resources = await stored(namespace)
    expect(resources.map(({ key }) => key).toSorted()).toEqual(Object.keys(bodies).toSorted())
    const seen: Record<string, Json> = {}
    for (const { path, key } of resources) {
      const body = { metadata: { name: server.unique('first') }, ...bodies[key] } as unknown as JsonObject
      const named = key.endsWith('/events') ? { ...body, ...eventIn(namespace, key) } : body
      const made = await server.must('POST', path, { body: named })
      server.cleanUp(`${path}/${at(made, 'metadata', 'name') as string}`)
      seen[key] = [Object.keys(made).toSorted().join(' '), timeless(made['status'])]
    }
    expect(seen).toMatchSnapshot()
  })

  it.each([
    ['certificates.k8s.io/v1/podcertificaterequests', 'maxExpirationSeconds'],
    ['resource.k8s.io/v1/devicetaintrules', 'taint'],
  ])('of %s has defaults', async (key, member) => {
    const namespace = await server.namespace()
    const { path } = (await stored(namespace)).find((one) => one.key === key)!
    const body = { metadata: { name: server.unique('first') }, ...bodies[key] }
    const made = await server.must('POST', path, { body })
    server.cleanUp(`${path}/${at(made, 'metadata', 'name') as string}`)
    expect(timeless(at(made, 'spec', member))).toMatchSnapshot()
  })
})

/** What an event is about lives in its namespace. */
function eventIn(namespace: string, key: string): JsonObject {
  return key === 'v1/events' ? { involvedObject: { namespace } } : { regarding: { namespace } }
}
