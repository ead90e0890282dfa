/**
 * A controller reconciles the CRs of one kind. The author provides what is specific (dependents, a check, a status
 * report, a finalizer); steps, comparison, conditions and back-off are the kit's.
 */
import type { ConditionUpdate } from '../kube/meta/condition.ts'
import type { ConfigSource, NeedsConfig } from './config.ts'
import type { Coordinator } from './coordinator/coordinator.ts'
import type { Decisions } from './coordinator/decisions.ts'
import type { Edits } from './edits.ts'
import { operatorErrors } from './errors.ts'
import { MusterError } from '../kube/muster-error.ts'
import { formatResource, type Resource } from '../kube/kind.ts'
import type { KubeObject, Named, UntypedObject } from '../kube/object.ts'
import type { BackOffOptions, ReconcileFailure } from './failure.ts'
import { defaultBackOff } from './failure.ts'
import {
  chainOf,
  checkVersions,
  describeInput,
  describeSelection,
  editVerbs,
  type ExactName,
  type Input,
  inputOf,
  kindsOf,
  labelled,
  type LabelSelected,
  type DeclaredOutput,
  type Unprojected,
  uniqueInputs,
  whole,
  type WholeKind,
} from './view/input.ts'
import type { Application } from './lifecycle/application.ts'
import type { Live } from './live.ts'
import { checkInputFields } from './dependent/conformity.ts'
import { managedByLabel, typingOf } from './dependent/desired.ts'
import type { Context, Dependent } from './dependent/dependent.ts'
import type { WithheldField } from './dependent/shared-fields.ts'
import type { EmbeddedReport, Embedding } from './embedded/embedded-set.ts'
import type { HeldObjects } from './embedded/held-objects.ts'
import type { EventDraft } from './ledger.ts'
import { checkOptionNames, type OptionNames } from './option-names.ts'
import { standardSteps, type StepName } from './step-graph.ts'
import type { Task } from './task/task.ts'
import type { TaskResults } from './task/task-results.ts'
import type { TypedResource } from '../kube/typed-resource.ts'

/** The context of author code that may reach outside the cluster state: exec and HTTP fail in an offline run. */
export interface LiveContext<CR extends KubeObject, Config = unknown>
  extends Context<CR, Config>, TaskResults, Decisions {
  readonly live: Live
  /** Live objects of any kind, for a controller that embeds some; undefined without a cluster. */
  readonly held?: HeldObjects | undefined
}

/** The context at the end of a reconcile. */
export interface ReportContext<CR extends KubeObject, Config = unknown> extends LiveContext<CR, Config> {
  /** The live object of a dependent; the first of N. */
  own<T extends KubeObject>(this: void, dependent: Dependent<CR, T>): Named<T> | undefined
  /** All live objects of a dependent. */
  all<T extends KubeObject>(this: void, dependent: Dependent<CR, T>): readonly Named<T>[]
  /** The fields of a shared dependent that are left to other field managers. */
  withheld(this: void, dependent: Dependent<CR>): readonly WithheldField[]
  /** The embedded objects; undefined if `embeds` was not asked, or embedded nothing. */
  readonly embedded: EmbeddedReport | undefined
  /** Requeues the CR after this time at the latest. */
  requeueAfter(this: void, ms: number): void
  /** What the CR waits for, in its conditions `Reconciled` and `Ready`. What the kit waits for comes first. */
  waitFor(this: void, text: string): void
  /** An Event on the CR. Changes and failures have theirs already; equal ones are counted, not repeated. */
  event(this: void, event: EventDraft): void
  /** A number of the CR, for the metric `muster_object_value`: such as `components_unmanaged`. It ends with the CR. */
  gauge(this: void, name: string, value: number): void
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
  register(this: void, dependent: Dependent<CR> & NeedsConfig<Config>): void
  /** The desired objects, by subject; from Mutator on. */
  readonly wanted: ReadonlyMap<string, UntypedObject>
  /** Replaces the desired object of a subject; in Mutator. */
  want(this: void, subject: string, object: UntypedObject): void
  /** The failure that led to ErrorManager or GiveUpManager. */
  readonly failure: ReconcileFailure | undefined
}

/** `next` runs the default of the step. */
export type StepOverride<CR extends KubeObject, Config = unknown> = StepMethods<CR, Config>['step']

// As a method, so that an operator can keep controllers of many kinds in one list.
interface StepMethods<CR extends KubeObject, Config> {
  step(context: StepContext<CR, Config>, next: () => Promise<void>): void | Promise<void>
}

export interface ControllerOptions<CR extends KubeObject, Config = unknown> {
  /** The kind whose objects it reconciles, or a selection of them. */
  readonly for: TypedResource<CR> | Unprojected<ExactName<CR> | LabelSelected<CR>>
  /** @default the kind in lower case */
  readonly name?: string
  /** The configuration of the operator, if functions below read it: it types their `config`. */
  readonly config?: ConfigSource<Config>
  readonly dependents?: readonly Dependent<CR>[]
  /** Its inputs beside its CRs and its outputs: kinds, or selections of objects (`input.ts`). */
  readonly reads?: readonly (Resource | Input)[]
  /**
   * Outputs of `reconcile` and overridden steps beside the dependents: kinds, or selections of objects. Dependents of a
   * kind that is narrowed here may write nothing else of that kind.
   */
  readonly writes?: readonly (TypedResource | DeclaredOutput)[]
  /** Writes to objects that belong to others. */
  readonly edits?: Edits<LiveContext<CR, Config>>
  /**
   * The kind belongs to another operator, or to Kubernetes: its status is not this controller's. Neither the standard conditions
   * nor `observedGeneration` are written; `status` may report conditions of types that no one else reports. @default false
   */
  readonly foreign?: boolean
  /** Objects that are data: of kinds that are known only when the reconcile runs. */
  readonly embeds?: Embedding<CR, Config>
  /** Slow work whose results it asks for with `context.result`. */
  readonly tasks?: readonly Task[]
  /** Coordinators whose decisions it reads with `context.decision`. */
  readonly coordinators?: readonly Coordinator[]
  /** CRChecker: validation beyond the schema. Calls `giveUp` or `fail` for an invalid CR. */
  check?(context: LiveContext<CR, Config>): void | Promise<void>
  /** The status beside the standard conditions and `observedGeneration`. Undefined: it stays as it is. */
  status?(context: ReportContext<CR, Config>): StatusReport<CR> | undefined | Promise<StatusReport<CR> | undefined>
  /** The status while the CR is being deleted: what is left, and what it waits for. @default it stays as it is */
  deletionStatus?(
    context: ReportContext<CR, Config>,
  ): StatusReport<CR> | undefined | Promise<StatusReport<CR> | undefined>
  /** CRFinalizer: cleans up effects outside the garbage collector's reach. Runs again until it returns `done`. */
  finalize?(context: LiveContext<CR, Config>): Finalization | Promise<Finalization>
  /** The application that a CR represents, with a life cycle of its own. */
  readonly application?: Application<CR>
  /** One function instead of `dependents`. */
  reconcile?(context: LiveContext<CR, Config>): DesiredChild<CR> | Promise<DesiredChild<CR>>
  /** Overridden steps. */
  readonly steps?: Partial<Readonly<Record<StepName, StepOverride<CR, Config>>>>
  /** Reconciles every CR after this time even without an event. @default never */
  readonly resyncMs?: number
  /** The most objects that one reconcile creates; the rest follows after a second. @default no limit */
  readonly maxCreations?: number
  /** The longest that a step may take. @default 30_000 */
  readonly timeoutMs?: number
  readonly backOff?: Partial<BackOffOptions>
}

/** Parts of a controller may read what its own functions may read: the settings of one operator. */
interface ConfiguredParts<CR extends KubeObject, Config> {
  readonly dependents?: readonly (Dependent<CR> & NeedsConfig<Config>)[]
  readonly application?: Application<CR> & NeedsConfig<Config>
  readonly coordinators?: readonly (Coordinator & NeedsConfig<Config>)[]
}

export interface Controller<CR extends KubeObject = KubeObject, Config = unknown> {
  readonly name: string
  readonly kind: TypedResource<CR>
  readonly options: ControllerOptions<CR, Config>
  readonly dependents: readonly Dependent<CR>[]
  readonly tasks: readonly Task[]
  readonly coordinators: readonly Coordinator[]
  /** The configurations that its parts read. */
  readonly configs: readonly ConfigSource<unknown>[]
  readonly backOff: BackOffOptions
  readonly timeoutMs: number
  /** The kinds of everything that it reads. */
  readonly inputs: readonly Resource[]
  /** The kinds of everything that it writes, its own kind's status and finalizers aside. */
  readonly outputs: readonly Resource[]
  /** The CRs that it reconciles. */
  readonly own: WholeKind<CR> | Unprojected<ExactName<CR> | LabelSelected<CR>>
  /**
   * Everything that it reads: its CRs, its `reads`, and its outputs, which are selected by the label of its operator:
   * `forOperator` adds those.
   */
  readonly declaredInputs: readonly Input[]
  readonly declaredOutputs: readonly DeclaredOutput[]
  /** Whether its CRs get a finalizer. */
  readonly finalizes: boolean
  /** Whether the author reports a status. */
  readonly reports: boolean
}

const controllerOptionNames: OptionNames<ControllerOptions<KubeObject>> = {
  for: true,
  name: true,
  config: true,
  dependents: true,
  reads: true,
  writes: true,
  embeds: true,
  edits: true,
  foreign: true,
  tasks: true,
  coordinators: true,
  check: true,
  status: true,
  deletionStatus: true,
  finalize: true,
  application: true,
  reconcile: true,
  steps: true,
  resyncMs: true,
  maxCreations: true,
  timeoutMs: true,
  backOff: true,
}

/** @throws InvalidController */
export function defineController<CR extends KubeObject, Config = unknown>(
  options: ControllerOptions<CR, Config> & ConfiguredParts<CR, Config>,
): Controller<CR, Config> & NeedsConfig<Config> {
  const { dependents = [], reads = [], writes = [], tasks = [], coordinators = [], timeoutMs = 30_000 } = options
  const own = inputOf<CR, Unprojected<ExactName<CR> | LabelSelected<CR>>>(options.for)
  const kind = own.resource
  const name = options.name ?? kind.kind.toLowerCase()
  const place = `Controller ${name}`
  checkOptionNames(options, controllerOptionNames, operatorErrors.InvalidController, place)
  checkSteps(options, place)
  checkLimits(options, place)
  checkTasks(tasks, place)
  if (options.reconcile && dependents.length > 0) {
    throw new MusterError(
      operatorErrors.InvalidController,
      `${place} has both dependents and reconcile(). Use one of them.`,
    )
  }
  const declaredOutputs = uniqueInputs([...outputsOf(dependents, writes), ...(options.edits?.kinds ?? [])])
  checkShared(dependents, declaredOutputs, place)
  const watched = declaredOutputs
    .filter((output) => !editVerbs(output) && isWatchedAsDeclared(output, dependents))
    .map((output) => (isShared(output, dependents) ? withManagedFields(output) : output))
  const declaredInputs = uniqueInputs([own, ...watched, ...reads.flatMap((each) => chainOf(inputOf(each)))])
  checkVersions([...declaredInputs, ...declaredOutputs], place)
  checkFields(declaredInputs, [own, ...watched], declaredOutputs, place)
  return {
    name,
    kind,
    options,
    configs: configsOf(options),
    dependents: orderByDependency(dependents, place),
    tasks,
    coordinators,
    timeoutMs,
    backOff: { ...defaultBackOff, ...options.backOff },
    own,
    declaredInputs,
    declaredOutputs,
    inputs: kindsOf([...declaredInputs, ...declaredOutputs]),
    outputs: kindsOf(declaredOutputs),
    finalizes:
      options.finalize !== undefined ||
      options.application !== undefined ||
      options.embeds !== undefined ||
      dependents.some(({ ownership, policy }) => ownership === 'label' || policy === 'share'),
    reports: options.status !== undefined || options.reconcile !== undefined || options.application !== undefined,
  }
}

/** The controller as a part of an operator, whose label selects the objects that it writes. */
export function forOperator(controller: Controller, operator: string): Controller {
  const { declaredInputs, declaredOutputs, dependents } = controller
  const managed = declaredOutputs
    .filter((output) => !editVerbs(output) && !isWatchedAsDeclared(output, dependents))
    .map(({ resource }) => labelled(resource, { labels: { [managedByLabel]: operator } }))
  return { ...controller, declaredInputs: uniqueInputs([...declaredInputs, ...managed]) }
}

/**
 * Outputs are watched by the operator's label, so that no cache holds objects of others. Exceptions are objects with a
 * declared name, which are watched by it, and kinds of dependents whose policy leaves objects of others alone: whether
 * there is one must be known before each reconcile.
 */
function isWatchedAsDeclared(
  { select, resource }: DeclaredOutput,
  dependents: readonly Pick<Dependent<KubeObject>, 'kind' | 'policy'>[],
): boolean {
  if (select === 'name') return true
  const kind = formatResource(resource)
  return dependents.some(
    ({ kind: other, policy }) => (policy === 'ignore' || policy === 'create-only') && formatResource(other) === kind,
  )
}

/**
 * CRs and outputs are read whole: they are compared with what is wanted. Fields of the same objects would have no effect.
 * @throws InvalidController
 */
function checkFields(
  inputs: readonly Input[],
  wholes: readonly Input[],
  outputs: readonly Input[],
  place: string,
): void {
  const refuse = (input: Input, why: string): never => {
    throw new MusterError(operatorErrors.InvalidController, `${place}: ${describeInput(input)}: ${why}`)
  }
  for (const input of [...wholes, ...outputs]) {
    if (input.fields) refuse(input, 'its own CRs and its outputs are read whole. Use fields() in reads only.')
  }
  for (const input of inputs.filter(({ fields }) => fields)) {
    const other = wholes.find(
      ({ select, resource }) => select === 'kind' && formatResource(resource) === formatResource(input.resource),
    )
    const same = other ?? wholes.find((each) => describeSelection(each) === describeSelection(input))
    if (same) refuse(input, `${describeInput(same)} is read whole, as its CRs or its outputs. Leave fields() out.`)
    checkInputFields(input, typingOf(input.resource), place)
  }
}

function withManagedFields(output: DeclaredOutput): DeclaredOutput {
  return output.select === 'name' ? { ...output, managedFields: true } : output
}

/** Which manager owns which field decides what is written. */
function isShared({ resource }: DeclaredOutput, dependents: readonly Pick<Dependent<KubeObject>, 'kind' | 'policy'>[]) {
  const kind = formatResource(resource)
  return dependents.some(({ kind: other, policy }) => policy === 'share' && formatResource(other) === kind)
}

/** @throws InvalidController */
function checkShared<CR extends KubeObject>(
  dependents: readonly Dependent<CR>[],
  outputs: readonly DeclaredOutput[],
  place: string,
): void {
  for (const { id, kind, policy } of dependents) {
    const same = outputs.filter(({ resource }) => formatResource(resource) === formatResource(kind))
    if (policy !== 'share' || same.every(({ select }) => select === 'name')) continue
    throw new MusterError(
      operatorErrors.InvalidController,
      `${place}: ${id} is shared with others. Declare its name: writes: [exactly(${kind.kind}, { name })].`,
    )
  }
}

/** Dependencies first. */
function orderByDependency<CR extends KubeObject>(
  dependents: readonly Dependent<CR>[],
  place: string,
): readonly Dependent<CR>[] {
  const byId = new Map(dependents.map((dependent) => [dependent.id, dependent]))
  if (byId.size < dependents.length) {
    const twice = dependents.find(({ id }, at) => dependents.findIndex((other) => other.id === id) < at)!
    throw new MusterError(
      operatorErrors.InvalidController,
      `${place} has two dependents called ${twice.id}. Give one of them another id.`,
    )
  }
  const ordered = new Set<Dependent<CR>>()
  const visit = (dependent: Dependent<CR>, above: readonly string[]): void => {
    if (above.includes(dependent.id)) {
      throw new MusterError(
        operatorErrors.InvalidController,
        `${place}: ${[...above, dependent.id].join(' → ')} wait for each other.`,
      )
    }
    for (const id of dependent.dependsOn) {
      const other = byId.get(id)
      if (!other) {
        throw new MusterError(
          operatorErrors.InvalidController,
          `${place}: ${dependent.id} depends on ${id}, which is not among its dependents.`,
        )
      }
      visit(other, [...above, dependent.id])
    }
    ordered.add(dependent)
  }
  for (const dependent of dependents) visit(dependent, [])
  return [...ordered]
}

function checkSteps<CR extends KubeObject, Config>({ steps = {} }: ControllerOptions<CR, Config>, place: string): void {
  for (const name of Object.keys(steps)) {
    if (Object.hasOwn(standardSteps.steps, name)) continue
    const known = Object.keys(standardSteps.steps).join(', ')
    throw new MusterError(
      operatorErrors.InvalidController,
      `${place} overrides step ${name}, which does not exist: ${known}.`,
    )
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
    throw new MusterError(
      operatorErrors.InvalidController,
      `${place}: ${name} is ${value}; it must be a number above 0.`,
    )
  }
}

function checkTasks(tasks: readonly Task[], place: string): void {
  const names = tasks.map(({ name, version }) => `${name} version ${version}`)
  const twice = names.find((name, at) => names.indexOf(name) < at)
  if (twice === undefined) return
  throw new MusterError(
    operatorErrors.InvalidController,
    `${place} has two tasks called ${twice}: their results could not be told apart.`,
  )
}

function configsOf<CR extends KubeObject, Config>({
  config,
  dependents = [],
  application,
  coordinators = [],
}: ControllerOptions<CR, Config>): readonly ConfigSource<unknown>[] {
  const all = [
    config,
    application?.config,
    application?.lifecycle.config,
    ...dependents.map((each) => each.config),
    ...coordinators.map((each) => each.config),
  ]
  return all.flatMap((each) => each ?? [])
}

/** A dependent may write its whole kind, unless `writes` narrows it. */
function outputsOf<CR extends KubeObject>(
  dependents: readonly Dependent<CR>[],
  writes: readonly (TypedResource | DeclaredOutput)[],
): readonly DeclaredOutput[] {
  const declared = writes.map((each): DeclaredOutput => inputOf<KubeObject, DeclaredOutput>(each))
  const kinds = new Set(declared.map(({ resource }) => formatResource(resource)))
  const implied = dependents.filter(({ kind }) => !kinds.has(formatResource(kind))).map(({ kind }) => whole(kind))
  return uniqueInputs<DeclaredOutput>([...implied, ...declared])
}
