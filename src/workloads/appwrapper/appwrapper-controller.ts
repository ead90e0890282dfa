/**
 * The controller of AppWrappers: it creates, watches and deletes the wrapped objects, as the phase machine says, and writes the
 * next phase. What it may start the queue decides (`queue-coordinator.ts`).
 */
import type { Health } from '../../kube/meta/health.ts'
import { Node } from '../../kube/kinds.ts'
import { parseTime } from '../../kube/units/duration.ts'
import { type Controller, defineController, type ReportContext } from '../../operator/controller.ts'
import type { Coordinator } from '../../operator/coordinator/coordinator.ts'
import type { NeedsConfig } from '../../operator/config.ts'
import type {
  EmbeddedObject,
  EmbeddedReport,
  EmbeddedSet,
  EmbeddingContext,
} from '../../operator/embedded/embedded-set.ts'
import { failureOf, isAuthFailure } from '../../operator/failure.ts'
import { fields } from '../../operator/view/projected-input.ts'
import { phaseSettings } from '../core/phases/phase-settings.ts'
import { intentOf, stepPhase } from '../core/phases/phase-machine.ts'
import {
  type Life,
  noPods,
  type PhaseInput,
  type PhaseWishes,
  type PodCounts,
  type QueueDecision,
} from '../core/phases/phases.ts'
import { workloadsConfig, type WorkloadsSettings } from '../configuration/workloads-config.ts'
import { AppWrapper, type AppWrapperObject } from './appwrapper.ts'
import { faultToleranceOf } from './fault-tolerance.ts'
import { ownManager, uidLabel } from './labels.ts'
import { type AppWrapperReport, isOfMcad, lifeOf, reportOf } from './life-status.ts'
import {
  countPods,
  type CreationProblem,
  liveObjects,
  podsIn,
  sickness,
  wrappedKinds,
  wrappedStates,
} from './observation.ts'
import { wrappedObjects } from './wrapped-objects.ts'
import { expectedIn, malformation } from './wrapped-pods.ts'

type Context = ReportContext<AppWrapperObject, WorkloadsSettings>
type ObjectsContext = EmbeddingContext<AppWrapperObject, WorkloadsSettings>

/** What a reconcile has seen before it wrote. */
interface Seen {
  readonly life: Life
  readonly input: Omit<PhaseInput, 'objects' | 'hasLeftovers'>
  /** Why nothing of it can be created. */
  readonly problem?: CreationProblem
}

/** Whether it is ready is said by its pods (`waitText`). */
const written: Health = { status: 'Current', reason: 'Written', message: 'It exists.' }
const pod = { group: '', version: 'v1', kind: 'Pod' } as const

export function appWrapperController(
  queue: Coordinator<QueueDecision>,
): Controller<AppWrapperObject, WorkloadsSettings> & NeedsConfig<WorkloadsSettings> {
  /** By the CR of a reconcile, which is the same object in all of its steps. */
  const seen = new WeakMap<AppWrapperObject, Seen>()
  return defineController({
    for: AppWrapper,
    config: workloadsConfig,
    reads: [fields(Node, [])],
    coordinators: [queue],
    embeds: {
      label: uidLabel,
      async objects(context) {
        if (context.isFinalizing) return await removed(context)
        if (!isOurs(context.cr) || isOfMcad(context.cr)) return undefined
        const look = await see(context, queue)
        seen.set(context.cr, look)
        return objectsFor(context, look, (problem) => seen.set(context.cr, { ...look, problem }))
      },
    },
    async status(context) {
      if (!isOurs(context.cr)) context.waitFor(`It is managed by ${context.cr.spec.managedBy}.`)
      if (isOfMcad(context.cr))
        context.waitFor('MCAD has dispatched it: its objects stay as they are until it is deleted.')
      const look = seen.get(context.cr)
      seen.delete(context.cr)
      return look && (await next(context, look))
    },
    deletionStatus: ({ cr }) => terminating(cr),
  })
}

function isOurs({ spec: { managedBy } }: AppWrapperObject): boolean {
  return managedBy === undefined || managedBy === ownManager
}

function setOf({ metadata }: AppWrapperObject): Pick<EmbeddedSet, 'holder' | 'namespace' | 'drift' | 'waits'> {
  return { holder: metadata.uid ?? '', namespace: metadata.namespace, drift: 'ignore', waits: false }
}

async function see(context: ObjectsContext, queue: Coordinator<QueueDecision>): Promise<Seen> {
  const { cr, now, held, view, config } = context
  const decision = context.decision(queue, cr.metadata.uid ?? '')
  const life = lifeOf(cr, now)
  const settings = phaseSettings(cr.metadata.annotations, faultToleranceOf(config.appwrapper))
  const hasPods = life.isDeployed || life.phase === 'Resuming'
  const pods: PodCounts = hasPods
    ? countPods(await podsIn(cr, held), sickness(view, config.appwrapper.autopilot))
    : noPods
  let expected = 0
  let problem: CreationProblem | undefined
  try {
    expected = expectedIn(cr)
  } catch (error) {
    problem = problemOf(error)
  }
  const input = { wishes: wishesOf(cr, expected), settings, pods, decision, now }
  return { life, input, ...(problem && { problem }) }
}

function wishesOf({ spec }: AppWrapperObject, expectedPods: number): PhaseWishes {
  const { suspend = false, scheduling = {}, lifeCycle } = spec
  const { minAvailable = 0, requeuing = {}, dispatchDuration } = scheduling
  return {
    isSuspended: suspend,
    lifeCycle: lifeCycle === 'Requeue' ? 'requeue' : 'reset',
    expectedPods,
    minAvailable: Math.max(minAvailable, 0),
    requeuing,
    limitSeconds: dispatchDuration?.limit,
  }
}

/** The objects that the stored phase asks for. */
function objectsFor(
  { cr, config }: ObjectsContext,
  { life, input, problem }: Seen,
  onProblem: (problem: CreationProblem) => void,
): EmbeddedSet | undefined {
  const intent = intentOf(life, input)
  if (intent.what === 'delete') return { ...setOf(cr), phases: [], prune: removal(cr, intent.isForced, input.pods) }
  if (intent.what === 'nothing') return undefined
  // Nothing is created unless all of it can be.
  if (problem || cr.spec.components?.some((component) => malformation(component) !== undefined)) return undefined
  try {
    const objects = wrappedObjects(cr, config.appwrapper, life.placements)
    return {
      ...setOf(cr),
      missing: intent.what === 'watch' ? 'report' : 'create',
      phases: objects.map((object, index): { name: string; objects: readonly EmbeddedObject[] } => ({
        name: `component ${index}`,
        objects: [{ object, policy: 'create', health: () => written }],
      })),
    }
  } catch (error) {
    onProblem(problemOf(error))
    return undefined
  }
}

/** What it waits for. The words are the same as long as the reason is: amounts change all the time. */
function waitText({ phase, why, pods }: Life): string | undefined {
  switch (phase) {
    case 'Suspended':
      return why.message
    case 'Resuming':
      return 'Its pods have to start.'
    case 'Running':
      return pods?.areReady === true ? undefined : 'Its pods have to start.'
    case 'Resetting':
    case 'Suspending':
      return 'Its objects have to be gone.'
    case 'Failed':
      return `It has failed: ${why.message}`
    default:
      return undefined
  }
}

function removal(cr: AppWrapperObject, isForced: boolean, pods: PodCounts): NonNullable<EmbeddedSet['prune']> {
  const hasPods = pods.pending + pods.running + pods.succeeded + pods.failed > 0
  return {
    kinds: wrappedKinds(cr),
    derived: [pod],
    toNothing: true,
    // By force: pods first, then what makes them.
    forces: ({ kind }) => isForced && (kind === 'Pod' || !hasPods),
    rank: () => 0,
  }
}

async function removed(context: ObjectsContext): Promise<EmbeddedSet> {
  const { cr, now, config, held } = context
  const settings = phaseSettings(cr.metadata.annotations, faultToleranceOf(config.appwrapper))
  const since = parseTime(cr.metadata.deletionTimestamp ?? '') ?? now
  // Pods that have succeeded hold nothing: the garbage collector takes them.
  if (lifeOf(cr, now).phase === 'Succeeded')
    return { ...setOf(cr), phases: [], prune: { kinds: wrappedKinds(cr), toNothing: true } }
  const pods = countPods(await podsIn(cr, held), () => undefined)
  return { ...setOf(cr), phases: [], prune: removal(cr, now >= since + settings.forcefulDeletionGraceMs, pods) }
}

async function next(context: Context, { life, input, problem }: Seen): Promise<AppWrapperReport> {
  const { cr, held, embedded, now } = context
  const live = held && life.isDeployed ? await liveObjects(cr, held) : []
  const pods = held && life.isDeployed ? await podsIn(cr, held) : []
  const objects = wrappedStates(cr, live, (index) => problem ?? embeddedProblem(embedded, index))
  const hasLeftovers = live.length > 0 || pods.length > 0
  const step = stepPhase(life, { ...input, objects, hasLeftovers })
  // What follows from the phase happens when it is stored.
  if (step.entered.length > 0) context.requeueAfter(0)
  if (step.lookAt !== undefined) context.requeueAfter(Math.max(step.lookAt - now, 0))
  const waitsFor = waitText(step.life)
  if (waitsFor !== undefined) context.waitFor(waitsFor)
  const intent = intentOf(step.life, input)
  return reportOf(cr, step.life, step.entered, { isDeleting: intent.what === 'delete' })
}

function embeddedProblem(report: EmbeddedReport | undefined, index: number): CreationProblem | undefined {
  const state = report?.phases[index]?.objects[0]
  return state?.problem === undefined ? undefined : problemOf(state.problem)
}

function problemOf(error: unknown): CreationProblem {
  const { message, retry, reason } = failureOf(error, '', '')
  // A right that is missing may be granted.
  return { message, isFatal: retry === 'terminal' && !isAuthFailure(reason) }
}

function terminating({ status }: AppWrapperObject): AppWrapperReport {
  const { conditions, observedGeneration: _, ...rest } = status ?? {}
  const kept = (conditions ?? []).filter(({ type }) => ownConditions.has(type) && type !== 'DeletingResources')
  return {
    ...rest,
    phase: 'Terminating',
    conditions: [
      ...kept,
      { type: 'DeletingResources', status: 'True', reason: 'Deleting', message: 'Its objects are being deleted.' },
    ],
  }
}

const ownConditions: ReadonlySet<string> = new Set([
  'QuotaReserved',
  'ResourcesDeployed',
  'PodsReady',
  'Unhealthy',
  'DeletingResources',
])
