/** Which members of an object are decoded; the others are skipped and never parsed. */
import type { Detail } from '../need.ts'

/** Which members of one node are kept. For an array it applies to each item. Without a filter everything is kept. */
export interface Filter {
  /** Only these members, each with its own filter. */
  readonly only?: ReadonlyMap<string, Filter | undefined>
  /** All members but this one. */
  readonly without?: string
  /** No two objects have the same value here: it is not worth interning. */
  readonly isUnique?: boolean
}

const managedMetadata: Filter = { isUnique: true }
const leanMetadata: Filter = { isUnique: true, without: 'managedFields' }

export function isUnwanted({ only, without }: Filter, key: string): boolean {
  return only ? !only.has(key) : key === without
}

/** The filter of an object's metadata, which is always kept. */
export function metadataFilter(keepManagedFields: boolean): Filter {
  return keepManagedFields ? managedMetadata : leanMetadata
}

/** The filter of an object's other members. A path through an array applies to each of its items. */
export function detailFilter(detail: Detail): Filter | undefined {
  if (detail === 'full') return undefined
  const only = new Map<string, Filter | undefined>()
  for (const path of detail === 'metadata' ? [] : detail) keepPath(only, path.split('.'))
  return { only: only.set('apiVersion', undefined).set('kind', undefined) }
}

function keepPath(members: Map<string, Filter | undefined>, path: readonly string[]): void {
  const [key = '', ...rest] = path
  if (rest.length === 0) members.set(key, undefined)
  else if (!members.has(key) || members.get(key) !== undefined) {
    const inner = new Map(members.get(key)?.only)
    keepPath(inner, rest)
    members.set(key, { only: inner })
  }
}
