/** What can be said of a Job at a glance. */
import type { JobCondition } from '../../kube/types/batch/v1.ts'
import type { StoredIn } from './cluster.ts'

/** The condition by which the Job is over. */
export function finishOf({ status }: StoredIn<'jobs.batch'>): JobCondition | undefined {
  return status?.conditions?.find(
    ({ type, status: value }) => (type === 'Complete' || type === 'Failed') && value === 'True',
  )
}

/** Whether another controller than that of the cluster manages the Job. */
export function isManagedElsewhere({ spec }: StoredIn<'jobs.batch'>): boolean {
  return spec?.managedBy !== undefined && spec.managedBy !== 'kubernetes.io/job-controller'
}
