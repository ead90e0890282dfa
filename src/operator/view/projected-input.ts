/**
 * A projected input: some fields of the objects that an input selects.
 *
 *     reads: [
 *       fields(Pod, ['spec.nodeName', 'status.phase']),
 *       fields(labelled(Secret, { labels: { owner: 'helm' } }), []),   // metadata alone
 *     ]
 *
 * The view shows metadata and these fields, nothing else, in every way of running. The cache keeps no more, unless another
 * operator needs more; of an input without fields not even the API server sends more. A change of another field wakes no CR.
 */
import { operatorErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { Json } from '../../kube/json.ts'
import { formatResource } from '../../kube/kind.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { TypedResource } from '../../kube/typed-resource.ts'
import { type Input, inputOf, type WholeKind } from './input.ts'
import { isAtOrBelow, normalFields } from './projection.ts'

/** The input with its fields. */
export type Projected<I> =
  I extends TypedResource<infer T>
    ? WholeKind<T> & { readonly fields: readonly string[] }
    : // By another name, so that the compiler does not infer the argument of `fields` from where its result goes.
      I extends infer Selection
      ? Selection & { readonly fields: readonly string[] }
      : never

type InputObject<I> = I extends { readonly resource: TypedResource<infer T> }
  ? T
  : I extends TypedResource<infer T>
    ? T
    : never

/** Of each path the ones that lead to a field of the kind, as far as the given one is right. */
export type FieldPaths<T, Paths extends readonly string[]> = {
  readonly [Index in keyof Paths]: KubeObject extends T ? string : PathIn<T, Paths[Index], ''>
}

type PathIn<T, Path, Above extends string> =
  IsOpen<T> extends true
    ? `${Above}${string}`
    : Path extends `${infer Member}.${infer Rest}`
      ? Member extends keyof Item<T>
        ? PathIn<NonNullable<Item<T>[Member]>, Rest, `${Above}${Member}.`>
        : MemberPath<T, Above>
      : MemberPath<T, Above>

/** A path through a list applies to its items. */
type Item<T> = T extends readonly (infer Each)[] ? Item<NonNullable<Each>> : T

type MemberPath<T, Above extends string> = Item<T> extends object ? `${Above}${keyof Item<T> & string}` : never

/** JSON of any form. */
type IsOpen<T> = unknown extends T ? true : Json extends T ? true : false

/** The only metadata that does not wake a CR unless it is asked for: every write changes it. */
const versions: ReadonlySet<string> = new Set(['metadata.generation', 'metadata.resourceVersion'])

const longestPath = 500

/**
 * Reads only these fields of the objects. Metadata is always read, without `managedFields`. `metadata.generation` and
 * `metadata.resourceVersion` may be named, so that their changes wake the CRs, too.
 * @throws InvalidController
 */
export function fields<I extends TypedResource | Input, const Paths extends readonly string[]>(
  of: I,
  // The condition makes the compiler name the right paths in its error.
  paths: Paths extends FieldPaths<InputObject<I>, Paths> ? Paths : FieldPaths<InputObject<I>, Paths>,
): Projected<I> {
  const input: Input = inputOf<KubeObject, Input>(of)
  const place = `fields(${formatResource(input.resource)})`
  if (input.fields) refuse(place, 'it has fields already; list all of them at once')
  for (const path of paths) checkPath(path, place)
  return { ...input, fields: normalFields(paths) } as Projected<I>
}

function checkPath(path: string, place: string): void {
  if (path.length > longestPath) refuse(place, `a path of ${path.length} characters is too long`)
  if (path.split('.').some((member) => member === '$' || !/^[A-Za-z_$][\w$-]*$/.test(member))) {
    const cure =
      'members are separated by dots, items of lists are not named; for a key with other characters name the field above it'
    refuse(place, `"${path}" is no path to a field: ${cure}`)
  }
  if (isAtOrBelow(path, 'metadata.managedFields')) refuse(place, 'managedFields cannot be read')
  if (path === 'apiVersion' || path === 'kind' || (isAtOrBelow(path, 'metadata') && !versions.has(path))) {
    refuse(place, `${path} is always read; leave it out`)
  }
}

function refuse(place: string, problem: string): never {
  throw new MusterError(operatorErrors.InvalidController, `${place}: ${problem}.`)
}
