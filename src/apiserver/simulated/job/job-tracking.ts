/**
 * The finalizer by which a Job keeps its pods until they are counted, and the controller that removes it from pods that
 * no Job counts: their Job is gone or finished, or they lost their controller.
 */
import { controllerOf } from '../../../kube/meta/owner.ts'
import { type SimulatedState, simulatedKey, splitKey, type StoredIn, type StoredPod } from '../controller/cluster.ts'
import { type SimulatedController, type Tools, withoutFinalizer } from '../controller/controller.ts'
import { finishOf, isManagedElsewhere } from './job-facts.ts'

export const trackingFinalizer = 'batch.kubernetes.io/job-tracking'

export function isTracked({ metadata }: StoredPod): boolean {
  return metadata.finalizers?.includes(trackingFinalizer) ?? false
}

/** Removes the finalizer, if the pod still has it. */
export async function releasePod({ cluster, writer }: Tools, pod: StoredPod): Promise<void> {
  const live = cluster.get('pods', pod.metadata.namespace, pod.metadata.name)
  if (live?.metadata.uid !== pod.metadata.uid || !isTracked(live)) return
  await writer.update('pods', withoutFinalizer(live, trackingFinalizer))
}

/** Removes the finalizer from pods whose Job will never count them. */
export function trackedPodController(tools: Tools): SimulatedController {
  const { cluster } = tools
  return {
    own: {
      pods: (pod) => (isTracked(pod) && isAbandoned(cluster, pod) ? [simulatedKey(pod)] : []),
      'jobs.batch': (job) =>
        cluster
          .controlled('pods', job)
          .filter((pod) => isTracked(pod) && isAbandoned(cluster, pod))
          .map(simulatedKey),
    },
    async reconcile(key) {
      const { namespace, name } = splitKey(key)
      const pod = cluster.get('pods', namespace, name)
      if (pod && isTracked(pod) && isAbandoned(cluster, pod)) await releasePod(tools, pod)
      return undefined
    },
  }
}

function isAbandoned(cluster: SimulatedState, pod: StoredPod): boolean {
  const owner = controllerOf(pod)
  if (!owner) return true
  if (owner.kind !== 'Job' || owner.apiVersion !== 'batch/v1') return false
  const job: StoredIn<'jobs.batch'> | undefined = cluster.get('jobs.batch', pod.metadata.namespace, owner.name)
  if (job?.metadata.uid !== owner.uid) return true
  // Another controller counts the pods of a Job that it manages.
  return !isManagedElsewhere(job) && finishOf(job) !== undefined
}
