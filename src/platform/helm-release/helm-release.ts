/** A release of Helm as data: what `helm install` has stored about one revision. */
import type { JsonObject } from '../../kube/json.ts'

/** One revision of a release. Values and manifest may contain secrets. */
export interface HelmRelease {
  readonly name: string
  readonly namespace: string
  /** Counts from one; every upgrade and rollback adds one. */
  readonly revision: number
  /** `deployed`, `superseded`, `failed`, `uninstalled`, `pending-install`, … */
  readonly status: string
  /** Chart.yaml: name, version, appVersion, … */
  readonly chart: JsonObject
  /** The values that were given; the defaults of the chart are not among them. */
  readonly values: JsonObject
  /** The rendered manifests, hooks excluded. */
  readonly manifest: string
  readonly hooks: readonly HelmReleaseHook[]
  /** The whole record. Members that are not named above are kept when the release is given back. */
  readonly document: JsonObject
}

/** A manifest that runs at certain events, with its weight and what happens to it afterwards. */
export interface HelmReleaseHook {
  readonly name: string
  readonly kind: string
  /** The template: `web/templates/migrate.yaml`. */
  readonly path: string
  readonly manifest: string
  /** `pre-install`, `post-upgrade`, … */
  readonly events: readonly string[]
  readonly weight: number
  readonly deletePolicies: readonly string[]
}
