/**
 * Preconditions: what must be true before a component is installed or upgraded. Each says why it is not, and what helps.
 * Those of one component leave the others alone.
 */
import { durationToMs, formatTime, parseDuration } from '../../kube/units/duration.ts'
import { isJsonObject, type Json } from '../../kube/json.ts'
import { parseVersion } from '../../render/version/semantic-version.ts'
import { isVersionInRange, parseConstraint } from '../../render/version/version-constraint.ts'
import type { Requirement } from '../catalogue/component-version.ts'
import { versionOf } from './component-catalogue.ts'
import { declaredVersion, installedVersion, presentVersions } from './component-installation.ts'
import { maintenanceAt } from './maintenance.ts'
import type { ComponentState, PlatformComponent } from './platform.ts'
import {
  type ComponentSituation,
  isInstallationReady,
  type PlatformSituation,
  targetVersion,
  wantedComponents,
} from './platform-situation.ts'

/** Why a component is not installed or upgraded now. */
export interface ComponentHold {
  /** `Ready`: what is installed decides. */
  readonly state: Extract<ComponentState, 'Error' | 'Warning' | 'Processing' | 'Ready'>
  readonly reason: string
  readonly message: string
  /** When it is checked again without an event. */
  readonly afterMs?: number
  readonly isMaintenance?: boolean
  /** Its Installation stays as it is: what is declared now cannot be written. */
  readonly keepsInstallation?: boolean
}

export interface Precondition {
  readonly check: (at: ComponentSituation) => ComponentHold | undefined
  /** Asked for an installed version, too. */
  readonly isLasting?: boolean
}

/** In the order in which they are asked. */
export const preconditions: readonly Precondition[] = [
  { check: isListed, isLasting: true },
  { check: isAllowed, isLasting: true },
  { check: isPublished, isLasting: true },
  { check: hasValidValues, isLasting: true },
  { check: isNoDowngrade },
  { check: ownsItsCrds },
  { check: isNotPreinstalled },
  { check: isAcknowledged },
  { check: hasRequirements },
  { check: hasNoConflicts },
  { check: isItsRunLevel },
  { check: isInMaintenance },
]

const error = (reason: string, message: string): ComponentHold => ({ state: 'Error', reason, message })
const waits = (message: string): ComponentHold => ({ state: 'Processing', reason: 'WaitsForRequirement', message })

function isListed({ component, catalogue }: ComponentSituation): ComponentHold | undefined {
  return unknownComponent(component.name, catalogue)
}

export function unknownComponent(
  name: string,
  { components }: PlatformSituation['catalogue'],
): ComponentHold | undefined {
  if (components.has(name)) return undefined
  const known = [...components.keys()].toSorted().slice(0, 20).join(', ') || 'none'
  return error('ComponentNotFound', `There is no Component ${name}. Known components: ${known}.`)
}

function isAllowed({ component, catalogue, spec }: ComponentSituation): ComponentHold | undefined {
  if (spec.preview || !catalogue.components.get(component.name)!.spec.preview) return undefined
  return error('PreviewNotAllowed', 'It is a preview component. Set spec.preview of the Platform to true to use it.')
}

function isPublished({
  component,
  catalogue,
  target,
  version,
  channel,
}: ComponentSituation): ComponentHold | undefined {
  const { name } = component
  if (target === undefined) {
    const channels = catalogue.components.get(name)!.spec.channels.map((one) => one.name)
    return error('ChannelNotFound', `It has no channel ${channel}. Its channels: ${channels.join(', ') || 'none'}.`)
  }
  if (version) return undefined
  const known = [...(catalogue.versions.get(name)?.keys() ?? [])].toSorted().slice(-20)
  const why = component.version === undefined ? `Channel ${channel} names version ${target}` : `Version ${target}`
  return error(
    'VersionNotFound',
    `${why}, which is not published. Published: ${known.join(', ') || 'none'}. Publish the ComponentVersion, or name another one.`,
  )
}

function hasValidValues({ component, version }: ComponentSituation): ComponentHold | undefined {
  const isValid = (values: Json | undefined): boolean => values === undefined || values === null || isJsonObject(values)
  const place = isValid(component.values)
    ? `values of ComponentVersion ${version!.metadata.name}`
    : `values of ${component.name} in spec.components of the Platform`
  if (isValid(component.values) && isValid(version!.spec.values)) return undefined
  const message = `${place} is no object. Write name: value pairs, or leave it out. Nothing was changed.`
  return { ...error('InvalidValues', message), keepsInstallation: true }
}

/** Pre-releases do not count: `1.2.0-rc.1` to `1.2.0` and back is no downgrade. */
function isNoDowngrade({ installed, target }: ComponentSituation): ComponentHold | undefined {
  const [from, to] = [installed, target].map((text) => (text === undefined ? undefined : parseVersion(text)))
  if (!from || !to) return undefined
  for (const part of ['major', 'minor', 'patch'] as const) {
    if (to[part] > from[part]) return undefined
    if (to[part] === from[part]) continue
    return {
      state: 'Warning',
      reason: 'Downgrade',
      message:
        `Version ${target} is older than ${installed}, which is installed and stays. Components are not downgraded; ` +
        'remove the component and switch it on again, or wait for a newer version in the channel.',
    }
  }
  return undefined
}

/** Two components with one CRD: the installed one keeps it, else the first by name. */
function ownsItsCrds(at: ComponentSituation): ComponentHold | undefined {
  const { component, version, installations } = at
  const own = new Set(version!.spec.crds)
  for (const other of activeComponents(at)) {
    if (other.name === component.name || own.size === 0) continue
    const installation = installations.get(other.name)
    if (!installation && other.name > component.name) continue
    const running = installation ? presentVersions(installation) : [targetVersion(other, at)]
    const crds = running.flatMap((one) => versionOf(at.catalogue, other.name, one)?.spec.crds ?? [])
    const shared = crds.find((crd) => own.has(crd))
    if (shared !== undefined) {
      return error('CrdConflict', `CRD ${shared} belongs to component ${other.name}, too. Switch one of them off.`)
    }
  }
  return undefined
}

function activeComponents(at: PlatformSituation): readonly PlatformComponent[] {
  return wantedComponents(at).filter(
    ({ managementState }) => managementState === 'Managed' || managementState === 'Adopt',
  )
}

function isNotPreinstalled({ component, preinstalled, declared }: ComponentSituation): ComponentHold | undefined {
  const found = preinstalled.get(component.name) ?? []
  if (declared !== undefined || component.managementState === 'Adopt' || found.length === 0) return undefined
  const places = found.slice(0, 5).map(({ place }) => place)
  const more = found.length > 5 ? ` and ${found.length - 5} more` : ''
  return error(
    'Preinstalled',
    `It is installed already, by other means: ${places.join('; ')}${more}. Nothing was changed. Either set managementState: Adopt to ` +
      'take that installation over, or managementState: Unmanaged to keep using it as it is, or uninstall it; then this component is installed.',
  )
}

function isAcknowledged({ version, spec }: ComponentSituation): ComponentHold | undefined {
  const missing = version!.spec.acknowledgements.filter(({ key }) => !spec.acknowledged.includes(key))
  if (missing.length === 0) return undefined
  const listed = missing.map(({ key, message }) => `${key} (${message})`).join('; ')
  return {
    state: 'Warning',
    reason: 'AcknowledgementRequired',
    message: `Version ${version!.spec.version} needs an acknowledgement: ${listed}. Add the keys to spec.acknowledged of the Platform.`,
  }
}

function hasRequirements(at: ComponentSituation): ComponentHold | undefined {
  const circle = requirementCircle(at)
  if (circle)
    return error(
      'RequirementCircle',
      `Components require each other: ${circle.join(' → ')}. None of them can be first.`,
    )
  for (const requirement of at.version!.spec.requires) {
    const hold = requirement.component === undefined ? lacksKind(requirement, at) : lacksComponent(requirement, at)
    if (hold) return hold
  }
  return undefined
}

/** What is there stays, and is named: such as the objects of a component that this one replaces. */
function hasNoConflicts({ version, installed, objectsOf }: ComponentSituation): ComponentHold | undefined {
  for (const { apiVersion, kind, message } of version!.spec.conflicts) {
    const found = objectsOf(apiVersion, kind)
    if (found.length === 0) continue
    const more = found.length > 5 ? ` and ${found.length - 5} more` : ''
    const cure = message ?? 'Delete them.'
    return {
      state: installed === undefined ? 'Error' : 'Warning',
      reason: 'ConflictingObjects',
      message:
        `Version ${version!.spec.version} cannot run beside objects of ${kind} of ${apiVersion}: ${found.slice(0, 5).join(', ')}${more}. ` +
        `They were left as they are. ${cure} It goes on by itself when they are gone.`,
    }
  }
  return undefined
}

function lacksKind({ kind }: Requirement, { serves }: ComponentSituation): ComponentHold | undefined {
  if (!kind || serves(kind.apiVersion, kind.kind)) return undefined
  const cure = kind.providedBy === undefined ? 'Install its operator' : `Install ${kind.providedBy}`
  return error(
    'PrerequisiteMissing',
    `The cluster does not serve ${kind.kind} of ${kind.apiVersion}. ${cure}; it goes on by itself.`,
  )
}

function lacksComponent(
  { component: name = '', version: range }: Requirement,
  at: ComponentSituation,
): ComponentHold | undefined {
  if (range !== undefined && !parseConstraint(range)) {
    const place = `requires of ComponentVersion ${at.version!.metadata.name}`
    const text = JSON.stringify(range.slice(0, 60))
    return error(
      'InvalidRequirement',
      `${place}: the version ${text} of component ${name} is no range, such as >=1.2 <2. Publish a version with a valid one.`,
    )
  }
  const needed = range === undefined ? `component ${name}` : `component ${name} ${range}`
  const entry = wantedComponents(at).find((one) => one.name === name)
  if (!entry || entry.managementState === 'Removed') {
    return error('RequirementMissing', `It requires ${needed}, which is not switched on. Add it to spec.components.`)
  }
  // Which version runs there is not known.
  if (entry.managementState === 'Unmanaged') {
    const isThere = (at.preinstalled.get(name) ?? []).length > 0
    return isThere
      ? undefined
      : error(
          'RequirementMissing',
          `It requires ${needed}, which is Unmanaged and not installed. Install it, or set it to Managed.`,
        )
  }
  const installation = at.installations.get(name)
  const installed = installation && installedVersion(installation)
  const isInRange = (version: string | undefined): boolean =>
    range === undefined || version === undefined || isVersionInRange(range, version)
  if (!isInRange(installed)) {
    const isComing = isInRange(declaredVersion(installation!))
    if (isComing) return waits(`It waits for ${needed}; installed is ${installed}.`)
    return error(
      'RequirementVersion',
      `It requires ${needed}; installed is ${installed}. Choose a channel or a version in that range.`,
    )
  }
  if (installation && isInstallationReady(installation)) return undefined
  return waits(`It waits for ${needed}, which is not ready yet.`)
}

/** From the component to itself, if its requirements lead back to it. */
function requirementCircle(at: ComponentSituation): readonly string[] | undefined {
  const byName = new Map(wantedComponents(at).map((one) => [one.name, one]))
  const start = at.component.name
  const seen = new Set<string>()
  const search = (name: string, path: readonly string[]): readonly string[] | undefined => {
    const entry = byName.get(name)
    const version = entry && versionOf(at.catalogue, name, targetVersion(entry, at))
    for (const { component } of version?.spec.requires ?? []) {
      if (component === undefined) continue
      if (component === start) return [...path, start]
      if (seen.has(component)) continue
      seen.add(component)
      const found = search(component, [...path, component])
      if (found) return found
    }
    return undefined
  }
  return search(start, [start])
}

/** A level that takes too long does not hold the ones above it for ever. */
function isItsRunLevel(at: ComponentSituation): ComponentHold | undefined {
  const own = levelOf(at.component, at)
  for (const { level, waitsFor, leftMs } of openLevels(at)) {
    if (level >= own) return undefined
    if (leftMs <= 0) continue
    return {
      state: 'Processing',
      reason: 'WaitsForRunLevel',
      message: `Run level ${own} waits for level ${level}: ${waitsFor.join(', ')}; until ${formatTime(at.now + leftMs)} at the latest.`,
      afterMs: leftMs,
    }
  }
  return undefined
}

interface OpenLevel {
  readonly level: number
  /** Components that are not ready. */
  readonly waitsFor: readonly string[]
  /** How long higher levels wait for it still. */
  readonly leftMs: number
  /** No level waits for it. */
  readonly isHighest: boolean
}

/** Levels with components that are switched on and not ready, the lowest first. */
export function openLevels(at: PlatformSituation): readonly OpenLevel[] {
  const levels = new Map<number, string[]>()
  const highest = Math.max(...activeComponents(at).map((one) => levelOf(one, at)))
  const timeoutMs = durationToMs(parseDuration(at.spec.runLevelTimeout))
  for (const component of activeComponents(at)) {
    const installation = at.installations.get(component.name)
    if (installation && isInstallationReady(installation)) continue
    const level = levelOf(component, at)
    levels.set(level, [...(levels.get(level) ?? []), component.name])
  }
  return [...levels]
    .toSorted(([a], [b]) => a - b)
    .map(([level, waitsFor]) => {
      const since = at.status.runLevels?.find((one) => one.level === level)?.since
      const leftMs = since === undefined ? timeoutMs : Date.parse(since) + timeoutMs - at.now
      return { level, waitsFor, leftMs, isHighest: level === highest }
    })
}

function levelOf({ name }: PlatformComponent, { catalogue }: PlatformSituation): number {
  return catalogue.components.get(name)?.spec.runLevel ?? 99
}

function isInMaintenance({ installed, version, spec, now }: ComponentSituation): ComponentHold | undefined {
  const { windows, skip } = spec.maintenance
  if (installed === undefined || skip || !version!.spec.requiresDowntime) return undefined
  const { isOpen, changesAt } = maintenanceAt(windows, now)
  if (isOpen) return undefined
  const common = { reason: 'WaitsForMaintenance', isMaintenance: true }
  const what = `The upgrade to ${version!.spec.version} needs a downtime`
  if (changesAt === undefined) {
    const cure = 'Add a window to spec.maintenance.windows of the Platform, or set spec.maintenance.skip to true.'
    return { ...common, state: 'Warning', message: `${what}, and no maintenance window is declared. ${cure}` }
  }
  const message = `${what}: it waits for the maintenance window at ${formatTime(changesAt)}.`
  return { ...common, state: 'Ready', message, afterMs: changesAt - now }
}
