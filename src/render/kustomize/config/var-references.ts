/** Where `$(NAME)` stands for the value of a var. */
import type { FieldSpec } from './field-spec.ts'

const containerFields = ['containers', 'initContainers'].flatMap((list) =>
  ['args', 'command', 'env/value', 'volumeMounts/mountPath'].map((field) => `${list}/${field}`),
)

const workloads = ['DaemonSet', 'Deployment', 'Job', 'ReplicaSet', 'StatefulSet']

function within(spec: string, kind: string, fields: readonly string[]): readonly FieldSpec[] {
  return fields.map((field) => ({ path: `${spec}/${field}`, kind }))
}

export const varReferences: readonly FieldSpec[] = [
  ...within('spec/jobTemplate/spec/template/spec', 'CronJob', containerFields),
  { path: 'spec/jobTemplate/spec/template/volumes/nfs/server', kind: 'CronJob' },
  ...workloads.flatMap((kind) => within('spec/template/spec', kind, containerFields)),
  ...workloads
    .filter((kind) => kind !== 'StatefulSet')
    .map((kind) => ({ path: 'spec/template/spec/volumes/nfs/server', kind })),
  { path: 'spec/template/metadata/annotations', kind: 'Deployment' },
  ...within('spec', 'Ingress', ['rules/host', 'tls/hosts', 'tls/secretName']),
  ...within('spec', 'Pod', [...containerFields, 'volumes/nfs/server']),
  ...within('spec', 'Service', ['ports/port', 'ports/targetPort']),
  { path: 'spec/volumeClaimTemplates/spec/nfs/server', kind: 'StatefulSet' },
  { path: 'spec/nfs/server', kind: 'PersistentVolume' },
  { path: 'metadata/labels' },
  { path: 'metadata/annotations' },
]
