/** The admission plugins of a cluster, in the order of the real server. */
import { createByUpdate } from './create-by-update.ts'
import { roleEscalation } from './escalation.ts'
import type { AdmissionPlugin } from '../cluster/admission.ts'
import { certificateApproval, certificateSigning, certificateSubjectRestriction } from './certificates.ts'
import { defaultIngressClass } from './default-ingress-class.ts'
import { defaultStorageClass } from './default-storage-class.ts'
import { defaultTolerations } from './default-tolerations.ts'
import { limitRanger } from './limit-ranger.ts'
import { namespaceLifecycle } from './namespace-lifecycle.ts'
import { persistentVolumeClaimResize } from './persistent-volume-claim-resize.ts'
import { podSecurity } from './pod-security.ts'
import { mutatingPolicies, validatingPolicies } from './policies.ts'
import { priority } from './priority.ts'
import { resourceQuota } from './resource-quota.ts'
import { runtimeClass } from './runtime-class.ts'
import { serviceAccountAdmission } from './service-account.ts'
import { storageObjectInUseProtection } from './storage-object-in-use-protection.ts'
import { taintNodesByCondition } from './taint-nodes-by-condition.ts'
import { mutatingWebhooks, validatingWebhooks } from './webhooks.ts'

interface PluginOptions {
  /** Whether pods need a service account: only if the service account controller runs. */
  readonly serviceAccounts: boolean
}

export function admissionPlugins({ serviceAccounts }: PluginOptions): readonly AdmissionPlugin[] {
  return [
    createByUpdate,
    namespaceLifecycle,
    limitRanger,
    ...(serviceAccounts ? [serviceAccountAdmission] : []),
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
}
