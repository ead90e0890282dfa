/** The catalogue as a Platform sees it: components by name, versions by component. */
import type { ComponentObject } from '../catalogue/component.ts'
import type { ComponentVersionObject } from '../catalogue/component-version.ts'

export interface Catalogue {
  readonly components: ReadonlyMap<string, ComponentObject>
  /** By component, then by version. */
  readonly versions: ReadonlyMap<string, ReadonlyMap<string, ComponentVersionObject>>
}

export function catalogueOf(
  components: readonly ComponentObject[],
  versions: readonly ComponentVersionObject[],
): Catalogue {
  const byComponent = new Map<string, Map<string, ComponentVersionObject>>()
  for (const version of versions) {
    const { component, version: number } = version.spec
    const known = byComponent.get(component)
    if (known) known.set(number, version)
    else byComponent.set(component, new Map([[number, version]]))
  }
  return { components: new Map(components.map((one) => [one.metadata.name, one])), versions: byComponent }
}

/** The CRDs of all its versions: which one runs may be unknown. */
export function publishedCrds({ versions }: Catalogue, component: string): readonly string[] {
  return [...new Set([...(versions.get(component)?.values() ?? [])].flatMap(({ spec }) => spec.crds))]
}

export function versionOf(
  { versions }: Catalogue,
  component: string,
  version: string | undefined,
): ComponentVersionObject | undefined {
  return version === undefined ? undefined : versions.get(component)?.get(version)
}
