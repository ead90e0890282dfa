/**
 * Pausing: hands off. There are three reaches, and the widest is the one that is told:
 *
 * - the manager (`paused: true` in its settings): nothing runs
 * - an operator (`operators.NAME.paused: true`): none of its controllers runs
 * - one object: the label `muster.dev/paused: "true"` on a CR
 *
 * For what is paused nothing is written at all: no child, no finalizer, no status, no Event. So there is no condition
 * `Paused` either: whoever sets the label does so to work by hand, and a status that changes under his hands is a hand too
 * many. What is paused shows by the label itself (`kubectl get KIND -l muster.dev/paused=true`) and in the manager's own
 * reports. Caches stay filled, so what happened meanwhile is put right by one run when the pause ends: taking the label
 * away is a change of the CR, and wakes it. A paused CR that is deleted waits for its finalizer until then.
 */
import type { KubeObject } from '../../kube/object.ts'

export const pausedLabel = 'muster.dev/paused'

export type Pause = 'manager' | 'operator' | 'object'

/** What the settings say. */
export interface PauseSettings {
  readonly manager: boolean
  readonly operator: boolean
}

/** Why nothing may be written for a CR; undefined: something may. */
export function pausedBy(cr: KubeObject, { manager, operator }: PauseSettings): Pause | undefined {
  if (manager) return 'manager'
  if (operator) return 'operator'
  return isPausedObject(cr) ? 'object' : undefined
}

export function isPausedObject({ metadata }: KubeObject): boolean {
  return metadata.labels?.[pausedLabel] === 'true'
}
