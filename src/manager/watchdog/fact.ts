/** What the main thread tells the watchdog's beforehand: when it matters, it can be asked nothing. */
import type { ObjectName } from '../../operator/view.ts'
import type { VersionedCode } from './version.ts'

export type Fact = ClusterFact | OperatorFact

/** Where the quarantine is recorded, and how that is reached. */
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
  /** What it is called in marks: one operator may be at several places. */
  readonly as: string
  readonly operator: string
  readonly loadedAt: number
}
