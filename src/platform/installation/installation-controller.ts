/**
 * The controller of Installations: renders the source, stores the result as a Revision, and keeps the objects of the active
 * revision as they are declared. `attempt.ts` decides which revision is active; the kit writes, waits, corrects and deletes
 * (`operator/embedded`).
 */
import { ConfigMap, Secret } from '../../kube/kinds.ts'
import { type GroupVersionKind, kindOf } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { type Controller, defineController, type LiveContext } from '../../operator/controller.ts'
import type { EmbeddedSet, EmbeddingContext } from '../../operator/embedded/embedded-set.ts'
import { neededFields } from '../../operator/embedded/needed-fields.ts'
import { fail, failureOf } from '../../operator/failure.ts'
import type { Task } from '../../operator/task/task.ts'
import { Suspended } from '../../operator/suspended.ts'
import { referenced } from '../../operator/view/input.ts'
import type { ObjectName, View } from '../../operator/view/view.ts'
import type { FixedVersion } from '../../render/source/moving-version.ts'
import { type Choice, choosePinned, isAttemptOver, retained } from './attempt.ts'
import { type OpenedObject, openedObjects } from './break-glass.ts'
import { checkCrds } from './crd-check.ts'
import { waitForDependencies } from './dependencies.ts'
import { hookOf } from '../phase/hook.ts'
import { holderLabel, installationHolder, releasedAnnotation } from './holder.ts'
import { Installation, type InstallationObject } from './installation.ts'
import { hookRun, installedPhases, staysInstalled, isKeptHook, removalRank } from './installed-objects.ts'
import type { RenderedSource, SourceRequest } from './render-source.ts'
import { removal } from './removal.ts'
import { isCreatedOnce } from './object-annotations.ts'
import {
  checkDurations,
  type Decision,
  deletionReport,
  installationReport,
  isRemedying,
  uninstalledReport,
} from './report.ts'
import { storedLookups } from './lookups.ts'
import { storedValues } from './generated-secrets.ts'
import { contentDigest, Revision, type RevisionContent, type RevisionObject } from './revision.ts'
import {
  fixedVersion,
  type ResolvedSource,
  resolvedSource,
  sourcePeriod,
  type VersionRequest,
} from './source-interval.ts'
import { isUpgrading } from './release-revision.ts'
import { accountOf } from './source-request.ts'
import {
  hooksPhase,
  kindsIn,
  knownRevision,
  missingChunks,
  newRevision,
  revisionsOf,
  storedContent,
  storedNumbers,
  storedObjects,
} from './stored-revisions.ts'
import { chosenFor, wantedContent } from './wanted-content.ts'

type InstallationContext = LiveContext<InstallationObject>

type Render = Task<SourceRequest, RenderedSource>
type Resolve = Task<VersionRequest, FixedVersion>

/** A decision, and the objects that record it. */
interface Outcome {
  readonly decision: Decision | Pause
  readonly objects: readonly UntypedObject[]
  readonly requeueAfterMs?: number
}

/** None of its objects is written or deleted now, and the status stays as it is but for its conditions. */
interface Pause {
  /** It is not ready because of this. */
  readonly waitsFor: string
  /** It goes on once its record is written. */
  readonly isRecording?: boolean
}

const namesIn = (path: string) =>
  ({ from: Installation, namePath: path, namespacePath: '$.metadata.namespace' }) as const

export function installationController(render: Render, resolve: Resolve): Controller<InstallationObject> {
  /** By the CR of a reconcile, which is the same object in all of its steps. */
  const decisions = new WeakMap<InstallationObject, Decision | Pause>()
  const opened = new WeakMap<InstallationObject, readonly OpenedObject[]>()
  return defineController({
    for: Installation,
    reads: [
      referenced(ConfigMap, namesIn('$.spec.valuesFrom[?(@.kind=="ConfigMap")].name')),
      referenced(Secret, namesIn('$.spec.valuesFrom[?(@.kind=="Secret")].name')),
      referenced(ConfigMap, namesIn('$.spec.source.kustomize.configMapRef.name')),
      referenced(ConfigMap, namesIn('$.spec.source.manifests.configMapRef.name')),
      referenced(Secret, namesIn('$.spec.source.oci.secretRef.name')),
      referenced(Secret, namesIn('$.spec.source.helm.secretRef.name')),
    ],
    writes: [Revision, Secret],
    tasks: [render, resolve],
    check: ({ cr }) => checkDurations(cr),
    async reconcile(context) {
      const { decision, objects, requeueAfterMs } = await decide(context, render, resolve)
      decisions.set(context.cr, decision)
      const afterMs = Math.min(requeueAfterMs ?? Infinity, sourcePeriod(context.cr, context.now)?.leftMs ?? Infinity)
      return { objects, ...(afterMs !== Infinity && { requeueAfterMs: afterMs }) }
    },
    embeds: {
      label: holderLabel,
      releasedAnnotation,
      objects: async (context) =>
        context.isFinalizing || (context.cr.spec.uninstall && !context.cr.spec.suspend)
          ? await removal(context, setOf(context.cr))
          : await installed(context, decisions.get(context.cr), (objects) => opened.set(context.cr, objects)),
    },
    deletionStatus: deletionReport,
    status(context) {
      if (context.cr.spec.uninstall && !context.cr.spec.suspend) return uninstalledReport(context)
      const decision = decisions.get(context.cr)
      // The CR stays in the cache: the content of its revision must not.
      decisions.delete(context.cr)
      if (decision && isDecided(decision)) return installationReport(context, decision, opened.get(context.cr) ?? [])
      // Not asked for if the record was refused: it would be again.
      if (decision?.isRecording) context.requeueAfter(0)
      return undefined
    },
  })
}

function isDecided(decision: Decision | Pause): decision is Decision {
  return !('waitsFor' in decision)
}

async function decide(context: InstallationContext, render: Render, resolve: Resolve): Promise<Outcome> {
  const { cr, view, now } = context
  const { spec, status = {} } = cr
  const { generation = 0 } = cr.metadata
  // The cache goes on while something is awaited: what was read before is read again.
  const kept = (): readonly UntypedObject[] => [
    ...storedObjects(cr, view),
    ...storedValues(cr, view),
    ...storedLookups(cr, view),
  ]
  const paused = (waitsFor: string, ...added: readonly UntypedObject[]): Outcome => ({
    decision: { waitsFor, isRecording: true },
    objects: [...kept(), ...added],
  })
  if (spec.suspend) {
    const waitsFor = 'It is suspended: nothing is written or deleted until spec.suspend is false.'
    return { decision: { waitsFor }, objects: kept() }
  }
  if (spec.uninstall) return { decision: { waitsFor: 'It is being uninstalled.' }, objects: kept() }
  if (spec.revision !== undefined) {
    const revisions = revisionsOf(cr, view)
    const choice = choosePinned(spec.revision, generation, status, now)
    if (!revisions.some((revision) => revision.spec.number === spec.revision))
      fail('RevisionNotFound', `There is no revision ${spec.revision} of this Installation.`)
    return { decision: decided(choice, revisions, view), objects: kept() }
  }
  let wanted: RevisionContent
  let isLooking: boolean
  let apis: Decision['apis']
  let resolved: ResolvedSource | undefined
  try {
    waitForDependencies(cr, view)
    resolved = await resolvedSource(context, resolve)
    const rendered = await wantedContent(context, render, resolved && fixedVersion(resolved.artifact))
    if ('records' in rendered) return paused(rendered.waitsFor, ...rendered.records)
    wanted = rendered.content
    isLooking = rendered.hasLookups
    apis = rendered.apis
    if (spec.prune) checkNotEmpty(wanted, revisionsOf(cr, view))
    const lastGood = revisionsOf(cr, view).find((revision) => revision.spec.number === status.lastGood)
    const hasBegun = status.attempt?.digest === contentDigest(wanted)
    await checkCrds(wanted, lastGood, { spec, view, held: context.held, as: accountOf(cr), hasBegun })
  } catch (error) {
    return { objects: kept(), ...unchanged(context, revisionsOf(cr, view), error, resolved) }
  }
  const revisions = revisionsOf(cr, view)
  const { version } = wanted
  const digest = contentDigest(wanted)
  const choice = chosenFor(cr, view, wanted, now)
  const { created, active, attempt } = choice
  const numbers = [...storedNumbers(cr, view), ...(created === undefined ? [] : [created])]
  const wantedNumbers = retained(numbers, [active, status.lastGood, attempt.revision], spec.historyLimit)
  const objects = [
    ...storedObjects(cr, view, (number) => wantedNumbers.has(number) && number !== created),
    ...storedValues(cr, view),
    ...(isLooking ? storedLookups(cr, view) : []),
  ]
  if (created !== undefined) objects.push(...newRevision(cr, created, wanted, isUpgrading(cr, created)))
  const stored = revisions.find((one) => one.spec.number === attempt.revision && one.spec.digest === digest)
  // A Secret that was deleted, or that a process that ended had not written yet.
  if (stored) objects.push(...missingChunks(stored, wanted, view))
  const found = { apis, ...(resolved && { resolved }) }
  if (active !== attempt.revision) return { decision: { ...decided(choice, revisions, view), ...found }, objects }
  const revision = { number: active, digest, version }
  return { decision: { choice, content: wanted, revision, revisions, ...found }, objects }
}

/**
 * The source cannot be rendered now: the active revision is kept as it is, so that a registry that is gone does not keep
 * anything from being put back.
 *
 * @throws the error, where there is no active revision
 */
function unchanged(
  { cr, view, now }: InstallationContext,
  revisions: readonly RevisionObject[],
  problem: unknown,
  resolved: ResolvedSource | undefined,
): Pick<Outcome, 'decision' | 'requeueAfterMs'> {
  const active = cr.status?.lastGood
  // A render that is under way is no problem.
  if (problem instanceof Suspended || !revisions.some(({ spec }) => spec.number === active)) throw problem
  const attempt = cr.status?.attempt
  const { generation = 0 } = cr.metadata
  const choice = { ...choosePinned(active!, generation, cr.status ?? {}, now), ...(attempt && { attempt }) }
  const { retry } = failureOf(problem, '', '')
  const decision = decidedUnless(problem, () => decided(choice, revisions, view))
  return {
    // An artifact that cannot be rendered is not the one that is installed.
    decision: { ...decision, problem, ...(resolved?.problem !== undefined && { resolved }) },
    ...(retry !== 'terminal' && { requeueAfterMs: retryMs }),
  }
}

/**
 * A source that suddenly has no objects is more likely broken than meant: what is installed stays, and the Installation says so.
 *
 * @throws NothingRendered
 */
function checkNotEmpty({ items }: RevisionContent, revisions: readonly RevisionObject[]): void {
  if (items.some(({ object }) => hookOf(object) === undefined)) return
  const hasObjects = revisions.some(({ spec }) => spec.phases.some(({ name }) => name !== hooksPhase))
  if (!hasObjects) return
  fail(
    'NothingRendered',
    'The source has no objects any more; those of earlier revisions are not deleted because of that. Correct the source or its values; ' +
      'delete the Installation to remove its objects, or set spec.prune to false to leave them behind.',
  )
}

/** The first problem says more than that its consequences fail, too. */
function decidedUnless(problem: unknown, decision: () => Decision): Decision {
  try {
    return decision()
  } catch {
    throw problem
  }
}

const retryMs = 30_000

function decided(choice: Choice, revisions: readonly RevisionObject[], view: View): Decision {
  const active = revisions.find(({ spec }) => spec.number === choice.active)
  return {
    choice,
    content: active && storedContent(active, view),
    revision: active ? knownRevision(active) : { number: choice.active, digest: '' },
    revisions,
  }
}

function setOf(cr: InstallationObject): Pick<EmbeddedSet, 'holder' | 'namespace' | 'as' | 'drift'> {
  const { metadata, spec } = cr
  return {
    holder: installationHolder(metadata),
    namespace: spec.targetNamespace ?? metadata.namespace,
    drift: ({ correct: 'correct', warn: 'report', off: 'ignore' } as const)[spec.drift.mode],
    as: accountOf(cr),
  }
}

async function installed(
  context: EmbeddingContext<InstallationObject>,
  decision: Decision | Pause | undefined,
  onOpened: (objects: readonly OpenedObject[]) => void,
): Promise<EmbeddedSet | undefined> {
  if (!decision) return undefined
  const { cr } = context
  if (!isDecided(decision)) return { ...setOf(cr), phases: [], waitsFor: decision.waitsFor }
  const { choice, content, revisions } = decision
  const pruned = { kinds: kindsIn(cr.status, revisions, content), rank: removalRank }
  // The first installation failed, and its remedy is to remove it.
  if (!content) return { ...setOf(cr), phases: [], prune: { ...pruned, keeps: staysInstalled, toNothing: true } }
  const { attempt, isSettled, active } = choice
  const isRollback = isRemedying(choice, content)
  const { find, all } = await liveObjects(context, content)
  onOpened(openedObjects(all))
  // Until it is repeated, what the hooks of a failed attempt left behind stays as it is.
  const lastRun = hookRun({ ...attempt, failures: attempt.failures - (isAttemptOver(attempt, cr.spec) ? 1 : 0) })
  return {
    ...setOf(cr),
    phases: installedPhases(content, {
      spec: cr.spec,
      namespace: cr.spec.targetNamespace ?? cr.metadata.namespace,
      action: isRollback ? 'rollback' : isSettled ? undefined : actionOf(cr, active),
      run: isRollback
        ? `${active}.after.${hookRun(attempt)}`
        : active === attempt.revision
          ? lastRun
          : hookRun({ revision: active, failures: 0 }),
      live: find,
      createdOnce: cr.status?.createdOnce ?? [],
    }),
    waits: !isSettled || isRollback,
    // Objects of a revision that was healthy once have all existed. Hooks of a rollback have not.
    missing: isSettled && !isRollback && cr.spec.drift.mode !== 'correct' ? 'report' : 'create',
    ...(cr.spec.prune && {
      prune: {
        ...pruned,
        keeps: (one) => staysInstalled(one) || isCreatedOnce(one) || isKeptHook(one, content, lastRun),
      },
    }),
  }
}

function actionOf(cr: InstallationObject, active: number): 'install' | 'upgrade' | 'rollback' {
  const { lastGood } = cr.status ?? {}
  if (lastGood === undefined && cr.spec.adopt === undefined) return 'install'
  return lastGood !== undefined && active < lastGood ? 'rollback' : 'upgrade'
}

/** The live objects of the content: users may annotate them. */
async function liveObjects(
  { held, cr }: EmbeddingContext<InstallationObject>,
  content: RevisionContent,
): Promise<{ find: (object: UntypedObject) => UntypedObject | undefined; all: readonly UntypedObject[] }> {
  const keyOf = (
    { group, kind }: Omit<GroupVersionKind, 'version'>,
    { name, namespace = '' }: Partial<ObjectName>,
  ): string => `${group}/${kind} ${namespace}/${name}`
  const found = new Map<string, UntypedObject>()
  for (const kind of kindsIn(undefined, [], content)) {
    const resource = await held.resourceOf(kind)
    const objects = resource ? await held.list(resource, installationHolder(cr.metadata), neededFields(kind)) : []
    for (const object of objects) found.set(keyOf(kind, object.metadata), object)
  }
  const fallback = cr.spec.targetNamespace ?? cr.metadata.namespace
  const find = (object: UntypedObject): UntypedObject | undefined => {
    const { name = '', namespace = fallback } = object.metadata
    const kind = kindOf(object)
    return found.get(keyOf(kind, { name, namespace })) ?? found.get(keyOf(kind, { name }))
  }
  return { find, all: [...found.values()] }
}
