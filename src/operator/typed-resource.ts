/**
 * A resource whose objects have a type. Kinds that an author defines are such, and so are the built-in ones below; a view
 * that is asked for one answers with objects of its type.
 */
import { builtinResource } from '../kube/builtin.ts'
import { MusterError } from '../kube/errors.ts'
import { parseApiVersion, type Resource } from '../kube/kind.ts'
import type { KubeObject } from '../kube/object.ts'

declare const objects: unique symbol

export interface TypedResource<T extends KubeObject = KubeObject> extends Resource {
  /** For the compiler alone: nothing is ever stored here. */
  readonly [objects]?: T
}

/** The objects of a resource, as they are read. */
export type ObjectOf<R> = R extends TypedResource<infer T> ? T : never

/**
 * A kind of another project, by its name: the type is the author's word (`muster generate types` writes it).
 * Built-in kinds need only `apiVersion` and `kind`.
 * @throws UnknownKind for a kind that is not built in and whose plural is not given
 */
export function resourceOf<T extends KubeObject>(
  apiVersion: string,
  kind: string,
  served?: { readonly plural: string; readonly namespaced: boolean },
): TypedResource<T> {
  const identity = { ...parseApiVersion(apiVersion), kind }
  if (served) return { ...identity, ...served }
  const found = builtinResource(identity)
  if (!found) {
    throw new MusterError('UnknownKind', `${kind} of ${apiVersion} is not built in, and no plural is given for it.`)
  }
  const { group, version, plural, namespaced } = found
  return { group, version, kind, plural, namespaced }
}
