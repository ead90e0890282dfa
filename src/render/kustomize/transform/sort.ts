/** The order of the objects: that of the files, or by kind, so that objects come before those that need them. */
import { firstKinds, kindRanks, kindSortKey, lastKinds } from '../config/transformer-config.ts'
import { failure } from '../failure.ts'
import type { SortOptions } from '../kustomization.ts'
import { type ResourceId, sameKind } from '../model/resource-id.ts'
import type { BuildResource } from '../model/resource.ts'
import { compareTexts } from '../model/value.ts'

export function sortResources(
  resources: readonly BuildResource[],
  { order = '', legacySortOptions }: SortOptions,
  place: string,
): readonly BuildResource[] {
  if (order !== 'legacy' && order !== 'fifo') {
    throw failure('KustomizationInvalid', place, 'sortOptions.order must be legacy or fifo')
  }
  if (order === 'fifo' && legacySortOptions) {
    throw failure('KustomizationInvalid', place, 'sortOptions.legacySortOptions needs the order legacy')
  }
  if (order === 'fifo') return resources
  const rankOf = legacySortOptions
    ? kindRanks(legacySortOptions.orderFirst ?? [], legacySortOptions.orderLast ?? [])
    : kindRanks(firstKinds, lastKinds)
  return resources
    .map((resource) => ({ resource, id: resource.id }))
    .toSorted((a, b) => compareIds(a.id, b.id, rankOf))
    .map(({ resource }) => resource)
}

function compareIds(a: ResourceId, b: ResourceId, rankOf: (kind: string) => number): number {
  if (sameKind(a, b)) return compareTexts(idText(a), idText(b))
  const ranks = rankOf(a.kind) - rankOf(b.kind)
  if (ranks !== 0) return ranks
  const isNamespace = a.kind === 'Namespace' && b.kind === 'Namespace' && (a.group === '' || b.group === '')
  return isNamespace ? compareTexts(kindSortKey(b), kindSortKey(a)) : compareTexts(kindSortKey(a), kindSortKey(b))
}

function idText({ namespace, name }: ResourceId): string {
  return `${namespace || '~X'}|${name || '~N'}`
}
