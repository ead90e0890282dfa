/** What a façade asks of the Platform, whatever its own API looks like: one desired component for each entry. Pure. */
import type { DependentOverlay } from '../../operator/dependent/dependent.ts'
import type { ComponentObject } from '../catalogue/component.ts'
import type { ManagementState, PlatformComponent, PlatformObject } from '../components/platform.ts'

export interface DesiredComponent {
  /** The name in the façade's own API. */
  readonly alias: string
  /** The name of the Component. */
  readonly component: string
  readonly managementState: Exclude<ManagementState, 'Adopt'>
  readonly channel?: string | undefined
  readonly version?: string | undefined
  readonly customResourcePolicy?: PlatformComponent['customResourcePolicy'] | undefined
}

export interface FacadeDesiredState {
  readonly components: readonly DesiredComponent[]
  /** Upgrades with a downtime begin at once. */
  readonly skipsMaintenance?: boolean
  /** Fields that have no counterpart in the Platform. */
  readonly ignored: readonly string[]
}

/** The names of Components by the names that a façade has for them: lower case, unless a Component declares another one. */
export type ComponentNames = (alias: string) => string

/** @param annotation on a Component: its names in the façade's API, separated by commas */
export function componentNames(components: readonly ComponentObject[], annotation: string): ComponentNames {
  const declared = new Map<string, string>()
  for (const { metadata } of components) {
    const aliases = metadata.annotations?.[annotation]?.split(',') ?? []
    for (const alias of aliases) declared.set(alias.trim().toLowerCase(), metadata.name)
  }
  return (alias) => declared.get(alias.toLowerCase()) ?? alias.toLowerCase()
}

/** The desired components that the Platform can hold, and why it cannot hold the others. */
export function validDesiredState({
  components,
  ...rest
}: FacadeDesiredState): FacadeDesiredState & { readonly refused: readonly string[] } {
  const byComponent = new Map<string, DesiredComponent>()
  const refused: string[] = []
  for (const desired of components) {
    const { alias, component } = desired
    const twin = byComponent.get(component)
    if (!isComponentName(component)) refused.push(`${JSON.stringify(alias.slice(0, 60))} is no name of a component.`)
    else if (twin) refused.push(`${alias} and ${twin.alias} are both the component ${component}: ${twin.alias} counts.`)
    else byComponent.set(component, desired)
  }
  return { ...rest, components: [...byComponent.values()], refused }
}

function isComponentName(name: string): boolean {
  return name.length <= 40 && /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/.test(name)
}

/** Exactly the fields that the façade owns in the Platform. */
export function platformFields({ components, skipsMaintenance }: FacadeDesiredState): DependentOverlay<PlatformObject> {
  const entries = components.map(({ component, managementState, channel, version, customResourcePolicy }) => ({
    name: component,
    managementState,
    channel,
    version,
    customResourcePolicy,
  }))
  return {
    spec: {
      ...(entries.length > 0 && { components: entries }),
      ...(skipsMaintenance && { maintenance: { skip: true } }),
    },
  }
}
