/** Groups of the Kubernetes community (`*.k8s.io`, `*.kubernetes.io`) want a word that somebody has agreed to the API. */
import { type Cause, invalidValue, requiredValue } from '../../kube/validation/cause.ts'
import type { ConditionUpdate } from '../../kube/condition.ts'
import { quoteGo } from '../../kube/go-text.ts'
import type { CustomResourceDefinition } from '../../kube/types/apiextensions/v1.ts'

const annotation = 'api-approved.kubernetes.io'
const further = 'see https://github.com/kubernetes/enhancements/pull/1111'

interface Approval {
  readonly state: 'Missing' | 'Bypassed' | 'Approved' | 'Invalid'
  readonly reason: string
}

/** Undefined for groups that need none. */
function approvalOf({ metadata, spec }: CustomResourceDefinition): Approval | undefined {
  if (!/(?:^|\.)(?:k8s|kubernetes)\.io$/.test(spec?.group ?? '')) return undefined
  const word = metadata.annotations?.[annotation] ?? ''
  const needed = `protected groups must have approval annotation ${quoteGo(annotation)}`
  if (word === '') return { state: 'Missing', reason: `${needed}, ${further}` }
  if (word.startsWith('unapproved')) return { state: 'Bypassed', reason: `not approved: ${quoteGo(word)}` }
  if (/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#\s]/.test(word)) return { state: 'Approved', reason: `approved in ${word}` }
  return { state: 'Invalid', reason: `${needed} with either a URL or a reason starting with "unapproved", ${further}` }
}

/** What has always been missing may stay so. */
export function approvalCauses(
  crd: CustomResourceDefinition,
  live: CustomResourceDefinition | undefined,
): readonly Cause[] {
  const approval = approvalOf(crd)
  if (!approval || (live && approvalOf(live)?.state === approval.state)) return []
  const field = `metadata.annotations[${annotation}]`
  if (approval.state === 'Missing') return [requiredValue(field, approval.reason)]
  if (approval.state !== 'Invalid') return []
  return [invalidValue(field, crd.metadata.annotations?.[annotation] ?? '', approval.reason)]
}

const conditions = {
  Missing: { status: 'False', reason: 'MissingAnnotation' },
  Bypassed: { status: 'False', reason: 'UnapprovedAnnotation' },
  Approved: { status: 'True', reason: 'ApprovedAnnotation' },
  Invalid: { status: 'False', reason: 'InvalidAnnotation' },
} as const

export function approvalCondition(crd: CustomResourceDefinition): ConditionUpdate | undefined {
  const approval = approvalOf(crd)
  if (!approval) return undefined
  return { type: 'KubernetesAPIApprovalPolicyConformant', ...conditions[approval.state], message: approval.reason }
}
