/**
 * A dependent: a child object (or N of them) that a controller manages for each of its CRs.
 *
 * The desired object is made of two parts: `initial` is the same for every CR, `fromCR` is derived from the CR and
 * merged over it. Both are pure. The kit does the rest: it creates, compares, applies, waits for dependencies, assesses
 * health, and prunes dependents that are no longer desired.
 */
import { MusterError } from '../kube/errors.ts'
import { type Health, healthOf } from '../kube/health.ts'
import { formatResource } from '../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../kube/object.ts'
import { parseFieldPath } from './field-path.ts'
import { checkScope, type HashScope } from './scope.ts'
import { placementRoleOf } from './placement-role.ts'
import type { TypedResource } from './typed-resource.ts'
import type { View } from './view.ts'

/** The context of author code. Everything in it is frozen. */
export interface Context<CR extends KubeObject, Config = unknown> {
  readonly cr: CR
  readonly view: View
  /** The time of this run, in milliseconds since the epoch. Author code uses no other clock. */
  readonly now: number
  readonly config: Config
}

/** The context of one object of a dependent. */
export interface ItemContext<CR extends KubeObject, Item> extends Context<CR> {
  /** The key in `each`; empty without `each`. */
  readonly key: string
  readonly item: Item
}

/** A part of an object: any member may be left out, at any depth; an undefined member counts as left out. */
export type DependentOverlay<T> = T extends readonly (infer Item)[]
  ? readonly DependentOverlay<Item>[]
  : T extends object
    ? { readonly [K in keyof T]?: DependentOverlay<T[K]> | undefined }
    : T

/** True, or what it waits for. */
export type Verdict = true | string

/**
 * - `own`: the object is managed; a live object of that name with another owner is an error.
 * - `create-only`: created once, never updated.
 * - `adopt`: a live object without an owner is taken over.
 * - `ignore`: a live object that this controller does not own is used as it is.
 */
export type Policy = 'own' | 'create-only' | 'adopt' | 'ignore'

export interface DependentOptions<CR extends KubeObject, T extends KubeObject, Item> {
  /** The kind of the CRs that it is managed for. */
  readonly for: TypedResource<CR>
  readonly kind: TypedResource<T>
  /** Its name in plans, ledgers and messages. @default the kind, its first letter in lower case */
  readonly id?: string
  /** One object for each entry. @default one object */
  readonly each?: (context: Context<CR>) => Readonly<Record<string, Item>>
  /** @default the CR's name; with `each`, followed by `-` and the key */
  readonly name?: (context: ItemContext<CR, Item>) => string
  /** @default the CR's namespace */
  readonly namespace?: (context: ItemContext<CR, Item>) => string
  /** The part that is the same for every CR: an object, YAML, or a function. */
  readonly initial?: DependentOverlay<T> | string | ((context: ItemContext<CR, Item>) => DependentOverlay<T>)
  /** The part that is derived from the CR; merged over `initial`, keyed lists item by item. */
  readonly fromCR?: (context: ItemContext<CR, Item>) => DependentOverlay<T>
  /**
   * The fields whose drift is corrected. The other fields are set on creation and then left to other managers. @default
   * all
   */
  readonly scope?: HashScope
  /** @default "own" */
  readonly policy?: Policy
  /** Deleted with its CR. @default true */
  readonly owned?: boolean
  /** Dependents that must exist and be healthy before this one is written. */
  readonly dependsOn?: readonly Pick<Dependent<CR>, 'id'>[]
  /** Whether it is desired. If not, it is pruned. @default yes */
  readonly activeWhen?: (context: ItemContext<CR, Item>) => boolean
  /** Whether it may be written now. Until then the live object is left as it is. @default yes */
  readonly writtenWhen?: (context: ItemContext<CR, Item>) => Verdict
  /** A further condition for readiness, evaluated for healthy objects. @default yes */
  readonly readyWhen?: (object: T, context: ItemContext<CR, Item>) => Verdict
  /** The health of a live object. @default by the rules of its kind */
  readonly health?: (object: T, now: number) => Health
}

/**
 * How an object records its owner: by an owner reference, which the garbage collector follows; by a label, where a
 * reference cannot reach (another namespace, cluster scope), and then the kit deletes the object; or not at all.
 */
type DependentOwnership = 'reference' | 'label' | 'none'

declare const objects: unique symbol

/** A dependent as controllers take it: only the compiler knows the type of its objects. */
export interface Dependent<CR extends KubeObject, T extends KubeObject = KubeObject> {
  readonly id: string
  readonly kind: TypedResource<T>
  readonly policy: Policy
  readonly ownership: DependentOwnership
  readonly scope: HashScope
  readonly dependsOn: readonly string[]
  readonly isBulk: boolean
  items(context: Context<CR>): readonly ItemContext<CR, unknown>[]
  nameOf(context: ItemContext<CR, unknown>): { readonly name: string; readonly namespace: string | undefined }
  isActive(context: ItemContext<CR, unknown>): boolean
  mayWrite(context: ItemContext<CR, unknown>): Verdict
  initial(context: ItemContext<CR, unknown>): UntypedObject | string
  overlay(context: ItemContext<CR, unknown>): UntypedObject | undefined
  health(object: KubeObject, context: ItemContext<CR, unknown>): Health
  readonly [objects]?: T
}

/** @throws InvalidResource when the definition contradicts itself */
export function defineDependent<CR extends KubeObject, T extends KubeObject, Item = undefined>(
  options: DependentOptions<CR, T, Item>,
): Dependent<CR, T> {
  const { kind, each, initial = {}, fromCR, policy = 'own', scope = {}, dependsOn = [] } = options
  const id = options.id ?? kind.kind.charAt(0).toLowerCase() + kind.kind.slice(1)
  check(id, options)
  // Items come from this dependent's own `each`, so the cast restores their type.
  const typed = (context: ItemContext<CR, unknown>): ItemContext<CR, Item> => context as ItemContext<CR, Item>
  return {
    id,
    kind,
    policy,
    ownership: ownershipOf(options),
    scope,
    dependsOn: dependsOn.map((other) => other.id),
    isBulk: each !== undefined,
    items(context) {
      if (!each) return [{ ...context, key: '', item: undefined }]
      return Object.entries(each(context)).map(([key, item]) => Object.assign({}, context, { key, item }))
    },
    nameOf(context) {
      const { cr, key } = context
      const { name = '', namespace } = cr.metadata
      return {
        name: options.name?.(typed(context)) ?? (each ? `${name}-${key}` : name),
        namespace: kind.namespaced ? (options.namespace?.(typed(context)) ?? namespace) : undefined,
      }
    },
    isActive: (context) => options.activeWhen?.(typed(context)) ?? true,
    mayWrite: (context) => options.writtenWhen?.(typed(context)) ?? true,
    initial: (context) =>
      (typeof initial === 'function' ? (initial as (at: typeof context) => DependentOverlay<T>)(context) : initial) as
        | UntypedObject
        | string,
    overlay: (context) => fromCR?.(typed(context)) as UntypedObject | undefined,
    health(object, context) {
      const health = options.health?.(object as T, context.now) ?? healthOf(object, context.now)
      if (health.status !== 'Current') return health
      const verdict = options.readyWhen?.(object as T, typed(context)) ?? true
      return verdict === true ? health : { status: 'InProgress', reason: 'NotReady', message: verdict }
    },
  }
}

function ownershipOf<CR extends KubeObject, T extends KubeObject, Item>({
  for: owner,
  kind,
  namespace,
  owned = true,
}: DependentOptions<CR, T, Item>): DependentOwnership {
  if (!owned) return 'none'
  // The garbage collector deletes an object whose owner does not exist in its own cluster.
  const isElsewhere = placementRoleOf(kind) !== placementRoleOf(owner)
  return isElsewhere || (owner.namespaced && (!kind.namespaced || namespace)) ? 'label' : 'reference'
}

function check<CR extends KubeObject, T extends KubeObject, Item>(
  id: string,
  { kind, policy, scope }: DependentOptions<CR, T, Item>,
): void {
  const place = `Dependent ${id} (${formatResource(kind)})`
  if (policy === 'create-only' && scope) {
    throw new MusterError(
      'InvalidResource',
      `${place}: with the policy "create-only" it cannot have a scope, since it is never updated.`,
    )
  }
  checkScope(scope ?? {}, place)
  for (const path of [...(scope?.paths ?? []), ...(scope?.except ?? [])]) parseFieldPath(path)
}
