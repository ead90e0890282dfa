/** Facts that the main thread sends to the watchdog's thread in advance: during an alarm it cannot be asked. */
import type { ObjectName } from '../../operator/view/view.ts'
import type { VersionedCode } from './version.ts'

export type Fact = ClusterFact | OperatorFact

/** Where the quarantine is recorded, and how to connect. */
export interface ClusterFact {
  readonly about: 'cluster'
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
  readonly configMap: ObjectName
  readonly replica: string
}

/** An operator whose code runs in the main thread. */
export interface OperatorFact extends VersionedCode {
  readonly about: 'operator'
  /** Its name in marks: one operator may serve several clusters. */
  readonly as: string
  readonly operator: string
  readonly loadedAt: number
}
