/** What simulated applications read: objects of the cluster and the time. */
import type { Clock } from '../../clock/clock.ts'
import type { ObjectRef } from '../../client/client.ts'
import type { Resource } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'

export interface SimulatedWorld {
  readonly clock: Clock
  readonly get: (resource: Pick<Resource, 'group' | 'plural'>, name: ObjectRef) => UntypedObject | undefined
}

/** The name under which the storage of the embedded API server keeps a resource. */
export function sampleTable({ group, plural }: Pick<Resource, 'group' | 'plural'>): string {
  return group === '' ? plural : `${plural}.${group}`
}
