/** The plugins of a cluster, in the order they are asked. */
import { createByUpdate } from '../access/create-by-update.ts'
import { roleEscalation } from '../access/escalation.ts'
import type { AdmissionPlugin } from './admission.ts'
import { defaultStorageClass } from './default-storage-class.ts'
import { defaultTolerations } from './default-tolerations.ts'
import { limitRanger } from './limit-ranger.ts'
import { namespaceLifecycle } from './namespace-lifecycle.ts'
import { persistentVolumeClaimResize } from './persistent-volume-claim-resize.ts'
import { validatingPolicies } from './policies.ts'
import { priority } from './priority.ts'
import { resourceQuota } from './resource-quota.ts'
import { storageObjectInUseProtection } from './storage-object-in-use-protection.ts'
import { mutatingWebhooks, validatingWebhooks } from './webhooks.ts'
import { taintNodesByCondition } from './taint-nodes-by-condition.ts'

export const admissionPlugins: readonly AdmissionPlugin[] = [
  createByUpdate,
  namespaceLifecycle,
  limitRanger,
  taintNodesByCondition,
  priority,
  defaultTolerations,
  defaultStorageClass,
  storageObjectInUseProtection,
  persistentVolumeClaimResize,
  mutatingWebhooks,
  validatingPolicies,
  validatingWebhooks,
  resourceQuota,
  roleEscalation,
]
