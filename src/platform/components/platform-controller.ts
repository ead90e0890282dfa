/**
 * The controller of the Platform: from the components that it lists to their Installations. The Installations are embedded
 * objects, so that they go in order when the Platform is deleted.
 */
import type { Health } from '../../kube/meta/health.ts'
import type { Resource } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { formatTime } from '../../kube/units/duration.ts'
import { type Controller, defineController, type ReportContext, type StatusReport } from '../../operator/controller.ts'
import type { HeldObjects } from '../../operator/embedded/held-objects.ts'
import { neededFields } from '../../operator/embedded/needed-fields.ts'
import type { EmbeddedObject, EmbeddedSet, EmbeddingContext } from '../../operator/embedded/embedded-set.ts'
import { Component } from '../catalogue/component.ts'
import { componentLabel, defaultsLabel } from '../catalogue/component-controller.ts'
import { ComponentVersion } from '../catalogue/component-version.ts'
import { objectPlace, platformLabel } from '../installation/holder.ts'
import { Installation, type InstallationObject } from '../installation/installation.ts'
import { checkDuration } from '../installation/report.ts'
import { protectionKinds, protectionObjects } from '../protection/protection-policy.ts'
import { catalogueOf, versionOf } from './component-catalogue.ts'
import { type ComponentDecision, decideComponents } from './component-decision.ts'
import {
  changedInstallation,
  componentInstallation,
  defaultsInstallation,
  presentVersions,
} from './component-installation.ts'
import { componentReport, conditionType, leavingReport, platformState } from './component-report.ts'
import { externalProblems, type ExternalProblem } from './external-health.ts'
import { openLevels } from './preconditions.ts'
import { type ComponentReport, Platform, type PlatformObject, type RunLevel } from './platform.ts'
import { isUninstalled, type PlatformSituation, targetVersion, wantedComponents } from './platform-situation.ts'
import { helmSecrets, preinstalledOn } from './preinstalled-traces.ts'

type ReportedCondition = NonNullable<StatusReport<PlatformObject>['conditions']>[number]

/** What one reconcile has decided. */
interface Outcome {
  readonly situation: PlatformSituation
  readonly decisions: readonly ComponentDecision[]
}

export function platformController(): Controller<PlatformObject> {
  /** By the CR of a reconcile, which is the same object in all of its steps. */
  const outcomes = new WeakMap<PlatformObject, Outcome>()
  return defineController({
    for: Platform,
    reads: [Component, ComponentVersion, Installation, helmSecrets],
    check: ({ cr }) => checkDuration('spec.runLevelTimeout', cr.spec.runLevelTimeout),
    embeds: {
      label: platformLabel,
      async objects(context) {
        const situation = await situationOf(context)
        if (context.isFinalizing) {
          outcomes.set(context.cr, { situation, decisions: [] })
          return removed(context, situation)
        }
        const decisions = decideComponents(situation)
        outcomes.set(context.cr, { situation, decisions })
        return await installed(context, situation, decisions)
      },
    },
    status(context) {
      const outcome = outcomes.get(context.cr)
      outcomes.delete(context.cr)
      return outcome && platformReport(context, outcome)
    },
    deletionStatus({ cr }) {
      const outcome = outcomes.get(cr)
      outcomes.delete(cr)
      return outcome && deletionReport(outcome.situation)
    },
  })
}

async function situationOf(context: EmbeddingContext<PlatformObject>): Promise<PlatformSituation> {
  const { cr, view, now, held } = context
  const { spec, status = {} } = cr
  const catalogue = catalogueOf(view.list(Component), view.list(ComponentVersion))
  const found = view.list(Installation, { namespace: spec.namespace })
  const own = found.filter(({ metadata }) => metadata.labels?.[platformLabel] === cr.metadata.name)
  const installations = byLabel(own, componentLabel)
  const defaults = byLabel(own, defaultsLabel)
  const base = { spec, status, catalogue, installations, defaults, now }
  const targets = wantedComponents(base).flatMap((one) => {
    const version = versionOf(catalogue, one.name, targetVersion(one, base))
    return version && one.managementState !== 'Removed' ? [{ name: one.name, version: version.spec }] : []
  })
  const served = new Set<string>()
  for (const { apiVersion, kind } of targets.flatMap(({ version }) =>
    version.requires.flatMap((one) => one.kind ?? []),
  ))
    if (await resourceFor(held, apiVersion, kind)) served.add(`${apiVersion} ${kind}`)
  const conflicting = new Map<string, readonly string[]>()
  // Objects of kinds that an installed version conflicts with do not count any more.
  const coming = targets.filter(
    ({ name, version }) => !presentVersions(installations.get(name)).includes(version.version),
  )
  for (const { apiVersion, kind } of coming.flatMap(({ version }) => version.conflicts)) {
    const resource = await resourceFor(held, apiVersion, kind)
    const objects = resource ? await held.all(resource) : []
    const places = objects.map(({ metadata }) => objectPlace({ kind, ...metadata }))
    conflicting.set(`${apiVersion} ${kind}`, places.toSorted())
  }
  return {
    ...base,
    serves: (apiVersion, kind) => served.has(`${apiVersion} ${kind}`),
    objectsOf: (apiVersion, kind) => conflicting.get(`${apiVersion} ${kind}`) ?? [],
    preinstalled: await preinstalledOn(context, base),
    reported: await reportedBy(held, base),
  }
}

function byLabel(installations: readonly InstallationObject[], label: string): ReadonlyMap<string, InstallationObject> {
  return new Map(
    installations.flatMap((one) => {
      const name = one.metadata.labels?.[label]
      return name === undefined ? [] : [[name, one] as const]
    }),
  )
}

/** What the own objects of components that are left alone say. */
async function reportedBy(
  held: HeldObjects,
  situation: Pick<PlatformSituation, 'spec' | 'catalogue' | 'installations' | 'now'>,
): Promise<ReadonlyMap<string, readonly ExternalProblem[]>> {
  const reported = new Map<string, readonly ExternalProblem[]>()
  for (const { name, managementState } of wantedComponents(situation)) {
    const { health = [] } = situation.catalogue.components.get(name)?.spec.preinstalled ?? {}
    if (managementState !== 'Unmanaged' || situation.installations.has(name)) continue
    const objects: UntypedObject[] = []
    for (const { apiVersion, kind } of health) {
      const resource = await resourceFor(held, apiVersion, kind)
      const fields = resource && neededFields(resource)
      if (resource) objects.push(...(await held.all(resource, fields === 'metadata' ? {} : { fields })))
    }
    reported.set(name, externalProblems(objects, health, situation.now))
  }
  return reported
}

async function resourceFor(held: HeldObjects, apiVersion: string, kind: string): Promise<Resource | undefined> {
  const [version = '', group = ''] = apiVersion.split('/').toReversed()
  return await held.resourceOf({ group, version, kind })
}

/** Whether its objects are healthy is in the Installation's own status, which the report reads. */
const written = (object: UntypedObject): EmbeddedObject => ({ object, health: () => current })
/** One cache may still show it while another does not: what is to end is not created anew. */
const changed = (object: UntypedObject): EmbeddedObject => ({ ...written(object), policy: 'update-only' })
const current: Health = { status: 'Current', reason: 'Written', message: 'It is written.' }

async function installed(
  { cr, held }: EmbeddingContext<PlatformObject>,
  { installations, defaults, catalogue }: PlatformSituation,
  decisions: readonly ComponentDecision[],
): Promise<EmbeddedSet> {
  const { namespace } = cr.spec
  const withDefaults = new Set(decisions.flatMap((one) => (one.hasDefaults ? [one.component.name] : [])))
  const defaultObjects = [...withDefaults].flatMap((name) => {
    // One that is being deleted must be gone first.
    if (defaults.get(name)?.metadata.deletionTimestamp !== undefined) return []
    const { defaultResources } = catalogue.components.get(name)!.spec.preinstalled
    return written(defaultsInstallation(name, defaultResources, namespace))
  })
  const ownObjects = decisions.flatMap(({ component, action, version }) => {
    const live = installations.get(component.name)
    // It ends as it was told: with other fields it might delete objects that are to stay.
    if (live?.metadata.deletionTimestamp !== undefined)
      return { object: changedInstallation(live, {}), policy: 'ignore', health: () => current } as const
    if (action === 'none') return []
    if (action === 'install') {
      if (version) return written(componentInstallation(component, version, namespace))
      // Its version is published no more: it stays as it is.
      return live ? changed(changedInstallation(live, {})) : []
    }
    if (!live) return []
    if (action === 'uninstall')
      return isUninstalled(live) ? [] : changed(changedInstallation(live, { uninstall: true }))
    return live.spec.deletion === 'orphan' ? [] : changed(changedInstallation(live, { deletion: 'orphan' }))
  })
  const ended = new Set(
    decisions.flatMap(({ component, action }) => {
      const live = installations.get(component.name)
      const hasEnded =
        action === 'uninstall' ? live && isUninstalled(live) : action === 'release' && live?.spec.deletion === 'orphan'
      return hasEnded ? [live!.metadata.uid ?? ''] : []
    }),
  )
  for (const [name, { metadata }] of defaults) if (!withDefaults.has(name)) ended.add(metadata.uid ?? '')
  const objects = [...ownObjects, ...defaultObjects]
  const home: EmbeddedObject = {
    object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    policy: 'create-only',
  }
  return {
    holder: cr.metadata.name,
    phases: [
      { name: 'namespace', objects: objects.length > 0 ? [home] : [] },
      { name: 'components', objects },
      { name: 'protection', objects: (await protection(cr, held)).map(written) },
    ],
    prune: {
      kinds: [Installation, ...protectionKinds],
      toNothing: true,
      // An Installation that is missing among the objects may be newer than what was read: only those that have ended go.
      keeps: ({ kind, metadata }) => kind === Installation.kind && !ended.has(metadata.uid ?? ''),
    },
  }
}

/** Clusters before Kubernetes 1.30 serve no such policies: everything else works there. */
async function protection(
  { spec }: PlatformObject,
  held: EmbeddingContext<PlatformObject>['held'],
): Promise<readonly UntypedObject[]> {
  if (spec.protection === 'Off') return []
  for (const kind of protectionKinds) if (!(await held.resourceOf(kind))) return []
  return protectionObjects(spec.protection)
}

/** The Platform is being deleted: components that require others go before them. */
function removed({ cr }: EmbeddingContext<PlatformObject>, situation: PlatformSituation): EmbeddedSet {
  const depths = requirementDepths(situation)
  return {
    holder: cr.metadata.name,
    phases: [],
    prune: {
      kinds: [Installation, ...protectionKinds],
      toNothing: true,
      // What is still installed is protected until it is gone.
      rank: ({ kind, metadata }) =>
        kind === Installation.kind ? (depths.get(metadata.labels?.[componentLabel] ?? '') ?? 0) : -1,
    },
  }
}

/** How many requirements lie below a component; circles count once. */
function requirementDepths({ catalogue, installations }: PlatformSituation): ReadonlyMap<string, number> {
  const depths = new Map<string, number>()
  const visit = (name: string): number => {
    const known = depths.get(name)
    if (known !== undefined) return known
    depths.set(name, 0)
    const versions = presentVersions(installations.get(name)).flatMap((one) => versionOf(catalogue, name, one) ?? [])
    const required = versions.flatMap(({ spec }) => spec.requires.flatMap(({ component }) => component ?? []))
    const below = [...new Set(required)].map(visit)
    const depth = below.reduce((most, one) => Math.max(most, one + 1), 0)
    depths.set(name, depth)
    return depth
  }
  for (const name of installations.keys()) visit(name)
  return depths
}

function platformReport(
  context: ReportContext<PlatformObject>,
  { situation, decisions }: Outcome,
): StatusReport<PlatformObject> {
  const { status } = situation
  const components = decisions.map((decision) => componentReport(decision, situation))
  const state = platformState(components)
  context.gauge('components_unmanaged', components.filter((one) => one.state === 'Unmanaged').length)
  for (const { name, breakGlass, installation } of components) {
    const before = status.components?.find((one) => one.name === name)?.breakGlass
    if (breakGlass === undefined || breakGlass === before) continue
    const message = `Installation ${installation} was taken out of protection: ${breakGlass}`
    context.event({ type: 'Warning', reason: 'BreakGlass', message })
  }
  for (const { hold } of decisions) if (hold?.afterMs !== undefined) context.requeueAfter(hold.afterMs)
  const { runLevels, ofRunLevels } = runLevelReport(context, situation)
  const pending = components.filter(
    (one) => one.state !== 'Ready' && one.state !== 'Unmanaged' && one.state !== 'Removed',
  )
  const worst = pending.find((one) => one.state === state) ?? pending[0]
  return {
    state,
    components,
    ...(runLevels.length > 0 && { runLevels }),
    conditions: [
      ...components.map(componentCondition),
      ...ofRunLevels,
      {
        type: 'Ready',
        status: state === 'Ready' ? 'True' : 'False',
        reason: state === 'Ready' ? 'Ready' : worst!.reason,
        message: state === 'Ready' ? 'All components are ready.' : summary(pending, worst!),
      },
    ],
  }
}

function componentCondition({ name, state, reason, message }: ComponentReport): ReportedCondition {
  const status = state === 'Ready' || state === 'Unmanaged' ? 'True' : 'False'
  return { type: conditionType(name), status, reason, message }
}

/** Of a Platform that is being deleted: the components that are still there, and what they wait for. */
function deletionReport({ spec, installations }: PlatformSituation): StatusReport<PlatformObject> {
  const components = [...installations].map(([name, installation]): ComponentReport => {
    const { managementState = 'Managed' } = spec.components.find((one) => one.name === name) ?? {}
    return leavingReport(name, managementState, installation)
  })
  const [first] = components
  const message = first ? summary(components, first) : 'All components are removed.'
  return {
    state: 'Deleting',
    components,
    conditions: [
      ...components.map(componentCondition),
      { type: 'Ready', status: 'False', reason: 'Deleting', message },
    ],
  }
}

/** Levels that are waited for; that higher ones went on without a level is a condition, and an Event when it happens. */
function runLevelReport(
  { event }: ReportContext<PlatformObject>,
  { now, status, spec, ...rest }: PlatformSituation,
): {
  readonly runLevels: readonly RunLevel[]
  readonly ofRunLevels: readonly ReportedCondition[]
} {
  const open = openLevels({ now, status, spec, ...rest })
  const passed: string[] = []
  const runLevels = open.map(({ level, waitsFor, leftMs, isHighest }): RunLevel => {
    const known = status.runLevels?.find((one) => one.level === level)
    const since = known?.since ?? formatTime(now)
    if (leftMs > 0 || isHighest) return { level, since }
    const message = `Run level ${level} was not ready within ${spec.runLevelTimeout}: ${waitsFor.join(', ')}. Higher levels went on without it.`
    passed.push(message)
    if (!known?.timedOut) event({ type: 'Warning', reason: runLevelReason, message })
    return { level, since, timedOut: true }
  })
  const condition = { type: 'RunLevels', status: 'False', reason: runLevelReason, message: passed.join(' ') } as const
  return { runLevels, ofRunLevels: passed.length > 0 ? [condition] : [] }
}

const runLevelReason = 'RunLevelTimeoutExceeded'

function summary(
  pending: readonly { readonly name: string }[],
  { name, message }: { name: string; message: string },
): string {
  const more = pending.length > 1 ? ` (and ${pending.length - 1} more)` : ''
  return `${name}: ${message}${more}`
}
