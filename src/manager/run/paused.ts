/**
 * Pausing reconciles. There are three scopes:
 *
 * - the manager (`paused: true` in its settings): no operator runs
 * - an operator (`operators.NAME.paused: true`): none of its controllers runs
 * - one object: the label `muster.dev/paused: "true"` on a CR
 *
 * While paused, nothing is written: no dependent, no finalizer, no status, no Event. So there is no condition `Paused`
 * either: an administrator pauses a CR to work on it by hand, and a status that changes meanwhile gets in the way.
 * Paused CRs are found by the label (`kubectl get KIND -l muster.dev/paused=true`) and in the manager's reports. Caches
 * stay filled, so one reconcile corrects all drift when the pause ends: removing the label is a change of the CR, and
 * enqueues it. A paused CR that is deleted keeps its finalizer until then.
 */
import type { KubeObject } from '../../kube/object.ts'

export const pausedLabel = 'muster.dev/paused'

export function isPausedObject({ metadata }: KubeObject): boolean {
  return metadata.labels?.[pausedLabel] === 'true'
}
