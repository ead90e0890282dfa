/**
 * StorageObjectInUseProtection: new volumes, claims and attributes classes get a finalizer, so that none is removed
 * while in use.
 */
import type { UntypedObject } from '../../../kube/object.ts'
import type { AdmissionPlugin } from '../../cluster/admission.ts'

const finalizers: ReadonlyMap<string, string> = new Map([
  ['persistentvolumes', 'kubernetes.io/pv-protection'],
  ['persistentvolumeclaims', 'kubernetes.io/pvc-protection'],
  ['volumeattributesclasses.storage.k8s.io', 'kubernetes.io/vac-protection'],
])

function withFinalizer(object: UntypedObject, finalizer: string): UntypedObject {
  const { finalizers: known = [] } = object.metadata
  if (known.includes(finalizer)) return object
  return { ...object, metadata: { ...object.metadata, finalizers: [...known, finalizer] } }
}

export const storageObjectInUseProtection: AdmissionPlugin = {
  name: 'StorageObjectInUseProtection',
  mutate(_state, { operation, served, subresource, object }) {
    const finalizer = operation === 'CREATE' && subresource === '' ? finalizers.get(served.table) : undefined
    return finalizer === undefined ? object : withFinalizer(object, finalizer)
  },
}
