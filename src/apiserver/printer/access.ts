/** Columns of RBAC, certificates, admission, flow control and devices. */
import type { LabelSelectorSpec } from '../../kube/selector/selector.ts'
import type {
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  MutatingWebhookConfiguration,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingWebhookConfiguration,
} from '../../kube/types/admissionregistration/v1.ts'
import type {
  CertificateSigningRequest,
  ClusterTrustBundle,
  PodCertificateRequest,
} from '../../kube/types/certificates/v1.ts'
import type { FlowSchema, PriorityLevelConfiguration } from '../../kube/types/flowcontrol/v1.ts'
import type { ClusterRoleBinding, RoleBinding } from '../../kube/types/rbac/v1.ts'
import type {
  DeviceClass,
  DeviceTaintRule,
  ResourceClaim,
  ResourceClaimTemplate,
  ResourceSlice,
} from '../../kube/types/resource/v1.ts'
import { formatAge } from './age.ts'
import { age, type Columns, labelText, nameCell, orNone, since } from './cells.ts'

export const roleBindings: Columns<RoleBinding | ClusterRoleBinding> = {
  Name: nameCell,
  Role: ({ roleRef }) => `${roleRef?.kind ?? ''}/${roleRef?.name ?? ''}`,
  Age: age,
  Users: (binding) => subjects(binding, 'User'),
  Groups: (binding) => subjects(binding, 'Group'),
  ServiceAccounts: (binding) => subjects(binding, 'ServiceAccount'),
}

function subjects(binding: RoleBinding | ClusterRoleBinding, wanted: string): string {
  return (binding.subjects ?? [])
    .filter(({ kind }) => kind === wanted)
    .map((subject) => (wanted === 'ServiceAccount' ? `${subject.namespace ?? ''}/${subject.name}` : subject.name))
    .join(', ')
}

export const certificateSigningRequests: Columns<CertificateSigningRequest> = {
  Name: nameCell,
  Age: age,
  SignerName: ({ spec }) => orNone(spec?.signerName),
  Requestor: ({ spec }) => spec?.username ?? '',
  RequestedDuration: ({ spec }) =>
    spec?.expirationSeconds === undefined ? '<none>' : formatAge(spec.expirationSeconds * 1000),
  Condition({ status }) {
    const has = (wanted: string): boolean => status?.conditions?.some(({ type }) => type === wanted) ?? false
    const decision = has('Denied') ? 'Denied' : has('Approved') ? 'Approved' : 'Pending'
    return [decision, ...(has('Failed') ? ['Failed'] : []), ...(status?.certificate ? ['Issued'] : [])].join(',')
  },
}

export const clusterTrustBundles: Columns<ClusterTrustBundle> = {
  Name: nameCell,
  SignerName: ({ spec }) => orNone(spec?.signerName),
}

export const podCertificateRequests: Columns<PodCertificateRequest> = {
  Name: nameCell,
  PodName: ({ spec }) => spec?.podName ?? '',
  ServiceAccountName: ({ spec }) => spec?.serviceAccountName ?? '',
  NodeName: ({ spec }) => spec?.nodeName ?? '',
  SignerName: ({ spec }) => spec?.signerName ?? '',
  State: ({ status }) =>
    status?.conditions?.findLast(({ type }) => /^(?:Issued|Denied|Failed)$/.test(type))?.type ?? 'Pending',
  UnverifiedUserAnnotations: ({ spec }) => labelText(spec?.unverifiedUserAnnotations),
}

export const webhookConfigurations: Columns<MutatingWebhookConfiguration | ValidatingWebhookConfiguration> = {
  Name: nameCell,
  Webhooks: ({ webhooks }) => (webhooks ?? []).length,
  Age: age,
}

export const validatingAdmissionPolicies: Columns<ValidatingAdmissionPolicy> = {
  Name: nameCell,
  Validations: ({ spec }) => (spec?.validations ?? []).length,
  ParamKind: paramKind,
  Age: age,
}

export const mutatingAdmissionPolicies: Columns<MutatingAdmissionPolicy> = {
  Name: nameCell,
  Mutations: ({ spec }) => (spec?.mutations ?? []).length,
  ParamKind: paramKind,
  Age: age,
}

function paramKind({ spec }: ValidatingAdmissionPolicy | MutatingAdmissionPolicy): string {
  return spec?.paramKind ? `${spec.paramKind.apiVersion ?? ''}/${spec.paramKind.kind ?? ''}` : '<unset>'
}

export const admissionPolicyBindings: Columns<ValidatingAdmissionPolicyBinding | MutatingAdmissionPolicyBinding> = {
  Name: nameCell,
  PolicyName: ({ spec }) => spec?.policyName ?? '',
  ParamRef({ spec }) {
    const { paramRef } = spec ?? {}
    // Without a namespace it is unknown whether the parameter is namespaced.
    if (paramRef?.name) return `${paramRef.namespace || '*'}/${paramRef.name}`
    return paramRef?.selector ? goText(paramRef.selector) : '<unset>'
  },
  Age: age,
}

/** A selector in Go's format of structs, as kube-apiserver prints it here. */
function goText({ matchLabels = {}, matchExpressions = [] }: LabelSelectorSpec): string {
  const labels = Object.entries(matchLabels)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}: ${value},`)
  const expressions = matchExpressions.map(
    ({ key, operator, values = [] }) =>
      `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(' ')}],},`,
  )
  return `&LabelSelector{MatchLabels:map[string]string{${labels.join('')}},MatchExpressions:[]LabelSelectorRequirement{${expressions.join('')}},}`
}

export const flowSchemas: Columns<FlowSchema> = {
  Name: nameCell,
  PriorityLevel: ({ spec }) => spec?.priorityLevelConfiguration?.name ?? '',
  MatchingPrecedence: ({ spec }) => spec?.matchingPrecedence ?? 0,
  DistinguisherMethod: ({ spec }) => spec?.distinguisherMethod?.type ?? '<none>',
  Age: age,
  MissingPL: ({ status }) => status?.conditions?.find(({ type }) => type === 'Dangling')?.status ?? '?',
}

export const priorityLevelConfigurations: Columns<PriorityLevelConfiguration> = {
  Name: nameCell,
  Type: ({ spec }) => spec?.type ?? '',
  NominalConcurrencyShares: ({ spec }) => spec?.limited?.nominalConcurrencyShares ?? '<none>',
  Queues: ({ spec }) => spec?.limited?.limitResponse?.queuing?.queues ?? '<none>',
  HandSize: ({ spec }) => spec?.limited?.limitResponse?.queuing?.handSize ?? '<none>',
  QueueLengthLimit: ({ spec }) => spec?.limited?.limitResponse?.queuing?.queueLengthLimit ?? '<none>',
  Age: age,
}

export const deviceClasses: Columns<DeviceClass> = { Name: nameCell, Age: age }

export const resourceClaims: Columns<ResourceClaim> = {
  Name: nameCell,
  State({ metadata, status }) {
    const isDeleted = metadata?.deletionTimestamp !== undefined
    if (!status?.allocation) return isDeleted ? 'deleted' : 'pending'
    const isReserved = (status.reservedFor ?? []).length > 0
    return [...(isDeleted ? ['deleted'] : []), 'allocated', ...(isReserved ? ['reserved'] : [])].join(',')
  },
  Age: age,
}

export const resourceClaimTemplates: Columns<ResourceClaimTemplate> = { Name: nameCell, Age: age }

export const resourceSlices: Columns<ResourceSlice> = {
  Name: nameCell,
  Node: ({ spec }) => spec?.nodeName ?? '',
  Driver: ({ spec }) => spec?.driver ?? '',
  Pool: ({ spec }) => spec?.pool?.name ?? '',
  Age: age,
}

export const deviceTaintRules: Columns<DeviceTaintRule> = {
  Name: nameCell,
  Key: ({ spec }) => spec?.taint?.key ?? '',
  Value: ({ spec }) => spec?.taint?.value ?? '',
  Effect: ({ spec }) => spec?.taint?.effect ?? '',
  TimeAdded: ({ spec }, { now }) => (spec?.taint?.timeAdded === undefined ? '' : since(spec.taint.timeAdded, now)),
  Age: age,
}
