/** What simulated applications read: objects of the cluster and the time. */
import type { Clock } from '../../clock/clock.ts'
import type { ObjectRef } from '../../client/client.ts'
import type { Resource } from '../../kube/kind.ts'
import type { KubeObject, Named, UntypedObject } from '../../kube/object.ts'
import type { TypedResource } from '../../kube/typed-resource.ts'
import type { Storage } from '../../apiserver/storage/storage.ts'

export interface SimulatedWorld {
  readonly clock: Clock
  /** `get(Pod, { namespace, name })`: the stored object, typed by its resource. */
  readonly get: <T extends KubeObject = UntypedObject>(
    resource: TypedResource<T>,
    name: ObjectRef,
  ) => Named<T> | undefined
}

/** Reads objects as the embedded API server stores them. */
export function worldReader(storage: () => Storage | undefined): SimulatedWorld['get'] {
  return <T extends KubeObject>(resource: Resource, { namespace, name }: ObjectRef) => {
    const found: KubeObject | undefined = storage()?.table(sampleTable(resource)).get(namespace, name)
    return found as Named<T> | undefined
  }
}

/** The name under which the storage of the embedded API server keeps a resource. */
export function sampleTable({ group, plural }: Pick<Resource, 'group' | 'plural'>): string {
  return group === '' ? plural : `${plural}.${group}`
}
