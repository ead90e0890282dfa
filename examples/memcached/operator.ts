/**
 * Memcached: a cache of N servers, like the sample of the Operator SDK. A CR has a size; the operator manages a ConfigMap
 * with the settings, a Secret with the password, and a Deployment that uses both.
 */
import {
  ConfigMap,
  defineController,
  defineKind,
  defineOperator,
  defineDependent,
  Deployment,
  giveUp,
  integer,
  labelled,
  list,
  type ObjectOf,
  optional,
  Pod,
  referenced,
  Secret,
  string,
  type View,
} from '@muster-dev/muster/operator'

export const Memcached = defineKind({
  group: 'cache.example.com',
  version: 'v1alpha1',
  kind: 'Memcached',
  spec: {
    size: integer({ minimum: 0, maximum: 5, default: 1, description: 'How many servers there are.' }),
    image: string({ default: 'memcached:1.6-alpine', minLength: 1 }),
    memoryMegabytes: integer({ minimum: 1, default: 64, description: 'What each server may keep.' }),
    passwordFrom: optional(string({ description: 'A Secret whose password is used. Without one there is none.' })),
  },
  status: { nodes: optional(list(string())) },
  columns: [
    { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
  ],
})
export type Memcached = ObjectOf<typeof Memcached>

const labels = { app: 'memcached' }
const labelsOf = (cr: Memcached) => ({ ...labels, memcached: cr.metadata.name })

const config = defineDependent({
  for: Memcached,
  kind: ConfigMap,
  fromCR: ({ cr }) => ({ data: { MEMORY: String(cr.spec.memoryMegabytes) } }),
})

const secret = defineDependent({
  for: Memcached,
  kind: Secret,
  activeWhen: ({ cr }) => cr.spec.passwordFrom !== undefined,
  writtenWhen: ({ cr, view }) => password(cr, view) !== undefined || `a password in Secret ${cr.spec.passwordFrom}`,
  fromCR: ({ cr, view }) => ({ data: { PASSWORD: password(cr, view) } }),
})

const deployment = defineDependent({
  for: Memcached,
  kind: Deployment,
  dependsOn: [config, secret],
  initial: `
    spec:
      template:
        spec:
          securityContext: { runAsNonRoot: true, seccompProfile: { type: RuntimeDefault } }
          containers:
            - name: memcached
              args: [memcached, -m=$(MEMORY), -o, modern]
              ports: [{ name: memcached, containerPort: 11211 }]
              securityContext: { allowPrivilegeEscalation: false, runAsUser: 1001, capabilities: { drop: [ALL] } }
  `,
  fromCR: ({ cr }) => ({
    spec: {
      replicas: cr.spec.size,
      selector: { matchLabels: labelsOf(cr) },
      template: {
        metadata: { labels: labelsOf(cr) },
        spec: {
          containers: [
            {
              name: 'memcached',
              image: cr.spec.image,
              resources: { requests: { cpu: '10m', memory: `${cr.spec.memoryMegabytes + 16}Mi` } },
              envFrom: [
                { configMapRef: { name: cr.metadata.name } },
                ...(cr.spec.passwordFrom ? [{ secretRef: { name: cr.metadata.name } }] : []),
              ],
            },
          ],
        },
      },
    },
  }),
})

function password({ metadata, spec }: Memcached, view: View): string | undefined {
  if (spec.passwordFrom === undefined) return undefined
  return view.get(Secret, { namespace: metadata.namespace, name: spec.passwordFrom })?.data?.['password']
}

const memcached = defineController({
  for: Memcached,
  dependents: [config, secret, deployment],
  // As little as it needs: of all Pods those of its Deployments, of all Secrets those that CRs refer to.
  reads: [
    labelled(Pod, { labels }),
    referenced(Secret, { from: Memcached, namePath: '$.spec.passwordFrom', namespacePath: '$.metadata.namespace' }),
  ],
  check({ cr }) {
    if (cr.spec.passwordFrom === cr.metadata.name) {
      giveUp('PasswordFromItself', `spec.passwordFrom names ${cr.metadata.name}, the Secret that is made from it.`)
    }
  },
  status: ({ cr, view }) => ({
    nodes: view
      .list(Pod, { namespace: cr.metadata.namespace, labels: { matchLabels: labelsOf(cr) } })
      .map(({ metadata }) => metadata.name)
      .toSorted(),
  }),
})

export const operator = defineOperator({ name: 'memcached', controllers: [memcached] })
