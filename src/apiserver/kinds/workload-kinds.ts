/** The rules of pods and of the kinds that make them. */
import { controllerRevision } from './controller-revision.ts'
import { cronJob } from './cron-job.ts'
import { daemonSet } from './daemon-set.ts'
import { deployment, replicaSet } from './deployment.ts'
import { job } from './job.ts'
import type { KindRules } from './kind-rules.ts'
import { pod, podTemplate } from './pod.ts'
import { replicationController } from './replication-controller.ts'
import { statefulSet } from './stateful-set.ts'

export const workloadKinds: ReadonlyMap<string, KindRules> = new Map<string, KindRules>([
  ['pods', pod],
  ['podtemplates', podTemplate],
  ['replicationcontrollers', replicationController],
  ['deployments.apps', deployment],
  ['replicasets.apps', replicaSet],
  ['statefulsets.apps', statefulSet],
  ['daemonsets.apps', daemonSet],
  ['controllerrevisions.apps', controllerRevision],
  ['jobs.batch', job],
  ['cronjobs.batch', cronJob],
])
