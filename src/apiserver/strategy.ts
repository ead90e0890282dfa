/**
 * What the server does to objects of certain built-in kinds, beyond what it does to all. Facts about the real server,
 * one line each; a kind that is not named here is treated like any other.
 */
import { isJsonObject, type JsonObject } from '../kube/json.ts'
import type { UntypedObject } from '../kube/object.ts'
import type { Served } from './catalog.ts'

/** Kinds that count the changes of their spec; custom ones all do. */
const counted = new Set([
  'priorityclasses.scheduling.k8s.io',
  'ingressclasses.networking.k8s.io',
  'networkpolicies.networking.k8s.io',
  'ingresses.networking.k8s.io',
  'endpointslices.discovery.k8s.io',
  'poddisruptionbudgets.policy',
  'resourceslices.resource.k8s.io',
  'deviceclasses.resource.k8s.io',
  'devicetaintrules.resource.k8s.io',
  'horizontalpodautoscalers.autoscaling',
  'flowschemas.flowcontrol.apiserver.k8s.io',
  'prioritylevelconfigurations.flowcontrol.apiserver.k8s.io',
  'daemonsets.apps',
  'statefulsets.apps',
  'deployments.apps',
  'replicasets.apps',
  'jobs.batch',
  'cronjobs.batch',
  'pods',
  'podtemplates',
  'replicationcontrollers',
  'validatingadmissionpolicies.admissionregistration.k8s.io',
  'mutatingadmissionpolicies.admissionregistration.k8s.io',
  'validatingadmissionpolicybindings.admissionregistration.k8s.io',
  'mutatingadmissionpolicybindings.admissionregistration.k8s.io',
  'mutatingwebhookconfigurations.admissionregistration.k8s.io',
  'validatingwebhookconfigurations.admissionregistration.k8s.io',
  'customresourcedefinitions.apiextensions.k8s.io',
])

export function countsGenerations(served: Served): boolean {
  return served.custom || counted.has(served.table)
}

/** Whether an update is a change that the generation counts. */
export function changesGeneration(served: Served): 'spec' | 'spec and annotations' {
  return served.table === 'deployments.apps' ? 'spec and annotations' : 'spec'
}

/** An update of what does not exist creates it. */
const createdByUpdate = new Set([
  'runtimeclasses.node.k8s.io',
  'roles.rbac.authorization.k8s.io',
  'rolebindings.rbac.authorization.k8s.io',
  'clusterroles.rbac.authorization.k8s.io',
  'clusterrolebindings.rbac.authorization.k8s.io',
  'leases.coordination.k8s.io',
  'leasecandidates.coordination.k8s.io',
  'limitranges',
  'events',
  'services',
  'endpoints',
])

export function isCreatedByUpdate({ table }: Served): boolean {
  return createdByUpdate.has(table)
}

/** An update must say which version it changes. */
const conditional = new Set([
  'runtimeclasses.node.k8s.io',
  'poddisruptionbudgets.policy',
  'csidrivers.storage.k8s.io',
  'csistoragecapacities.storage.k8s.io',
  'volumeattachments.storage.k8s.io',
  'csinodes.storage.k8s.io',
  'leases.coordination.k8s.io',
  'leasecandidates.coordination.k8s.io',
  'customresourcedefinitions.apiextensions.k8s.io',
])

export function needsVersion({ table, group, custom }: Served): boolean {
  return custom || group === 'admissionregistration.k8s.io' || conditional.has(table)
}

/** A delete answers with the object itself, not with a Status. */
const returned = new Set([
  'pods',
  'services',
  'persistentvolumes',
  'persistentvolumeclaims',
  'serviceaccounts',
  'namespaces',
  'resourcequotas',
  'podtemplates',
])

export function returnsDeleted({ table, group }: Served): boolean {
  return (
    returned.has(table) ||
    ((group === 'storage.k8s.io' || group === 'resource.k8s.io') && !table.startsWith('csistorage'))
  )
}

/** Namespaces that nobody may delete. */
export const protectedNamespaces: ReadonlySet<string> = new Set(['default', 'kube-system', 'kube-public'])

type Prepare = (object: UntypedObject) => UntypedObject

const withPhase =
  (phase: string): Prepare =>
  (object) => ({ ...object, status: { phase } })

/** The first status, and the few fields that a kind cannot do without. Its name is settled by then. */
const firstState: ReadonlyMap<string, Prepare> = new Map<string, Prepare>([
  ['pods', withPhase('Pending')],
  ['persistentvolumes', withPhase('Pending')],
  ['persistentvolumeclaims', withPhase('Pending')],
  [
    'namespaces',
    (object) => ({
      ...object,
      metadata: {
        ...object.metadata,
        labels: { ...object.metadata.labels, 'kubernetes.io/metadata.name': object.metadata.name ?? '' },
      },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    }),
  ],
])

/** An object that is about to be created, as its kind starts out. */
export function prepareCreate(served: Served, object: UntypedObject): UntypedObject {
  // Nodes register themselves, status and all.
  const { status: _status, ...rest } = object
  const clean = served.hasStatus && served.table !== 'nodes' ? (rest as UntypedObject) : object
  return prepareWrite(served, firstState.get(served.table)?.(clean) ?? clean)
}

/** What holds for every write. */
export function prepareWrite(served: Served, object: UntypedObject): UntypedObject {
  return served.table === 'secrets' ? prepareSecret(object) : object
}

/** `stringData` is for writing only: it becomes `data`. */
function prepareSecret(object: UntypedObject): UntypedObject {
  const { stringData, ...secret } = object
  const typed = { ...secret, type: secret['type'] || 'Opaque' } as UntypedObject
  if (!isJsonObject(stringData)) return typed
  const encoded = Object.entries(stringData).map(([key, text]) => [key, Buffer.from(text as string).toString('base64')])
  const data = { ...(typed['data'] as JsonObject | undefined), ...(Object.fromEntries(encoded) as JsonObject) }
  return { ...typed, data }
}
