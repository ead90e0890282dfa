/** The columns of built-in kinds by storage table. Other kinds have the default columns. */
import * as access from './access.ts'
import type { Columns } from './cells.ts'
import * as cluster from './cluster.ts'
import * as network from './network.ts'
import { pods, podTemplates } from './pod.ts'
import * as storage from './storage.ts'
import * as workload from './workload.ts'

const printers: Readonly<Record<string, Columns<never>>> = {
  pods,
  podtemplates: podTemplates,
  replicationcontrollers: workload.replicationControllers,
  'deployments.apps': workload.deployments,
  'replicasets.apps': workload.replicaSets,
  'statefulsets.apps': workload.statefulSets,
  'daemonsets.apps': workload.daemonSets,
  'controllerrevisions.apps': workload.controllerRevisions,
  'jobs.batch': workload.jobs,
  'cronjobs.batch': workload.cronJobs,
  'poddisruptionbudgets.policy': workload.podDisruptionBudgets,
  'horizontalpodautoscalers.autoscaling': workload.horizontalPodAutoscalers,
  services: network.services,
  endpoints: network.endpoints,
  'endpointslices.discovery.k8s.io': network.endpointSlices,
  'ingresses.networking.k8s.io': network.ingresses,
  'ingressclasses.networking.k8s.io': network.ingressClasses,
  'networkpolicies.networking.k8s.io': network.networkPolicies,
  'ipaddresses.networking.k8s.io': network.ipAddresses,
  'servicecidrs.networking.k8s.io': network.serviceCidrs,
  persistentvolumes: storage.persistentVolumes,
  persistentvolumeclaims: storage.persistentVolumeClaims,
  'storageclasses.storage.k8s.io': storage.storageClasses,
  'volumeattributesclasses.storage.k8s.io': storage.volumeAttributesClasses,
  'volumeattachments.storage.k8s.io': storage.volumeAttachments,
  'csinodes.storage.k8s.io': storage.csiNodes,
  'csidrivers.storage.k8s.io': storage.csiDrivers,
  nodes: cluster.nodes,
  namespaces: cluster.namespaces,
  configmaps: cluster.configMaps,
  secrets: cluster.secrets,
  serviceaccounts: cluster.serviceAccounts,
  resourcequotas: cluster.resourceQuotas,
  events: cluster.events,
  componentstatuses: cluster.componentStatuses,
  'leases.coordination.k8s.io': cluster.leaseColumns,
  'priorityclasses.scheduling.k8s.io': cluster.priorityClasses,
  'runtimeclasses.node.k8s.io': cluster.runtimeClasses,
  'customresourcedefinitions.apiextensions.k8s.io': cluster.customResourceDefinitions,
  'apiservices.apiregistration.k8s.io': cluster.apiServices,
  'storageversionmigrations.storagemigration.k8s.io': cluster.storageVersionMigrations,
  'rolebindings.rbac.authorization.k8s.io': access.roleBindings,
  'clusterrolebindings.rbac.authorization.k8s.io': access.roleBindings,
  'certificatesigningrequests.certificates.k8s.io': access.certificateSigningRequests,
  'clustertrustbundles.certificates.k8s.io': access.clusterTrustBundles,
  'podcertificaterequests.certificates.k8s.io': access.podCertificateRequests,
  'mutatingwebhookconfigurations.admissionregistration.k8s.io': access.webhookConfigurations,
  'validatingwebhookconfigurations.admissionregistration.k8s.io': access.webhookConfigurations,
  'validatingadmissionpolicies.admissionregistration.k8s.io': access.validatingAdmissionPolicies,
  'validatingadmissionpolicybindings.admissionregistration.k8s.io': access.admissionPolicyBindings,
  'mutatingadmissionpolicies.admissionregistration.k8s.io': access.mutatingAdmissionPolicies,
  'mutatingadmissionpolicybindings.admissionregistration.k8s.io': access.admissionPolicyBindings,
  'flowschemas.flowcontrol.apiserver.k8s.io': access.flowSchemas,
  'prioritylevelconfigurations.flowcontrol.apiserver.k8s.io': access.priorityLevelConfigurations,
  'deviceclasses.resource.k8s.io': access.deviceClasses,
  'resourceclaims.resource.k8s.io': access.resourceClaims,
  'resourceclaimtemplates.resource.k8s.io': access.resourceClaimTemplates,
  'resourceslices.resource.k8s.io': access.resourceSlices,
  'devicetaintrules.resource.k8s.io': access.deviceTaintRules,
}

/** Undefined for kinds with the default columns. */
export function printerOf(table: string): Columns<never> | undefined {
  return Object.hasOwn(printers, table) ? printers[table] : undefined
}
