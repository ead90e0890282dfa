/** LimitRanger: the minimum, maximum and default resources of containers, pods and claims of a namespace. */
import {
  compareQuantities,
  formatQuantity,
  isZeroQuantity,
  parseQuantity,
  type Quantity,
  quantityToNumber,
} from '../../../kube/units/quantity.ts'
import type { UntypedObject } from '../../../kube/object.ts'
import type {
  Container,
  LimitRange,
  LimitRangeItem,
  PersistentVolumeClaim,
  Pod,
  PodSpec,
} from '../../../kube/types/core/v1.ts'
import { totalOf } from '../../../kube/scheduling/pod-needs.ts'
import { forbidden } from '../../errors/status-error.ts'
import type { ClusterState } from '../../cluster/state.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../../cluster/admission.ts'

type Amounts = ReadonlyMap<string, Quantity>

export const limitRanger: AdmissionPlugin = {
  name: 'LimitRanger',
  mutate(state, request) {
    if (request.served.table !== 'pods' || !isLimited(request)) return request.object
    return rangesIn(state, request).reduce((pod, range) => withDefaultResources(pod, range), request.object)
  },
  validate(state, request) {
    const { object, served, name } = request
    if (!object || !isLimited(request)) return
    for (const range of rangesIn(state, request)) {
      const problems = served.table === 'pods' ? [...podProblems(object, range)] : [...claimProblems(object, range)]
      if (problems.length === 0) continue
      throw forbidden(served, name, problems.length === 1 ? problems[0]! : `[${problems.join(', ')}]`)
    }
  },
}

function isLimited({ served, subresource, operation, oldObject }: AdmissionRequest): boolean {
  if (oldObject?.metadata.deletionTimestamp) return false
  if (served.table === 'pods') {
    return operation === 'CREATE' ? subresource === '' : operation === 'UPDATE' && subresource === 'resize'
  }
  return served.table === 'persistentvolumeclaims' && subresource === '' && operation !== 'DELETE'
}

function rangesIn({ storage }: ClusterState, { namespace }: AdmissionRequest): readonly (readonly LimitRangeItem[])[] {
  return storage
    .table('limitranges')
    .objects(namespace)
    .map((one) => (one as unknown as LimitRange).spec?.limits ?? [])
}

/** The pod with default requests and limits, and the annotation that names them. */
function withDefaultResources(pod: UntypedObject, limits: readonly LimitRangeItem[]): UntypedObject {
  const own = limits.filter(({ type }) => type === 'Container')
  const requests = Object.fromEntries(own.flatMap((one) => Object.entries(one.defaultRequest ?? {})))
  const most = Object.fromEntries(own.flatMap((one) => Object.entries(one.default ?? {})))
  const { spec = { containers: [] } } = pod as unknown as Pod
  const notes: string[] = []
  const fill = (container: Container, what: string): Container => {
    const { resources = {} } = container
    const missing = (wanted: object, given: object | undefined): readonly string[] =>
      Object.keys(wanted)
        .filter((name) => !Object.hasOwn(given ?? {}, name))
        .toSorted()
    const [noRequest, noLimit] = [missing(requests, resources.requests), missing(most, resources.limits)]
    if (noRequest.length > 0) notes.push(`${noRequest.join(', ')} request for ${what} ${container.name}`)
    if (noLimit.length > 0) notes.push(`${noLimit.join(', ')} limit for ${what} ${container.name}`)
    if (noRequest.length + noLimit.length === 0) return container
    return {
      ...container,
      resources: {
        ...resources,
        ...(Object.keys(most).length > 0 && { limits: { ...most, ...resources.limits } }),
        ...(Object.keys(requests).length > 0 && { requests: { ...requests, ...resources.requests } }),
      },
    }
  }
  const containers = spec.containers.map((one) => fill(one, 'container'))
  const initContainers = spec.initContainers?.map((one) => fill(one, 'init container'))
  if (notes.length === 0) return pod
  const note = { 'kubernetes.io/limit-ranger': `LimitRanger plugin set: ${notes.join('; ')}` }
  return {
    ...pod,
    metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, ...note } },
    spec: { ...spec, containers, ...(initContainers && { initContainers }) },
  }
}

function* podProblems(pod: UntypedObject, limits: readonly LimitRangeItem[]): Iterable<string> {
  const { spec = { containers: [] } } = pod as unknown as Pod
  for (const limit of limits) {
    if (limit.type === 'Container') {
      for (const { resources } of [...spec.containers, ...(spec.initContainers ?? [])]) {
        yield* problemsOf(limit, amountsOf(resources?.requests), amountsOf(resources?.limits))
      }
    }
    if (limit.type === 'Pod') yield* problemsOf(limit, wholeOf(spec, 'requests'), wholeOf(spec, 'limits'))
  }
}

const ofPods = new Set(['cpu', 'memory'])

/** Resources of the pod itself take precedence over the sum of its containers. */
function wholeOf(spec: PodSpec, kind: 'requests' | 'limits'): Amounts {
  const own = [...amountsOf(spec.resources?.[kind])].filter(([name]) => ofPods.has(name))
  return new Map([...totalOf(spec, kind), ...own])
}

function* claimProblems(claim: UntypedObject, limits: readonly LimitRangeItem[]): Iterable<string> {
  const { spec } = claim as unknown as PersistentVolumeClaim
  const requests = amountsOf(spec?.resources?.requests)
  for (const limit of limits.filter(({ type }) => type === 'PersistentVolumeClaim')) {
    for (const [name, least] of sorted(limit.min)) yield* belowLeast(limit, name, least, requests, new Map())
    for (const [name, most] of sorted(limit.max)) {
      const asked = requests.get(name)
      const rule = `maximum ${name} usage per ${limit.type} is ${formatQuantity(most)}`
      if (!asked) yield `${rule}.  No request is specified`
      else if (compareQuantities(asked, most) > 0) yield `${rule}, but request is ${formatQuantity(asked)}`
    }
  }
}

function* problemsOf(limit: LimitRangeItem, requests: Amounts, limits: Amounts): Iterable<string> {
  for (const [name, least] of sorted(limit.min)) yield* belowLeast(limit, name, least, requests, limits)
  for (const [name, most] of sorted(limit.max)) {
    const [asked, bound] = [requests.get(name), limits.get(name)]
    const rule = `maximum ${name} usage per ${limit.type} is ${formatQuantity(most)}`
    if (!bound) yield `${rule}.  No limit is specified`
    else if (compareQuantities(bound, most) > 0) yield `${rule}, but limit is ${formatQuantity(bound)}`
    else if (asked && compareQuantities(asked, most) > 0) yield `${rule}, but request is ${formatQuantity(asked)}`
  }
  for (const [name, most] of sorted(limit.maxLimitRequestRatio)) {
    const [asked, bound] = [requests.get(name), limits.get(name)]
    const rule = `${name} max limit to request ratio per ${limit.type} is ${formatQuantity(most)}`
    if (!asked || isZeroQuantity(asked)) yield `${rule}, but no request is specified or request is 0`
    else if (!bound || isZeroQuantity(bound)) yield `${rule}, but no limit is specified or limit is 0`
    else {
      const ratio = quantityToNumber(bound) / quantityToNumber(asked)
      if (ratio > quantityToNumber(most)) yield `${rule}, but provided ratio is ${ratio.toFixed(6)}`
    }
  }
}

function* belowLeast(
  { type }: LimitRangeItem,
  name: string,
  least: Quantity,
  requests: Amounts,
  limits: Amounts,
): Iterable<string> {
  const [asked, bound] = [requests.get(name), limits.get(name)]
  const rule = `minimum ${name} usage per ${type} is ${formatQuantity(least)}`
  if (!asked) yield `${rule}.  No request is specified`
  else if (compareQuantities(asked, least) < 0) yield `${rule}, but request is ${formatQuantity(asked)}`
  else if (bound && compareQuantities(bound, least) < 0) yield `${rule}, but limit is ${formatQuantity(bound)}`
}

function amountsOf(given: Readonly<Record<string, string | number>> | undefined): Amounts {
  return new Map(Object.entries(given ?? {}).map(([name, amount]) => [name, parseQuantity(amount)]))
}

function sorted(
  given: Readonly<Record<string, string | number>> | undefined,
): readonly (readonly [string, Quantity])[] {
  return [...amountsOf(given)].toSorted(([a], [b]) => (a < b ? -1 : 1))
}
