/**
 * Differences between the REST strategies of built-in kinds, as tables: generation, create on update, required
 * resourceVersion, deletion. Facts about the real server; a kind that is not listed is treated like any other.
 */
import type { ServedResource } from '../../catalog/catalog.ts'

/** Kinds with a generation; all custom ones have it. */
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

export function countsGenerations(served: ServedResource): boolean {
  return served.custom || counted.has(served.table)
}

/** Which changes increment the generation. */
export function changesGeneration(
  served: ServedResource,
): 'spec' | 'spec and annotations' | 'spec and labels' | 'nothing' {
  if (served.table === 'priorityclasses.scheduling.k8s.io') return 'nothing'
  if (served.table === 'endpointslices.discovery.k8s.io') return 'spec and labels'
  return served.table === 'deployments.apps' ? 'spec and annotations' : 'spec'
}

/** Kinds for which an update of a missing object creates it. */
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

export function isCreatedByUpdate({ table }: ServedResource): boolean {
  return createdByUpdate.has(table)
}

/** Kinds whose update must state a resourceVersion. */
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

export function needsVersion({ table, group, custom }: ServedResource): boolean {
  return custom || group === 'admissionregistration.k8s.io' || conditional.has(table)
}

/** Kinds whose finalizers need no domain. */
export function hasFreeFinalizers(served: ServedResource): boolean {
  const { group, custom } = served
  return custom || freeGroups.has(group) || checksMetadataLast(served)
}

const freeGroups = new Set([
  'coordination.k8s.io',
  'admissionregistration.k8s.io',
  'apiregistration.k8s.io',
  'apiextensions.k8s.io',
  'node.k8s.io',
])

/** Kinds for which `/status` changes no metadata at all. */
const statusAlone = new Set([
  'volumeattachments.storage.k8s.io',
  'csinodes.storage.k8s.io',
  'servicecidrs.networking.k8s.io',
  'validatingadmissionpolicies.admissionregistration.k8s.io',
  'resourceclaims.resource.k8s.io',
  'devicetaintrules.resource.k8s.io',
  'podcertificaterequests.certificates.k8s.io',
  'storageversionmigrations.storagemigration.k8s.io',
])

export function keepsMetadataFromStatus({ custom, table }: ServedResource): boolean {
  return custom || statusAlone.has(table)
}

/** Kinds for which an apply of `/status` creates a missing object. */
export function isCreatedByStatus({ table }: ServedResource): boolean {
  return table === 'validatingadmissionpolicies.admissionregistration.k8s.io'
}

/** Kinds whose metadata errors are reported only if there are no others. */
export function checksMetadataLast({ table, group }: ServedResource): boolean {
  return (table === 'events' && group === '') || table === 'poddisruptionbudgets.policy'
}

/** Kinds whose delete answers with the object instead of a Status. */
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

export function returnsDeleted({ table, group }: ServedResource): boolean {
  return (
    returned.has(table) ||
    ((group === 'storage.k8s.io' || group === 'resource.k8s.io') && !table.startsWith('csistorage'))
  )
}

/**
 * The default propagation policy; Jobs and ReplicationControllers orphan, which is how deletion worked before there
 * were policies.
 */
export function defaultPropagation({ table }: ServedResource): 'Orphan' | undefined {
  return table === 'jobs.batch' || table === 'replicationcontrollers' ? 'Orphan' : undefined
}
