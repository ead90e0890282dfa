/**
 * A controller reconciles the CRs of one kind. The author provides what is specific (dependents, a check, a status
 * report, a finalizer); steps, comparison, conditions and back-off are the kit's.
 */
import type { ConditionUpdate } from '../kube/condition.ts'
import { MusterError } from '../kube/errors.ts'
import { formatResource, type Resource } from '../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../kube/object.ts'
import type { BackOffOptions, ReconcileFailure } from './failure.ts'
import { defaultBackOff } from './failure.ts'
import {
  chainOf,
  checkVersions,
  type ExactName,
  type Input,
  inputOf,
  kindsOf,
  type LabelSelected,
  type DeclaredOutput,
  uniqueInputs,
  whole,
  type WholeKind,
} from './input.ts'
import type { Application } from './lifecycle/application.ts'
import type { Live } from './live.ts'
import type { Context, Dependent } from './dependent.ts'
import { checkStepGraph, standardSteps, type StepGraph, type StepName } from './step-graph.ts'
import type { TypedResource } from './typed-resource.ts'

/** The context of author code that may reach outside the cluster state: exec and HTTP fail in an offline run. */
export interface LiveContext<CR extends KubeObject, Config = unknown> extends Context<CR, Config> {
  readonly live: Live
}

/** The context at the end of a reconcile. */
export interface ReportContext<CR extends KubeObject, Config = unknown> extends LiveContext<CR, Config> {
  /** The live object of a dependent; the first of N. */
  own<T extends KubeObject>(this: void, resource: Dependent<CR, T>): T | undefined
  /** All live objects of a dependent. */
  all<T extends KubeObject>(this: void, resource: Dependent<CR, T>): readonly T[]
}

/** The author's part of the status. Conditions beside the standard ones belong here, too. */
export type StatusReport<CR extends KubeObject> = Omit<Partial<StatusOf<CR>>, 'conditions' | 'observedGeneration'> & {
  readonly conditions?: readonly Omit<ConditionUpdate, 'observedGeneration'>[]
}

type StatusOf<CR> = CR extends { readonly status?: infer Status } ? NonNullable<Status> : object

/** `done`, or what it waits for and when to run again. */
export type Finalization = 'done' | { readonly waitingFor: string; readonly afterMs?: number }

/** The result of a controller with a `reconcile` function: desired objects of the kinds in `writes`. */
export interface DesiredChild<CR extends KubeObject> {
  readonly objects?: readonly UntypedObject[]
  readonly status?: StatusReport<CR>
  readonly requeueAfterMs?: number
}

/** The context of an overridden step. */
export interface StepContext<CR extends KubeObject, Config = unknown> extends ReportContext<CR, Config> {
  /** Adds a dependent for this CR alone; effective until ObjectsGetter. */
  register(this: void, resource: Dependent<CR>): void
  /** The desired objects, by subject; from Mutator on. */
  readonly wanted: ReadonlyMap<string, UntypedObject>
  /** Replaces the desired object of a subject; in Mutator. */
  want(this: void, subject: string, object: UntypedObject): void
  /** The failure that led to ErrorManager or GiveUpManager. */
  readonly failure: ReconcileFailure | undefined
  /** Requeues the CR after this time at the latest. */
  requeueAfter(this: void, ms: number): void
}

/** `next` runs the default of the step. */
export type StepOverride<CR extends KubeObject, Config = unknown> = StepMethods<CR, Config>['step']

// As a method, so that an operator can keep controllers of many kinds in one list.
interface StepMethods<CR extends KubeObject, Config> {
  step(context: StepContext<CR, Config>, next: () => Promise<void>): void | Promise<void>
}

export interface ControllerOptions<CR extends KubeObject, Config = unknown> {
  /** The kind whose objects it reconciles, or a selection of them. */
  readonly for: TypedResource<CR> | ExactName<CR> | LabelSelected<CR>
  /** @default the kind in lower case */
  readonly name?: string
  readonly resources?: readonly Dependent<CR>[]
  /** Its inputs beside its CRs and its outputs: kinds, or selections of objects (`input.ts`). */
  readonly reads?: readonly (Resource | Input)[]
  /**
   * Outputs of `reconcile` and overridden steps beside the dependents: kinds, or selections of objects. Dependents of a
   * kind that is narrowed here may write nothing else of that kind.
   */
  readonly writes?: readonly (TypedResource | DeclaredOutput)[]
  /** CRChecker: validation beyond the schema. Calls `giveUp` or `fail` for an invalid CR. */
  check?(context: LiveContext<CR, Config>): void | Promise<void>
  /** The status beside the standard conditions and `observedGeneration`. */
  status?(context: ReportContext<CR, Config>): StatusReport<CR> | Promise<StatusReport<CR>>
  /** CRFinalizer: cleans up effects outside the garbage collector's reach. Runs again until it returns `done`. */
  finalize?(context: LiveContext<CR, Config>): Finalization | Promise<Finalization>
  /** The application that a CR represents, with a life cycle of its own. */
  readonly application?: Application<CR>
  /** One function instead of `resources`. */
  reconcile?(context: LiveContext<CR, Config>): DesiredChild<CR> | Promise<DesiredChild<CR>>
  /** Overridden steps. */
  readonly steps?: Partial<Readonly<Record<StepName, StepOverride<CR, Config>>>> &
    Readonly<Record<string, StepOverride<CR, Config>>>
  /** @default the standard steps */
  readonly graph?: StepGraph
  /** Reconciles every CR after this time even without an event. @default never */
  readonly resyncMs?: number
  /** The most objects that one reconcile creates; the rest follows after a second. @default no limit */
  readonly maxCreations?: number
  /** The longest that a step may take. @default 30_000 */
  readonly timeoutMs?: number
  readonly backOff?: Partial<BackOffOptions>
}

export interface Controller<CR extends KubeObject = KubeObject, Config = unknown> {
  readonly name: string
  readonly kind: TypedResource<CR>
  readonly options: ControllerOptions<CR, Config>
  readonly resources: readonly Dependent<CR>[]
  readonly graph: StepGraph
  readonly backOff: BackOffOptions
  readonly timeoutMs: number
  /** The kinds of everything that it reads. */
  readonly inputs: readonly Resource[]
  /** The kinds of everything that it writes, its own kind's status and finalizers aside. */
  readonly outputs: readonly Resource[]
  /** The CRs that it reconciles. */
  readonly own: WholeKind<CR> | ExactName<CR> | LabelSelected<CR>
  /** Everything that it reads: its CRs, its outputs and its `reads`. */
  readonly declaredInputs: readonly Input[]
  readonly declaredOutputs: readonly DeclaredOutput[]
  /** Whether its CRs get a finalizer. */
  readonly finalizes: boolean
  /** Whether the author reports a status. */
  readonly reports: boolean
}

/** @throws InvalidController, InvalidStepGraph */
export function defineController<CR extends KubeObject, Config = unknown>(
  options: ControllerOptions<CR, Config>,
): Controller<CR, Config> {
  const { resources = [], reads = [], writes = [], graph = standardSteps, timeoutMs = 30_000 } = options
  const own = inputOf<CR, ExactName<CR> | LabelSelected<CR>>(options.for)
  const kind = own.resource
  const name = options.name ?? kind.kind.toLowerCase()
  const place = `Controller ${name}`
  checkStepGraph(graph, name)
  checkSteps(options, graph, place)
  checkLimits(options, place)
  if (options.reconcile && resources.length > 0) {
    throw new MusterError('InvalidController', `${place} has both resources and reconcile(). Use one of them.`)
  }
  const declaredOutputs = outputsOf(resources, writes)
  const declaredInputs = uniqueInputs([own, ...declaredOutputs, ...reads.flatMap((each) => chainOf(inputOf(each)))])
  checkVersions(declaredInputs, place)
  return {
    name,
    kind,
    options,
    resources: orderByDependency(resources, place),
    graph,
    timeoutMs,
    backOff: { ...defaultBackOff, ...options.backOff },
    own,
    declaredInputs,
    declaredOutputs,
    inputs: kindsOf(declaredInputs),
    outputs: kindsOf(declaredOutputs),
    finalizes:
      options.finalize !== undefined ||
      options.application !== undefined ||
      resources.some(({ ownership }) => ownership === 'label'),
    reports: options.status !== undefined || options.reconcile !== undefined || options.application !== undefined,
  }
}

/** Dependencies first. */
function orderByDependency<CR extends KubeObject>(
  resources: readonly Dependent<CR>[],
  place: string,
): readonly Dependent<CR>[] {
  const byId = new Map(resources.map((resource) => [resource.id, resource]))
  if (byId.size < resources.length) {
    const twice = resources.find(({ id }, at) => resources.findIndex((other) => other.id === id) < at)!
    throw new MusterError(
      'InvalidController',
      `${place} has two resources called ${twice.id}. Give one of them another id.`,
    )
  }
  const ordered = new Set<Dependent<CR>>()
  const visit = (resource: Dependent<CR>, above: readonly string[]): void => {
    if (above.includes(resource.id)) {
      throw new MusterError(
        'InvalidController',
        `${place}: ${[...above, resource.id].join(' → ')} wait for each other.`,
      )
    }
    for (const id of resource.dependsOn) {
      const other = byId.get(id)
      if (!other) {
        throw new MusterError(
          'InvalidController',
          `${place}: ${resource.id} depends on ${id}, which is not among its resources.`,
        )
      }
      visit(other, [...above, resource.id])
    }
    ordered.add(resource)
  }
  for (const resource of resources) visit(resource, [])
  return [...ordered]
}

function checkSteps<CR extends KubeObject, Config>(
  { steps = {} }: ControllerOptions<CR, Config>,
  graph: StepGraph,
  place: string,
): void {
  for (const name of Object.keys(steps)) {
    if (Object.hasOwn(graph.steps, name)) continue
    const known = Object.keys(graph.steps).join(', ')
    throw new MusterError(
      'InvalidController',
      `${place} overrides step ${name}, which its graph does not have: ${known}.`,
    )
  }
  for (const name of Object.keys(graph.steps)) {
    if (Object.hasOwn(standardSteps.steps, name) || Object.hasOwn(steps, name)) continue
    throw new MusterError('InvalidController', `${place} has a step ${name} in its graph, but nothing that does it.`)
  }
}

function checkLimits<CR extends KubeObject, Config>(options: ControllerOptions<CR, Config>, place: string): void {
  const limits = ['resyncMs', 'maxCreations', 'timeoutMs'] as const
  const { firstMs, mostMs } = options.backOff ?? {}
  const given = [
    ...limits.map((name) => [name, options[name]] as const),
    ['backOff.firstMs', firstMs] as const,
    ['backOff.mostMs', mostMs] as const,
  ]
  for (const [name, value] of given) {
    if (value === undefined || (Number.isFinite(value) && value > 0)) continue
    throw new MusterError('InvalidController', `${place}: ${name} is ${value}; it must be a number above 0.`)
  }
}

/** A dependent may write its whole kind, unless `writes` narrows it. */
function outputsOf<CR extends KubeObject>(
  resources: readonly Dependent<CR>[],
  writes: readonly (TypedResource | DeclaredOutput)[],
): readonly DeclaredOutput[] {
  const declared = writes.map((each): DeclaredOutput => inputOf<KubeObject, DeclaredOutput>(each))
  const kinds = new Set(declared.map(({ resource }) => formatResource(resource)))
  const implied = resources.filter(({ kind }) => !kinds.has(formatResource(kind))).map(({ kind }) => whole(kind))
  return uniqueInputs<DeclaredOutput>([...implied, ...declared])
}
