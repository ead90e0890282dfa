/**
 * A database with a life cycle: it starts, runs, is serviced (a backup), stops and ends, as its CR requests. A sidecar reports
 * its state and runs the actions.
 */
import {
  ConfigMap,
  defineApplication,
  defineConfig,
  defineController,
  defineDependent,
  defineKind,
  defineLifecycle,
  defineOperator,
  labelled,
  type ObjectOf,
  optional,
  Pod,
  quantity,
  referenced,
  Secret,
  Service,
  StatefulSet,
  string,
} from '@muster-dev/muster/operator'

const own = {
  image: string({ default: 'redis:8-alpine' }),
  storage: quantity({ default: '1Gi', rules: [{ rule: 'self == oldSelf', message: 'the storage stays as it is' }] }),
  tokenFrom: string({ description: 'A Secret whose `token` opens the sidecar.' }),
  backupTo: optional(string({ description: 'Where a service writes its backup.' })),
}

export const life = defineLifecycle({
  name: 'Database',
  own,
  start: 'start',
  end: 'ended',
  desiredStates: ['running', 'servicing', 'ended'],
  defaultState: 'running',
  states: {
    start: { description: 'Being started, not yet available.', leadsTo: 'running', onFailure: { goTo: 'stopping' } },
    running: {
      description: 'Ready for its clients.',
      to: [
        { state: 'servicing', guard: ({ cr }) => cr.spec.backupTo !== undefined || 'spec.backupTo is empty' },
        'stopping',
      ],
    },
    servicing: {
      description: 'A backup is being made.',
      leadsTo: 'running',
      action: { name: 'backup', input: ({ cr }) => ({ target: cr.spec.backupTo ?? '' }) },
      onFailure: { retries: 1, goTo: 'running' },
    },
    stopping: { description: 'Clients must leave.', leadsTo: 'ended', action: { name: 'stop' } },
    ended: { description: 'Not available.', to: ['start'] },
  },
})

export const Database = defineKind({
  group: 'db.example.com',
  version: 'v1alpha1',
  kind: 'Database',
  spec: { ...own, ...life.spec },
  status: life.status,
  rules: life.rules,
  columns: life.columns,
})
export type Database = ObjectOf<typeof Database>

const settings = defineConfig({
  sidecarUrl: string({
    default: 'http://$(name)-0.$(name).$(namespace).svc:8787',
    description: 'How sidecars are reached.',
  }),
})

const application = defineApplication({
  for: Database,
  lifecycle: life,
  config: settings,
  reach({ cr, view, config }) {
    const { name, namespace = '' } = cr.metadata
    const isThere = view.get(StatefulSet, { name, namespace }) ?? view.get(Pod, { name: `${name}-0`, namespace })
    if (!isThere) return 'gone'
    const token = view.get(Secret, { name: cr.spec.tokenFrom, namespace })?.data?.['token']
    if (token === undefined) return 'absent'
    const url = config.sidecarUrl.replaceAll('$(name)', name).replaceAll('$(namespace)', namespace)
    return { url, token: Buffer.from(token, 'base64').toString() }
  },
})

/** The dependents exist from the first state on, and are deleted in the last. */
const activeWhen = ({ cr }: { readonly cr: Database }) => application.isPresent(cr)

const config = defineDependent({
  for: Database,
  kind: ConfigMap,
  activeWhen,
  initial: {
    data: {
      'sidecar.yaml': `
listen: 0.0.0.0:8787
tokenFile: /token/token
stateDirectory: /data/sidecar
probes:
  ping: { command: [redis-cli, ping], timeout: 2s }
states:
  - { state: stopping, action: stop }
  - { state: servicing, action: backup, probe: ping, word: PONG }
  - { state: running, probe: ping, word: PONG }
  - { state: start, probe: ping, word: LOADING Redis is loading the dataset in memory }
  - { state: ended, probe: ping, code: 1 }
actions:
  backup: { command: [redis-backup], timeout: 10m }
  stop: { command: [redis-cli, shutdown, save], timeout: 1m }
`,
    },
  },
})

const service = defineDependent({
  for: Database,
  kind: Service,
  activeWhen,
  fromCR: ({ cr }) => ({
    spec: { clusterIP: 'None', selector: { database: cr.metadata.name }, ports: [{ name: 'redis', port: 6379 }] },
  }),
})

/** Of every Pod: the operator watches no others. */
const labels = { app: 'database' }

const statefulSet = defineDependent({
  for: Database,
  kind: StatefulSet,
  activeWhen,
  dependsOn: [config, service],
  initial: `
    spec:
      replicas: 1
      template:
        spec:
          containers:
            - name: redis
              ports: [{ name: redis, containerPort: 6379 }]
              volumeMounts: [{ name: data, mountPath: /data }]
            - name: sidecar
              image: muster:latest
              args: [sidecar, --config=/config/sidecar.yaml]
              ports: [{ name: sidecar, containerPort: 8787 }]
              volumeMounts:
                - { name: data, mountPath: /data }
                - { name: config, mountPath: /config }
                - { name: token, mountPath: /token }
  `,
  fromCR: ({ cr }) => ({
    spec: {
      serviceName: cr.metadata.name,
      selector: { matchLabels: { database: cr.metadata.name } },
      template: {
        metadata: { labels: { ...labels, database: cr.metadata.name } },
        spec: {
          containers: [{ name: 'redis', image: cr.spec.image }],
          volumes: [
            { name: 'config', configMap: { name: cr.metadata.name } },
            { name: 'token', secret: { secretName: cr.spec.tokenFrom } },
          ],
        },
      },
      volumeClaimTemplates: [
        {
          metadata: { name: 'data' },
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: String(cr.spec.storage) } } },
        },
      ],
    },
  }),
})

const database = defineController({
  for: Database,
  dependents: [config, service, statefulSet],
  reads: [
    labelled(Pod, { labels }),
    referenced(Secret, { from: Database, namePath: '$.spec.tokenFrom', namespacePath: '$.metadata.namespace' }),
  ],
  application,
})

export const operator = defineOperator({ name: 'database', controllers: [database], config: settings })
