/** The rules of pods and of the kinds that create them. */
import { controllerRevision } from '../kinds/workload/controller-revision.ts'
import { cronJob } from '../kinds/workload/cron-job.ts'
import { daemonSet } from '../kinds/workload/daemon-set.ts'
import { deploymentRules, replicaSet } from '../kinds/workload/deployment.ts'
import { job } from '../kinds/workload/job.ts'
import type { KindRules } from '../kinds/strategy/kind-rules.ts'
import { pod, podTemplate } from '../kinds/workload/pod.ts'
import { replicationController } from '../kinds/workload/replication-controller.ts'
import { statefulSet } from '../kinds/workload/stateful-set.ts'

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
