/** Everything that decisions about components depend on. */
import { findCondition, isConditionTrue } from '../../kube/meta/condition.ts'
import type { GroupVersionKind } from '../../kube/kind.ts'
import type { ComponentVersionObject } from '../catalogue/component-version.ts'
import type { PreinstalledOperator } from '../catalogue/preinstalled.ts'
import type { InstallationObject } from '../installation/installation.ts'
import { uninstalledReason } from '../installation/report.ts'
import type { ExternalProblem } from './external-health.ts'
import type { Catalogue } from './component-catalogue.ts'
import type { PlatformComponent, PlatformSpec, PlatformStatus } from './platform.ts'

export interface PlatformSituation {
  readonly spec: PlatformSpec
  readonly status: PlatformStatus
  readonly catalogue: Catalogue
  /** By component. */
  readonly installations: ReadonlyMap<string, InstallationObject>
  /** Installations of the default resources of components that are left alone, by component. */
  readonly defaults: ReadonlyMap<string, InstallationObject>
  /** Installations by other means, by component. */
  readonly preinstalled: ReadonlyMap<string, readonly PreinstalledOperator[]>
  /** What the own objects of components that are left alone report, by component: their problems, the worst first. */
  readonly reported: ReadonlyMap<string, readonly ExternalProblem[]>
  readonly serves: (apiVersion: string, kind: string) => boolean
  /** Objects of a kind that conflicts with a component: `AppWrapper shop/a`. */
  readonly objectsOf: (apiVersion: string, kind: string) => readonly string[]
  readonly now: number
}

/** The situation of one component, for its preconditions. */
export interface ComponentSituation extends PlatformSituation {
  readonly component: PlatformComponent
  readonly channel: string
  /** The version that its Installation was told to install. */
  readonly declared: string | undefined
  /** The version that was healthy last. */
  readonly installed: string | undefined
  readonly target: string | undefined
  readonly version: ComponentVersionObject | undefined
}

/** Components of the Platform, mandatory ones, and those with an Installation that are no longer listed. */
export function wantedComponents({
  spec,
  catalogue,
  installations,
}: Pick<PlatformSituation, 'spec' | 'catalogue' | 'installations'>): readonly PlatformComponent[] {
  const wanted = new Map<string, PlatformComponent>()
  for (const component of spec.components) wanted.set(component.name, component)
  for (const [name, { spec: entry, metadata }] of catalogue.components) {
    if (!entry.mandatory) continue
    // The team that owns it takes it away by deleting it.
    const managementState = metadata.deletionTimestamp === undefined ? 'Managed' : 'Removed'
    const { managementState: asked, values, valuesFrom = [], customResourcePolicy } = wanted.get(name) ?? {}
    wanted.set(name, {
      ...unlisted(name, managementState === 'Managed' && asked === 'Adopt' ? asked : managementState),
      ...(values !== undefined && { values }),
      valuesFrom,
      ...(customResourcePolicy && { customResourcePolicy }),
    })
  }
  for (const name of installations.keys()) if (!wanted.has(name)) wanted.set(name, unlisted(name, 'Removed'))
  return [...wanted.values()]
}

function unlisted(name: string, managementState: PlatformComponent['managementState']): PlatformComponent {
  return { name, managementState, valuesFrom: [], customResourcePolicy: 'CreateAndDelete' }
}

export function targetVersion(
  { name, version, channel }: PlatformComponent,
  { catalogue, spec }: Pick<PlatformSituation, 'catalogue' | 'spec'>,
): string | undefined {
  const entry = catalogue.components.get(name)?.spec
  if (entry?.mandatory) return entry.mandatory.version
  if (version !== undefined) return version
  const wanted = channel ?? spec.channel
  return entry?.channels.find((one) => one.name === wanted)?.version
}

/** Kinds of the objects that the Platform has let go, of a component that is Unmanaged: known while they belong to it, then recorded. */
export function releasedKinds(
  name: string,
  { installations, status }: Pick<PlatformSituation, 'installations' | 'status'>,
): readonly GroupVersionKind[] {
  const installation = installations.get(name)
  if (installation) return installation.status?.kinds ?? []
  return status.components?.find((one) => one.name === name)?.released ?? []
}

/** Whether all of its objects are gone. */
export function isUninstalled({ spec, status, metadata }: InstallationObject): boolean {
  const ready = findCondition(status?.conditions, 'Ready')
  // Its deletion is a new generation, which says nothing about its objects.
  const isObserved = status?.observedGeneration === metadata.generation || metadata.deletionTimestamp !== undefined
  return spec.uninstall && isObserved && ready?.reason === uninstalledReason
}

export function isInstallationReady(installation: InstallationObject): boolean {
  const { status, metadata } = installation
  return (
    status?.observedGeneration === metadata.generation &&
    isConditionTrue(status?.conditions, 'Ready') &&
    !isUninstalled(installation)
  )
}
