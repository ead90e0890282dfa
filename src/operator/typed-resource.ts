/** API resources whose objects have a TypeScript type, so that a view or client returns it. */
import { builtinResource } from '../kube/builtin.ts'
import { MusterError } from '../kube/errors.ts'
import { parseApiVersion, type TypedResource } from '../kube/kind.ts'
import type { KubeObject } from '../kube/object.ts'

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
    throw new MusterError('UnknownKind', `${kind} of ${apiVersion} is not built in, and no plural is given for it.`)
  }
  const { group, version, plural, namespaced } = found
  return { group, version, kind, plural, namespaced }
}

export type { ObjectOf, TypedResource } from '../kube/kind.ts'
