/** The rules of pods and of the kinds that create them. */
import { controllerRevision } from '../kinds/controller-revision.ts'
import { cronJob } from '../kinds/cron-job.ts'
import { daemonSet } from '../kinds/daemon-set.ts'
import { deploymentRules, replicaSet } from '../kinds/deployment.ts'
import { job } from '../kinds/job.ts'
import type { KindRules } from '../kinds/kind-rules.ts'
import { pod, podTemplate } from '../kinds/pod.ts'
import { replicationController } from '../kinds/replication-controller.ts'
import { statefulSet } from '../kinds/stateful-set.ts'

export const workloadKinds: ReadonlyMap<string, KindRules> = new Map<string, KindRules>([
  ['pods', pod],
  ['podtemplates', podTemplate],
  ['replicationcontrollers', replicationController],
  ['deployments.apps', deploymentRules],
  ['replicasets.apps', replicaSet],
  ['statefulsets.apps', statefulSet],
  ['daemonsets.apps', daemonSet],
  ['controllerrevisions.apps', controllerRevision],
  ['jobs.batch', job],
  ['cronjobs.batch', cronJob],
])
