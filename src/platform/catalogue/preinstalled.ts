/** Installations of a component by other means: recognised by their traces, never overwritten. */
import type { PreinstalledSigns } from './component.ts'

/** One installation that the Platform did not make. */
export interface PreinstalledOperator {
  /** `Subscription openshift-operators/codeflare-operator of the Operator Lifecycle Manager` */
  readonly place: string
}

interface PackageTrace {
  readonly name: string
  readonly namespace: string
  readonly package: string
}

/** What a cluster shows of operators that were installed by other means. */
interface PreinstalledTraces {
  /** Subscriptions and ClusterServiceVersions of the Operator Lifecycle Manager. */
  readonly subscriptions: readonly PackageTrace[]
  readonly serviceVersions: readonly PackageTrace[]
  readonly helmReleases: readonly { readonly name: string; readonly namespace: string }[]
  /** CRDs that are not those of the component's own Installation, and whose they are. */
  readonly crds: ReadonlyMap<string, string>
}

export function preinstalledOperators(
  { olmPackages, helmReleases, crds }: PreinstalledSigns,
  ownCrds: readonly string[],
  traces: PreinstalledTraces,
): readonly PreinstalledOperator[] {
  const packages = new Set(olmPackages)
  const releases = new Set(helmReleases)
  const found: PreinstalledOperator[] = []
  for (const one of traces.subscriptions) {
    if (packages.has(one.package)) found.push({ place: `Subscription ${one.namespace}/${one.name} of OLM` })
  }
  for (const one of traces.serviceVersions) {
    if (packages.has(one.package)) found.push({ place: `ClusterServiceVersion ${one.namespace}/${one.name} of OLM` })
  }
  for (const one of traces.helmReleases) {
    if (releases.has(one.name)) found.push({ place: `Helm release ${one.namespace}/${one.name}` })
  }
  for (const name of new Set([...crds, ...ownCrds])) {
    const owner = traces.crds.get(name)
    if (owner !== undefined) found.push({ place: `CRD ${name}, ${owner}` })
  }
  return found
}
