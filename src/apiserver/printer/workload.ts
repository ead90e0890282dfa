/** Columns of workloads, autoscalers and disruption budgets. */
import { parseTime } from '../../kube/units/duration.ts'
import type { ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet } from '../../kube/types/apps/v1.ts'
import type { HorizontalPodAutoscaler, MetricSpec, MetricStatus } from '../../kube/types/autoscaling/v2.ts'
import type { CronJob, Job } from '../../kube/types/batch/v1.ts'
import type { ReplicationController } from '../../kube/types/core/v1.ts'
import type { PodDisruptionBudget } from '../../kube/types/policy/v1.ts'
import { formatAge } from './age.ts'
import {
  age,
  type Columns,
  containerImages,
  containerNames,
  fewOf,
  labelText,
  nameCell,
  selectorCell,
  selectorText,
  since,
} from './cells.ts'

export const deployments: Columns<Deployment> = {
  Name: nameCell,
  Ready: ({ spec, status }) => `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 0}`,
  'Up-to-date': ({ status }) => status?.updatedReplicas ?? 0,
  Available: ({ status }) => status?.availableReplicas ?? 0,
  Age: age,
  Containers: ({ spec }) => containerNames(spec?.template),
  Images: ({ spec }) => containerImages(spec?.template),
  Selector: ({ spec }) => selectorCell(spec?.selector) ?? '<invalid>',
}

export const replicaSets: Columns<ReplicaSet> = {
  Name: nameCell,
  Desired: ({ spec }) => spec?.replicas ?? 0,
  Current: ({ status }) => status?.replicas ?? 0,
  Ready: ({ status }) => status?.readyReplicas ?? 0,
  Age: age,
  Containers: ({ spec }) => containerNames(spec?.template),
  Images: ({ spec }) => containerImages(spec?.template),
  Selector: ({ spec }) => selectorText(spec?.selector),
}

export const replicationControllers: Columns<ReplicationController> = {
  Name: nameCell,
  Desired: ({ spec }) => spec?.replicas ?? 0,
  Current: ({ status }) => status?.replicas ?? 0,
  Ready: ({ status }) => status?.readyReplicas ?? 0,
  Age: age,
  Containers: ({ spec }) => containerNames(spec?.template),
  Images: ({ spec }) => containerImages(spec?.template),
  Selector: ({ spec }) => labelText(spec?.selector),
}

export const statefulSets: Columns<StatefulSet> = {
  Name: nameCell,
  Ready: ({ spec, status }) => `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 0}`,
  Age: age,
  Containers: ({ spec }) => containerNames(spec?.template),
  Images: ({ spec }) => containerImages(spec?.template),
}

export const daemonSets: Columns<DaemonSet> = {
  Name: nameCell,
  Desired: ({ status }) => status?.desiredNumberScheduled ?? 0,
  Current: ({ status }) => status?.currentNumberScheduled ?? 0,
  Ready: ({ status }) => status?.numberReady ?? 0,
  'Up-to-date': ({ status }) => status?.updatedNumberScheduled ?? 0,
  Available: ({ status }) => status?.numberAvailable ?? 0,
  'Node Selector': ({ spec }) => labelText(spec?.template?.spec?.nodeSelector),
  Age: age,
  Containers: ({ spec }) => containerNames(spec?.template),
  Images: ({ spec }) => containerImages(spec?.template),
  Selector: ({ spec }) => selectorText(spec?.selector),
}

export const controllerRevisions: Columns<ControllerRevision> = {
  Name: nameCell,
  Controller({ metadata }) {
    const owner = metadata?.ownerReferences?.find(({ controller }) => controller)
    if (!owner) return '<none>'
    const [group] = owner.apiVersion.includes('/') ? owner.apiVersion.split('/') : []
    const kind = group === undefined ? owner.kind : `${owner.kind}.${group}`
    return `${kind.toLowerCase()}/${owner.name}`
  },
  Revision: ({ revision }) => revision ?? 0,
  Age: age,
}

/** The status of a Job is the first of these conditions that is true; Terminating comes in between. */
const jobEnds = [
  ['Complete', 'Complete'],
  ['Failed', 'Failed'],
] as const
const jobStages = ['Suspended', 'FailureTarget', 'SuccessCriteriaMet']

export const jobs: Columns<Job> = {
  Name: nameCell,
  Status({ metadata, status }) {
    const holds = (type: string): boolean =>
      status?.conditions?.find((condition) => condition.type === type)?.status === 'True'
    const end = jobEnds.find(([type]) => holds(type))
    if (end) return end[1]
    if (metadata?.deletionTimestamp !== undefined) return 'Terminating'
    return jobStages.find(holds) ?? 'Running'
  },
  Completions({ spec, status }) {
    const done = status?.succeeded ?? 0
    if (spec?.completions !== undefined) return `${done}/${spec.completions}`
    const workers = spec?.parallelism ?? 0
    return workers > 1 ? `${done}/1 of ${workers}` : `${done}/1`
  },
  Duration({ status }, { now }) {
    const start = parseTime(status?.startTime ?? '')
    if (start === undefined) return ''
    return formatAge((parseTime(status?.completionTime ?? '') ?? now) - start)
  },
  Age: age,
  Containers: ({ spec }) => containerNames(spec?.template),
  Images: ({ spec }) => containerImages(spec?.template),
  Selector: ({ spec }) => selectorText(spec?.selector),
}

export const cronJobs: Columns<CronJob> = {
  Name: nameCell,
  Schedule: ({ spec }) => spec?.schedule ?? '',
  Timezone: ({ spec }) => spec?.timeZone ?? '<none>',
  Suspend: ({ spec }) => (spec?.suspend === undefined ? '<unset>' : spec.suspend ? 'True' : 'False'),
  Active: ({ status }) => (status?.active ?? []).length,
  'Last Schedule': ({ status }, { now }) =>
    status?.lastScheduleTime === undefined ? '<none>' : since(status.lastScheduleTime, now),
  Age: age,
  Containers: ({ spec }) => containerNames(spec?.jobTemplate?.spec?.template),
  Images: ({ spec }) => containerImages(spec?.jobTemplate?.spec?.template),
  Selector: ({ spec }) => selectorText(spec?.jobTemplate?.spec?.selector),
}

export const podDisruptionBudgets: Columns<PodDisruptionBudget> = {
  Name: nameCell,
  'Min Available': ({ spec }) => String(spec?.minAvailable ?? 'N/A'),
  'Max Unavailable': ({ spec }) => String(spec?.maxUnavailable ?? 'N/A'),
  'Allowed Disruptions': ({ status }) => status?.disruptionsAllowed ?? 0,
  Age: age,
}

export const horizontalPodAutoscalers: Columns<HorizontalPodAutoscaler> = {
  Name: nameCell,
  Reference: ({ spec }) => `${spec?.scaleTargetRef?.kind ?? ''}/${spec?.scaleTargetRef?.name ?? ''}`,
  Targets({ spec, status }) {
    const metrics = spec?.metrics ?? []
    if (metrics.length === 0) return '<none>'
    return fewOf(
      metrics.map((metric, index) => targetText(metric, status?.currentMetrics?.[index])),
      2,
      ', ',
    )
  },
  MinPods: ({ spec }) => String(spec?.minReplicas ?? '<unset>'),
  MaxPods: ({ spec }) => spec?.maxReplicas ?? 0,
  Replicas: ({ status }) => status?.currentReplicas ?? 0,
  Age: age,
}

interface Aim {
  readonly averageValue?: string | number
  readonly averageUtilization?: number
  readonly value?: string | number
}

/** Current and target value. */
function targetText(spec: MetricSpec, status: MetricStatus | undefined): string {
  switch (spec.type) {
    case 'External':
      return valueText(spec.external?.target, status?.external?.current)
    case 'Object':
      return valueText(spec.object?.target, status?.object?.current)
    case 'Pods':
      return `${known(status?.pods?.current, 'averageValue')}/${quantity(spec.pods?.target?.averageValue)}`
    case 'Resource':
      return `${spec.resource?.name}: ${usageText(spec.resource?.target, status?.resource?.current)}`
    case 'ContainerResource':
      return `${spec.containerResource?.name}: ${usageText(spec.containerResource?.target, status?.containerResource?.current)}`
    default:
      return '<unknown type>'
  }
}

function valueText(target: Aim | undefined, current: Aim | undefined): string {
  if (target?.averageValue === undefined) return `${known(current, 'value')}/${quantity(target?.value)}`
  return `${current?.averageValue ?? '<unknown>'}/${target.averageValue} (avg)`
}

function usageText(target: Aim | undefined, current: Aim | undefined): string {
  if (target?.averageValue !== undefined) return `${known(current, 'averageValue')}/${target.averageValue}`
  const percent = (aim: Aim | undefined, otherwise: string): string =>
    aim?.averageUtilization === undefined ? otherwise : `${aim.averageUtilization}%`
  return `${percent(current, '<unknown>')}/${percent(target, '<auto>')}`
}

function known(current: Aim | undefined, which: 'averageValue' | 'value'): string {
  return current === undefined ? '<unknown>' : quantity(current[which])
}

function quantity(value: string | number | undefined): string {
  return String(value ?? '<nil>')
}
