/** Values derived from a Job alone. */
import type { JobCondition } from '../../../kube/types/batch/v1.ts'
import type { StoredIn } from '../controller/cluster.ts'

/** The condition that marks the Job as finished. */
export function finishOf({ status }: StoredIn<'jobs.batch'>): JobCondition | undefined {
  return status?.conditions?.find(
    ({ type, status: value }) => (type === 'Complete' || type === 'Failed') && value === 'True',
  )
}

/** Whether another controller manages the Job (`managedBy`). */
export function isManagedElsewhere({ spec }: StoredIn<'jobs.batch'>): boolean {
  return spec?.managedBy !== undefined && spec.managedBy !== 'kubernetes.io/job-controller'
}
