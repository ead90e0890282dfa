/**
 * Translates an operator's declared inputs into watch requests: each declared selection once, and none that a wider one
 * covers. A watch request becomes one subscription of the shared cache. How many watches serve them is decided by the
 * cache.
 */
import type { Resource } from '../../kube/kind.ts'
import { formatFields } from '../../kube/selector.ts'
import type { Input } from '../../operator/input.ts'
import type { ObjectName } from '../../operator/view.ts'
import type { SubscribeOptions } from '../../cache/subscription.ts'

export interface WatchRequest {
  /** Undefined: all, or the kind is cluster-scoped. */
  readonly namespaces?: readonly string[]
  readonly name?: string
  /** Prefix of the names. */
  readonly prefix?: string
  readonly labels?: Readonly<Record<string, string>>
}

interface WatchRequestInput {
  readonly resource: Resource
  /** The declared inputs of the kind. */
  readonly inputs: readonly Input[]
  /** The names that are currently referred to. */
  readonly named: readonly ObjectName[]
  /** The operator's namespaces: inputs declared for all namespaces are limited to these. @default all */
  readonly namespaces?: readonly string[] | undefined
}

export function watchRequestsFor({ resource, inputs, named, namespaces }: WatchRequestInput): readonly WatchRequest[] {
  const everywhere: WatchRequest = resource.namespaced && namespaces ? { namespaces } : {}
  const at = (namespace: string | undefined): WatchRequest =>
    namespace === undefined ? everywhere : { namespaces: [namespace] }
  const declared = inputs.flatMap((input): readonly WatchRequest[] => {
    switch (input.select) {
      case 'kind':
        return [everywhere]
      case 'name':
        return [{ ...at(input.namespace), name: input.name }]
      case 'prefix':
        return [{ ...at(input.namespace), prefix: input.prefix }]
      case 'labels':
        return [{ ...at(input.namespace), labels: input.labels }]
      default:
        return []
    }
  })
  // The common case.
  if (named.length === 0 && declared.every((request) => request === everywhere)) return declared.slice(0, 1)
  const requests = unique([
    ...declared,
    ...named.map(({ namespace, name }): WatchRequest => ({ ...at(namespace), name })),
  ])
  if (!declared.includes(everywhere)) return requests
  return requests.filter((request) => request === everywhere || !isWithin(request, everywhere))
}

function isWithin({ namespaces: some }: WatchRequest, { namespaces: all }: WatchRequest): boolean {
  return all === undefined || (some?.every((namespace) => all.includes(namespace)) ?? false)
}

function unique(requests: readonly WatchRequest[]): readonly WatchRequest[] {
  return [...new Map(requests.map((request) => [watchRequestKey(request), request])).values()]
}

/** Equal requests have equal keys. */
export function watchRequestKey({ namespaces, name, prefix, labels }: WatchRequest): string {
  if ((namespaces ?? name ?? prefix ?? labels) === undefined) return 'all'
  const pairs = Object.entries(labels ?? {}).map((pair) => JSON.stringify(pair))
  return JSON.stringify([namespaces?.toSorted(), name, prefix, pairs.toSorted()])
}

/** Whether the request covers the object of this name. For a label selection this is unknown. */
export function watchRequestCovers(
  { namespaces, name, prefix = '', labels }: WatchRequest,
  asked: ObjectName,
): boolean {
  return (
    labels === undefined &&
    (name === undefined || name === asked.name) &&
    asked.name.startsWith(prefix) &&
    (namespaces === undefined || (asked.namespace !== undefined && namespaces.includes(asked.namespace)))
  )
}

/** The options of the cache subscription. */
export function subscriptionFor({
  namespaces,
  name,
  prefix,
  labels,
}: WatchRequest): Pick<SubscribeOptions, 'namespaces' | 'fields' | 'namePrefix' | 'labels'> {
  return {
    ...(namespaces && { namespaces }),
    ...(name !== undefined && { fields: formatFields([{ path: 'metadata.name', operator: '=', value: name }]) }),
    ...(prefix !== undefined && { namePrefix: prefix }),
    ...(labels && { labels: { matchLabels: labels } }),
  }
}
