/** What is installed: a manager, the operators that it hosts, its configuration and its image. */
import type { JsonObject } from '../kube/json.ts'
import type { Settings } from '../manager/config/settings.ts'
import type { Operator } from '../operator/operator.ts'

export interface InstallationDescription {
  /** The name of the chart, and of all objects unless the user chooses another. */
  readonly name: string
  /** The namespace in manifests and kustomize base; Helm has its own. */
  readonly namespace: string
  /** Of the chart and of the operators in it. */
  readonly version: string
  readonly description: string
  readonly image: {
    readonly repository: string
    readonly tag: string
    /** `sha256:…`; takes precedence over the tag. */
    readonly digest?: string
  }
  /** With the kinds, roles and webhooks that they declare. */
  readonly operators: readonly Operator[]
  /** The content of `muster.yaml`. */
  readonly config: JsonObject
  /** The configuration as the manager reads it. */
  readonly settings: Settings
}
