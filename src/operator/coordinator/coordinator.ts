/**
 * A coordinator: one decision over many objects, such as a queue, a rollout or a node scaler. It writes nothing: it is a derived
 * input. Changes of its declared inputs are taken in one by one (`take`), which is cheap; `decide` then says for a batch of them
 * which decisions differ and when to ask again. Reconciles of single objects read the decision of their key
 * (`decision(queue, key)`) and write in parallel; a CR that read a decision is enqueued when the decision changes.
 *
 * The law: any order of changes leads to the decisions that a fresh list leads to. Nothing is stored, so a decision must stand
 * until objects say that it was carried out: after a crash it is made again, from them.
 */
import { MusterError } from '../../kube/muster-error.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { TypedResource } from '../../kube/typed-resource.ts'
import type { ConfigSource, NeedsConfig } from '../config.ts'
import { operatorErrors } from '../errors.ts'
import { checkOptionNames, type OptionNames } from '../option-names.ts'
import { chainOf, checkVersions, type Input, inputOf, kindsOf, uniqueInputs } from '../view/input.ts'

/** A change of one input. Its objects are frozen, and limited to the declared fields. */
export interface CoordinatorChange<T extends KubeObject = KubeObject> {
  /** As it is declared in `reads`. */
  readonly resource: Resource
  /** Undefined: the object is gone, or no longer selected. */
  readonly object?: T | undefined
  /** The object as it was taken before; undefined: it is new. */
  readonly before?: T | undefined
}

/** What `decide` returns. */
export interface DecisionBatch<Decision> {
  /** The decisions that differ from those before, by key; undefined: there is none any more. Plain JSON; it is frozen. */
  readonly decisions: Iterable<readonly [key: string, decision: Decision | undefined]>
  /** Ask again at this time, in milliseconds since the epoch, even if no input changes; it counts until the next call. @default when an input changes */
  readonly again?: number | undefined
}

export interface CoordinatorOptions<State, Decision, Config = unknown> {
  /** Unique in its operator; a DNS label is a good one. */
  readonly name: string
  /** Its inputs: kinds, or selections of objects (`input.ts`). */
  readonly reads: readonly (Resource | Input)[]
  /** The configuration of the operator, if `start` reads it. A changed configuration starts the state anew. */
  readonly config?: ConfigSource<Config>
  /** The state that knows no object yet. */
  start(situation: { readonly config: Config }): State
  /** Takes in a change: cheap, incremental, without I/O. Its order among changes of other objects must not matter. */
  take(state: State, change: CoordinatorChange): void
  /** Asked once for each batch of changes, before the CRs that they concern are reconciled. */
  decide(state: State, now: number): DecisionBatch<Decision>
}

export interface Coordinator<Decision = unknown, State = unknown, Config = unknown> {
  readonly name: string
  readonly config: ConfigSource<Config> | undefined
  /** The kinds that it reads. */
  readonly inputs: readonly Resource[]
  readonly declaredInputs: readonly Input[]
  start(situation: { readonly config: Config }): State
  take(state: State, change: CoordinatorChange): void
  decide(state: State, now: number): DecisionBatch<Decision>
}

const coordinatorOptionNames: OptionNames<CoordinatorOptions<unknown, unknown>> = {
  name: true,
  reads: true,
  config: true,
  start: true,
  take: true,
  decide: true,
}

const namePattern = /^[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?$/

/** @throws InvalidCoordinator, InvalidController for inputs that contradict each other */
export function defineCoordinator<State, Decision, Config = unknown>(
  options: CoordinatorOptions<State, Decision, Config>,
): Coordinator<Decision, State, Config> & NeedsConfig<Config> {
  const { name, reads, config } = options
  const place = `Coordinator ${name}`
  const refuse = (problem: string): never => {
    throw new MusterError(operatorErrors.InvalidCoordinator, `${place}${problem}`)
  }
  checkOptionNames(options, coordinatorOptionNames, operatorErrors.InvalidCoordinator, place)
  if (typeof name !== 'string' || !namePattern.test(name)) {
    refuse(': its name must consist of at most 63 lower-case letters, digits, "." and "-".')
  }
  for (const part of ['start', 'take', 'decide'] as const) {
    if (typeof options[part] !== 'function') refuse(` has no function ${part}.`)
  }
  if (!Array.isArray(reads) || reads.length === 0) refuse(' reads nothing: it could never decide anything new.')
  const declaredInputs = uniqueInputs(reads.flatMap((each) => chainOf(inputOf(each))))
  checkVersions(declaredInputs, place)
  return {
    name,
    config,
    inputs: kindsOf(declaredInputs),
    declaredInputs,
    start: (situation) => options.start(situation),
    take: (state, change) => options.take(state, change),
    decide: (state, now) => options.decide(state, now),
  }
}

/** Whether the change is one of this kind: then its objects have the type of the kind. */
export function isChangeOf<T extends KubeObject>(
  change: CoordinatorChange,
  resource: TypedResource<T>,
): change is CoordinatorChange<T> {
  return change.resource === resource || formatResource(change.resource) === formatResource(resource)
}
