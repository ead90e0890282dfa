/**
 * What is seen of the application: the state it says it is in, and what became of the actions it was given. Muster's
 * sidecar answers in these words; whoever has another way to look may put them together himself.
 */
import type { Json } from '../../kube/json.ts'

export interface ActionReport {
  readonly key: string
  /** `lost`: nobody knows how it ended. */
  readonly state: 'running' | 'succeeded' | 'failed' | 'lost'
  /** From 0 to 1. */
  readonly progress?: number | undefined
  readonly message?: string | undefined
}

export interface Observed {
  /** Whether the sidecar answered: only then do `actions` mean anything, and only then can one be started. */
  readonly reachable: boolean
  /**
   * What the application says; left out when it cannot tell. An application whose objects are gone is in its end state,
   * though nobody answers.
   */
  readonly state?: string | undefined
  /** At least those that `actionKeys` names and the sidecar knows; better all it knows. */
  readonly actions: readonly ActionReport[]
}

/** What is to be done to the application. At most one at a time, and either may be repeated without harm. */
export type LifecycleAct =
  | {
      readonly verb: 'start'
      /** A second start under the same key does nothing. */
      readonly key: string
      readonly action: string
      readonly input: Json
    }
  /** It has taken too long, and is in the way of what comes next. */
  | { readonly verb: 'cancel'; readonly key: string }
