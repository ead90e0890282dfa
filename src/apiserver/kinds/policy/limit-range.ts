/** LimitRanges: minimum, maximum and default resources of pods, containers and claims. */
import { ownMember } from '../../../kube/json-member.ts'
import type { UntypedObject } from '../../../kube/object.ts'
import { compareQuantities, makeQuantity, parseQuantity, quantityToMilli } from '../../../kube/units/quantity.ts'
import type { LimitRange, LimitRangeItem } from '../../../kube/types/core/v1.ts'
import { roundResources } from '../container/container-defaults.ts'
import { type Draft, draftOf, finished, part, parts } from '../strategy/draft.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { qualifiedNameProblems } from '../../../kube/validation/name-validation.ts'
import {
  duplicate,
  eachInvalid,
  forbiddenField,
  invalidField,
  type Problems,
  requiredField,
} from '../../../kube/validation/field-error.ts'
import { checkContainerResourceName, checkResourceName, isOvercommitable } from '../container/resource-validation.ts'
import { repetitions } from '../../../kube/validation/repetition.ts'

const amounts = ['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio'] as const
const types = new Set(['Pod', 'Container', 'PersistentVolumeClaim'])

function defaults(object: UntypedObject): UntypedObject {
  const draft = draftOf(object)
  for (const item of parts(part(draft, 'spec'), 'limits')) {
    for (const name of amounts) roundResources(part(item, name))
    if (item['type'] === 'Container') defaultContainer(item)
  }
  return finished(draft)
}

/** The default limit of a container is its maximum; the default request is its limit, or else its minimum. */
function defaultContainer(item: Draft): void {
  const limit = { ...part(item, 'max'), ...part(item, 'default') }
  const request = { ...part(item, 'min'), ...limit, ...part(item, 'defaultRequest') }
  if (Object.keys(limit).length > 0) item['default'] = limit
  if (Object.keys(request).length > 0) item['defaultRequest'] = request
}

function* check(object: UntypedObject): Iterable<Problems[number]> {
  const { limits = [] } = (object as unknown as LimitRange).spec ?? {}
  const repeated = repetitions(limits, ({ type }) => type)
  for (const [index, item] of limits.entries()) {
    const at = `spec.limits[${index}]`
    yield* checkType(item.type, `${at}.type`)
    if (repeated.has(index)) yield duplicate(`${at}.type`, item.type)
    yield* checkItem(item, at)
  }
}

function checkType(type: string, field: string): Problems {
  const problems = eachInvalid(field, type, qualifiedNameProblems(type))
  if (problems.length > 0 || type.includes('/') || types.has(type)) return problems
  return [invalidField(field, type, 'must be a standard limit type or fully qualified')]
}

function* checkItem(item: LimitRangeItem, at: string): Iterable<Problems[number]> {
  const isComputed = item.type === 'Pod' || item.type === 'Container'
  const nameCheck = isComputed ? checkContainerResourceName : checkResourceName
  const names = new Set<string>()
  for (const member of amounts) {
    const own = Object.keys(item[member] ?? {})
    if (item.type === 'Pod' && (member === 'default' || member === 'defaultRequest')) {
      if (own.length > 0) yield forbiddenField(`${at}.${member}`, "may not be specified when `type` is 'Pod'")
      continue
    }
    if (member === 'maxLimitRequestRatio' && item.type === 'PersistentVolumeClaim') {
      const isBounded = item.min?.['storage'] !== undefined || item.max?.['storage'] !== undefined
      const why = 'either minimum or maximum storage value is required, but neither was provided'
      if (!isBounded) yield requiredField(`${at}.limits`, why)
    }
    for (const name of own) {
      yield* nameCheck(name, `${at}.${member}[${name}]`)
      names.add(name)
    }
  }
  for (const name of names) yield* checkOrder(item, name, at)
}

/** Minimum, default request, default limit and maximum must be in ascending order. */
function* checkOrder(item: LimitRangeItem, name: string, at: string): Iterable<Problems[number]> {
  const isPod = item.type === 'Pod'
  const amountOf = (member: (typeof amounts)[number]): string | undefined =>
    ownMember(item[member], name) as string | undefined
  const min = amountOf('min')
  const max = amountOf('max')
  const limit = isPod ? undefined : amountOf('default')
  const request = isPod ? undefined : amountOf('defaultRequest')
  const ratio = amountOf('maxLimitRequestRatio')
  const above = (a: string | undefined, b: string | undefined): boolean =>
    a !== undefined && b !== undefined && compareQuantities(parseQuantity(a), parseQuantity(b)) > 0
  const reported = (member: string, value: string | undefined, why: string): Problems[number] =>
    invalidField(`${at}.${member}[${name}]`, value, why)
  if (above(min, max)) yield reported('min', min, `min value ${min} is greater than max value ${max}`)
  if (above(min, request)) {
    yield reported('defaultRequest', request, `min value ${min} is greater than default request value ${request}`)
  }
  if (above(request, max)) {
    yield reported('defaultRequest', request, `default request value ${request} is greater than max value ${max}`)
  }
  if (above(request, limit)) {
    yield reported(
      'defaultRequest',
      request,
      `default request value ${request} is greater than default limit value ${limit}`,
    )
  }
  if (above(min, limit)) yield reported('default', min, `min value ${min} is greater than default value ${limit}`)
  if (above(limit, max)) yield reported('default', max, `default value ${limit} is greater than max value ${max}`)
  if (ratio !== undefined) yield* checkRatio(ratio, min, max, `${at}.maxLimitRequestRatio[${name}]`)
  if (!isOvercommitable(name) && limit !== undefined && request !== undefined) {
    const why = `default value ${limit} must equal to defaultRequest value ${request} in ${name}`
    if (above(limit, request) || above(request, limit)) yield reported('defaultRequest', request, why)
  }
}

function* checkRatio(
  ratio: string,
  min: string | undefined,
  max: string | undefined,
  field: string,
): Iterable<Problems[number]> {
  const quantity = parseQuantity(ratio)
  if (compareQuantities(quantity, makeQuantity(1)) < 0)
    yield invalidField(field, ratio, `ratio ${ratio} is less than 1`)
  if (min === undefined || max === undefined) return
  const most = Number(quantityToMilli(parseQuantity(max))) / Number(quantityToMilli(parseQuantity(min)))
  if (Number(quantityToMilli(quantity)) / 1000 > most) {
    yield invalidField(field, ratio, `ratio ${ratio} is greater than max/min = ${most.toFixed(6)}`)
  }
}

export const limitRangeRules: KindRules = {
  defaults,
  validateCreate: (object) => [...check(object)],
  validateUpdate: (object) => [...check(object)],
}
