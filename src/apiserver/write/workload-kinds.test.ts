/** Laws for the rules of every workload kind. test/conformance checks the rules themselves. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { UntypedObject } from '../../kube/object.ts'
import { structForm } from '../codec/struct-form.ts'
import type { KindContext } from '../kinds/strategy/kind-rules.ts'
import { workloadKinds } from './workload-kinds.ts'

const kinds: Readonly<Record<string, readonly [string, string]>> = {
  pods: ['v1', 'Pod'],
  podtemplates: ['v1', 'PodTemplate'],
  replicationcontrollers: ['v1', 'ReplicationController'],
  'deployments.apps': ['apps/v1', 'Deployment'],
  'replicasets.apps': ['apps/v1', 'ReplicaSet'],
  'statefulsets.apps': ['apps/v1', 'StatefulSet'],
  'daemonsets.apps': ['apps/v1', 'DaemonSet'],
  'controllerrevisions.apps': ['apps/v1', 'ControllerRevision'],
  'jobs.batch': ['batch/v1', 'Job'],
  'cronjobs.batch': ['batch/v1', 'CronJob'],
}

const context: KindContext = {
  now: '2026-01-02T03:04:05Z',
  random: { next: () => 0.5 },
  user: { username: 'somebody', groups: [] },
  find: () => undefined,
  objects: () => [],
}

const some: { requiredKeys: never[] } = { requiredKeys: [] }
const name = fc.constantFrom('', 'web', 'Web', 'a.b', '__proto__', 'constructor')
const labels = fc.dictionary(fc.constantFrom('app', 'a b', '__proto__', 'constructor'), name)
const amounts = fc.dictionary(
  fc.constantFrom('cpu', 'memory', 'example.com/gpu', 'x'),
  fc.constantFrom('1', '-1', '0.0001', '1Gi'),
)
const port = fc.oneof(fc.integer({ min: -1, max: 70000 }), name)
const probe = fc.record({ httpGet: fc.record({ port }, some), exec: fc.record({}), periodSeconds: fc.integer() }, some)
const container = fc.record(
  {
    name,
    image: name,
    env: fc.array(fc.record({ name, valueFrom: fc.record({ fieldRef: fc.record({ fieldPath: name }) }, some) }, some)),
    ports: fc.array(fc.record({ containerPort: fc.nat(), hostPort: fc.nat(), name }, some)),
    volumeMounts: fc.array(fc.record({ name, mountPath: name }, some)),
    resources: fc.record({ limits: amounts, requests: amounts }, some),
    livenessProbe: probe,
    lifecycle: fc.record({ preStop: probe, stopSignal: fc.constant('SIGTERM') }, some),
    restartPolicy: fc.constantFrom('Always', 'x'),
  },
  some,
)
const podSpec = fc.record(
  {
    containers: fc.array(container, { maxLength: 2 }),
    initContainers: fc.array(container, { maxLength: 2 }),
    volumes: fc.array(
      fc.record({ name, emptyDir: fc.record({}), projected: fc.record({}), secret: fc.record({}) }, some),
    ),
    restartPolicy: fc.constantFrom('', 'Always', 'Never', 'x'),
    hostNetwork: fc.boolean(),
    tolerations: fc.array(fc.record({ key: name, operator: name }, some)),
    affinity: fc.record({ nodeAffinity: fc.record({}), podAffinity: fc.record({}) }, some),
    resources: fc.record({ limits: amounts }, some),
  },
  some,
)
const template = fc.record({ metadata: fc.record({ labels }, some), spec: podSpec }, some)
const spec = fc.record(
  {
    selector: fc.record({ matchLabels: labels }, some),
    template,
    replicas: fc.integer(),
    schedule: fc.constantFrom('', '* * * * *', '@x', '1-'),
    strategy: fc.record({ type: name }, some),
    updateStrategy: fc.record({ type: name, rollingUpdate: fc.record({}) }, some),
    jobTemplate: fc.record({ spec: fc.record({ template }, some) }, some),
    completionMode: fc.constantFrom('Indexed', 'x'),
    successPolicy: fc.record({}),
    podFailurePolicy: fc.record({}),
    volumeClaimTemplates: fc.array(fc.record({ metadata: fc.record({ name }), spec: fc.record({}) }, some), {
      maxLength: 1,
    }),
  },
  some,
)

interface Members {
  readonly selector?: { readonly matchLabels?: object }
}

function objectOf(table: string, members: Members, pod: object): UntypedObject {
  const [apiVersion, kind] = kinds[table]!
  const own =
    table === 'pods'
      ? { spec: pod }
      : table === 'podtemplates'
        ? { template: { spec: pod } }
        : {
            spec:
              table === 'replicationcontrollers' ? { ...members, selector: members.selector?.matchLabels } : members,
          }
  return structForm({ apiVersion, kind, metadata: { name: 'web', uid: 'u' }, ...own })
}

describe.each([...workloadKinds])('%s', (table, rules) => {
  it('sets defaults idempotently, and does not modify its input', () => {
    fc.assert(
      fc.property(spec, podSpec, (members, pod) => {
        const object = objectOf(table, members, pod)
        const before = JSON.stringify(object)
        const once = rules.defaults!(object, 'v1')
        expect(rules.defaults!(once, 'v1')).toEqual(once)
        expect(JSON.stringify(object)).toBe(before)
      }),
      { numRuns: 50 },
    )
  })

  it('validates without an exception, and reports no immutable field of an unchanged object', () => {
    fc.assert(
      fc.property(spec, podSpec, (members, pod) => {
        const object = rules.defaults!(objectOf(table, members, pod), 'v1')
        const created = rules.prepareCreate?.(object, context) ?? object
        const problems = rules.validateCreate!(created, context)
        for (const { field, message } of problems) expect(`${field}: ${message}`).not.toContain('undefined')
        const live = created as never
        const updated = rules.prepareUpdate?.(created, live, context) ?? created
        const changes = rules.validateUpdate!(updated, live, context)
        expect(changes.filter(({ message }) => message?.includes('immutable'))).toEqual([])
        const isFine = problems.length === 0
        expect(isFine ? changes : []).toEqual([])
        if (isFine) rules.warnings?.(created, undefined)
      }),
      { numRuns: 50 },
    )
  })
})
