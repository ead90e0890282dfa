/**
 * A resource: an object (or N of them) that a controller keeps in the cluster for each of its CRs.
 *
 * What is wanted is made in two parts, as OKT has it: `initial` is what it always looks like, `fromCR` what the CR says
 * about it, laid over the first. Both are pure. From then on the kit does the rest: it creates, compares, applies, waits
 * for dependencies, judges health, and prunes what is no longer wanted.
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

/** What author code is given. Everything in it is frozen. */
export interface Context<CR extends KubeObject, Config = unknown> {
  readonly cr: CR
  readonly view: View
  /** Milliseconds since the epoch: the only time there is. */
  readonly now: number
  readonly config: Config
}

/** The same for one of N. */
export interface ItemContext<CR extends KubeObject, Item> extends Context<CR> {
  /** Empty, unless there is `each`. */
  readonly key: string
  readonly item: Item
}

/** A part of an object: any member may be left out, at any depth; what is undefined is as good as left out. */
export type DependentOverlay<T> = T extends readonly (infer Item)[]
  ? readonly DependentOverlay<Item>[]
  : T extends object
    ? { readonly [K in keyof T]?: DependentOverlay<T[K]> | undefined }
    : T

/** Yes, or what it waits for. */
export type Verdict = true | string

/**
 * - `own`: it is ours; an object of that name that is not ours is an error.
 * - `create-only`: written once, then left to itself.
 * - `adopt`: one that is there already becomes ours.
 * - `ignore`: one that is there already and is not ours is used as it is.
 */
export type Policy = 'own' | 'create-only' | 'adopt' | 'ignore'

export interface DependentOptions<CR extends KubeObject, T extends KubeObject, Item> {
  /** Whose CRs it is kept for. */
  readonly for: TypedResource<CR>
  readonly kind: TypedResource<T>
  /** In plans, ledgers and messages. @default the kind, its first letter in lower case */
  readonly id?: string
  /** One object for each entry. @default one object */
  readonly each?: (context: Context<CR>) => Readonly<Record<string, Item>>
  /** @default the CR's name; with `each`, and `-` and the key after it */
  readonly name?: (context: ItemContext<CR, Item>) => string
  /** @default the CR's */
  readonly namespace?: (context: ItemContext<CR, Item>) => string
  /** What it always looks like: a part of an object, YAML, or a function that makes the part. */
  readonly initial?: DependentOverlay<T> | string | ((context: ItemContext<CR, Item>) => DependentOverlay<T>)
  /** What the CR says about it; laid over `initial`, keyed lists item by item. */
  readonly fromCR?: (context: ItemContext<CR, Item>) => DependentOverlay<T>
  /** Which of it is kept as it is wanted. The rest is written on creation and then left to others. @default all */
  readonly scope?: HashScope
  /** @default "own" */
  readonly policy?: Policy
  /** Deleted with its CR. @default true */
  readonly owned?: boolean
  /** Must be there and healthy before this one is written. */
  readonly dependsOn?: readonly Pick<Dependent<CR>, 'id'>[]
  /** Is it wanted at all? What is not is pruned. @default yes */
  readonly activeWhen?: (context: ItemContext<CR, Item>) => boolean
  /** May it be written now? Until then what is there is left alone. @default yes */
  readonly writtenWhen?: (context: ItemContext<CR, Item>) => Verdict
  /** Asked of an object that is healthy. @default yes */
  readonly readyWhen?: (object: T, context: ItemContext<CR, Item>) => Verdict
  /** Does it do its work? @default by the rules of its kind */
  readonly health?: (object: T, now: number) => Health
}

/**
 * How an object tells whose it is: by an owner reference, which the garbage collector follows; by a label, where a
 * reference may not reach (another namespace, or none), and then the kit deletes it; or not at all.
 */
export type DependentOwnership = 'reference' | 'label' | 'none'

declare const objects: unique symbol

/** A resource as controllers take it: what its objects are is known to the compiler alone. */
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
  // Items come from this resource's own `each`: the casts are where its type is found again.
  const own = (context: ItemContext<CR, unknown>): ItemContext<CR, Item> => context as ItemContext<CR, Item>
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
        name: options.name?.(own(context)) ?? (each ? `${name}-${key}` : name),
        namespace: kind.namespaced ? (options.namespace?.(own(context)) ?? namespace) : undefined,
      }
    },
    isActive: (context) => options.activeWhen?.(own(context)) ?? true,
    mayWrite: (context) => options.writtenWhen?.(own(context)) ?? true,
    initial: (context) =>
      (typeof initial === 'function' ? (initial as (at: typeof context) => DependentOverlay<T>)(context) : initial) as
        | UntypedObject
        | string,
    overlay: (context) => fromCR?.(own(context)) as UntypedObject | undefined,
    health(object, context) {
      const health = options.health?.(object as T, context.now) ?? healthOf(object, context.now)
      if (health.status !== 'Current') return health
      const verdict = options.readyWhen?.(object as T, own(context)) ?? true
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
  // A garbage collector that does not find the owner in its own cluster deletes what is owned.
  const isElsewhere = placementRoleOf(kind) !== placementRoleOf(owner)
  return isElsewhere || (owner.namespaced && (!kind.namespaced || namespace)) ? 'label' : 'reference'
}

function check<CR extends KubeObject, T extends KubeObject, Item>(
  id: string,
  { kind, policy, scope }: DependentOptions<CR, T, Item>,
): void {
  const place = `Resource ${id} (${formatResource(kind)})`
  if (policy === 'create-only' && scope) {
    throw new MusterError('InvalidResource', `${place}: what is only created has no scope to be kept in.`)
  }
  checkScope(scope ?? {}, place)
  for (const path of [...(scope?.paths ?? []), ...(scope?.except ?? [])]) parseFieldPath(path)
}
