/**
 * A dry run of an operator. Its reconciles run on the real caches; their writes are not sent, but assumed to have
 * succeeded, so that later waves and other controllers of the operator continue from there, until nothing changes any
 * more.
 *
 * Nothing is written: there is no executor here at all. Live calls (commands in containers, calls to applications) fail
 * with `NeedsCluster`, since their effect is unknown. A reconcile that waits for readiness keeps waiting: the plan says
 * so, and shows the rest.
 */
import type { SharedCache } from '../../cache/shared-cache.ts'
import type { Subscription } from '../../cache/subscription.ts'
import type { Client } from '../../client/client.ts'
import type { Clock } from '../../clock/clock.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { equalJson, type JsonObject } from '../../kube/json.ts'
import { clientErrors } from '../../client/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { formatApiVersion, formatResource, type Resource } from '../../kube/kind.ts'
import { nearest } from '../../kube/text/nearest.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import type { Controller } from '../../operator/controller.ts'
import { directDecisions } from '../../operator/coordinator/direct-decisions.ts'
import type { DecisionSource } from '../../operator/coordinator/decisions.ts'
import type { Ledger } from '../../operator/ledger.ts'
import { offline } from '../../operator/live.ts'
import type { Operator } from '../../operator/operator.ts'
import { mutationName, type MutationOutcome, type Wave } from '../../operator/plan.ts'
import { type Memory, noMemory } from '../../operator/reconcile.ts'
import {
  type InputChange,
  readConcerns,
  type ObjectName,
  openView,
  type ViewRead,
  type ViewSource,
} from '../../operator/view/view.ts'
import { DecisionReaders } from '../coordinators/decision-readers.ts'
import { runReconcile } from '../run/run-reconcile.ts'
import { isPausedObject } from '../run/paused.ts'
import { createTaskRunner, type TaskRunner } from '../tasks/task-runner.ts'
import { assume } from './assumption.ts'
import { type FieldChange, fieldChanges } from './field-change.ts'
import { mask, maskText, meetSecrets, noting } from './mask.ts'
import { overlayKey, overlayOn } from './overlay.ts'

export interface DryRunOptions {
  readonly operator: Operator
  readonly client: Client
  readonly cache: SharedCache
  readonly clock?: Clock
  /** Values for the `config` that the operator declares. @default its defaults */
  readonly config?: Readonly<Record<string, unknown>>
  /** Namespaces that the operator watches. @default all */
  readonly namespaces?: readonly string[]
  /** CRs to plan for: `namespace/name`, or a name in any namespace. @default all */
  readonly crs?: readonly string[]
  /** How long to wait for the caches. @default 30_000 */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

export interface OperatorPlan {
  readonly operator: string
  /** One for each object, in the order of the first writes. */
  readonly changes: readonly PlannedChange[]
  /** One for each reconciled CR. */
  readonly crs: readonly PlannedCr[]
}

/** The object before, and after all writes. Secrets are masked. */
export interface PlannedChange {
  /** The CR that it is written for: `namespace/name`. */
  readonly cr: string
  readonly controller: string
  readonly action: 'create' | 'change' | 'delete'
  readonly object: {
    readonly apiVersion: string
    readonly kind: string
    readonly namespace?: string
    readonly name: string
  }
  readonly fields: readonly FieldChange[]
  readonly before?: JsonObject
  readonly after?: JsonObject
}

export interface PlannedCr {
  readonly cr: string
  readonly kind: string
  readonly controller: string
  /** `paused`: nothing is done for it. `unsettled`: it still made changes when the dry run stopped. */
  readonly outcome: 'settled' | 'waiting' | 'failed' | 'paused' | 'unsettled'
  /** What it waits for, or why it fails. */
  readonly message?: string
}

/** One CR of one controller. */
interface PlanTarget {
  readonly controller: Controller
  readonly key: string
}

/** Reconciles of one CR: an operator that needs more may never converge. */
const mostRuns = 16

/** @throws KindNotServed, NotFound, SyncTimeout */
export async function dryRun(options: DryRunOptions): Promise<OperatorPlan> {
  const { operator, clock = systemClock } = options
  const { source: base, close } = await openCaches(options)
  const tasks = createTaskRunner({ clock, runBlocking: (_key, work) => work() })
  try {
    return await walk(options, base, operator.config?.read(options.config ?? {}) ?? {}, clock, tasks)
  } finally {
    await tasks.close()
    close()
  }
}

async function walk(
  options: DryRunOptions,
  base: ViewSource,
  config: unknown,
  clock: Clock,
  tasks: TaskRunner,
): Promise<OperatorPlan> {
  const { operator, crs } = options
  // Loaded on demand: the defaults of all built-in kinds.
  const { filledIn } = await import('./filling.ts')
  const overlay = overlayOn(base)
  const secrets = meetSecrets()
  const source = noting(overlay, secrets)
  const decisions = directDecisions({ coordinators: operator.coordinators, source, config, now: clock.now() })
  const readers = new DecisionReaders()
  const targets = new Map<string, PlanTarget>()
  const runs = new Map<string, number>()
  const memories = new Map<string, Memory>()
  const reads = new Map<string, readonly ViewRead[]>()
  const found = new Map<string, PlannedCr>()
  const written = new Map<
    string,
    { readonly resource: Resource; readonly name: ObjectName; readonly target: PlanTarget }
  >()
  const due = new Set<string>()

  const idOf = ({ controller, key }: PlanTarget): string => `${controller.name} ${key}`
  const add = (target: PlanTarget): void => {
    const id = idOf(target)
    targets.set(id, target)
    due.add(id)
  }

  /** An assumed write enqueues the keys that read the object, and new CRs. */
  const dispatch = (change: InputChange, by: string): void => {
    for (const [id, seen] of reads) if (id !== by && seen.some((read) => readConcerns(read, change))) due.add(id)
    const object = change.after ?? change.before
    if (object) decisions.note(change.resource, { name: '', ...object.metadata }, change.after)
    for (const controller of operator.controllers) {
      if (!object || formatResource(controller.kind) !== formatResource(change.resource)) continue
      const target = { controller, key: overlayKey(object.metadata) }
      const isNew = change.before === undefined
      if (idOf(target) !== by && (isNew || targets.has(idOf(target)))) add(target)
    }
  }

  const decisionsFor = (id: string): DecisionSource => ({
    decision(coordinator, key) {
      readers.add(id, coordinator.name, key)
      return decisions.decision(coordinator, key)
    },
  })

  const assumed = (wave: Wave, target: PlanTarget): readonly MutationOutcome[] =>
    wave.map((mutation): MutationOutcome => {
      const { resource } = mutation
      const name = mutationName(mutation)
      const before = overlay.get(resource, name) as UntypedObject | undefined
      // The caches of a dry run hold all objects of a kind, the view shows those of the operator.
      if (before && mutation.verb === 'apply' && mutation.why === 'missing') return { result: 'exists', object: before }
      try {
        const after = assume(mutation, before, { fieldManager: operator.name, now: clock.now(), fill: filledIn })
        if (after !== before) {
          overlay.write(resource, name, after)
          secrets.note(after)
          const place = `${formatResource(resource)} ${overlayKey(name)}`
          if (!written.has(place)) written.set(place, { resource, name, target })
          dispatch({ resource, before, after }, idOf(target))
        }
        return { result: 'done', ...(after && { object: after }) }
      } catch (error) {
        return { result: 'failed', error }
      }
    })

  const run = async (target: PlanTarget): Promise<void> => {
    const { controller, key } = target
    const id = idOf(target)
    const cr = overlay.get(controller.kind, parseKey(key))
    if (!cr) return
    const at = { cr: shownKey(key), kind: controller.kind.kind, controller: controller.name }
    if (isPausedObject(cr)) {
      found.set(id, { ...at, outcome: 'paused' })
      return
    }
    const times = (runs.get(id) ?? 0) + 1
    runs.set(id, times)
    if (times > mostRuns) {
      found.set(id, { ...at, outcome: 'unsettled', message: `it was still changing after ${mostRuns} reconciles.` })
      return
    }
    const view = openView({
      source,
      reader: `${operator.name}, controller ${controller.name}`,
      inputs: controller.declaredInputs,
      given: { resource: controller.kind, object: cr },
    })
    // It waits for its tasks, so there is nothing to wake.
    const caller = tasks.openCaller(() => undefined)
    const situation = {
      operator: operator.name,
      controller,
      cr,
      view,
      clock,
      config,
      live: offline,
      tasks: caller,
      decisions: decisionsFor(id),
      memory: memories.get(id) ?? noMemory,
    }
    const { ledger, memory } = await runReconcile(situation, (wave) => Promise.resolve(assumed(wave, target)))
    caller.end('done')
    memories.set(id, memory)
    reads.set(id, view.reads)
    found.set(id, { ...at, ...outcomeOf(ledger, secrets.values) })
    if (isGoingOn(ledger)) due.add(id)
    // An assumed write may change decisions.
    for (const [{ name }, keys] of decisions.decide()) for (const reader of readers.of(name, keys)) due.add(reader)
  }

  for (const target of chosen(operator, base, crs)) add(target)
  // One after the other: a plan has an order.
  for (const id of due) {
    options.signal?.throwIfAborted()
    due.delete(id)
    await run(targets.get(id)!)
  }

  const changes = [...written.values()].flatMap(({ resource, name, target }): readonly PlannedChange[] => {
    const [before, after] = [base.get(resource, name), overlay.get(resource, name)].map(
      (object) => object && shown(object),
    )
    if (equalJson(before, after)) return []
    const pair = mask({ before, after }, secrets.values)
    const isDeletion = !after || (isGoing(after) && !isGoing(before))
    return [
      {
        cr: shownKey(target.key),
        controller: target.controller.name,
        action: isDeletion ? 'delete' : before ? 'change' : 'create',
        object: {
          apiVersion: formatApiVersion(resource),
          kind: resource.kind,
          ...(name.namespace !== undefined && { namespace: name.namespace }),
          name: name.name,
        },
        fields: before && after ? fieldChanges(pair.before, pair.after) : [],
        ...(pair.before && { before: pair.before }),
        ...(pair.after && { after: pair.after }),
      },
    ]
  })
  return { operator: operator.name, changes, crs: [...found.values()] }
}

/** The requested CRs. */
function chosen(
  { controllers }: Operator,
  source: ViewSource,
  crs: readonly string[] | undefined,
): readonly PlanTarget[] {
  const all = controllers.flatMap((controller) =>
    source.list(controller.kind).map(({ metadata }): PlanTarget => ({ controller, key: overlayKey(metadata) })),
  )
  if (!crs || crs.length === 0) return all
  return crs.flatMap((wanted) => {
    const matching = all.filter(({ key }) => shownKey(key) === wanted || parseKey(key).name === wanted)
    if (matching.length > 0) return matching
    const kinds = controllers.map(({ kind }) => kind.kind).join(' or ')
    const near = nearest(
      wanted,
      all.map(({ key }) => shownKey(key)),
    )
    const hint = near === undefined ? '' : ` Did you mean "${near}"?`
    throw new MusterError(clientErrors.NotFound, `there is no ${kinds} "${wanted}".${hint}`)
  })
}

/** Whether the ledger asks for another reconcile right away. */
function isGoingOn({ entries, failure, requeueAfterMs }: Ledger): boolean {
  if (failure) return false
  return requeueAfterMs === 0 || entries.some(({ operation }) => operation === 'delayed')
}

function outcomeOf({ failure, waiting }: Ledger, values: ReadonlySet<string>): Pick<PlannedCr, 'outcome' | 'message'> {
  if (failure) {
    const message = `${failure.step}, ${failure.subject}: ${failure.message}`
    return { outcome: 'failed', message: maskText(message, values) }
  }
  return waiting === undefined ? { outcome: 'settled' } : { outcome: 'waiting', message: maskText(waiting, values) }
}

/** Without fields that only the server writes. */
function shown(object: KubeObject): JsonObject {
  const { metadata, ...rest } = object
  const { managedFields: _m, resourceVersion: _r, uid: _u, generation: _g, creationTimestamp: _c, ...meta } = metadata
  return { ...rest, metadata: meta } as unknown as JsonObject
}

function isGoing(object: JsonObject | undefined): boolean {
  return (object as unknown as KubeObject | undefined)?.metadata.deletionTimestamp !== undefined
}

function parseKey(key: string): { readonly namespace: string | undefined; readonly name: string } {
  const slash = key.indexOf('/')
  return { namespace: key.slice(0, slash) || undefined, name: key.slice(slash + 1) }
}

/** `a` for a cluster-scoped object. */
function shownKey(key: string): string {
  return key.replace(/^\//, '')
}

async function openCaches(
  options: DryRunOptions,
): Promise<{ readonly source: ViewSource; readonly close: () => void }> {
  const { operator, client, cache, namespaces, timeoutMs = 30_000, signal } = options
  const served = await Promise.all(operator.inputs.map((input) => client.discovery.resourceFor(input)))
  const missing = operator.controllers.find(({ kind }) => {
    const at = operator.inputs.findIndex((input) => formatResource(input) === formatResource(kind))
    return !served[at]
  })
  if (missing) {
    const { kind } = missing
    throw new MusterError(
      clientErrors.KindNotServed,
      `${kind.kind} (${formatResource(kind)}) is not installed: nothing can be planned.`,
    )
  }
  const open = new Map<string, Subscription>()
  const close = (): void => {
    for (const subscription of open.values()) subscription.close()
  }
  try {
    for (const [index, input] of operator.inputs.entries()) {
      if (!served[index]) continue
      open.set(
        formatResource(input),
        // Ownership of fields decides which ones an apply removes.
        cache.subscribe(input, { consumer: 'plan', managedFields: true, ...(namespaces && { namespaces }) }),
      )
    }
    const limits = { timeoutMs, ...(signal && { signal }) }
    await Promise.all([...open.values()].map((subscription) => subscription.synced(limits)))
  } catch (error) {
    close()
    throw error
  }
  const of = (resource: Resource): Subscription | undefined => open.get(formatResource(resource))
  return {
    close,
    source: {
      get: (resource, name) => of(resource)?.get(name),
      list: (resource, namespace) => of(resource)?.list(namespace) ?? [],
      byOwner: (resource, uid) => of(resource)?.byOwner(uid) ?? [],
      serves: (resource) => of(resource) !== undefined,
    },
  }
}
