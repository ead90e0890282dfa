/** An Installation as a plain manifest: what imports write. Members that are left out have the default of the kind. */
import type { JsonObject } from '../../kube/json.ts'
import type { ImageRule } from '../image/image-rules.ts'

export interface InstallationManifest {
  readonly apiVersion: 'platform.muster.dev/v1alpha1'
  readonly kind: 'Installation'
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined }
  readonly spec: InstallationManifestSpec
}

export interface InstallationManifestSpec {
  readonly source: ImportedSource
  readonly releaseName?: string | undefined
  readonly targetNamespace?: string | undefined
  readonly values?: JsonObject | undefined
  readonly valuesFrom?: readonly ImportedValues[] | undefined
  readonly images?: readonly ImageRule[] | undefined
  readonly dependsOn?: readonly { readonly name: string; readonly namespace?: string | undefined }[] | undefined
  readonly serviceAccountName?: string | undefined
  readonly timeout?: string | undefined
  readonly drift?: InstallationDrift | undefined
  readonly remediation?: InstallationRemediation | undefined
  readonly prune?: boolean | undefined
  readonly deletion?: 'delete' | 'orphan' | undefined
  readonly suspend?: boolean | undefined
  readonly crds?: 'apply' | 'create-only' | 'skip' | undefined
  readonly skipSchemaValidation?: true | undefined
  readonly health?: readonly HealthExpressions[] | undefined
}

export interface InstallationDrift {
  readonly mode: 'correct' | 'warn' | 'off'
  readonly ignore?: readonly DriftException[] | undefined
}

export interface InstallationRemediation {
  readonly retries?: number | undefined
  readonly strategy: 'rollback' | 'uninstall' | 'none'
}

/** One place. */
export type ImportedSource = ({ readonly oci: OciSource } | { readonly helm: HelmRepositorySource }) & {
  readonly interval?: string | undefined
}

export interface OciSource {
  readonly url: string
  readonly version?: string | undefined
  readonly digest?: string | undefined
  readonly secretRef?: { readonly name: string } | undefined
  readonly plainHttp?: true | undefined
  readonly layer?: string | undefined
  readonly kind?: 'Chart' | 'Manifests' | 'Kustomization' | undefined
  readonly path?: string | undefined
}

interface HelmRepositorySource {
  readonly url: string
  readonly chart: string
  readonly version?: string | undefined
  readonly secretRef?: { readonly name: string } | undefined
}

export interface ImportedValues {
  readonly kind: 'ConfigMap' | 'Secret'
  readonly name: string
  readonly key?: string | undefined
  /** A dotted path to set. */
  readonly path?: string | undefined
  readonly optional?: boolean | undefined
}

/** Fields whose drift is accepted. */
export interface DriftException {
  /** JSON pointers. */
  readonly paths: readonly string[]
  readonly target?:
    | {
        readonly group?: string | undefined
        readonly kind?: string | undefined
        readonly name?: string | undefined
        readonly namespace?: string | undefined
        readonly labelSelector?: string | undefined
      }
    | undefined
}

/** Health of a kind, in CEL. */
export interface HealthExpressions {
  readonly apiVersion: string
  readonly kind: string
  readonly current?: string | undefined
  readonly failed?: string | undefined
  readonly inProgress?: string | undefined
}

/** Without members that are undefined, so that a manifest shows what is set. Values are the user's, and stay as they are. */
export function withoutUndefined<T>(value: T): T {
  if (Array.isArray(value)) return value.map((item: unknown) => withoutUndefined(item)) as T
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return Object.fromEntries(
    members.map(([name, member]: [string, unknown]) => [name, name === 'values' ? member : withoutUndefined(member)]),
  ) as T
}
