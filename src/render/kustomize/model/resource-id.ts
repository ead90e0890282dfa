/** How kustomize identifies objects: group, version, kind, name and namespace, each of which may be a wildcard in a selector. */
import { formatApiVersion, type GroupVersionKind } from '../../../kube/kind.ts'
import type { KindTable } from './kind-table.ts'

export interface ResourceId extends GroupVersionKind {
  readonly name: string
  readonly namespace: string
  readonly isClusterScoped: boolean
}

/** A kind of which any part may be missing: a wildcard. */
export type KindSelector = Partial<GroupVersionKind>

export function resourceId(kinds: KindTable, kind: GroupVersionKind, name: string, namespace: string): ResourceId {
  return { ...kind, name, namespace, isClusterScoped: kinds.isClusterScoped(kind) }
}

/** Where the object is; all cluster-scoped objects are in the same place. */
export function effectiveNamespace({ isClusterScoped, namespace }: ResourceId): string {
  return isClusterScoped ? notANamespace : namespace === '' ? 'default' : namespace
}

/** No valid name of a namespace. */
export const notANamespace = '_non_namespaceable_'

export function sameKind(a: GroupVersionKind, b: GroupVersionKind): boolean {
  return a.group === b.group && a.version === b.version && a.kind === b.kind
}

export function sameId(a: ResourceId, b: ResourceId): boolean {
  return a.name === b.name && sameKind(a, b) && effectiveNamespace(a) === effectiveNamespace(b)
}

export function isSelected(kind: GroupVersionKind, selector: KindSelector): boolean {
  return (
    (!selector.group || selector.group === kind.group) &&
    (!selector.version || selector.version === kind.version) &&
    (!selector.kind || selector.kind === kind.kind)
  )
}

/** `apps/v1 Deployment "web" in namespace shop`: for messages. */
export function describeId(id: Pick<ResourceId, 'group' | 'version' | 'kind' | 'name' | 'namespace'>): string {
  const version = id.version === '' ? '' : `${formatApiVersion(id)} `
  return `${version}${id.kind || 'object'} "${id.name}"${id.namespace === '' ? '' : ` in namespace ${id.namespace}`}`
}
