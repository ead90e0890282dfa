/** The admission plugins of a cluster, in the order of the real server. */
import { createByUpdate } from './access/create-by-update.ts'
import { roleEscalation } from './access/escalation.ts'
import type { AdmissionPlugin } from '../cluster/admission.ts'
import type { AdmissionPluginOptions } from '../cluster/state.ts'
import { certificateApproval, certificateSigning, certificateSubjectRestriction } from './access/certificates.ts'
import { defaultIngressClass } from './default-ingress-class.ts'
import { defaultStorageClass } from './storage/default-storage-class.ts'
import { defaultTolerations } from './pod/default-tolerations.ts'
import { limitRanger } from './quota/limit-ranger.ts'
import { namespaceLifecycle } from './namespace-lifecycle.ts'
import { persistentVolumeClaimResize } from './storage/persistent-volume-claim-resize.ts'
import { podSecurity } from './pod/pod-security.ts'
import { mutatingPolicies, validatingPolicies } from './policy/policies.ts'
import { priority } from './pod/priority.ts'
import { resourceQuota } from './quota/resource-quota.ts'
import { runtimeClass } from './pod/runtime-class.ts'
import { serviceAccountAdmission } from './pod/service-account.ts'
import { storageObjectInUseProtection } from './storage/storage-object-in-use-protection.ts'
import { taintNodesByCondition } from './taint-nodes-by-condition.ts'
import { mutatingWebhooks, validatingWebhooks } from './webhook/webhooks.ts'

export function admissionPlugins({ disabled }: AdmissionPluginOptions): readonly AdmissionPlugin[] {
  const all: readonly AdmissionPlugin[] = [
    createByUpdate,
    namespaceLifecycle,
    limitRanger,
    serviceAccountAdmission,
    taintNodesByCondition,
    podSecurity,
    priority,
    defaultTolerations,
    defaultStorageClass,
    storageObjectInUseProtection,
    persistentVolumeClaimResize,
    runtimeClass,
    certificateApproval,
    certificateSigning,
    certificateSubjectRestriction,
    defaultIngressClass,
    mutatingPolicies,
    mutatingWebhooks,
    validatingPolicies,
    validatingWebhooks,
    resourceQuota,
    roleEscalation,
  ]
  return all.filter(({ name }) => !disabled.has(name))
}
