/**
 * Translates an operator's declared inputs into watch requests: each declared selection once, and none that a wider one
 * covers. A watch request becomes one subscription of the shared cache. How many watches serve them is decided by the
 * cache.
 *
 * Of an object that several inputs select, all of their fields are read. So that one subscription has them all, the fields of a
 * selection include those of the wider selections that may overlap with it.
 */
import type { Resource } from '../../kube/kind.ts'
import { formatFields } from '../../kube/selector/selector.ts'
import type { Input } from '../../operator/view/input.ts'
import { fieldsServe, isAtOrBelow, joinFields, type ProjectedFields } from '../../operator/view/projection.ts'
import type { ObjectName } from '../../operator/view/view.ts'
import type { SubscribeOptions } from '../../cache/subscription.ts'

export interface WatchRequest {
  /** Undefined: all, or the kind is cluster-scoped. */
  readonly namespaces?: readonly string[]
  readonly name?: string
  /** Prefix of the names. */
  readonly prefix?: string
  readonly labels?: Readonly<Record<string, string>>
  /** Absent: whole objects. Requests for the same objects have the same. */
  readonly fields?: readonly string[] | undefined
  readonly managedFields?: true
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
  const selections = inputs.flatMap((input): readonly WatchRequest[] => {
    switch (input.select) {
      case 'kind':
        return [everywhere]
      case 'name':
        return [
          { ...at(input.namespace), name: input.name, ...(input.managedFields && { managedFields: true as const }) },
        ]
      case 'prefix':
        return [{ ...at(input.namespace), prefix: input.prefix }]
      case 'labels':
        return [{ ...at(input.namespace), labels: input.labels }]
      default:
        return []
    }
  })
  // The common case.
  const isWhole = inputs.every(({ fields }) => fields === undefined)
  if (isWhole && named.length === 0 && selections.every((request) => request === everywhere))
    return selections.slice(0, 1)
  const requests = unique([
    ...selections,
    ...named.map(({ namespace, name }): WatchRequest => ({ ...at(namespace), name })),
  ])
  const detailed = isWhole ? requests : withFields(requests, inputs, selections)
  const wide = detailed[requests.indexOf(everywhere)]
  if (!wide) return detailed
  return detailed.filter(
    (request) =>
      request === wide ||
      request.managedFields ||
      !isWithin(request, wide) ||
      !fieldsServe(wide.fields, request.fields),
  )
}

/** `selections` are those of the inputs that are no references. */
function withFields(
  requests: readonly WatchRequest[],
  inputs: readonly Input[],
  selections: readonly WatchRequest[],
): readonly WatchRequest[] {
  const direct = inputs.filter(({ select }) => select !== 'reference')
  const declared = selections.map((request, index) => ({
    request,
    key: watchRequestKey(request),
    fields: direct[index]!.fields,
  }))
  // Which names are referred to changes; what is kept of an object of one name does not.
  const referenced = inputs.filter(({ select }) => select === 'reference').map(({ fields }) => fields)
  return requests.map((request) => {
    const key = watchRequestKey(request)
    const own: ProjectedFields = joinFields([
      ...declared.filter((other) => other.key === key).map(({ fields }) => fields),
      ...(request.name === undefined ? [] : referenced),
    ])
    if (own === undefined) return request
    const wider = declared.filter(
      (other) => other.fields && rankOf(other.request) >= rankOf(request) && mayOverlap(other.request, request),
    )
    return { ...request, fields: joinFields([own, ...wider.map(({ fields }) => fields)]) }
  })
}

/** Names are narrower than prefixes and labels, and those are narrower than everything. */
function rankOf({ name, prefix, labels }: WatchRequest): number {
  if (name !== undefined) return 0
  return prefix === undefined && labels === undefined ? 2 : 1
}

function mayOverlap(a: WatchRequest, b: WatchRequest): boolean {
  const { namespaces, labels = {} } = a
  if (namespaces && b.namespaces && !namespaces.some((namespace) => b.namespaces!.includes(namespace))) return false
  return Object.entries(b.labels ?? {}).every(([key, value]) => !Object.hasOwn(labels, key) || labels[key] === value)
}

function isWithin({ namespaces: some }: WatchRequest, { namespaces: all }: WatchRequest): boolean {
  return all === undefined || (some?.every((namespace) => all.includes(namespace)) ?? false)
}

function unique(requests: readonly WatchRequest[]): readonly WatchRequest[] {
  // Those with managedFields serve the others, too.
  const ordered = requests.toSorted(
    (one, other) => Number(one.managedFields ?? false) - Number(other.managedFields ?? false),
  )
  return [...new Map(ordered.map((request) => [watchRequestKey(request), request])).values()]
}

/** Requests for the same objects have equal keys. */
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
  fields,
  managedFields,
}: WatchRequest): Pick<
  SubscribeOptions,
  'namespaces' | 'fields' | 'namePrefix' | 'labels' | 'detail' | 'managedFields'
> {
  // Metadata is kept anyway.
  const detail = fields?.filter((field) => !isAtOrBelow(field, 'metadata'))
  return {
    ...(detail && { detail: detail.length === 0 ? 'metadata' : detail }),
    ...(managedFields && { managedFields }),
    ...(namespaces && { namespaces }),
    ...(name !== undefined && { fields: formatFields([{ path: 'metadata.name', operator: '=', value: name }]) }),
    ...(prefix !== undefined && { namePrefix: prefix }),
    ...(labels && { labels: { matchLabels: labels } }),
  }
}
