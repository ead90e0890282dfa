/**
 * Validation of requests and limits. Compute resources may be fractional and overcommitted; extended resources
 * (`example.com/gpu`) and huge pages are integers whose request must equal the limit.
 */
import { compareQuantities, parseQuantity, quantityToInteger } from '../../../kube/units/quantity.ts'
import type { ResourceRequirements } from '../../../kube/types/core/v1.ts'
import type { Cause } from '../../errors/status-error.ts'
import { dnsLabel, qualifiedNameProblems } from '../../../kube/validation/name-validation.ts'
import {
  duplicate,
  eachInvalid,
  forbiddenField,
  invalidField,
  notFoundField,
  type Problems,
  requiredField,
  unsupported,
} from '../../../kube/validation/field-error.ts'
import { checkAmount, isWholeNumber } from '../values/value-validation.ts'

type NameCheck = (name: string, field: string) => Problems

const standard = new Set([
  'cpu',
  'memory',
  'ephemeral-storage',
  'requests.cpu',
  'requests.memory',
  'requests.ephemeral-storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'storage',
  'requests.storage',
  'services.nodeports',
  'services.loadbalancers',
])
const ofContainers = new Set(['cpu', 'memory', 'ephemeral-storage'])
const ofPods = new Set(['cpu', 'memory'])
/** Integers although they are not extended resources. */
const counted = new Set([
  'pods',
  'services',
  'replicationcontrollers',
  'resourcequotas',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
])

function isHugePages(name: string): boolean {
  return name.startsWith('hugepages-')
}

/** Kubernetes' own resources: without a prefix, or with the prefix kubernetes.io. */
function isNative(name: string): boolean {
  return !name.includes('/') || name.includes('kubernetes.io/')
}

function isExtended(name: string): boolean {
  return !isNative(name) && !name.startsWith('requests.') && qualifiedNameProblems(`requests.${name}`).length === 0
}

export function isOvercommitable(name: string): boolean {
  return isNative(name) && !isHugePages(name)
}

export function checkResourceName(name: string, field: string): Problems {
  const problems = eachInvalid(field, name, qualifiedNameProblems(name))
  if (problems.length > 0) return problems
  if (name.includes('/') || standard.has(name) || isHugePages(name)) return problems
  return [invalidField(field, name, 'must be a standard resource type or fully qualified')]
}

export function checkContainerResourceName(name: string, field: string): Problems {
  const problems = checkResourceName(name, field)
  if (!name.includes('/')) {
    const isKnown = ofContainers.has(name) || isHugePages(name)
    return isKnown ? problems : [...problems, invalidField(field, name, 'must be a standard resource for containers')]
  }
  if (isNative(name) || isExtended(name)) return problems
  return [...problems, invalidField(field, name, "doesn't follow extended resource name standard")]
}

export function checkPodResourceName(name: string, field: string): Problems {
  const problems = checkResourceName(name, field)
  if (problems.length > 0 || ofPods.has(name) || isHugePages(name)) return problems
  return [unsupported(field, name, ['cpu', 'hugepages-', 'memory'])]
}

export function* checkResourceAmount(name: string, amount: string, field: string): Iterable<Cause> {
  yield* checkAmount(amount, field)
  if ((counted.has(name) || isExtended(name)) && !isWholeNumber(parseQuantity(amount))) {
    yield invalidField(field, amount, 'must be an integer')
  }
}

function* checkHugePages(name: string, amount: string, field: string): Iterable<Cause> {
  const size = quantityToInteger(parseQuantity(name.slice('hugepages-'.length)))
  const asked = parseQuantity(amount)
  const isMultiple = isWholeNumber(asked) && size > 0n && asked.mantissa >= 0n && quantityToInteger(asked) % size === 0n
  if (!isMultiple) yield invalidField(field, amount, `${amount} is not positive integer multiple of ${name}`)
}

export function* checkRequirements(
  { limits = {}, requests = {}, claims = [] }: ResourceRequirements,
  field: string,
  checkName: NameCheck,
  claimNames: ReadonlySet<string>,
): Iterable<Cause> {
  for (const [name, quantity] of Object.entries(limits)) {
    const amount = String(quantity)
    const at = `${field}.limits[${name}]`
    yield* checkName(name, at)
    yield* checkResourceAmount(name, amount, at)
    if (isHugePages(name)) yield* checkHugePages(name, amount, at)
  }
  for (const [name, quantity] of Object.entries(requests)) {
    const amount = String(quantity)
    const at = `${field}.requests[${name}]`
    yield* checkName(name, at)
    yield* checkResourceAmount(name, amount, at)
    const limit = Object.hasOwn(limits, name) ? limits[name] : undefined
    if (limit !== undefined) yield* checkWithin(name, amount, String(limit), `${field}.requests`)
    else if (!isOvercommitable(name)) {
      yield requiredField(`${field}.limits`, 'Limit must be set for non overcommitable resources')
    }
    if (isHugePages(name)) yield* checkHugePages(name, amount, at)
  }
  const names = [...Object.keys(limits), ...Object.keys(requests)]
  if (names.some(isHugePages) && !names.some((name) => ofPods.has(name))) {
    yield forbiddenField(field, 'HugePages require cpu or memory')
  }
  yield* checkClaims(claims, `${field}.claims`, claimNames)
}

function* checkWithin(name: string, request: string, limit: string, field: string): Iterable<Cause> {
  const order = compareQuantities(parseQuantity(request), parseQuantity(limit))
  if (order !== 0 && !isOvercommitable(name)) {
    yield invalidField(field, request, `must be equal to ${name} limit of ${limit}`)
  } else if (order > 0) {
    yield invalidField(field, request, `must be less than or equal to ${name} limit of ${limit}`)
  }
}

/** Each error about an unknown claim prints the known ones: at most this many. */
const maxShown = 1000

function* checkClaims(
  claims: NonNullable<ResourceRequirements['claims']>,
  field: string,
  claimNames: ReadonlySet<string>,
): Iterable<Cause> {
  const seen = new Set<string>()
  /** Names of claims of which a single request was referred to before. */
  const inPart = new Set<string>()
  const names = [...claimNames].toSorted().slice(0, maxShown).join(', ')
  for (const [index, { name, request = '' }] of claims.entries()) {
    const at = `${field}[${index}]`
    if (!name) {
      yield requiredField(at)
      continue
    }
    const key = request === '' ? name : `${name}/${request}`
    if (request !== '' && !seen.has(name)) yield* eachInvalid(`${at}.request`, request, dnsLabel(request))
    if (seen.has(name)) yield duplicate(at, name)
    else if (seen.has(key) || (request === '' && inPart.has(name))) {
      yield duplicate(at, key)
    }
    seen.add(key)
    if (request !== '') inPart.add(name)
    if (claimNames.has(name)) continue
    const known = claimNames.size === 0 ? ' which is empty' : `: ${names}`
    const { message = '', ...rest } = notFoundField(at, name)
    yield { ...rest, message: `${message}: must be one of the names in pod.spec.resourceClaims${known}` }
  }
}
