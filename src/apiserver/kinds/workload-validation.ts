/** What the kinds that make pods have in common: a selector and a template that it matches, and a status of counts. */
import { equalJson, type Json } from '../../kube/json.ts'
import { labelsOf, type LabelSelector, type LabelSelectorSpec, matchLabels } from '../../kube/selector.ts'
import { isMusterError } from '../../kube/errors.ts'
import type { PodTemplateSpec } from '../../kube/types/core/v1.ts'
import type { Cause } from '../errors/status-error.ts'
import { checkLabelSelector, isEmptySelector } from './label-selector.ts'
import { checkTemplate } from './pod-validation.ts'
import {
  fine,
  forbiddenField,
  immutableDetail,
  invalidField,
  type Problems,
  requiredField,
  unsupported,
} from '../../kube/validation/field-error.ts'
import { checkNotNegative } from './value-validation.ts'

/** `what` is how the server calls the kind that an empty selector is wrong for. */
export function* checkSelector(selector: LabelSelectorSpec | undefined, field: string, what: string): Iterable<Cause> {
  if (!selector) {
    yield requiredField(field)
    return
  }
  yield* checkLabelSelector(selector, field)
  if (isEmptySelector(selector)) yield invalidField(field, selector, `empty selector is invalid for ${what}`)
}

/** Undefined when it is none. */
export function readWorkloadSelector(selector: LabelSelectorSpec | undefined): LabelSelector | undefined {
  try {
    return labelsOf(selector)
  } catch (error) {
    if (isMusterError(error, 'InvalidSelector')) return undefined
    throw error
  }
}

export function checkMatch(
  selector: LabelSelector | undefined,
  { metadata }: PodTemplateSpec,
  field: string,
): Problems {
  if (!selector || matchLabels(selector, metadata?.labels ?? {})) return fine
  const why = '`selector` does not match template `labels`'
  return [invalidField(`${field}.metadata.labels`, metadata?.labels ?? null, why)]
}

/** Pods that are replaced when they end: they run for ever. `kind` is how the server calls what makes them. */
export function* checkEndless({ spec }: PodTemplateSpec, field: string, kind: string): Iterable<Cause> {
  const restartPolicy = spec?.restartPolicy
  if (restartPolicy !== 'Always') yield unsupported(`${field}.spec.restartPolicy`, restartPolicy, ['Always'])
  if (spec?.activeDeadlineSeconds !== undefined) {
    yield forbiddenField(`${field}.spec.activeDeadlineSeconds`, `activeDeadlineSeconds in ${kind} is not Supported`)
  }
}

/** Of ReplicaSets, and Deployments, which make them. */
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
  yield* checkEndless(template, field, kind)
}

/** What may never change. `shown`: how the server shows it, where that is not as it came. */
export function checkImmutable(
  value: unknown,
  live: unknown,
  field: string,
  shown: (value: unknown) => unknown = (own) => own,
): Problems {
  const isSame = equalJson(value as Json | undefined, live as Json | undefined)
  return isSame ? fine : [invalidField(field, shown(value), immutableDetail)]
}

type Status = Readonly<Record<string, unknown>>

export function* checkCounts(status: Status | undefined, names: readonly string[]): Iterable<Cause> {
  for (const name of names) yield* checkNotNegative(status?.[name] as number | undefined, `status.${name}`)
}

/** `ready` pods are some of all `replicas`, and so on. */
export function checkShare(
  status: Status | undefined,
  part: string,
  whole: string,
  shown = `status.${whole}`,
): Problems {
  const count = (status?.[part] as number | undefined) ?? 0
  if (count <= ((status?.[whole] as number | undefined) ?? 0)) return fine
  return [invalidField(`status.${part}`, count, `cannot be greater than ${shown}`)]
}

export function checkCollisions(status: Status | undefined, live: Status | undefined): Problems {
  const before = live?.['collisionCount'] as number | undefined
  const now = status?.['collisionCount'] as number | undefined
  if (before === undefined || (now !== undefined && now >= before)) return fine
  return [invalidField('status.collisionCount', now ?? 0, 'cannot be decremented')]
}
