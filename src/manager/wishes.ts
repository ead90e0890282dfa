/**
 * From what an operator declares to what it asks of the shared cache: the fewest and narrowest selections that hold all
 * of it. A wish is a subscription to be. Two names in one namespace are one wish for the namespace: a server selects by
 * one name or by none, and one watch is cheaper than two.
 */
import type { Resource } from '../kube/kind.ts'
import { formatFields } from '../kube/selector.ts'
import type { Input } from '../operator/input.ts'
import type { ObjectName } from '../operator/view.ts'
import type { SubscribeOptions } from '../cache/subscription.ts'

export interface Wish {
  /** Undefined: all, or the kind has none. */
  readonly namespaces?: readonly string[]
  readonly name?: string
  readonly labels?: Readonly<Record<string, string>>
}

/** References into more namespaces than this are served by one watch over all: watches are not free either. */
export const mostNamespaces = 50

export interface WishInput {
  readonly resource: Resource
  /** What is declared of the kind. */
  readonly inputs: readonly Input[]
  /** What is referred to at the moment. */
  readonly named: readonly ObjectName[]
  /** Where the operator works: what is declared for all namespaces is meant for these. @default all */
  readonly namespaces?: readonly string[] | undefined
}

interface Place {
  isWhole: boolean
  readonly names: Set<string>
  readonly labels: Readonly<Record<string, string>>[]
}

export function wishesFor({ resource, inputs, named, namespaces }: WishInput): readonly Wish[] {
  const everywhere: Wish = resource.namespaced && namespaces ? { namespaces } : {}
  const isWhole = inputs.some((input) => input.select === 'kind' || (input.select === 'prefix' && isEverywhere(input)))
  const places = new Map<string | undefined, Place>()
  const at = (namespace: string | undefined): Place => {
    let place = places.get(namespace)
    if (!place) places.set(namespace, (place = { isWhole: false, names: new Set(), labels: [] }))
    return place
  }
  const wide: Wish[] = isWhole ? [everywhere] : []
  for (const input of inputs) {
    if (input.select === 'name') at(input.namespace).names.add(input.name)
    else if (input.select === 'prefix' && !isEverywhere(input)) at(input.namespace).isWhole = true
    else if (input.select === 'labels') {
      if (!isEverywhere(input)) at(input.namespace).labels.push(input.labels)
      else if (!isWhole) wide.push({ ...everywhere, labels: input.labels })
    }
  }
  for (const { namespace, name } of named) at(namespace).names.add(name)
  if (isWhole) for (const namespace of places.keys()) if (isServed(everywhere, namespace)) places.delete(namespace)
  if (places.size > mostNamespaces && !namespaces) return [everywhere]
  return unique([...wide, ...[...places].flatMap(([namespace, place]) => wishesAt(namespace, place))])
}

function isEverywhere({ namespace }: { readonly namespace?: string }): boolean {
  return namespace === undefined
}

function isServed({ namespaces }: Wish, namespace: string | undefined): boolean {
  return !namespaces || namespace === undefined || namespaces.includes(namespace)
}

function wishesAt(namespace: string | undefined, { isWhole, names, labels }: Place): readonly Wish[] {
  const here: Wish = namespace === undefined ? {} : { namespaces: [namespace] }
  if (isWhole || names.size > 1) return [here]
  const byName = [...names].map((name): Wish => Object.assign({ name }, here))
  return [...byName, ...labels.map((each): Wish => Object.assign({ labels: each }, here))]
}

function unique(wishes: readonly Wish[]): readonly Wish[] {
  return [...new Map(wishes.map((wish) => [wishKey(wish), wish])).values()]
}

/** Equal wishes have equal keys. */
export function wishKey({ namespaces, name, labels = {} }: Wish): string {
  const pairs = Object.entries(labels).map((pair) => JSON.stringify(pair))
  return JSON.stringify([namespaces?.toSorted(), name, pairs.toSorted()])
}

/** Does the wish hold the object of this name, if there is one? A selection by labels cannot say. */
export function wishHolds({ namespaces, name, labels }: Wish, asked: ObjectName): boolean {
  return (
    labels === undefined &&
    (name === undefined || name === asked.name) &&
    (namespaces === undefined || (asked.namespace !== undefined && namespaces.includes(asked.namespace)))
  )
}

/** As the cache is asked for it. */
export function subscriptionFor({
  namespaces,
  name,
  labels,
}: Wish): Pick<SubscribeOptions, 'namespaces' | 'fields' | 'labels'> {
  return {
    ...(namespaces && { namespaces }),
    ...(name !== undefined && { fields: formatFields([{ path: 'metadata.name', operator: '=', value: name }]) }),
    ...(labels && { labels: { matchLabels: labels } }),
  }
}
