/** Columns of volumes, claims, storage classes and CSI objects. */
import { parseTime } from '../../kube/units/duration.ts'
import type { ObjectMeta, UntypedObject } from '../../kube/object.ts'
import type { PersistentVolume, PersistentVolumeClaim } from '../../kube/types/core/v1.ts'
import type {
  CSIDriver,
  CSINode,
  StorageClass,
  VolumeAttachment,
  VolumeAttributesClass,
} from '../../kube/types/storage/v1.ts'
import { age, type Columns, joined, nameCell, orNone } from './cells.ts'

export const persistentVolumes: Columns<PersistentVolume> = {
  Name: nameCell,
  Capacity: ({ spec }) => String(spec?.capacity?.['storage'] ?? '0'),
  'Access Modes': ({ spec }) => accessModes(spec?.accessModes),
  'Reclaim Policy': ({ spec }) => spec?.persistentVolumeReclaimPolicy ?? '',
  Status: phase,
  Claim: ({ spec }) => (spec?.claimRef ? `${spec.claimRef.namespace ?? ''}/${spec.claimRef.name ?? ''}` : ''),
  StorageClass: storageClass,
  VolumeAttributesClass: ({ spec }) => spec?.volumeAttributesClassName ?? '<unset>',
  Reason: ({ status }) => status?.reason ?? '',
  Age: age,
  VolumeMode: ({ spec }) => spec?.volumeMode ?? '<unset>',
}

export const persistentVolumeClaims: Columns<PersistentVolumeClaim> = {
  Name: nameCell,
  Status: phase,
  Volume: ({ spec }) => spec?.volumeName ?? '',
  // The capacity and access modes of an unbound claim are only requests.
  Capacity: ({ spec, status }) => (spec?.volumeName ? String(status?.capacity?.['storage'] ?? '0') : ''),
  'Access Modes': ({ spec, status }) => (spec?.volumeName ? accessModes(status?.accessModes) : ''),
  StorageClass: storageClass,
  VolumeAttributesClass: ({ spec }) => spec?.volumeAttributesClassName ?? '<unset>',
  Age: age,
  VolumeMode: ({ spec }) => spec?.volumeMode ?? '<unset>',
}

interface Volume {
  readonly metadata?: ObjectMeta
  readonly spec?: { readonly storageClassName?: string }
  readonly status?: { readonly phase?: string }
}

function phase({ metadata, status }: Volume): string {
  return metadata?.deletionTimestamp === undefined ? (status?.phase ?? '') : 'Terminating'
}

function storageClass({ metadata, spec }: Volume): string {
  return metadata?.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? spec?.storageClassName ?? ''
}

const shortModes = [
  ['ReadWriteOnce', 'RWO'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteMany', 'RWX'],
  ['ReadWriteOncePod', 'RWOP'],
] as const

function accessModes(modes: readonly string[] = []): string {
  return shortModes
    .filter(([mode]) => modes.includes(mode))
    .map(([, short]) => short)
    .join(',')
}

export const storageClasses: Columns<StorageClass> = {
  Name: (one, { list }) => (nameCell(one) === defaultOf(list) ? `${nameCell(one)} (default)` : nameCell(one)),
  Provisioner: ({ provisioner }) => provisioner ?? '',
  ReclaimPolicy: ({ reclaimPolicy }) => reclaimPolicy ?? 'Delete',
  VolumeBindingMode: ({ volumeBindingMode }) => volumeBindingMode ?? 'Immediate',
  AllowVolumeExpansion: ({ allowVolumeExpansion }) => allowVolumeExpansion ?? false,
  Age: age,
}

/** Of several default classes, the newest counts, then the first by name. */
function defaultOf(classes: readonly UntypedObject[]): string | undefined {
  const marks = ['storageclass.kubernetes.io/is-default-class', 'storageclass.beta.kubernetes.io/is-default-class']
  const created = ({ metadata }: UntypedObject): number => parseTime(metadata.creationTimestamp ?? '') ?? 0
  const [first] = classes
    .filter(({ metadata }) => marks.some((mark) => metadata.annotations?.[mark] === 'true'))
    .toSorted((a, b) => created(b) - created(a) || (nameCell(a) < nameCell(b) ? -1 : 1))
  return first && nameCell(first)
}

export const volumeAttributesClasses: Columns<VolumeAttributesClass> = {
  Name: nameCell,
  DriverName: ({ driverName }) => driverName ?? '',
  Age: age,
}

export const volumeAttachments: Columns<VolumeAttachment> = {
  Name: nameCell,
  Attacher: ({ spec }) => spec?.attacher ?? '',
  PV: ({ spec }) => spec?.source?.persistentVolumeName ?? '',
  Node: ({ spec }) => spec?.nodeName ?? '',
  Attached: ({ status }) => status?.attached ?? false,
  Age: age,
}

export const csiNodes: Columns<CSINode> = {
  Name: nameCell,
  Drivers: ({ spec }) => (spec?.drivers ?? []).length,
  Age: age,
}

export const csiDrivers: Columns<CSIDriver> = {
  Name: nameCell,
  AttachRequired: ({ spec }) => spec?.attachRequired ?? true,
  PodInfoOnMount: ({ spec }) => spec?.podInfoOnMount ?? false,
  StorageCapacity: ({ spec }) => spec?.storageCapacity ?? false,
  TokenRequests: ({ spec }) => spec?.tokenRequests?.map(({ audience }) => audience).join(',') ?? '<unset>',
  RequiresRepublish: ({ spec }) => spec?.requiresRepublish ?? false,
  Modes: ({ spec }) => orNone(joined(spec?.volumeLifecycleModes)),
  Age: age,
}
