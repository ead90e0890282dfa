/** What the status of the Platform says of its components, and of the whole. */
import { findCondition } from '../../kube/meta/condition.ts'
import type { InstallationObject } from '../installation/installation.ts'
import type { ComponentDecision } from './component-decision.ts'
import { installedVersion } from './component-installation.ts'
import type { ComponentReport, ComponentState, PlatformState } from './platform.ts'
import { isInstallationReady, type PlatformSituation } from './platform-situation.ts'

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
  return {
    name,
    managementState,
    ...judge(decision, installation, situation),
    ...(channel !== undefined && component.version === undefined && { channel }),
    ...(version !== undefined && { version }),
    ...(target !== undefined && target !== version && { target }),
    ...(isMaintenance && { maintenance: true }),
    ...(installation && { installation: `${installation.metadata.namespace}/${name}` }),
  }
}

function judge(
  { component, hold, action }: ComponentDecision,
  installation: InstallationObject | undefined,
  { preinstalled, catalogue }: PlatformSituation,
): Judgement {
  const { name, managementState } = component
  if (managementState === 'Removed' && action !== 'install') {
    return installation
      ? { state: 'Deleting', reason: 'Removing', message: removalMessage(installation) }
      : { state: 'Removed', reason: 'Removed', message: 'It is not installed.' }
  }
  if (managementState === 'Unmanaged') {
    if (installation) return { state: 'Processing', reason: 'Releasing', message: 'Its objects stay, and are let go.' }
    const found = preinstalled.get(name) ?? []
    const { olmPackages = [], helmReleases = [], crds = [] } = catalogue.components.get(name)?.spec.preinstalled ?? {}
    const isRecognisable = olmPackages.length + helmReleases.length + crds.length > 0
    if (found.length === 0 && isRecognisable) {
      return {
        state: 'Error',
        reason: 'NotInstalled',
        message: 'It is Unmanaged, and not installed. Install it, or set managementState to Managed or Removed.',
      }
    }
    const places = found.slice(0, 5).map(({ place }) => place)
    const message = places.length > 0 ? `It is left alone: ${places.join('; ')}.` : 'It is left alone.'
    return { state: 'Unmanaged', reason: 'Unmanaged', message }
  }
  if (hold && hold.state !== 'Ready') return { state: hold.state, reason: hold.reason, message: hold.message }
  const installed = judgeInstallation(installation)
  if (!hold || installed.state !== 'Ready') return installed
  return { state: 'Ready', reason: hold.reason, message: hold.message }
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
  const said = ({ message }: { readonly message: string }): string => `${place}: ${message}`
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

function removalMessage({ status }: InstallationObject): string {
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

/** `model-serving` → `ModelServingReady`. */
export function conditionType(component: string): string {
  const words = component.split('-').map((word) => word.charAt(0).toUpperCase() + word.slice(1))
  return `${words.join('')}Ready`
}
