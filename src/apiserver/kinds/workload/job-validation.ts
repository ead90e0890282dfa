/** Validation of a Job's spec, in a Job or in the template of a CronJob. */
import type {
  JobSpec,
  PodFailurePolicyOnExitCodesRequirement,
  PodFailurePolicyRule,
  SuccessPolicyRule,
} from '../../../kube/types/batch/v1.ts'
import type { Cause } from '../../errors/status-error.ts'
import {
  dnsSubdomain,
  isUrlPath,
  qualifiedNameProblems,
  urlPathPattern,
} from '../../../kube/validation/name-validation.ts'
import { containersOf } from '../container/pod-containers.ts'
import { checkTemplate } from '../pod/pod-validation.ts'
import {
  duplicate,
  eachInvalid,
  invalidField,
  requiredField,
  tooLong,
  tooMany,
  unsupported,
} from '../../../kube/validation/field-error.ts'
import { checkNotNegative } from '../values/value-validation.ts'
import { repeatedValues } from '../../../kube/validation/repetition.ts'

const counts = [
  'parallelism',
  'completions',
  'activeDeadlineSeconds',
  'backoffLimit',
  'ttlSecondsAfterFinished',
  'backoffLimitPerIndex',
  'maxFailedIndexes',
] as const
const replacements = ['Failed', 'TerminatingOrFailed']
const longestManager = 63
/** From this many completions on, an indexed Job must also limit its parallelism and failures. */
const manyIndexes = 100_000
const maxForMany = 10_000

export function* checkJobSpec(spec: JobSpec, field: string): Iterable<Cause> {
  for (const name of counts) yield* checkNotNegative(spec[name], `${field}.${name}`)
  if (spec.maxFailedIndexes !== undefined && spec.backoffLimitPerIndex === undefined) {
    yield requiredField(`${field}.backoffLimitPerIndex`, 'when maxFailedIndexes is specified')
  }
  if (spec.managedBy !== undefined) yield* checkManager(spec.managedBy, `${field}.managedBy`)
  yield* checkCompletionMode(spec, field)
  if (spec.podFailurePolicy) yield* checkFailurePolicy(spec, `${field}.podFailurePolicy`)
  if (spec.successPolicy) yield* checkSuccessPolicy(spec, `${field}.successPolicy`)
  const { podReplacementPolicy: replacement } = spec
  const allowed = spec.podFailurePolicy ? ['Failed'] : replacements
  if (replacement !== undefined && !allowed.includes(replacement)) {
    yield unsupported(`${field}.podReplacementPolicy`, replacement, allowed)
  }
  yield* checkTemplate(spec.template, `${field}.template`)
  yield* checkRestartPolicy(spec, `${field}.template.spec.restartPolicy`)
}

/** Pods of a Job must terminate, so `Always` is not allowed. */
function* checkRestartPolicy({ template, podFailurePolicy }: JobSpec, field: string): Iterable<Cause> {
  const policy = template.spec?.restartPolicy
  if (!policy || policy === 'Always') yield requiredField(field, 'valid values: "OnFailure", "Never"')
  else if (policy !== 'OnFailure' && policy !== 'Never') yield unsupported(field, policy, ['OnFailure', 'Never'])
  else if (podFailurePolicy && policy !== 'Never') {
    yield invalidField(field, policy, 'only "Never" is supported when podFailurePolicy is specified')
  }
}

/** The `managedBy` of a Job: `example.com/controller`. */
function* checkManager(name: string, field: string): Iterable<Cause> {
  const [domain = '', ...rest] = name.split('/')
  const path = rest.join('/')
  if (name === '') yield requiredField(field)
  else if (domain === '' || path === '') {
    yield invalidField(field, name, 'must be a domain-prefixed path (such as "acme.io/foo")')
  } else {
    yield* eachInvalid(field, domain, dnsSubdomain(domain))
    if (!isUrlPath(path)) {
      yield invalidField(field, path, `Invalid path (regex used for validation is '${urlPathPattern}')`)
    }
  }
  if (name.length > longestManager) yield tooLong(field, longestManager)
}

function* checkCompletionMode(spec: JobSpec, field: string): Iterable<Cause> {
  const { completionMode: mode, completions, parallelism = 0, maxFailedIndexes, backoffLimitPerIndex } = spec
  if (mode !== undefined && mode !== 'NonIndexed' && mode !== 'Indexed') {
    yield unsupported(`${field}.completionMode`, mode, ['NonIndexed', 'Indexed'])
  }
  if (mode === 'Indexed') {
    const atMost = (name: string, value: number, limit: number, when: string): Cause =>
      invalidField(`${field}.${name}`, value, `must be less than or equal to ${limit}${when}`)
    if (completions === undefined) yield requiredField(`${field}.completions`, 'when completion mode is Indexed')
    if (parallelism > manyIndexes)
      yield atMost('parallelism', parallelism, manyIndexes, ' when completion mode is Indexed')
    if (completions !== undefined && maxFailedIndexes !== undefined && maxFailedIndexes > completions) {
      yield invalidField(`${field}.maxFailedIndexes`, maxFailedIndexes, 'must be less than or equal to completions')
    }
    if ((maxFailedIndexes ?? 0) > manyIndexes) yield atMost('maxFailedIndexes', maxFailedIndexes!, manyIndexes, '')
    if ((completions ?? 0) > manyIndexes && backoffLimitPerIndex !== undefined) {
      const when = ` when completions are above ${manyIndexes} and used with backoff limit per index`
      if (maxFailedIndexes === undefined) {
        yield requiredField(`${field}.maxFailedIndexes`, `must be specified when completions is above ${manyIndexes}`)
      }
      if (parallelism > maxForMany) yield atMost('parallelism', parallelism, maxForMany, when)
      if ((maxFailedIndexes ?? 0) > maxForMany) yield atMost('maxFailedIndexes', maxFailedIndexes!, maxForMany, when)
    }
  }
  if (mode === undefined || mode === 'NonIndexed') {
    for (const name of ['backoffLimitPerIndex', 'maxFailedIndexes'] as const) {
      if (spec[name] !== undefined)
        yield invalidField(`${field}.${name}`, spec[name], 'requires indexed completion mode')
    }
  }
}

const actions = ['Count', 'FailIndex', 'FailJob', 'Ignore']
const statuses = ['False', 'True', 'Unknown']
const operators = ['In', 'NotIn']
const maxRules = 20
const maxExitCodes = 255
const quoted = (values: readonly string[]): string => `[${values.map((value) => `"${value}"`).join(' ')}]`

function* checkFailurePolicy(spec: JobSpec, field: string): Iterable<Cause> {
  const rules = spec.podFailurePolicy?.rules ?? []
  const { spec: pod = { containers: [] } } = spec.template
  const names = new Set([...containersOf(pod), ...(pod.initContainers ?? [])].map(({ name }) => name))
  if (rules.length > maxRules) yield tooMany(`${field}.rules`, rules.length, maxRules)
  for (const [index, rule] of rules.entries()) yield* checkFailureRule(spec, rule, names, `${field}.rules[${index}]`)
}

function* checkFailureRule(
  { backoffLimitPerIndex }: JobSpec,
  { action, onExitCodes, onPodConditions = [] }: PodFailurePolicyRule,
  names: ReadonlySet<string>,
  field: string,
): Iterable<Cause> {
  const at = `${field}.action`
  if (!action) yield requiredField(at, `valid values: ${quoted(actions)}`)
  else if (action === 'FailIndex' && backoffLimitPerIndex === undefined) {
    yield invalidField(at, action, 'requires the backoffLimitPerIndex to be set')
  } else if (!actions.includes(action)) yield unsupported(at, action, actions)
  if (onExitCodes) yield* checkExitCodes(onExitCodes, names, `${field}.onExitCodes`)
  if (onPodConditions.length > maxRules) yield tooMany(`${field}.onPodConditions`, onPodConditions.length, maxRules)
  for (const [index, { type, status }] of onPodConditions.entries()) {
    const where = `${field}.onPodConditions[${index}]`
    yield* eachInvalid(`${where}.type`, type, qualifiedNameProblems(type))
    if (status && !statuses.includes(status)) yield unsupported(`${where}.status`, status, statuses)
  }
  if (onExitCodes && onPodConditions.length > 0) {
    yield withoutValue(field, 'specifying both OnExitCodes and OnPodConditions is not supported')
  }
  if (!onExitCodes && onPodConditions.length === 0) {
    yield withoutValue(field, 'specifying one of OnExitCodes and OnPodConditions is required')
  }
}

export function withoutValue(field: string, detail: string): Cause {
  return { reason: 'FieldValueInvalid', message: `Invalid value: ${detail}`, field }
}

function* checkExitCodes(
  { operator, containerName, values: given }: PodFailurePolicyOnExitCodesRequirement,
  names: ReadonlySet<string>,
  field: string,
): Iterable<Cause> {
  const values = given ?? []
  if (!operator) yield requiredField(`${field}.operator`, `valid values: ${quoted(operators)}`)
  else if (!operators.includes(operator)) yield unsupported(`${field}.operator`, operator, operators)
  if (containerName !== undefined && !names.has(containerName)) {
    const why = 'must be one of the container or initContainer names in the pod template'
    yield invalidField(`${field}.containerName`, containerName, why)
  }
  const at = `${field}.values`
  if (values.length === 0) yield invalidField(at, given, 'at least one value is required')
  if (values.length > maxExitCodes) yield tooMany(at, values.length, maxExitCodes)
  const repeated = repeatedValues(values)
  for (const [index, value] of values.entries()) {
    if (operator === 'In' && value === 0)
      yield invalidField(`${at}[${index}]`, value, 'must not be 0 for the In operator')
    if (repeated.has(index)) yield duplicate(`${at}[${index}]`, value)
  }
  if (values.some((value, index) => value < (values[index - 1] ?? value)))
    yield invalidField(at, values, 'must be ordered')
}

function* checkSuccessPolicy(spec: JobSpec, field: string): Iterable<Cause> {
  const { successPolicy, completionMode, completions = 0 } = spec
  const rules = successPolicy?.rules ?? []
  if (completionMode !== 'Indexed') {
    const shown = rules.map((rule) => ({
      SucceededIndexes: rule.succeededIndexes ?? null,
      SucceededCount: rule.succeededCount ?? null,
    }))
    yield invalidField(field, { Rules: shown.length > 0 ? shown : null }, 'requires indexed completion mode')
    return
  }
  if (rules.length === 0) {
    yield requiredField(`${field}.rules`, 'at least one rules must be specified when the successPolicy is specified')
  }
  if (rules.length > maxRules) yield tooMany(`${field}.rules`, rules.length, maxRules)
  for (const [index, rule] of rules.entries()) yield* checkSuccessRule(rule, completions, `${field}.rules[${index}]`)
}

function* checkSuccessRule(
  { succeededCount, succeededIndexes }: SuccessPolicyRule,
  completions: number,
  field: string,
): Iterable<Cause> {
  if (succeededCount === undefined && succeededIndexes === undefined) {
    yield requiredField(field, 'at least one of succeededCount or succeededIndexes must be specified')
  }
  const total = succeededIndexes === undefined ? undefined : countIndexes(succeededIndexes, completions)
  if (typeof total === 'string') {
    yield invalidField(`${field}.succeededIndexes`, succeededIndexes, `error parsing succeededIndexes: ${total}`)
  }
  if (succeededCount === undefined) return
  const at = `${field}.succeededCount`
  yield* checkNotNegative(succeededCount, at)
  if (succeededCount > completions) {
    const why = `must be less than or equal to ${completions} (the number of specified completions)`
    yield invalidField(at, succeededCount, why)
  }
  const listed = typeof total === 'string' ? 0 : total
  if (listed !== undefined && succeededCount > listed) {
    const why = `must be less than or equal to ${listed} (the number of indexes in the specified succeededIndexes field)`
    yield invalidField(at, succeededCount, why)
  }
}

/** How many indexes `0,2-4` names; a string result is the error message. */
function countIndexes(text: string, completions: number): number | string {
  let total = 0
  let last: number | undefined
  for (const span of text === '' ? [] : text.split(',')) {
    const bounds = span.split('-')
    if (bounds.length > 2) {
      return `the fragment "${span}" violates the requirement that an index interval can have at most two parts separated by '-'`
    }
    for (const bound of bounds) {
      if (!/^[+-]?\d+$/.test(bound)) return `cannot convert string to integer for index: "${bound}"`
      if (Number(bound) >= completions) return `too large index: "${bound}"`
    }
    const [low = 0, high = low] = bounds.map(Number)
    const before =
      bounds.length === 2 && low >= high ? [low, high] : last !== undefined && last >= low ? [last, low] : []
    if (before.length > 0) return `non-increasing order, previous: ${before[0]}, current: ${before[1]}`
    total += high - low + 1
    last = high
  }
  return total
}
