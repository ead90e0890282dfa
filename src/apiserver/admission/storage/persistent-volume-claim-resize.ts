/** PersistentVolumeClaimResize: a claim may grow only if it is bound and its class allows expansion. */
import type { UntypedObject } from '../../../kube/object.ts'
import { compareQuantities, parseQuantity } from '../../../kube/units/quantity.ts'
import type { PersistentVolumeClaim } from '../../../kube/types/core/v1.ts'
import { forbidden } from '../../errors/status-error.ts'
import type { AdmissionPlugin } from '../../cluster/admission.ts'

/** Why this update of the claim is rejected; undefined when it is allowed. */
function resizeProblem(
  object: UntypedObject,
  before: UntypedObject,
  findClass: (name: string) => UntypedObject | undefined,
): string | undefined {
  const { spec = {} } = object as unknown as PersistentVolumeClaim
  const { spec: old = {}, status } = before as unknown as PersistentVolumeClaim
  const sizeOf = ({ resources }: typeof spec): ReturnType<typeof parseQuantity> =>
    parseQuantity(resources?.requests?.['storage'] ?? '0')
  if (compareQuantities(sizeOf(spec), sizeOf(old)) <= 0) return undefined
  if (status?.phase !== 'Bound') return 'Only bound persistent volume claims can be expanded'
  const name = spec.storageClassName
  const isSame = name && name === old.storageClassName
  if (isSame && findClass(name)?.['allowVolumeExpansion'] === true) return undefined
  return 'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize'
}

export const persistentVolumeClaimResize: AdmissionPlugin = {
  name: 'PersistentVolumeClaimResize',
  validate({ storage }, { served, subresource, name, object, oldObject }) {
    if (served.table !== 'persistentvolumeclaims' || subresource !== '' || !object || !oldObject) return
    const classes = storage.table('storageclasses.storage.k8s.io')
    const why = resizeProblem(object, oldObject, (className) => classes.get(undefined, className))
    if (why !== undefined) throw forbidden(served, name, why)
  },
}
