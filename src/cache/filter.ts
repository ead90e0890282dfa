/** What to keep of an object while its text is read; the rest is stepped over and never parsed. */
import type { Detail } from './need.ts'

/** What to keep of one node. In an array it holds for each item. Without a filter all is kept. */
export interface Filter {
  /** These members alone, each with a filter of its own. */
  readonly only?: ReadonlyMap<string, Filter | undefined>
  /** All members but this one. */
  readonly without?: string
  /** No two objects are alike in this node: it is not worth a place in the pool. */
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

/** The filter of an object's other members. A path leads through arrays into each of their items. */
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
