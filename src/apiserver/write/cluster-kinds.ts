/** The rules of every built-in kind that does not create pods. */
import { structForm } from '../codec/struct-form.ts'
import { ignoringNulls } from '../kinds/strategy/absent.ts'
import {
  mutatingAdmissionPolicyBindingRules,
  mutatingAdmissionPolicyRules,
  validatingAdmissionPolicyBindingRules,
  validatingAdmissionPolicyRules,
} from '../policy/admission-policy.ts'
import { apiServiceRules } from '../kinds/core/api-service.ts'
import { certificateSigningRequestRules } from '../kinds/access/certificate-signing-request.ts'
import { configMapRules } from '../kinds/core/config-map.ts'
import { csiDriverRules, csiNodeRules, csiStorageCapacityRules } from '../kinds/storage/csi.ts'
import {
  deviceClassRules,
  deviceTaintRuleRules,
  resourceClaimRules,
  resourceClaimTemplateRules,
} from '../kinds/workload/device.ts'
import { endpointSliceRules } from '../kinds/network/endpoint-slice.ts'
import { endpointsRules } from '../kinds/network/endpoints.ts'
import { eventRules } from '../kinds/core/event.ts'
import { flowSchemaRules, priorityLevelConfigurationRules } from '../kinds/policy/flow-control.ts'
import { horizontalPodAutoscalerRules } from '../kinds/workload/horizontal-pod-autoscaler.ts'
import { ingressClassRules, ingressRules } from '../kinds/network/ingress.ts'
import { leaseRules } from '../kinds/core/lease.ts'
import { limitRangeRules } from '../kinds/policy/limit-range.ts'
import { namespaceRules } from '../kinds/core/namespace.ts'
import { networkPolicyRules } from '../kinds/network/network-policy.ts'
import { nodeRules } from '../kinds/core/node.ts'
import { persistentVolumeClaimRules } from '../kinds/storage/persistent-volume-claim.ts'
import { persistentVolumeRules } from '../kinds/storage/persistent-volume.ts'
import { podCertificateRequestRules } from '../kinds/access/pod-certificate-request.ts'
import { podDisruptionBudgetRules } from '../kinds/policy/pod-disruption-budget.ts'
import { priorityClassRules } from '../kinds/policy/priority-class.ts'
import { clusterRoleBindingRules, clusterRoleRules, roleBindingRules, roleRules } from '../kinds/access/rbac.ts'
import { resourceQuotaRules } from '../kinds/policy/resource-quota.ts'
import { runtimeClassRules } from '../kinds/policy/runtime-class.ts'
import { secretRules } from '../kinds/core/secret.ts'
import { ipAddressRules, serviceCidrRules } from '../kinds/network/service-cidr.ts'
import { serviceRules } from '../kinds/network/service.ts'
import { storageClassRules, volumeAttributesClassRules } from '../kinds/storage/storage-class.ts'
import { volumeAttachmentRules } from '../kinds/storage/volume-attachment.ts'
import { webhookConfigurationRules } from '../policy/webhook-configuration.ts'
import type { KindRules } from '../kinds/strategy/kind-rules.ts'

/** No defaults and no validation beyond the schema. */
const plain: KindRules = { defaults: structForm }

const rules: readonly (readonly [table: string, rules: KindRules])[] = [
  ['configmaps', configMapRules],
  ['endpoints', endpointsRules],
  ['events', eventRules],
  ['limitranges', limitRangeRules],
  ['namespaces', namespaceRules],
  ['nodes', nodeRules],
  ['persistentvolumeclaims', persistentVolumeClaimRules],
  ['persistentvolumes', persistentVolumeRules],
  ['resourcequotas', resourceQuotaRules],
  ['secrets', secretRules],
  ['serviceaccounts', plain],
  ['services', serviceRules],
  ['validatingwebhookconfigurations.admissionregistration.k8s.io', webhookConfigurationRules],
  ['mutatingwebhookconfigurations.admissionregistration.k8s.io', webhookConfigurationRules],
  ['validatingadmissionpolicies.admissionregistration.k8s.io', validatingAdmissionPolicyRules],
  ['validatingadmissionpolicybindings.admissionregistration.k8s.io', validatingAdmissionPolicyBindingRules],
  ['mutatingadmissionpolicies.admissionregistration.k8s.io', mutatingAdmissionPolicyRules],
  ['mutatingadmissionpolicybindings.admissionregistration.k8s.io', mutatingAdmissionPolicyBindingRules],
  ['apiservices.apiregistration.k8s.io', apiServiceRules],
  ['horizontalpodautoscalers.autoscaling', horizontalPodAutoscalerRules],
  ['certificatesigningrequests.certificates.k8s.io', certificateSigningRequestRules],
  ['podcertificaterequests.certificates.k8s.io', podCertificateRequestRules],
  ['leases.coordination.k8s.io', leaseRules],
  ['endpointslices.discovery.k8s.io', endpointSliceRules],
  ['flowschemas.flowcontrol.apiserver.k8s.io', flowSchemaRules],
  ['prioritylevelconfigurations.flowcontrol.apiserver.k8s.io', priorityLevelConfigurationRules],
  ['ingresses.networking.k8s.io', ingressRules],
  ['ingressclasses.networking.k8s.io', ingressClassRules],
  ['networkpolicies.networking.k8s.io', networkPolicyRules],
  ['servicecidrs.networking.k8s.io', serviceCidrRules],
  ['ipaddresses.networking.k8s.io', ipAddressRules],
  ['runtimeclasses.node.k8s.io', runtimeClassRules],
  ['poddisruptionbudgets.policy', podDisruptionBudgetRules],
  ['roles.rbac.authorization.k8s.io', roleRules],
  ['clusterroles.rbac.authorization.k8s.io', clusterRoleRules],
  ['rolebindings.rbac.authorization.k8s.io', roleBindingRules],
  ['clusterrolebindings.rbac.authorization.k8s.io', clusterRoleBindingRules],
  ['deviceclasses.resource.k8s.io', deviceClassRules],
  ['devicetaintrules.resource.k8s.io', deviceTaintRuleRules],
  ['resourceclaims.resource.k8s.io', resourceClaimRules],
  ['resourceclaimtemplates.resource.k8s.io', resourceClaimTemplateRules],
  ['priorityclasses.scheduling.k8s.io', priorityClassRules],
  ['csidrivers.storage.k8s.io', csiDriverRules],
  ['csinodes.storage.k8s.io', csiNodeRules],
  ['csistoragecapacities.storage.k8s.io', csiStorageCapacityRules],
  ['storageclasses.storage.k8s.io', storageClassRules],
  ['volumeattachments.storage.k8s.io', volumeAttachmentRules],
  ['volumeattributesclasses.storage.k8s.io', volumeAttributesClassRules],
]

export const clusterKinds: ReadonlyMap<string, KindRules> = new Map(
  rules.map(([table, own]) => [table, ignoringNulls(own)]),
)
