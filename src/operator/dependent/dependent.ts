/**
 * A dependent: a child object (or N of them) that a controller manages for each of its CRs.
 *
 * The desired object is made of two parts: `initial` is the same for every CR, `fromCR` is derived from the CR and
 * merged over it. Both are pure. The kit does the rest: it creates, compares, applies, waits for dependencies, assesses
 * health, and prunes dependents that are no longer desired.
 */
import type { ConfigSource, NeedsConfig } from '../config.ts'
import { operatorErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { type Health, healthOf } from '../../kube/meta/health.ts'
import { formatResource } from '../../kube/kind.ts'
import type { KubeObject, Named, UntypedObject } from '../../kube/object.ts'
import { parseFieldPath } from './field-path.ts'
import { checkScope, type HashScope } from './scope.ts'
import { checkOptionNames, type OptionNames } from '../option-names.ts'
import { placementRoleOf } from '../placement-role.ts'
import type { TypedResource } from '../../kube/typed-resource.ts'
import type { View } from '../view/view.ts'

/** The context of author code. Everything in it is frozen. */
export interface Context<CR extends KubeObject, Config = unknown> {
  readonly cr: Named<CR>
  readonly view: View
  /** The time of this run, in milliseconds since the epoch. Author code uses no other clock. */
  readonly now: number
  readonly config: Config
}

/** The context of one object of a dependent. */
export interface ItemContext<CR extends KubeObject, Item, Config = unknown> extends Context<CR, Config> {
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
 * - `create-only`: created once, never updated unless `renewWhen` says so. Its values may be generated.
 * - `adopt`: a live object without an owner is taken over.
 * - `ignore`: a live object that this controller does not own is used as it is.
 * - `share`: an object that other field managers write, too, with a name that `writes` declares. Only the desired fields are
 *   owned; those that another manager has set otherwise are left to it (`withheld` in the report). The object stays when the CR
 *   goes, without these fields.
 */
export type Policy = 'own' | 'create-only' | 'adopt' | 'ignore' | 'share'

export interface DependentOptions<CR extends KubeObject, T extends KubeObject, Item, Config = unknown> {
  /** The kind of the CRs that it is managed for. */
  readonly for: TypedResource<CR>
  readonly kind: TypedResource<T>
  /** The configuration of the operator, if functions below read it: it types their `config`. */
  readonly config?: ConfigSource<Config>
  /** Its name in plans, ledgers and messages. @default the kind, its first letter in lower case */
  readonly id?: string
  /** One object for each entry. @default one object */
  readonly each?: (context: Context<CR, Config>) => Readonly<Record<string, Item>>
  /** @default the CR's name; with `each`, followed by `-` and the key */
  readonly name?: (context: ItemContext<CR, Item, Config>) => string
  /** @default the CR's namespace */
  readonly namespace?: (context: ItemContext<CR, Item, Config>) => string
  /** The part that is the same for every CR: an object, YAML, or a function. */
  readonly initial?: DependentOverlay<T> | string | ((context: ItemContext<CR, Item, Config>) => DependentOverlay<T>)
  /** The part that is derived from the CR; merged over `initial`, keyed lists item by item. */
  readonly fromCR?: (context: ItemContext<CR, Item, Config>) => DependentOverlay<T>
  /**
   * The fields whose drift is corrected. The other fields are set on creation and then left to other managers. @default
   * all
   */
  readonly scope?: HashScope
  /** @default "own" */
  readonly policy?: Policy
  /**
   * With the policy `create-only`: whether the live object is to be generated anew, such as a certificate that is about to
   * expire. Asked at each reconcile. @default never
   */
  readonly renewWhen?: (object: Named<T>, context: ItemContext<CR, Item, Config>) => boolean
  /** Deleted with its CR. @default true */
  readonly owned?: boolean
  /** Dependents that must exist and be healthy before this one is written. */
  readonly dependsOn?: readonly Pick<Dependent<CR>, 'id'>[]
  /** Whether it is desired. If not, it is pruned. @default yes */
  readonly activeWhen?: (context: ItemContext<CR, Item, Config>) => boolean
  /** Whether it may be written now. Until then the live object is left as it is. @default yes */
  readonly writtenWhen?: (context: ItemContext<CR, Item, Config>) => Verdict
  /** A further condition for readiness, evaluated for healthy objects. @default yes */
  readonly readyWhen?: (object: Named<T>, context: ItemContext<CR, Item, Config>) => Verdict
  /** The health of a live object. @default by the rules of its kind */
  readonly health?: (object: Named<T>, now: number) => Health
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
  /** The configuration that its functions read. */
  readonly config: ConfigSource<unknown> | undefined
  readonly policy: Policy
  readonly ownership: DependentOwnership
  readonly scope: HashScope
  readonly dependsOn: readonly string[]
  readonly isBulk: boolean
  items(context: Context<CR>): readonly ItemContext<CR, unknown>[]
  nameOf(context: ItemContext<CR, unknown>): { readonly name: string; readonly namespace: string | undefined }
  isActive(context: ItemContext<CR, unknown>): boolean
  mayWrite(context: ItemContext<CR, unknown>): Verdict
  /** Whether a create-only object is generated anew. */
  mustRenew(object: KubeObject, context: ItemContext<CR, unknown>): boolean
  initial(context: ItemContext<CR, unknown>): UntypedObject | string
  overlay(context: ItemContext<CR, unknown>): UntypedObject | undefined
  health(object: KubeObject, context: ItemContext<CR, unknown>): Health
  readonly [objects]?: T
}

/** @throws InvalidDependent when the definition contradicts itself */
export function defineDependent<CR extends KubeObject, T extends KubeObject, Item = undefined, Config = unknown>(
  options: DependentOptions<CR, T, Item, Config>,
): Dependent<CR, T> & NeedsConfig<Config> {
  const { kind, each, initial = {}, fromCR, policy = 'own', scope = {}, dependsOn = [] } = options
  const id = options.id ?? kind.kind.charAt(0).toLowerCase() + kind.kind.slice(1)
  check(id, options)
  // Items come from this dependent's own `each`, and the operator has this configuration: the cast restores both types.
  const typed = (context: Context<CR>): Context<CR, Config> => context as Context<CR, Config>
  const typedItem = (context: ItemContext<CR, unknown>): ItemContext<CR, Item, Config> =>
    context as ItemContext<CR, Item, Config>
  return {
    id,
    kind,
    config: options.config,
    policy,
    ownership: ownershipOf(options),
    scope,
    dependsOn: dependsOn.map((other) => other.id),
    isBulk: each !== undefined,
    items(context) {
      if (!each) return [{ ...context, key: '', item: undefined }]
      return Object.entries(each(typed(context))).map(([key, item]) => Object.assign({}, context, { key, item }))
    },
    nameOf(context) {
      const { cr, key } = context
      const { name, namespace } = cr.metadata
      return {
        name: options.name?.(typedItem(context)) ?? (each ? `${name}-${key}` : name),
        namespace: kind.namespaced ? (options.namespace?.(typedItem(context)) ?? namespace) : undefined,
      }
    },
    isActive: (context) => options.activeWhen?.(typedItem(context)) ?? true,
    mustRenew: (object, context) => options.renewWhen?.(object as Named<T>, typedItem(context)) ?? false,
    mayWrite: (context) => options.writtenWhen?.(typedItem(context)) ?? true,
    initial: (context) =>
      (typeof initial === 'function' ? (initial as (at: typeof context) => DependentOverlay<T>)(context) : initial) as
        | UntypedObject
        | string,
    overlay: (context) => fromCR?.(typedItem(context)) as UntypedObject | undefined,
    health(object, context) {
      const health = options.health?.(object as Named<T>, context.now) ?? healthOf(object, context.now)
      if (health.status !== 'Current') return health
      const verdict = options.readyWhen?.(object as Named<T>, typedItem(context)) ?? true
      return verdict === true ? health : { status: 'InProgress', reason: 'NotReady', message: verdict }
    },
  }
}

const dependentOptionNames: OptionNames<DependentOptions<KubeObject, KubeObject, unknown>> = {
  for: true,
  kind: true,
  config: true,
  id: true,
  each: true,
  name: true,
  namespace: true,
  initial: true,
  fromCR: true,
  scope: true,
  policy: true,
  renewWhen: true,
  owned: true,
  dependsOn: true,
  activeWhen: true,
  writtenWhen: true,
  readyWhen: true,
  health: true,
}

function ownershipOf<CR extends KubeObject, T extends KubeObject, Item, Config>({
  for: owner,
  kind,
  namespace,
  owned = true,
  policy,
}: DependentOptions<CR, T, Item, Config>): DependentOwnership {
  if (!owned || policy === 'share') return 'none'
  // The garbage collector deletes an object whose owner does not exist in its own cluster.
  const isElsewhere = placementRoleOf(kind) !== placementRoleOf(owner)
  return isElsewhere || (owner.namespaced && (!kind.namespaced || namespace)) ? 'label' : 'reference'
}

function check<CR extends KubeObject, T extends KubeObject, Item, Config>(
  id: string,
  options: DependentOptions<CR, T, Item, Config>,
): void {
  const { kind, policy, scope, renewWhen, each } = options
  const place = `Dependent ${id} (${formatResource(kind)})`
  checkOptionNames(options, dependentOptionNames, operatorErrors.InvalidDependent, place)
  if (policy === 'create-only' && scope) {
    throw new MusterError(
      operatorErrors.InvalidDependent,
      `${place}: with the policy "create-only" it cannot have a scope, since it is never updated.`,
    )
  }
  if (renewWhen && policy !== 'create-only') {
    throw new MusterError(
      operatorErrors.InvalidDependent,
      `${place}: renewWhen is for the policy "create-only"; any other object follows its CR.`,
    )
  }
  if (policy === 'share' && (scope ?? each)) {
    throw new MusterError(
      operatorErrors.InvalidDependent,
      `${place}: with the policy "share" it has neither a scope nor each: it is one object, and its desired fields are the scope.`,
    )
  }
  checkScope(scope ?? {}, place)
  for (const path of [...(scope?.paths ?? []), ...(scope?.except ?? [])]) parseFieldPath(path)
}
