/** What one object uses of a quota, by resource: `pods`, `requests.cpu`, `count/deployments.apps`. */
import type { UntypedObject } from '../../../kube/object.ts'
import {
  addQuantities,
  makeQuantity,
  parseQuantity,
  type Quantity,
  quantityToInteger,
} from '../../../kube/units/quantity.ts'
import { labelsOf, matchLabels } from '../../../kube/selector/selector.ts'
import type {
  Container,
  PersistentVolumeClaim,
  Pod,
  PodAffinityTerm,
  ResourceQuota,
  ScopedResourceSelectorRequirement,
  Service,
} from '../../../kube/types/core/v1.ts'
import { totalOf } from '../../../kube/scheduling/pod-needs.ts'
import { qosClassOf } from '../../kinds/pod/pod-resources.ts'

export type Amounts = ReadonlyMap<string, Quantity>

const one = makeQuantity(1)

const ofPods = new Set([
  'count/pods',
  'pods',
  ...['cpu', 'memory', 'ephemeral-storage'].flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
])
const ofServices = new Set(['count/services', 'services', 'services.nodeports', 'services.loadbalancers'])
const ofClaims = ['persistentvolumeclaims', 'requests.storage']
const storageClassSuffix = '.storageclass.storage.k8s.io/'
/** Counted by their plural, a form older than `count/`. */
const aliased = new Set(['configmaps', 'resourcequotas', 'replicationcontrollers', 'secrets'])

/** Whether this resource of a quota is used by objects of this table. */
export function quotaCovers(name: string, table: string): boolean {
  switch (table) {
    case 'pods':
      return ofPods.has(name) || /^(?:requests\.)?hugepages-/.test(name) || isExtended(name)
    case 'services':
      return ofServices.has(name)
    case 'persistentvolumeclaims':
      return (
        name === 'count/persistentvolumeclaims' ||
        ofClaims.some((known) => name === known || name.endsWith(storageClassSuffix + known))
      )
    case 'events':
      return false
    default:
      return name === `count/${table}` || (aliased.has(table) && name === table)
  }
}

/** An extended resource: `requests.example.com/gpu`. */
function isExtended(name: string): boolean {
  if (!name.startsWith('requests.') || !name.includes('/')) return false
  return !name.includes('kubernetes.io/') || name.startsWith('requests.deviceclass.resource.kubernetes.io/')
}

/** The table that a resource of a quota counts, if its name contains one. */
export function tablesOf(name: string): readonly string[] {
  const known = ['pods', 'services', 'persistentvolumeclaims', ...aliased].filter((table) => quotaCovers(name, table))
  return known.length > 0 || !name.startsWith('count/') ? known : [name.slice('count/'.length)]
}

export function usageOf(table: string, object: UntypedObject): Amounts {
  switch (table) {
    case 'pods':
      return podUsage(object as unknown as Pod)
    case 'services':
      return serviceUsage(object as unknown as Service)
    case 'persistentvolumeclaims':
      return claimUsage(object as unknown as PersistentVolumeClaim)
    default:
      return new Map([[`count/${table}`, one], ...(aliased.has(table) ? [[table, one] as const] : [])])
  }
}

/** A finished pod uses only its object count. */
function podUsage({ spec, status }: Pod): Amounts {
  const count: Amounts = new Map([['count/pods', one]])
  if (status?.phase === 'Succeeded' || status?.phase === 'Failed' || !spec) return count
  const overhead = amountsOf(spec.overhead)
  const whole = (kind: 'requests' | 'limits'): Amounts => {
    const own = [...amountsOf(spec.resources?.[kind])].filter(([name]) => name === 'cpu' || name === 'memory')
    const total = new Map([...totalOf(spec, kind), ...own])
    for (const [name, more] of overhead) {
      const known = total.get(name)
      if (known || kind === 'requests') total.set(name, addQuantities(known ?? makeQuantity(0), more))
    }
    return total
  }
  return new Map([...count, ...computeUsage(whole('requests'), whole('limits'))])
}

function computeUsage(requests: Amounts, limits: Amounts): Amounts {
  const usage = new Map<string, Quantity>([['pods', one]])
  for (const [name, amount] of requests) {
    const isOwn = ofPods.has(name) || name.startsWith('hugepages-')
    if (isOwn) usage.set(name, amount)
    if (isOwn || name.includes('/')) usage.set(`requests.${name}`, amount)
  }
  for (const [name, amount] of limits) if (ofPods.has(`limits.${name}`)) usage.set(`limits.${name}`, amount)
  return usage
}

function serviceUsage({ spec = {} }: Service): Amounts {
  const { type, ports = [], allocateLoadBalancerNodePorts } = spec
  const isBalanced = type === 'LoadBalancer'
  const given = ports.filter(({ nodePort }) => (nodePort ?? 0) !== 0).length
  const allocated = isBalanced && allocateLoadBalancerNodePorts === false ? given : ports.length
  return new Map([
    ['count/services', one],
    ['services', one],
    ['services.loadbalancers', makeQuantity(isBalanced ? 1 : 0)],
    ['services.nodeports', makeQuantity(isBalanced || type === 'NodePort' ? allocated : 0)],
  ])
}

function claimUsage({ spec = {}, status, metadata }: PersistentVolumeClaim): Amounts {
  const usage = new Map<string, Quantity>([
    ['count/persistentvolumeclaims', one],
    ['persistentvolumeclaims', one],
  ])
  const asked = [spec.resources?.requests?.['storage'], status?.allocatedResources?.['storage']]
    .filter((amount) => amount !== undefined)
    .map((amount) => parseQuantity(amount))
    .toSorted((a, b) => Number(quantityToInteger(b) - quantityToInteger(a)))
  if (spec.resources?.requests?.['storage'] !== undefined) usage.set('requests.storage', asked[0]!)
  const storageClass = metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? spec.storageClassName
  if (!storageClass) return usage
  return new Map([
    ...usage,
    ...[...usage]
      .filter(([name]) => ofClaims.includes(name))
      .map(([name, amount]) => [storageClass + storageClassSuffix + name, amount] as const),
  ])
}

/** If a quota limits one of these, each container must set it. */
const requiredByQuota = new Set(['cpu', 'memory', 'requests.cpu', 'requests.memory', 'limits.cpu', 'limits.memory'])

/** The resources that a pod must set but does not, as text; undefined when there are none. */
export function missingResources(pod: UntypedObject, names: readonly string[]): string | undefined {
  const { spec } = pod as unknown as Pod
  if (!spec || Object.keys({ ...spec.resources?.requests, ...spec.resources?.limits }).length > 0) return undefined
  const isUnset = (container: Container, name: string): boolean =>
    !computeUsage(amountsOf(container.resources?.requests), amountsOf(container.resources?.limits)).has(name)
  const all = [...spec.containers, ...(spec.initContainers ?? [])]
  const missing = names
    .filter((name) => requiredByQuota.has(name))
    .toSorted()
    .map((name) => ({
      name,
      containers: all.filter((container) => isUnset(container, name)).map((container) => container.name),
    }))
    .filter(({ containers }) => containers.length > 0)
    .map(({ name, containers }) => `${name} for: ${[...new Set(containers)].toSorted().join(',')}`)
  return missing.length === 0 ? undefined : `must specify ${missing.join('; ')}`
}

function amountsOf(given: Readonly<Record<string, string | number>> | undefined): Amounts {
  return new Map(Object.entries(given ?? {}).map(([name, amount]) => [name, parseQuantity(amount)]))
}

/** Whether an object matches all scopes of a quota. Only pods, and claims by their attributes class, match any. */
export function isInScope(quota: UntypedObject, table: string, object: UntypedObject): boolean {
  const { scopes = [], scopeSelector } = (quota as unknown as ResourceQuota).spec ?? {}
  const all = [
    ...scopes.map((scopeName) => ({ scopeName, operator: 'Exists' })),
    ...(scopeSelector?.matchExpressions ?? []),
  ]
  return all.every((scope) => matchesScope(scope, table, object))
}

export function isTerminating(pod: UntypedObject | undefined): boolean {
  return ((pod as unknown as Pod | undefined)?.spec?.activeDeadlineSeconds ?? -1) >= 0
}

function matchesScope(scope: ScopedResourceSelectorRequirement, table: string, object: UntypedObject): boolean {
  if (table === 'persistentvolumeclaims') {
    const { spec } = object as unknown as PersistentVolumeClaim
    return scope.scopeName === 'VolumeAttributesClass' && isChosen(scope, spec?.volumeAttributesClassName)
  }
  if (table !== 'pods') return false
  const { spec = { containers: [] } } = object as unknown as Pod
  switch (scope.scopeName) {
    case 'Terminating':
      return isTerminating(object)
    case 'NotTerminating':
      return !isTerminating(object)
    case 'BestEffort':
      return qosClassOf(spec) === 'BestEffort'
    case 'NotBestEffort':
      return qosClassOf(spec) !== 'BestEffort'
    case 'PriorityClass':
      return isChosen(scope, spec.priorityClassName)
    case 'CrossNamespacePodAffinity':
      return hasCrossNamespaceAffinity(spec)
    default:
      return false
  }
}

function isChosen({ scopeName, operator, values }: ScopedResourceSelectorRequirement, value?: string): boolean {
  const expression = { key: scopeName, operator, ...(values && { values }) }
  return matchLabels(labelsOf({ matchExpressions: [expression] }), value ? { [scopeName]: value } : {})
}

function hasCrossNamespaceAffinity({ affinity }: NonNullable<Pod['spec']>): boolean {
  const sides = [affinity?.podAffinity, affinity?.podAntiAffinity]
  const isCrossNamespace = ({ namespaces = [], namespaceSelector }: PodAffinityTerm): boolean =>
    namespaces.length > 0 || namespaceSelector !== undefined
  return sides.some(
    (side) =>
      (side?.requiredDuringSchedulingIgnoredDuringExecution ?? []).some(isCrossNamespace) ||
      (side?.preferredDuringSchedulingIgnoredDuringExecution ?? []).some((term) =>
        isCrossNamespace(term.podAffinityTerm),
      ),
  )
}
