/** PersistentVolumes: exactly one volume source each, which is immutable. */
import { posix } from 'node:path'
import { equalJson, type Json } from '../../../kube/json.ts'
import type { UntypedObject } from '../../../kube/object.ts'
import { parseQuantity, quantityToInteger } from '../../../kube/units/quantity.ts'
import type { PersistentVolume, PersistentVolumeSpec } from '../../../kube/types/core/v1.ts'
import { roundResources } from '../container/container-defaults.ts'
import { draftOf, fillAbsent, fillZeros, finished, ensurePart, part } from '../strategy/draft.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { checkCsiDriverName } from '../values/csi-driver-name.ts'
import { checkAccessModes, checkClassName, checkVolumeMode } from '../volume/claim-validation.ts'
import {
  forbiddenField,
  immutableDetail,
  invalidField,
  type Problems,
  requiredField,
  unsupported,
} from '../../../kube/validation/field-error.ts'
import { checkNodeSelector } from '../pod/scheduling-validation.ts'
import { checkNoBackSteps, checkPositiveAmount, isNegative } from '../values/value-validation.ts'

const specOf = (object: UntypedObject): PersistentVolumeSpec => (object as unknown as PersistentVolume).spec ?? {}

/** In the order of validation; of two sources, the second is reported. */
const sources = [
  'hostPath',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'glusterfs',
  'flocker',
  'nfs',
  'rbd',
  'quobyte',
  'cephfs',
  'iscsi',
  'cinder',
  'fc',
  'flexVolume',
  'azureFile',
  'vsphereVolume',
  'photonPersistentDisk',
  'portworxVolume',
  'azureDisk',
  'scaleIO',
  'local',
  'storageos',
  'csi',
] as const

function defaults(object: UntypedObject): UntypedObject {
  const draft = draftOf(object)
  const spec = ensurePart(draft, 'spec')
  ensurePart(draft, 'status')['phase'] ||= 'Pending'
  fillZeros(spec, { persistentVolumeReclaimPolicy: 'Retain' })
  fillAbsent(spec, { volumeMode: 'Filesystem' })
  fillAbsent(part(spec, 'hostPath'), { type: '' })
  fillZeros(part(spec, 'iscsi'), { iscsiInterface: 'default' })
  fillZeros(part(spec, 'rbd'), { pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' })
  fillZeros(part(spec, 'scaleIO'), { storageMode: 'ThinProvisioned', fsType: 'xfs' })
  fillAbsent(part(spec, 'azureDisk'), { cachingMode: 'ReadWrite', fsType: 'ext4', readOnly: false, kind: 'Shared' })
  roundResources(part(spec, 'capacity'))
  return finished(draft)
}

const reclaimPolicies = ['Delete', 'Recycle', 'Retain']

function* check(object: UntypedObject): Iterable<Problems[number]> {
  const spec = specOf(object)
  const { accessModes = [], capacity, persistentVolumeReclaimPolicy: policy, nodeAffinity, hostPath } = spec
  if (accessModes.length === 0) yield requiredField('spec.accessModes')
  yield* checkAccessModes(accessModes, 'spec.accessModes')
  yield* checkCapacity(capacity)
  if (policy && !reclaimPolicies.includes(policy)) {
    yield unsupported('spec.persistentVolumeReclaimPolicy', policy, reclaimPolicies)
  }
  if (nodeAffinity) {
    if (nodeAffinity.required) yield* checkNodeSelector(nodeAffinity.required, 'spec.nodeAffinity.required')
    else yield requiredField('spec.nodeAffinity.required', 'must specify required node constraints')
  }
  const [first, ...others] = sources.filter((source) => spec[source] !== undefined)
  if (first) yield* checkSource(first, spec)
  else yield requiredField('spec', 'must specify a volume type')
  for (const other of others) yield forbiddenField(`spec.${other}`, 'may not specify more than 1 volume type')
  if (hostPath && posix.normalize(hostPath.path) === '/' && policy === 'Recycle') {
    yield forbiddenField('spec.persistentVolumeReclaimPolicy', "may not be 'recycle' for a hostPath mount of '/'")
  }
  yield* checkClassName(spec.storageClassName, 'spec.storageClassName')
  yield* checkVolumeMode(spec.volumeMode, 'spec.volumeMode')
  yield* checkAttributesClass(spec)
}

function* checkCapacity(capacity: PersistentVolumeSpec['capacity']): Iterable<Problems[number]> {
  const names = Object.keys(capacity ?? {})
  if (names.length === 0) yield requiredField('spec.capacity')
  if (names.length !== 1 || names[0] !== 'storage') yield unsupported('spec.capacity', capacity ?? null, ['storage'])
  for (const [name, amount] of Object.entries((capacity ?? {}) as Readonly<Record<string, string>>)) {
    const field = `spec.capacity[${name}]`
    if (isNegative(amount)) {
      yield invalidField(field, quantityToInteger(parseQuantity(amount)), 'must be a valid resource quantity')
    }
    yield* checkPositiveAmount(amount, field)
  }
}

function* checkSource(source: (typeof sources)[number], spec: PersistentVolumeSpec): Iterable<Problems[number]> {
  const at = `spec.${source}`
  if (source === 'hostPath' || source === 'local') {
    const { path } = spec[source]!
    if (path === '') yield requiredField(`${at}.path`)
    else yield* checkNoBackSteps(path, `${at}.path`)
    if (source === 'local' && !spec.nodeAffinity) {
      yield requiredField('spec.nodeAffinity', 'Local volume requires node affinity')
    }
  }
  if (source === 'nfs') {
    const { server, path } = spec.nfs!
    if (!server) yield requiredField(`${at}.server`)
    if (!path) yield requiredField(`${at}.path`)
    if (!path.startsWith('/')) yield invalidField(`${at}.path`, path, 'must be an absolute path')
  }
  if (source === 'csi') {
    const { driver, volumeHandle } = spec.csi!
    yield* checkCsiDriverName(driver, `${at}.driver`)
    if (!volumeHandle) yield requiredField(`${at}.volumeHandle`)
  }
}

function* checkAttributesClass({
  volumeAttributesClassName: name,
  csi,
}: PersistentVolumeSpec): Iterable<Problems[number]> {
  const field = 'spec.volumeAttributesClassName'
  if (name === undefined) return
  if (name === '') yield requiredField(field, 'an empty string is disallowed')
  else yield* checkClassName(name, field)
  if (!csi) yield requiredField('spec.csi', 'has to be specified when using volumeAttributesClassName')
}

function* checkChange(spec: PersistentVolumeSpec, live: PersistentVolumeSpec): Iterable<Problems[number]> {
  const isSame = (source: (typeof sources)[number]): boolean => {
    // The secret for expansion may be set later.
    const late = source === 'csi' && live.csi && live.csi.controllerExpandSecretRef === undefined
    const { controllerExpandSecretRef: _later, ...csi } = spec.csi ?? {}
    return equalJson(late ? csi : (spec[source] as Json | undefined), live[source] as Json | undefined)
  }
  if (!sources.every(isSame)) {
    yield forbiddenField('spec.persistentvolumesource', 'spec.persistentvolumesource is immutable after creation\n')
  }
  const affinity = spec.nodeAffinity as Json | undefined
  if (live.nodeAffinity && !equalJson(affinity, live.nodeAffinity as Json)) {
    yield invalidField('nodeAffinity', affinity, `${immutableDetail}, except for updating from beta label to GA`)
  }
  if (spec.volumeMode !== live.volumeMode) yield invalidField('volumeMode', spec.volumeMode, immutableDetail)
  if (live.volumeAttributesClassName !== undefined && spec.volumeAttributesClassName === undefined) {
    yield forbiddenField('spec.volumeAttributesClassName', 'update from non-nil value to nil is forbidden')
  }
}

const deprecated: readonly (readonly [member: string, shown: string, since: string])[] = [
  ['cephfs', 'cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['photonPersistentDisk', 'photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['scaleIO', 'scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['storageos', 'storageOS', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['rbd', 'rbd', 'deprecated in v1.28, non-functional in v1.31+'],
]

export const persistentVolumeRules: KindRules = {
  defaults,
  prepareCreate: (object, { now }) => ({ ...object, status: { phase: 'Pending', lastPhaseTransitionTime: now } }),
  prepareStatus(object, live, { now }) {
    const { status = {} } = object as unknown as PersistentVolume
    const { status: before = {} } = live as unknown as PersistentVolume
    const lastPhaseTransitionTime = status.phase === before.phase ? before.lastPhaseTransitionTime : now
    const { lastPhaseTransitionTime: _sent, ...rest } = status
    return {
      ...live,
      apiVersion: object.apiVersion,
      metadata: object.metadata,
      status: { ...rest, ...(lastPhaseTransitionTime !== undefined && { lastPhaseTransitionTime }) },
    }
  },
  validateCreate: (object) => [...check(object)],
  validateUpdate: (object, live) => [...check(object), ...checkChange(specOf(object), specOf(live))],
  warnings(object) {
    const spec = specOf(object)
    return [
      ...(spec.persistentVolumeReclaimPolicy === 'Recycle'
        ? [
            'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
          ]
        : []),
      ...deprecated
        .filter(([member]) => (spec as Readonly<Record<string, unknown>>)[member] !== undefined)
        .map(([, shown, since]) => `spec.${shown}: ${since}`),
    ]
  },
}
