/**
 * DefaultStorageClass: a claim without a class gets the default class, if there is one. Of several defaults the newest
 * counts, and of those created in the same second the first by name.
 */
import type { UntypedObject } from '../../../kube/object.ts'
import type { AdmissionPlugin } from '../../cluster/admission.ts'

const isDefault = 'storageclass.kubernetes.io/is-default-class'
const isDefaultBeta = 'storageclass.beta.kubernetes.io/is-default-class'
const classAnnotation = 'volume.beta.kubernetes.io/storage-class'

export function withDefaultClass(claim: UntypedObject, classes: readonly UntypedObject[]): UntypedObject {
  const spec = (claim['spec'] ?? {}) as { readonly storageClassName?: string }
  if (spec.storageClassName !== undefined || claim.metadata.annotations?.[classAnnotation] !== undefined) return claim
  const [best] = classes
    .filter(
      ({ metadata: { annotations } }) => annotations?.[isDefault] === 'true' || annotations?.[isDefaultBeta] === 'true',
    )
    .toSorted(
      (a, b) =>
        compare(b.metadata.creationTimestamp, a.metadata.creationTimestamp) ||
        compare(a.metadata.name, b.metadata.name),
    )
  return best ? { ...claim, spec: { ...spec, storageClassName: best.metadata.name } } : claim
}

function compare(a = '', b = ''): number {
  return a < b ? -1 : a > b ? 1 : 0
}

export const defaultStorageClass: AdmissionPlugin = {
  name: 'DefaultStorageClass',
  mutate: ({ storage }, { operation, served, subresource, object }) =>
    operation === 'CREATE' && served.table === 'persistentvolumeclaims' && subresource === ''
      ? withDefaultClass(object, storage.table('storageclasses.storage.k8s.io').objects())
      : object,
}
