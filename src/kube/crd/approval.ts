/**
 * API approval: a CRD in a protected group (`*.k8s.io`, `*.kubernetes.io`) needs the annotation
 * `api-approved.kubernetes.io`.
 */
import { type Cause, invalidValue, requiredValue } from '../validation/cause.ts'
import type { ConditionUpdate } from '../meta/condition.ts'
import { quoteGo } from '../go/go-text.ts'
import type { CustomResourceDefinition } from '../types/apiextensions/v1.ts'

const annotation = 'api-approved.kubernetes.io'
const further = 'see https://github.com/kubernetes/enhancements/pull/1111'

interface Approval {
  readonly state: 'Missing' | 'Bypassed' | 'Approved' | 'Invalid'
  readonly reason: string
}

/** Undefined for groups that are not protected. */
function approvalOf({ metadata, spec }: CustomResourceDefinition): Approval | undefined {
  if (!/(?:^|\.)(?:k8s|kubernetes)\.io$/.test(spec?.group ?? '')) return undefined
  const value = metadata.annotations?.[annotation] ?? ''
  const needed = `protected groups must have approval annotation ${quoteGo(annotation)}`
  if (value === '') return { state: 'Missing', reason: `${needed}, ${further}` }
  if (value.startsWith('unapproved')) return { state: 'Bypassed', reason: `not approved: ${quoteGo(value)}` }
  if (/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#\s]/.test(value)) return { state: 'Approved', reason: `approved in ${value}` }
  return { state: 'Invalid', reason: `${needed} with either a URL or a reason starting with "unapproved", ${further}` }
}

/** An update of a CRD that never had the annotation may leave it out. */
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
