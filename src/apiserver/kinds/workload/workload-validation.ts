/** Validation that the workload kinds share: a selector, a template that it matches, and counts in the status. */
import { equalJson, type Json } from '../../../kube/json.ts'
import { labelsOf, type LabelSelector, type LabelSelectorSpec, matchLabels } from '../../../kube/selector/selector.ts'
import { kubeErrors } from '../../../kube/errors.ts'
import { isMusterError } from '../../../kube/muster-error.ts'
import type { PodTemplateSpec } from '../../../kube/types/core/v1.ts'
import type { Cause } from '../../errors/status-error.ts'
import { checkLabelSelector, isEmptySelector } from '../values/label-selector.ts'
import { checkTemplate } from '../pod/pod-validation.ts'
import {
  noErrors,
  forbiddenField,
  immutableDetail,
  invalidField,
  type Problems,
  requiredField,
  unsupported,
} from '../../../kube/validation/field-error.ts'
import { checkNotNegative } from '../values/value-validation.ts'

/** `what` is the server's name for the kind in the error about an empty selector. */
export function* checkSelector(selector: LabelSelectorSpec | undefined, field: string, what: string): Iterable<Cause> {
  if (!selector) {
    yield requiredField(field)
    return
  }
  yield* checkLabelSelector(selector, field)
  if (isEmptySelector(selector)) yield invalidField(field, selector, `empty selector is invalid for ${what}`)
}

/** Undefined when it is invalid. */
export function readWorkloadSelector(selector: LabelSelectorSpec | undefined): LabelSelector | undefined {
  try {
    return labelsOf(selector)
  } catch (error) {
    if (isMusterError(error, kubeErrors.InvalidSelector)) return undefined
    throw error
  }
}

export function checkMatch(
  selector: LabelSelector | undefined,
  { metadata }: PodTemplateSpec,
  field: string,
): Problems {
  if (!selector || matchLabels(selector, metadata?.labels ?? {})) return noErrors
  const why = '`selector` does not match template `labels`'
  return [invalidField(`${field}.metadata.labels`, metadata?.labels ?? null, why)]
}

/** Templates of long-running pods must have `restartPolicy: Always`. `kind` is the server's name for the workload. */
export function* checkAlwaysRestarted({ spec }: PodTemplateSpec, field: string, kind: string): Iterable<Cause> {
  const restartPolicy = spec?.restartPolicy
  if (restartPolicy !== 'Always') yield unsupported(`${field}.spec.restartPolicy`, restartPolicy, ['Always'])
  if (spec?.activeDeadlineSeconds !== undefined) {
    yield forbiddenField(`${field}.spec.activeDeadlineSeconds`, `activeDeadlineSeconds in ${kind} is not Supported`)
  }
}

/** Validation of ReplicaSets, and of Deployments, which create them. */
export function* checkReplicated(
  selector: LabelSelectorSpec | undefined,
  template: PodTemplateSpec,
  field: string,
  kind: string,
): Iterable<Cause> {
  const meant = readWorkloadSelector(selector)
  if (!meant) {
    yield invalidField(field.replace(/template$/, 'selector'), selector, 'invalid label selector')
    return
  }
  yield* checkMatch(meant, template, field)
  yield* checkTemplate(template, field)
  yield* checkAlwaysRestarted(template, field, kind)
}

/** Immutable fields. `shown` is how the server prints the value, if not as sent. */
export function checkImmutable(
  value: unknown,
  live: unknown,
  field: string,
  shown: (value: unknown) => unknown = (own) => own,
): Problems {
  const isSame = equalJson(value as Json | undefined, live as Json | undefined)
  return isSame ? noErrors : [invalidField(field, shown(value), immutableDetail)]
}

type Status = Readonly<Record<string, unknown>>

export function* checkCounts(status: Status | undefined, names: readonly string[]): Iterable<Cause> {
  for (const name of names) yield* checkNotNegative(status?.[name] as number | undefined, `status.${name}`)
}

/** Checks that a count is not larger than another: `readyReplicas` than `replicas`. */
export function checkNotMoreThan(
  status: Status | undefined,
  part: string,
  whole: string,
  shown = `status.${whole}`,
): Problems {
  const count = (status?.[part] as number | undefined) ?? 0
  if (count <= ((status?.[whole] as number | undefined) ?? 0)) return noErrors
  return [invalidField(`status.${part}`, count, `cannot be greater than ${shown}`)]
}

export function checkCollisions(status: Status | undefined, live: Status | undefined): Problems {
  const before = live?.['collisionCount'] as number | undefined
  const now = status?.['collisionCount'] as number | undefined
  if (before === undefined || (now !== undefined && now >= before)) return noErrors
  return [invalidField('status.collisionCount', now ?? 0, 'cannot be decremented')]
}
