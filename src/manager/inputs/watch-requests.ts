/**
 * From what an operator declares to what it asks of the shared cache: exactly that, each once, and nothing that is within
 * what it asks for anyway. A wish is a subscription to be. How many watches serve them is the cache's business.
 */
import type { Resource } from '../../kube/kind.ts'
import { formatFields } from '../../kube/selector.ts'
import type { Input } from '../../operator/input.ts'
import type { ObjectName } from '../../operator/view.ts'
import type { SubscribeOptions } from '../../cache/subscription.ts'

export interface WatchRequest {
  /** Undefined: all, or the kind has none. */
  readonly namespaces?: readonly string[]
  readonly name?: string
  /** How names begin. */
  readonly prefix?: string
  readonly labels?: Readonly<Record<string, string>>
}

export interface WatchRequestInput {
  readonly resource: Resource
  /** What is declared of the kind. */
  readonly inputs: readonly Input[]
  /** What is referred to at the moment. */
  readonly named: readonly ObjectName[]
  /** Where the operator works: what is declared for all namespaces is meant for these. @default all */
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
  // What most kinds are wanted for.
  if (named.length === 0 && declared.every((wish) => wish === everywhere)) return declared.slice(0, 1)
  const wishes = unique([
    ...declared,
    ...named.map(({ namespace, name }): WatchRequest => ({ ...at(namespace), name })),
  ])
  if (!declared.includes(everywhere)) return wishes
  return wishes.filter((wish) => wish === everywhere || !isWithin(wish, everywhere))
}

function isWithin({ namespaces: some }: WatchRequest, { namespaces: all }: WatchRequest): boolean {
  return all === undefined || (some?.every((namespace) => all.includes(namespace)) ?? false)
}

function unique(wishes: readonly WatchRequest[]): readonly WatchRequest[] {
  return [...new Map(wishes.map((wish) => [watchRequestKey(wish), wish])).values()]
}

/** Equal wishes have equal keys. */
export function watchRequestKey({ namespaces, name, prefix, labels }: WatchRequest): string {
  if ((namespaces ?? name ?? prefix ?? labels) === undefined) return 'all'
  const pairs = Object.entries(labels ?? {}).map((pair) => JSON.stringify(pair))
  return JSON.stringify([namespaces?.toSorted(), name, prefix, pairs.toSorted()])
}

/** Does the wish hold the object of this name, if there is one? A selection by labels cannot say. */
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

/** As the cache is asked for it. */
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
