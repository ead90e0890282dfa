/** What the status of the Platform says of its components, and of the whole. */
import { type Condition, findCondition } from '../../kube/meta/condition.ts'
import { operatorErrors } from '../../operator/errors.ts'
import type { InstallationObject } from '../installation/installation.ts'
import { breakGlassAnnotation, breakGlassReason } from '../installation/object-annotations.ts'
import type { ComponentDecision } from './component-decision.ts'
import { publishedCrds } from './component-catalogue.ts'
import { installedVersion } from './component-installation.ts'
import type { ComponentReport, ComponentState, PlatformState } from './platform.ts'
import { isInstallationReady, type PlatformSituation, releasedKinds } from './platform-situation.ts'
import { unknownComponent } from './preconditions.ts'

/** Of a component that meets an object of another owner. */
const waysOut =
  ' In the Platform, managementState: Adopt takes such objects over, Unmanaged leaves the component alone, and Removed switches it off.'

interface Judgement {
  readonly state: ComponentState
  readonly reason: string
  readonly message: string
}

export function componentReport(decision: ComponentDecision, situation: PlatformSituation): ComponentReport {
  const { component, hold, target, channel } = decision
  const { name, managementState } = component
  const installation = situation.installations.get(name)
  const version = installation && installedVersion(installation)
  const { isMaintenance = false } = hold ?? {}
  const released = managementState === 'Unmanaged' ? releasedKinds(name, situation) : []
  const breakGlass = installation && breakGlassReason(installation.metadata)?.slice(0, longestReason).toWellFormed()
  const isMandatory = situation.catalogue.components.get(name)?.spec.mandatory !== undefined
  return {
    name,
    managementState,
    ...withBreakGlass(withOverridden(judge(decision, installation, situation), name, situation), breakGlass),
    ...(channel !== undefined && component.version === undefined && !isMandatory && { channel }),
    ...(version !== undefined && { version }),
    ...(target !== undefined && target !== version && { target }),
    ...(isMaintenance && { maintenance: true }),
    ...(released.length > 0 && { released }),
    ...(breakGlass !== undefined && { breakGlass }),
    ...(installation && { installation: `${installation.metadata.namespace}/${name}` }),
  }
}

/** An annotation may have much more. */
const longestReason = 256

function withBreakGlass(judgement: Judgement, breakGlass: string | undefined): Judgement {
  if (breakGlass === undefined || judgement.state !== 'Ready') return judgement
  const message = `Its Installation may be deleted by hand (${breakGlass}) until the annotation ${breakGlassAnnotation} is removed.`
  return { state: 'Warning', reason: 'BreakGlass', message }
}

/** The reason of a mandatory component whose entry asks for something else. */
export const mandatoryReason = 'Mandatory'

/** A mandatory component runs whatever the Platform lists: that its entry is not followed is said. */
function withOverridden(judgement: Judgement, name: string, { spec, catalogue }: PlatformSituation): Judgement {
  const entry = spec.components.find((one) => one.name === name)
  const { spec: listed, metadata } = catalogue.components.get(name) ?? {}
  if (!entry || !listed?.mandatory || metadata?.deletionTimestamp !== undefined) return judgement
  const { managementState, version } = entry
  const without = [
    ...(managementState === 'Removed' || managementState === 'Unmanaged'
      ? [`managementState: ${managementState}`]
      : []),
    ...(version !== undefined && version !== listed.mandatory.version ? [`version: ${version}`] : []),
  ]
  if (without.length === 0 || judgement.state !== 'Ready') return judgement
  return {
    state: 'Warning',
    reason: mandatoryReason,
    message:
      `It is mandatory, and runs in version ${listed.mandatory.version}: ${without.join(' and ')} in spec.components of the Platform ` +
      'has no effect. Take that out of the entry; only the publisher of the Component can switch it off.',
  }
}

function judge(
  { component, hold, action }: ComponentDecision,
  installation: InstallationObject | undefined,
  situation: PlatformSituation,
): Judgement {
  const { name, managementState } = component
  if (managementState === 'Removed' && action !== 'install') {
    return installation
      ? { state: 'Deleting', reason: 'Removing', message: removalMessage(installation) }
      : { state: 'Removed', reason: 'Removed', message: 'It is not installed.' }
  }
  if (managementState === 'Unmanaged') {
    if (installation) return { state: 'Processing', reason: 'Releasing', message: 'Its objects stay, and are let go.' }
    return judgeUnmanaged(name, situation)
  }
  if (hold && hold.state !== 'Ready') return { state: hold.state, reason: hold.reason, message: hold.message }
  const installed = judgeInstallation(installation)
  if (!hold || installed.state !== 'Ready') return installed
  return { state: 'Ready', reason: hold.reason, message: hold.message }
}

/** It must be there, since it is counted as ready: what can be known of that is checked. */
function judgeUnmanaged(name: string, situation: PlatformSituation): Judgement {
  const { preinstalled, catalogue } = situation
  const unknown = unknownComponent(name, catalogue)
  if (unknown) return unknown
  const places = (preinstalled.get(name) ?? []).slice(0, 5).map(({ place }) => place)
  const isMissing = places.length === 0 && areTracesKnown(name, situation)
  if (isMissing)
    return {
      state: 'Error',
      reason: 'NotInstalled',
      message: 'It is Unmanaged, and not installed. Install it, or set managementState to Managed or Removed.',
    }
  const [worst, ...others] = situation.reported.get(name) ?? []
  if (worst) {
    const more = others.length > 0 ? ` (and ${others.length} more)` : ''
    return { ...worst, message: `It is left alone, and reports a problem: ${worst.message}${more}` }
  }
  const defaults = situation.defaults.get(name)
  const created = defaults && judgeInstallation(defaults)
  if (created && created.state !== 'Ready')
    return {
      state: created.state === 'Processing' ? 'Processing' : 'Warning',
      reason: 'DefaultResources',
      message: `It is left alone. Its default resources: ${created.message}`,
    }
  if (places.length > 0)
    return { state: 'Unmanaged', reason: 'Unmanaged', message: `It is left alone: ${places.join('; ')}.` }
  const message =
    'It is left alone. Whether it runs is not known: its Component says nothing about how to recognise it.'
  return { state: 'Unmanaged', reason: 'Unmanaged', message }
}

/** Whether an installation would have been recognised. */
function areTracesKnown(name: string, situation: PlatformSituation): boolean {
  const { olmPackages, helmReleases, crds } = situation.catalogue.components.get(name)!.spec.preinstalled
  const signs = [...olmPackages, ...helmReleases, ...crds, ...publishedCrds(situation.catalogue, name)]
  return signs.length > 0 || releasedKinds(name, situation).length > 0
}

function judgeInstallation(installation: InstallationObject | undefined): Judgement {
  if (!installation) return { state: 'Processing', reason: 'Installing', message: 'Its Installation is being created.' }
  const { status, metadata } = installation
  const place = `Installation ${metadata.namespace}/${metadata.name}`
  const find = (type: string) => findCondition(status?.conditions, type)
  const ready = find('Ready')
  if (status?.observedGeneration !== metadata.generation || !ready) {
    return { state: 'Processing', reason: 'Installing', message: `${place} is being reconciled.` }
  }
  const stalled = find('Stalled')
  const said = ({ reason, message }: Pick<Condition, 'reason' | 'message'>): string =>
    `${place}: ${message}${reason === operatorErrors.NotOurs.name ? waysOut : ''}`
  if (stalled?.status === 'True') return { state: 'Error', reason: stalled.reason, message: said(stalled) }
  const remediated = find('Remediated')
  if (remediated?.status === 'True') {
    // After an upgrade that failed, the revision before it runs; after a first installation nothing does.
    const state = status?.lastGood === undefined ? 'Error' : 'Warning'
    return { state, reason: remediated.reason, message: said(remediated) }
  }
  if (isInstallationReady(installation)) {
    const drifted = find('Drifted')
    const changed = drifted?.status === 'True' ? drifted : find('BreakGlass')
    return changed?.status === 'True'
      ? { state: 'Warning', reason: changed.reason, message: said(changed) }
      : { state: 'Ready', reason: 'Ready', message: 'It is installed and ready.' }
  }
  return { state: 'Processing', reason: ready.reason, message: said(ready) }
}

/** Of a component whose Platform is being deleted. */
export function leavingReport(
  name: string,
  managementState: ComponentReport['managementState'],
  installation: InstallationObject,
): ComponentReport {
  const version = installedVersion(installation)
  return {
    name,
    managementState,
    state: 'Deleting',
    reason: 'Removing',
    message: removalMessage(installation),
    ...(version !== undefined && { version }),
    installation: `${installation.metadata.namespace}/${name}`,
  }
}

function removalMessage({ status, metadata }: InstallationObject): string {
  if (metadata.deletionTimestamp !== undefined) {
    // What its finalizer waits for.
    const waiting = findCondition(status?.conditions, 'Reconciled')
    return waiting?.status === 'False' ? waiting.message : 'Its objects are being deleted.'
  }
  const ready = findCondition(status?.conditions, 'Ready')
  const { leaving = [] } = status ?? {}
  if (leaving.length > 0) return `Still being deleted: ${leaving.slice(0, 5).join(', ')}.`
  return ready?.status === 'False' ? ready.message : 'Its objects are being deleted.'
}

/** The worst state counts. */
export function platformState(reports: readonly ComponentReport[]): PlatformState {
  const states = new Set<ComponentState>(reports.map(({ state }) => state))
  if (states.has('Error')) return 'Error'
  if (states.has('Warning')) return 'Warning'
  return states.has('Processing') || states.has('Deleting') ? 'Processing' : 'Ready'
}

/**
 * `model-serving` → `ModelServingReady`. A dash that is not before a letter stays, so that `queue-1` and `queue1` have different
 * types: two conditions of one type would make the whole status invalid.
 */
export function conditionType(component: string): string {
  return `${component.replaceAll(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase())}Ready`
}
