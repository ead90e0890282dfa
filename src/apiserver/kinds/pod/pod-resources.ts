/** Resources at the level of a pod: validation, default requests, QoS class. */
import { totalOf } from '../../../kube/scheduling/pod-needs.ts'
import { compareQuantities, formatQuantity, isZeroQuantity, parseQuantity } from '../../../kube/units/quantity.ts'
import type { Container, PodSpec, ResourceRequirements } from '../../../kube/types/core/v1.ts'
import type { Cause } from '../../errors/status-error.ts'
import { containersOf } from '../container/pod-containers.ts'
import { forbiddenField, invalidField } from '../../../kube/validation/field-error.ts'
import { checkPodResourceName, checkRequirements } from '../container/resource-validation.ts'

/**
 * Resources at the level of the pod: its requests cover the sum of its containers', its limits cover each container's.
 */
export function* checkPodResources(spec: PodSpec, claimNames: ReadonlySet<string>, field: string): Iterable<Cause> {
  const { resources, os } = spec
  if (!resources) return
  if (os?.name === 'windows') {
    yield forbiddenField(field, 'may not be set for a windows pod')
    return
  }
  if (resources.claims) yield forbiddenField(`${field}.claims`, 'claims may not be set for Resources at pod-level')
  yield* checkRequirements(resources, field, checkPodResourceName, claimNames)
  for (const [name, total] of totalOf(spec, 'requests')) {
    const own = resources.requests?.[name]
    if (own === undefined || compareQuantities(total, parseQuantity(own)) <= 0) continue
    const why = `must be greater than or equal to aggregate container requests of ${formatQuantity(total)}`
    yield invalidField(`${field}.requests[${name}]`, own, why)
  }
  for (const [index, container] of containersOf(spec).entries()) {
    for (const [name, limit] of Object.entries(container.resources?.limits ?? {})) {
      const own = resources.limits?.[name]
      if (own === undefined || compareQuantities(parseQuantity(limit), parseQuantity(own)) <= 0) continue
      yield invalidField(
        `${field}.containers[${index}][${name}].limits`,
        limit,
        `must be less than or equal to pod limits of ${own}`,
      )
    }
  }
}

/** Default requests at the level of the pod, if it sets limits only. */
export function podRequests(spec: PodSpec): ResourceRequirements['requests'] {
  const { resources } = spec
  if (!resources || Object.keys(resources.limits ?? {}).length === 0) return resources?.requests
  const requests = new Map(Object.entries(resources.requests ?? {}))
  for (const [name, total] of totalOf(spec, 'requests')) {
    if (!requests.has(name) && (name === 'cpu' || name === 'memory')) requests.set(name, formatQuantity(total))
  }
  for (const [name, limit] of Object.entries(resources.limits ?? {}))
    if (!requests.has(name) && isOfPods(name)) requests.set(name, limit)
  return Object.fromEntries(requests)
}

function isOfPods(name: string): boolean {
  return name === 'cpu' || name === 'memory' || name.startsWith('hugepages-')
}

const computed = ['cpu', 'memory'] as const

/** The QoS class of the pod, which decides about eviction on a node under pressure. */
export function qosClassOf(spec: PodSpec): string {
  const { resources, initContainers = [] } = spec
  const all = resources ? [{ resources }] : [...initContainers, ...containersOf(spec)]
  const amounts = all.flatMap((one) =>
    computed.flatMap((name) => [one.resources?.requests?.[name], one.resources?.limits?.[name]]),
  )
  const given = amounts.filter((amount) => amount !== undefined && !isZeroQuantity(parseQuantity(amount)))
  if (given.length === 0) return 'BestEffort'
  return all.every(isGuaranteed) ? 'Guaranteed' : 'Burstable'
}

/** Both cpu and memory have limits, and the requests equal them. */
function isGuaranteed({ resources }: Pick<Container, 'resources'>): boolean {
  return computed.every((name) => {
    const limit = resources?.limits?.[name]
    const request = resources?.requests?.[name]
    if (limit === undefined || isZeroQuantity(parseQuantity(limit))) return false
    return request !== undefined && compareQuantities(parseQuantity(request), parseQuantity(limit)) === 0
  })
}
