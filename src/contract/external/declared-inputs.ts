/**
 * A program's `input-resources` as the kit's inputs: so that the manager watches as narrowly as for any operator,
 * follows references, and triggers runs only by declared inputs.
 */
import type { Resource } from '../../kube/kind.ts'
import {
  chainOf,
  exactly,
  generated,
  type Input,
  labelled,
  referenced,
  uniqueInputs,
  whole,
} from '../../operator/view/input.ts'
import type { TypedResource } from '../../kube/typed-resource.ts'
import type { ResourceType } from '../declaration/mutation.ts'
import type { ExactResource, KindResource, ResourceList, ResourceReference } from '../declaration/resource-list.ts'
import { selectionKey } from '../declaration/selection.ts'

/** All resources of the list, by `keyOf` of their type. */
type ServedInput = ReadonlyMap<string, Resource>

/** The length limit of a chain of references, against cycles. */
const deepest = 4

/** @throws InvalidController for an entry that contradicts discovery */
export function inputsOf(list: ResourceList, served: ServedInput): readonly Input[] {
  const at = (type: ResourceType): TypedResource => served.get(selectionKey(type))!
  const plain: readonly Input[] = [
    ...(list.exactResources ?? []).map((entry) => exactly(at(entry), entry)),
    ...(list.generatedNameResources ?? []).map(({ name, ...entry }) =>
      generated(at(entry), { ...entry, prefix: name }),
    ),
    ...(list.labelSelectedResources ?? []).map(({ labelSelector: { matchLabels = {} }, ...entry }) =>
      Object.keys(matchLabels).length === 0
        ? allOf(at(entry), entry)
        : labelled(at(entry), { ...entry, labels: matchLabels }),
    ),
    ...(list.kindResources ?? []).map((entry) => allOf(at(entry), entry)),
    // Referring objects selected by name are inputs, too.
    ...(list.resourceReferences ?? []).flatMap(({ referringResource }) =>
      isExact(referringResource) ? [exactly(at(referringResource), referringResource)] : [],
    ),
  ]
  let found = uniqueInputs(plain)
  for (let depth = 0; depth < deepest; depth++) {
    const more = (list.resourceReferences ?? []).flatMap((reference) =>
      found.filter((from) => refersFrom(reference, from, at)).map((from) => followed(reference, from, at)),
    )
    const next = uniqueInputs([...found, ...more])
    if (next.length === found.length) break
    found = next
  }
  return uniqueInputs(found.flatMap(chainOf))
}

/** All objects of a kind, or all of a namespace, as an empty name prefix. */
function allOf(resource: TypedResource, { namespace }: { readonly namespace?: string }): Input {
  return namespace === undefined || !resource.namespaced
    ? whole(resource)
    : { select: 'prefix', resource, namespace, prefix: '' }
}

/** Whether references start from the objects of this input. */
function refersFrom(
  { referringResource: referring }: ResourceReference,
  from: Input,
  at: (type: ResourceType) => TypedResource,
): boolean {
  if (at(referring) !== from.resource || chainOf(from).length > deepest) return false
  if (isExact(referring)) return from.select === 'name' && from.name === referring.name
  const { namespace } = from as { readonly namespace?: string }
  return referring.namespace === undefined || namespace === undefined || namespace === referring.namespace
}

function followed(reference: ResourceReference, from: Input, at: (type: ResourceType) => TypedResource): Input {
  const { implicitNamespacedReference: fixed, explicitNamespacedReference: named, clusterScopedReference } = reference
  const target = (fixed ?? named ?? clusterScopedReference)!
  return referenced(at(target), {
    from,
    namePath: target.nameJSONPath,
    ...(fixed && { namespace: fixed.namespace }),
    ...(named && { namespacePath: named.namespaceJSONPath }),
  })
}

function isExact(referring: ExactResource | KindResource): referring is ExactResource {
  return 'name' in referring
}
