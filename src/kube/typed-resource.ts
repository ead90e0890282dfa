/** API resources whose objects have a TypeScript type, so that a view or client returns it. */
import { builtinResource } from './builtin.ts'
import { kubeErrors } from './errors.ts'
import { parseApiVersion, type Resource } from './kind.ts'
import { MusterError } from './muster-error.ts'
import type { KubeObject, Named } from './object.ts'

declare const objects: unique symbol

/** A resource with the type of its objects: reads return that type. */
export interface TypedResource<T extends KubeObject = KubeObject> extends Resource {
  /** For the compiler only: no value is stored here. */
  readonly [objects]?: T
}

/** The objects of a resource, as reads return them. */
export type ObjectOf<R> = R extends TypedResource<infer T> ? Named<T> : never

/**
 * A kind of another project: the type is not checked (`muster generate types` writes it). Built-in kinds need only
 * `apiVersion` and `kind`.
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
    throw new MusterError(
      kubeErrors.UnknownKind,
      `${kind} of ${apiVersion} is not built in, and no plural is given for it.`,
    )
  }
  const { group, version, plural, namespaced } = found
  return { group, version, kind, plural, namespaced }
}
