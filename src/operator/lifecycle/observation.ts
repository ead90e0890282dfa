/**
 * An observation of the application: its state, and the records of its actions. Muster's sidecar provides it; an author
 * may build it from another source.
 */
import type { Json } from '../../kube/json.ts'

export interface ActionReport {
  readonly key: string
  /** `lost`: its outcome is unknown. */
  readonly state: 'running' | 'succeeded' | 'failed' | 'lost'
  /** From 0 to 1. */
  readonly progress?: number | undefined
  readonly message?: string | undefined
}

export interface Observed {
  /** Whether the sidecar answered: otherwise `actions` is empty and no action can be started. */
  readonly reachable: boolean
  /**
   * The state that the application reports; absent when it is unknown. An application whose objects are gone is in its
   * end state, though no sidecar answers.
   */
  readonly state?: string | undefined
  /** At least the known actions among `actionKeys`; better all. */
  readonly actions: readonly ActionReport[]
}

/** A request to the application. At most one at a time; both are idempotent. */
export type LifecycleAct =
  | {
      readonly verb: 'start'
      /** A second start with the same key has no effect. */
      readonly key: string
      readonly action: string
      readonly input: Json
    }
  /** The action timed out, and blocks the next one. */
  | { readonly verb: 'cancel'; readonly key: string }
