/**
 * One reconcile: a walk through the steps of a controller for one CR.
 *
 * It does nothing itself. Whatever shall be written is yielded, wave by wave, and whoever drives it says what came of it:
 * an executor on a cluster, a directory, a simulator that lets some of it fail. So the same walk runs live, offline and
 * under faults, and may be cut off at any point: the next one starts from what is there.
 */
import type { Clock } from '../clock/clock.ts'
import type { Health } from '../kube/health.ts'
import type { JsonObject } from '../kube/json.ts'
import { MusterError } from '../kube/errors.ts'
import { formatResource, kindOf, type Resource } from '../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../kube/object.ts'
import { explainAuthorError, runAuthorCode, type ThreadMarks } from './author-code.ts'
import type { Controller, Report, ReportContext, StepContext } from './controller.ts'
import { mayWrite } from './coverage.ts'
import { desiredOf, marked, markOwner, type Owner, subjectOf, typingOf } from './desired.ts'
import { differences } from './difference.ts'
import { decide, type Entry, healthOfEntry, kindText, made, prunable, type Settled } from './entry.ts'
import {
  countFailure,
  type Failure,
  failureOf,
  type Failures,
  noFailures,
  OperatorError,
  isMendedElsewhere,
  retryDelay,
} from './failure.ts'
import { type Ledger, type LedgerEntry, type Operation } from './ledger.ts'
import { type Outside, statusOf as lifeOf } from './lifecycle/application.ts'
import type { Observed } from './lifecycle/observation.ts'
import type { LifecycleStep } from './lifecycle/step.ts'
import { describeInput, inputOf, kindsOf } from './input.ts'
import type { Live } from './live.ts'
import { type Mutation, nameOf, type Outcome, type Wave } from './plan.ts'
import { defineResource, type Context, type ResourceDefinition } from './resource.ts'
import { type WatchedSecrets, watchSecrets } from './secrecy.ts'
import { statusWrite } from './status.ts'
import { mostHops, nextStep, type StepEvent } from './step-graph.ts'
import type { TypedResource } from './typed-resource.ts'
import type { ObjectName, View } from './view.ts'

/** What is remembered of a CR between two reconciles. Losing it costs a request, never a mistake. */
export interface Memory {
  readonly failures: Failures
  /** By subject. */
  readonly settled: ReadonlyMap<string, Settled>
  /** What a server refused for good, by subject: it is not asked again before something is different. */
  readonly refused: ReadonlyMap<string, Refused>
}

/** A wish that was refused, for that object and that CR. */
export interface Refused extends Settled {
  readonly crVersion: string
  readonly error: unknown
}

export const noMemory: Memory = { failures: noFailures, settled: new Map(), refused: new Map() }

/** All that a reconcile is a function of. */
export interface Situation<CR extends KubeObject, Config = unknown> {
  readonly operator: string
  readonly controller: Controller<CR, Config>
  readonly cr: CR
  readonly view: View
  readonly clock: Clock
  readonly config: Config
  readonly live: Live
  readonly memory: Memory
  readonly marks?: ThreadMarks
}

export interface Conclusion {
  readonly ledger: Ledger
  readonly memory: Memory
}

/** The finalizer that an operator puts on the CRs of a kind: no other operator's is called the same. */
export function finalizerName(kind: { readonly plural: string; readonly group: string }, operator: string): string {
  return `${kind.plural}.${kind.group}/${operator}`
}

/** Yields what shall be written; is told what came of it, in the same order. */
export function reconcile<CR extends KubeObject, Config>(
  situation: Situation<CR, Config>,
): AsyncGenerator<Wave, Conclusion, readonly Outcome[]> {
  return new Walk(situation).run()
}

/** The longest number of waves in one reconcile: what needs more goes on in the next. */
const mostWaves = 32
const creationDelayMs = 1000

// A class, since a walk is one thing with much state that every step reads and adds to.
class Walk<CR extends KubeObject, Config> {
  readonly #at: Situation<CR, Config>
  readonly #secrets: WatchedSecrets
  readonly #owner: Owner
  readonly #context: Context<CR, Config> & { readonly live: Live }
  readonly #startedAt: number
  readonly #finalizer: string
  readonly #path: string[] = []
  readonly #stepsAt: number[] = []
  readonly #ledger: LedgerEntry[] = []
  readonly #settled: Map<string, Settled>
  readonly #refused = new Map<string, Refused>()
  readonly #registered: ResourceDefinition<CR>[]
  #entries: Entry<CR>[] = []
  #cr: CR
  #failure: Failure | undefined
  #stepFailure: Failure | undefined
  /** The first that may go away by itself, whatever else there is. */
  #passing: Failure | undefined
  #waiting: string | undefined
  #requeueAfterMs: number | undefined
  #creations = 0
  #isFinalizing = false
  #isGone = false
  #report: Report<CR> | undefined
  #observed: Observed | undefined
  #life: LifecycleStep | undefined
  #step = ''

  constructor(situation: Situation<CR, Config>) {
    const { controller, operator, cr, view, clock, config, live, memory } = situation
    this.#secrets = watchSecrets(view)
    this.#at = { ...situation, view: this.#secrets.view }
    this.#cr = cr
    this.#startedAt = clock.now()
    this.#owner = { operator, controller: controller.name }
    this.#context = { cr, view: this.#secrets.view, now: this.#startedAt, config, live }
    this.#finalizer = finalizerName(controller.kind, operator)
    this.#settled = new Map(memory.settled)
    this.#registered = [...controller.resources]
  }

  async *run(): AsyncGenerator<Wave, Conclusion, readonly Outcome[]> {
    const { graph, options } = this.#at.controller
    let step: string | undefined = graph.start
    while (step !== undefined) {
      if (this.#path.length >= mostHops) {
        this.#fail(
          new MusterError('StepsNeverEnd', `${this.#place} went ${this.#path.slice(-6).join(' > ')} and on.`),
          'cr',
        )
        break
      }
      this.#step = step
      this.#path.push(step)
      this.#stepsAt.push(this.#at.clock.now())
      this.#at.marks?.at(step)
      this.#stepFailure = undefined
      try {
        yield* this.#take(step)
      } catch (error) {
        this.#fail(error, 'cr')
      }
      if (this.#isGone) break
      step = nextStep(graph, step, this.#events())
    }
    if (options.resyncMs !== undefined && !this.#failure) this.#requeue(options.resyncMs)
    return yield* this.#conclude()
  }

  /** What became of the step: its own failure, not one that an earlier step is remembered for. */
  #events(): readonly StepEvent[] {
    const failure = this.#stepFailure
    const trouble: readonly StepEvent[] = failure ? [failure.gaveUp ? 'gaveUp' : 'failed'] : []
    return [...trouble, ...(this.#isFinalizing ? (['finalizing'] as const) : []), 'done']
  }

  async *#take(step: string): AsyncGenerator<Wave, void, readonly Outcome[]> {
    const override = this.#at.controller.options.steps?.[step]
    if (!override) {
      yield* this.#byDefault(step)
      return
    }
    // The author's code runs beside the default one, which may have something to yield: it is handed over by promise.
    const wanted = Promise.withResolvers<'default' | 'ended'>()
    const finished = Promise.withResolvers<void>()
    const next = async (): Promise<void> => {
      wanted.resolve('default')
      await finished.promise
    }
    const running = this.#author(() => override(this.#stepContext(), next)).finally(() => wanted.resolve('ended'))
    // It is awaited below in every case; until then a rejection is nobody's to report.
    running.catch(() => undefined)
    finished.promise.catch(() => undefined)
    if ((await wanted.promise) === 'default') {
      try {
        yield* this.#byDefault(step)
        finished.resolve()
      } catch (error) {
        finished.reject(error)
      }
    }
    await running
  }

  async *#byDefault(step: string): AsyncGenerator<Wave, void, readonly Outcome[]> {
    switch (step) {
      case 'CRGetter':
        yield* this.#getCr()
        break
      case 'CRChecker':
        await this.#check()
        break
      case 'ObjectsGetter':
        await this.#getObjects()
        yield* this.#holdOn()
        break
      case 'Mutator':
        this.#mutate()
        break
      case 'Updater':
        yield* this.#update()
        break
      case 'CRFinalizer':
        yield* this.#finalize()
        break
      case 'SuccessManager':
        await this.#succeed()
        break
      default:
    }
  }

  /** Before anything has an effect, the finalizer is there: whatever happens then, the end will be heard of. */
  async *#getCr(): AsyncGenerator<Wave, void, readonly Outcome[]> {
    const { deletionTimestamp, finalizers = [] } = this.#cr.metadata
    const isOurs = finalizers.includes(this.#finalizer)
    this.#isFinalizing = deletionTimestamp !== undefined
    if (this.#isFinalizing) {
      this.#isGone = !isOurs
      return
    }
    if (isOurs || !this.#at.controller.finalizes) return
    yield* this.#setFinalizers([...finalizers, this.#finalizer], 'added')
  }

  async *#setFinalizers(
    finalizers: readonly string[],
    why: 'added' | 'removed',
  ): AsyncGenerator<Wave, void, readonly Outcome[]> {
    const { name = '', namespace, uid = '', resourceVersion = '' } = this.#cr.metadata
    const outcomes = yield [
      {
        verb: 'finalizers',
        subject: 'cr',
        resource: this.#at.controller.kind,
        name: { name, namespace },
        uid,
        resourceVersion,
        finalizers,
        why,
      },
    ]
    const [outcome] = outcomes
    if (outcome?.result === 'failed') throw outcome.error
    this.#note('cr', why === 'added' ? 'finalizerAdded' : 'finalizerRemoved')
    if (outcome?.object) this.#cr = outcome.object as unknown as CR
  }

  async #check(): Promise<void> {
    const { options } = this.#at.controller
    await this.#author(() => options.check?.(this.#context))
  }

  async #getObjects(): Promise<void> {
    const { options } = this.#at.controller
    const free = await this.#author(() => options.reconcile?.(this.#context))
    if (free) {
      const { objects = [], status, requeueAfterMs } = free
      this.#registered.push(...objects.map((object) => this.#resourceFor(object)))
      this.#report = status
      if (requeueAfterMs !== undefined) this.#requeue(requeueAfterMs)
    }
    for (const resource of this.#registered) this.#register(resource)
    await this.#observe()
  }

  /** What only a label ties to the CR, and no definition told of before: its end must be heard of, too. */
  async *#holdOn(): AsyncGenerator<Wave, void, readonly Outcome[]> {
    const { finalizers = [] } = this.#cr.metadata
    if (finalizers.includes(this.#finalizer) || this.#isFinalizing) return
    if (this.#entries.some(({ resource }) => resource.ownership === 'label')) {
      yield* this.#setFinalizers([...finalizers, this.#finalizer], 'added')
    }
  }

  /** The application is one more object: what is there of it, and below what shall be done about it. */
  async #observe(): Promise<void> {
    const { application } = this.#at.controller.options
    if (application) this.#observed = await this.#author(() => application.observe(this.#outside()))
  }

  #stepLife(): void {
    const { application } = this.#at.controller.options
    if (!application || !this.#observed) return
    this.#life = application.step({ ...this.#context, cr: this.#cr }, this.#observed, this.#isFinalizing)
    const { requeueAtMs, status } = this.#life
    // What is new decides which objects are wanted, and goes by what is stored: so once more, when it is.
    if (status !== lifeOf(this.#cr)) this.#requeue(0)
    this.#requeue(requeueAtMs === undefined ? application.observeEveryMs : Math.max(requeueAtMs - this.#startedAt, 0))
  }

  async #act(): Promise<void> {
    const { application } = this.#at.controller.options
    const { act } = this.#life ?? {}
    if (!application || !act) return
    try {
      await this.#author(() => application.perform(act, this.#outside()))
      const what = act.verb === 'start' ? `started ${act.action}` : 'cancelled what took too long'
      this.#note('application', 'acted', undefined, undefined, what)
    } catch (error) {
      this.#fail(error, 'application')
    }
  }

  #outside(): Outside<CR> {
    return { ...this.#context, cr: this.#cr, clock: this.#at.clock }
  }

  /** Where names are declared, others are refused before anything is looked at: it is a write that is wanted. */
  #checkName(kind: Resource, name: ObjectName): void {
    const { declaredOutputs } = this.#at.controller
    const same = declaredOutputs.filter((output) => formatResource(output.resource) === formatResource(kind))
    if (same.length === 0 || mayWrite(same, kind, name)) return
    const where = name.namespace === undefined ? name.name : `${name.namespace}/${name.name}`
    const declared = same.map(describeInput).toSorted().join(', ')
    throw new MusterError(
      'UndeclaredOutput',
      `${this.#place} wants ${kind.kind} ${where}, but declares ${declared} only.`,
    )
  }

  /** An object of a free-style controller, as a resource. */
  #resourceFor(object: UntypedObject): ResourceDefinition<CR> {
    const { kind: owner, outputs } = this.#at.controller
    const wanted = kindOf(object)
    const kind = outputs.find((output) => output.kind === wanted.kind && output.group === wanted.group)
    if (!kind) {
      const declared = outputs.map(formatResource).join(', ') || 'nothing'
      throw new MusterError(
        'UndeclaredOutput',
        `${this.#place} wants ${object.kind} of ${object.apiVersion}, but declares ${declared} only.`,
      )
    }
    const { name = '', namespace } = object.metadata
    const isElsewhere = namespace !== undefined && namespace !== this.#cr.metadata.namespace
    return defineResource<CR, UntypedObject>({
      for: owner,
      kind,
      id: isElsewhere ? `${kind.kind}/${namespace}/${name}` : `${kind.kind}/${name}`,
      name: () => name,
      ...(isElsewhere && { namespace: () => namespace }),
      initial: object,
    })
  }

  #register(resource: ResourceDefinition<CR>): void {
    const items = resource.items(this.#context).filter((item) => resource.isActive(item))
    if (items.length === 0) this.#note(resource.id, 'inactive')
    for (const context of items) {
      const name = resource.nameOf(context)
      const subject = subjectOf(resource, context)
      const twin = this.#entries.find(
        (other) =>
          formatResource(other.resource.kind) === formatResource(resource.kind) &&
          other.name.name === name.name &&
          other.name.namespace === name.namespace,
      )
      if (twin) {
        throw new MusterError(
          'InvalidResource',
          `${this.#place}: ${subject} and ${twin.subject} are both ${resource.kind.kind} ${name.name}.`,
        )
      }
      this.#checkName(resource.kind, name)
      const live = this.#at.view.get(resource.kind, name) as UntypedObject | undefined
      this.#entries.push({ resource, context, subject, name, live, desired: undefined, state: 'open' })
    }
  }

  #mutate(): void {
    for (const entry of this.#entries) {
      try {
        entry.desired = desiredOf(entry.resource, entry.context, this.#owner)
      } catch (error) {
        entry.state = 'failed'
        this.#fail(error, entry.subject)
      }
    }
    this.#stepLife()
  }

  /** Wave after wave: what depends on nothing open, then what waited for it, as long as something moves. */
  async *#update(): AsyncGenerator<Wave, void, readonly Outcome[]> {
    for (let wave = 0; wave < mostWaves; wave++) {
      const planned = this.#entries.flatMap((entry) => this.#plan(entry))
      if (planned.length === 0) break
      const outcomes = yield planned.map(({ mutation }) => mutation)
      for (const [index, { entry, mutation, operation }] of planned.entries()) {
        this.#settle(entry, mutation, operation, outcomes[index])
      }
    }
    for (const entry of this.#entries) this.#noteWaiting(entry)
    yield* this.#prune()
    await this.#act()
  }

  #plan(entry: Entry<CR>): readonly { entry: Entry<CR>; mutation: Mutation; operation: Operation }[] {
    try {
      if (entry.state !== 'open' || this.#obstacle(entry) !== undefined) return []
      const decision = decide(entry, this.#owner, this.#settled.get(entry.subject))
      if (decision.what === 'nothing') {
        entry.state = 'settled'
        this.#note(entry.subject, decision.operation, entry)
        return []
      }
      const { mutation, isAdoption } = decision
      const refused = this.#refusalOf(entry)
      if (refused) {
        this.#refused.set(entry.subject, refused)
        throw refused.error
      }
      if (mutation.why === 'missing' && !this.#mayCreate(entry)) return []
      const operation = isAdoption ? 'adopted' : operations[mutation.why]
      return [{ entry, mutation, operation }]
    } catch (error) {
      entry.state = 'failed'
      this.#fail(error, entry.subject)
      return []
    }
  }

  /** The same was refused for good, and nothing has changed since: looking again is no reason to ask again. */
  #refusalOf(entry: Entry<CR>): Refused | undefined {
    const refused = this.#at.memory.refused.get(entry.subject)
    const { hash, resourceVersion, crVersion } = this.#standing(entry)
    const isSame =
      refused?.hash === hash && refused.resourceVersion === resourceVersion && refused.crVersion === crVersion
    return isSame ? refused : undefined
  }

  #standing({ desired, live }: Entry<CR>): Omit<Refused, 'error'> {
    return {
      hash: desired?.hash ?? '',
      resourceVersion: live?.metadata.resourceVersion ?? '',
      crVersion: this.#at.cr.metadata.resourceVersion ?? '',
    }
  }

  #mayCreate(entry: Entry<CR>): boolean {
    const { maxCreations = Infinity } = this.#at.controller.options
    if (this.#creations < maxCreations) {
      this.#creations++
      return true
    }
    entry.state = 'settled'
    this.#note(entry.subject, 'delayed', entry)
    this.#waiting ??= `${entry.subject} comes later: no more than ${maxCreations} objects are created at once.`
    this.#requeue(creationDelayMs)
    return false
  }

  /** What keeps an entry from being written. */
  #obstacle({ resource, context }: Entry<CR>): string | undefined {
    for (const id of resource.dependsOn) {
      for (const other of this.#entries) {
        if (other.resource.id !== id) continue
        if (other.state === 'failed') return `${other.subject}, which failed`
        const { status, message } = healthOfEntry(other)
        if (other.state === 'open') return `${other.subject}, which is still to be written`
        if (status !== 'Current') return `${other.subject}: ${message}`
      }
    }
    const verdict = resource.mayWrite(context)
    return verdict === true ? undefined : verdict
  }

  #settle(entry: Entry<CR>, mutation: Mutation, operation: Operation, outcome: Outcome | undefined): void {
    if (outcome?.result === 'failed') {
      entry.state = 'failed'
      const { retry, reason } = this.#fail(outcome.error, entry.subject)
      if (retry === 'terminal' && !isMendedElsewhere(reason)) {
        this.#refused.set(entry.subject, { ...this.#standing(entry), error: outcome.error })
      }
      return
    }
    const before = entry.live?.metadata.resourceVersion
    const { object, hash } = entry.desired!
    entry.live = outcome?.object ?? object
    entry.state = 'settled'
    const { resourceVersion } = entry.live.metadata
    const fields = mutation.verb === 'apply' ? mutation.fields : undefined
    this.#note(entry.subject, operation, entry, fields)
    // The server keeps it in words of its own, or says that nothing has changed: asking again would bring no more.
    const isAnswered = outcome?.object !== undefined && resourceVersion !== undefined
    const isOdd =
      isAnswered &&
      (resourceVersion === before ||
        differences(json(entry.live), json(object), typingOf(entry.resource.kind)).length > 0)
    if (isOdd) this.#settled.set(entry.subject, { hash, resourceVersion })
    else this.#settled.delete(entry.subject)
  }

  #noteWaiting(entry: Entry<CR>): void {
    if (entry.state !== 'open') return
    const told = this.#obstacle(entry)
    // Nothing but the number of waves keeps it: no event will tell of that.
    if (told === undefined) this.#requeue(0)
    const obstacle = told ?? 'its turn'
    this.#waiting ??= `${entry.subject} waits for ${obstacle}`
    this.#note(entry.subject, 'waiting', entry, undefined, obstacle)
  }

  async *#prune(): AsyncGenerator<Wave, void, readonly Outcome[]> {
    // After a failure nobody knows what is wanted: what is there stays.
    if (this.#failure) return
    const kinds = this.#prunedKinds()
    const planned = prunable(this.#at.view, this.#cr, kinds, this.#entries, this.#mark)
    if (planned.length === 0) return
    const outcomes = yield planned
    for (const [index, mutation] of planned.entries()) this.#noteDeletion(mutation, outcomes[index], 'pruned')
  }

  /** Where objects that are no longer wanted may be: the kinds of all resources, and of what free style may write. */
  #prunedKinds(): readonly ResourceDefinition<CR>[] {
    const { kind: owner, options } = this.#at.controller
    const free = kindsOf((options.writes ?? []).map(inputOf)).flatMap((kind): readonly ResourceDefinition<CR>[] => {
      const near = defineResource<CR, KubeObject>({ for: owner, kind })
      return near.ownership === 'label' || !owner.namespaced ? [near] : [near, this.#elsewhere(kind)]
    })
    return [...this.#registered, ...free]
  }

  /** A kind whose objects may be in any namespace. */
  #elsewhere(kind: TypedResource): ResourceDefinition<CR> {
    return defineResource<CR, KubeObject>({ for: this.#at.controller.kind, kind, namespace: () => '' })
  }

  #noteDeletion(mutation: Mutation, outcome: Outcome | undefined, operation: Operation): void {
    if (outcome?.result === 'failed') this.#fail(outcome.error, mutation.subject)
    else this.#note(mutation.subject, operation, { resource: { kind: mutation.resource }, name: nameOf(mutation) })
  }

  async *#finalize(): AsyncGenerator<Wave, void, readonly Outcome[]> {
    const { options } = this.#at.controller
    if (options.application && !(yield* this.#endLife())) return
    if (options.finalize) {
      const verdict = await this.#author(() => options.finalize!(this.#context))
      if (verdict !== 'done') {
        if (typeof verdict !== 'object') {
          throw new OperatorError('InvalidFinalization', 'finalize() must return "done" or what it waits for.', {
            retry: 'terminal',
          })
        }
        this.#waiting = verdict.waitingFor
        this.#requeue(verdict.afterMs ?? 10_000)
        return
      }
    }
    const left = this.#prunedKinds().flatMap((resource) =>
      resource.ownership === 'label'
        ? made(this.#at.view, this.#cr, resource, this.#mark).map((object) => ({ resource, object }))
        : [],
    )
    const doomed = left.filter(({ object }) => object.metadata.deletionTimestamp === undefined)
    if (doomed.length > 0) {
      const wave: Wave = doomed.map(({ resource, object: { metadata } }) => ({
        verb: 'delete',
        subject: resource.id,
        resource: resource.kind,
        name: { name: metadata.name ?? '', namespace: metadata.namespace },
        uid: metadata.uid ?? '',
        why: 'finalized',
      }))
      const outcomes = yield wave
      let isLeft = left.length > doomed.length
      for (const [index, mutation] of wave.entries()) {
        const outcome = outcomes[index]
        this.#noteDeletion(mutation, outcome, 'deleted')
        if (outcome?.result === 'failed' || outcome?.object) isLeft = true
      }
      if (this.#failure) return
      if (isLeft) {
        this.#waiting = 'what was made for it is still being deleted'
        return
      }
    } else if (left.length > 0) {
      this.#waiting = 'what was made for it is still being deleted'
      return
    }
    const finalizers = (this.#cr.metadata.finalizers ?? []).filter((name) => name !== this.#finalizer)
    yield* this.#setFinalizers(finalizers, 'removed')
    this.#isGone = true
  }

  /** An application is brought to its end before what it runs on is taken away. */
  async *#endLife(): AsyncGenerator<Wave, boolean, readonly Outcome[]> {
    const { application } = this.#at.controller.options
    if (!application) return true
    await this.#observe()
    this.#stepLife()
    if (!application.isPresent(this.#cr)) yield* this.#prune()
    await this.#act()
    const { status, message } = this.#life!.condition
    if (status !== 'True') this.#waiting = `the application: ${message}`
    return status === 'True' && !this.#failure
  }

  async #succeed(): Promise<void> {
    const { options } = this.#at.controller
    if (this.#isFinalizing) return
    this.#report =
      (await this.#author(() => options.status?.(this.#reportContext()))) ?? this.#report ?? ({} as Report<CR>)
  }

  async *#conclude(): AsyncGenerator<Wave, Conclusion, readonly Outcome[]> {
    const { backOff } = this.#at.controller
    if (!this.#isGone) yield* this.#writeStatus()
    let failures = noFailures
    if (this.#failure) {
      const failure = this.#failure.retry === 'terminal' ? (this.#passing ?? this.#failure) : this.#failure
      failures = countFailure(this.#at.memory.failures, failure)
      // Whatever else was to be done soon waits, too: it would only fail again.
      this.#requeueAfterMs = retryDelay(failure, failures, backOff) ?? this.#requeueAfterMs
    }
    return { ledger: this.#close(), memory: { failures, settled: this.#settled, refused: this.#refused } }
  }

  async *#writeStatus(): AsyncGenerator<Wave, void, readonly Outcome[]> {
    const mutation = statusWrite({
      kind: this.#at.controller.kind,
      cr: this.#cr,
      report: this.#report,
      reports: this.#at.controller.reports,
      life: this.#life,
      ledger: this.#close(),
      settled: this.#settled.get('status'),
    })
    if (!mutation) return
    const [outcome] = yield [mutation.write]
    if (outcome?.result === 'failed') {
      // The trouble that there was comes first; this one will be met again.
      if (!this.#failure) this.#fail(outcome.error, 'cr')
      return
    }
    this.#note('cr', 'statusWritten', undefined, mutation.fields)
    const { resourceVersion } = outcome?.object?.metadata ?? {}
    const isNothing = resourceVersion !== undefined && resourceVersion === this.#cr.metadata.resourceVersion
    if (isNothing) this.#settled.set('status', { hash: mutation.hash, resourceVersion })
    else this.#settled.delete('status')
  }

  #close(): Ledger {
    const { namespace, name = '', generation = 0 } = this.#cr.metadata
    const health = new Map<string, Health>()
    if (!this.#isFinalizing) for (const entry of this.#entries) health.set(entry.subject, healthOfEntry(entry))
    if (this.#life) health.set('application', healthOfLife(this.#life))
    return {
      ...this.#owner,
      key: namespace === undefined ? name : `${namespace}/${name}`,
      generation,
      path: [...this.#path],
      entries: [...this.#ledger],
      health,
      isFinalizing: this.#isFinalizing,
      startedAt: this.#startedAt,
      stepsAt: [...this.#stepsAt],
      ...(this.#failure && { failure: this.#failure }),
      ...(this.#waiting !== undefined && { waiting: this.#secrets.hide(this.#waiting) }),
      ...(this.#requeueAfterMs !== undefined && { requeueAfterMs: this.#requeueAfterMs }),
    }
  }

  get #place(): string {
    return `${this.#owner.operator}, controller ${this.#owner.controller}`
  }

  get #mark(): string {
    return `${this.#owner.operator}.${this.#owner.controller}`
  }

  #author<T>(run: () => T | Promise<T>): Promise<T> {
    const { clock, controller, marks } = this.#at
    const { timeoutMs } = controller
    return runAuthorCode({ place: `${this.#place}, step ${this.#step}`, clock, timeoutMs, marks }, run)
  }

  #reportContext(): ReportContext<CR, Config> {
    const all = <T extends KubeObject>({ id }: ResourceDefinition<CR, T>): readonly T[] =>
      this.#entries.flatMap(({ resource, live }) => (resource.id === id && live ? [live as unknown as T] : []))
    return { ...this.#context, all, own: (resource) => all(resource)[0] }
  }

  #stepContext(): StepContext<CR, Config> {
    const wanted = (): StepContext<CR>['wanted'] =>
      new Map(this.#entries.flatMap(({ subject, desired }) => (desired ? [[subject, desired.object]] : [])))
    return {
      ...this.#reportContext(),
      register: (resource) => void this.#registered.push(resource),
      // As it is when it is asked for: after next() there is more.
      get wanted() {
        return wanted()
      },
      want: (subject, object) => {
        const entry = this.#entries.find((other) => other.subject === subject)
        if (!entry) throw new MusterError('InvalidResource', `${this.#place} has no ${subject}.`)
        entry.desired = {
          subject,
          ...marked(json(object), entry.resource.scope, markOwner(entry.resource, this.#cr, this.#owner)),
        }
      },
      requeueAfter: (ms) => this.#requeue(ms),
      failure: this.#failure,
    }
  }

  #requeue(ms: number): void {
    if (Number.isNaN(ms))
      throw new MusterError(
        'InvalidController',
        `${this.#place}, step ${this.#step}: asks to be run again after NaN ms.`,
      )
    this.#requeueAfterMs = Math.min(ms, this.#requeueAfterMs ?? Infinity)
  }

  /** The first failure is the one that is told, unless it was a mere conflict; each is in the ledger. */
  #fail(error: unknown, subject: string): Failure {
    const told = failureOf(explainAuthorError(error, `${this.#place}, step ${this.#step}`), this.#step, subject)
    const failure = { ...told, message: this.#secrets.hide(told.message) }
    const operation = failure.gaveUp ? 'gaveUp' : 'failed'
    this.#ledger.push({ step: this.#step, subject, operation, message: failure.message })
    this.#stepFailure ??= failure
    if (failure.retry !== 'terminal') this.#passing ??= failure
    if (!this.#failure || (this.#failure.retry === 'conflict' && failure.retry !== 'conflict')) this.#failure = failure
    return failure
  }

  #note(
    subject: string,
    operation: Operation,
    entry?: { readonly resource: Pick<ResourceDefinition<CR>, 'kind'>; readonly name: Entry<CR>['name'] },
    fields?: readonly string[],
    message?: string,
  ): void {
    this.#ledger.push({
      step: this.#step,
      subject,
      operation,
      ...(entry && { kind: kindText(entry.resource.kind), name: entry.name }),
      ...(fields && { fields }),
      ...(message !== undefined && { message: this.#secrets.hide(message) }),
    })
  }
}

const operations = { missing: 'created', changed: 'updated', drifted: 'corrected' } as const

function healthOfLife({ condition }: LifecycleStep): Health {
  const { status, reason, message = '' } = condition
  return { status: status === 'True' ? 'Current' : reason === 'Failed' ? 'Failed' : 'InProgress', reason, message }
}

function json(object: KubeObject): JsonObject {
  return object as unknown as JsonObject
}
