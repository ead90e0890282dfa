/**
 * What is to happen to each component: pure, from the Platform, the catalogue, the Installations and what else is on the
 * cluster. Preconditions (`preconditions.ts`) hold back the first installation and upgrades; what is installed is kept meanwhile.
 */
import type { ComponentVersionObject } from '../catalogue/component-version.ts'
import { versionOf } from './component-catalogue.ts'
import { declaredVersion, installedVersion, presentVersions } from './component-installation.ts'
import { preconditions, type Precondition, type ComponentHold } from './preconditions.ts'
import type { PlatformComponent } from './platform.ts'
import {
  type ComponentSituation,
  isUninstalled,
  type PlatformSituation,
  targetVersion,
  wantedComponents,
} from './platform-situation.ts'

export interface ComponentDecision {
  readonly component: PlatformComponent
  /**
   * - `install`: the Installation is as `version` says.
   * - `uninstall`: its objects are removed, then it is.
   * - `release`: it ends, and its objects stay.
   * - `none`: there is nothing to do.
   */
  readonly action: 'install' | 'uninstall' | 'release' | 'none'
  readonly channel?: string
  /** What is installed, or will be. */
  readonly version?: ComponentVersionObject
  /** The version that the Platform asks for. */
  readonly target?: string
  /** It is left alone and there: the default resources of its Component are created. */
  readonly hasDefaults?: boolean
  /** Why the target is not installed now. */
  readonly hold?: ComponentHold
}

/** In the order of the Platform; mandatory components and leftovers follow. */
export function decideComponents(situation: PlatformSituation): readonly ComponentDecision[] {
  return wantedComponents(situation).map((component) => decideComponent(component, situation))
}

function decideComponent(component: PlatformComponent, situation: PlatformSituation): ComponentDecision {
  const { name, managementState } = component
  const { catalogue, installations, spec } = situation
  const installation = installations.get(name)
  const declared = installation && declaredVersion(installation)
  const current = versionOf(catalogue, name, declared)
  const channel = component.channel ?? spec.channel
  const common = { component, channel, ...(current && { version: current }) }
  if (managementState === 'Unmanaged') {
    if (installation) return { ...common, action: 'release' }
    const isThere = (situation.preinstalled.get(name) ?? []).length > 0
    const { spec: entry, metadata } = catalogue.components.get(name) ?? {}
    const { defaultResources = [] } = entry?.preinstalled ?? {}
    const hasDefaults = isThere && defaultResources.length > 0 && metadata?.deletionTimestamp === undefined
    return { ...common, action: 'none', hasDefaults }
  }
  if (managementState === 'Removed') {
    if (!installation) return { ...common, action: 'none' }
    // A removal that has begun goes on: what was required until then would be created anew.
    const hold = installation.spec.uninstall ? undefined : requiredBy(name, situation)
    return hold ? { ...common, action: 'install', hold } : { ...common, action: 'uninstall' }
  }
  const target = targetVersion(component, situation)
  const at: ComponentSituation = {
    ...situation,
    component,
    channel,
    declared,
    installed: installation && installedVersion(installation),
    target,
    version: versionOf(catalogue, name, target),
  }
  const hold = firstHold(at)
  const wanted = { ...common, ...(target !== undefined && { target }) }
  if (!hold) return { ...wanted, action: 'install', version: at.version! }
  const action = installation ? 'install' : 'none'
  if (hold.keepsInstallation) {
    const { version: _, ...kept } = wanted
    return { ...kept, action, hold }
  }
  // What is installed is kept, and values that have changed are applied.
  return { ...wanted, action, hold }
}

function firstHold(at: ComponentSituation): ComponentHold | undefined {
  // What is installed stays, even if a precondition does not hold any more; an upgrade that has begun goes on.
  const isInstalled = at.version !== undefined && (at.installed === at.target || at.declared === at.target)
  const due: readonly Precondition[] = isInstalled ? preconditions.filter(({ isLasting }) => isLasting) : preconditions
  for (const { check } of due) {
    const hold = check(at)
    if (hold) return hold
  }
  return undefined
}

/** Components that need it are removed first. */
function requiredBy(name: string, situation: PlatformSituation): ComponentHold | undefined {
  const { catalogue, installations } = situation
  const others = [...installations].filter(([other, installation]) => {
    const versions = presentVersions(installation).flatMap((one) => versionOf(catalogue, other, one) ?? [])
    return other !== name && versions.some(({ spec }) => spec.requires.some(({ component }) => component === name))
  })
  const needing = others.filter(([, installation]) => !isUninstalled(installation)).map(([other]) => other)
  if (needing.length === 0) return undefined
  return {
    state: 'Warning',
    reason: 'RequiredByOthers',
    message: `It is required by ${needing.join(', ')}. Remove ${needing.length === 1 ? 'it' : 'them'}, too; it follows by itself.`,
  }
}
