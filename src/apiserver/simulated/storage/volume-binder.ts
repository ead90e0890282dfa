/**
 * The volume binder: a claim is bound to an existing volume that matches, or else to a new one, as its storage class
 * says; with `WaitForFirstConsumer`, once a pod uses it. No data is stored.
 */
import { compareQuantities, parseQuantity } from '../../../kube/units/quantity.ts'
import { labelsOf, type LabelSelectorSpec, matchLabels } from '../../../kube/selector/selector.ts'
import { type SimulatedState, simulatedKey, splitKey, type StoredIn, type StoredPod } from '../controller/cluster.ts'
import type { SimulatedController, Tools } from '../controller/controller.ts'
import { isFinished } from '../controller/pod-facts.ts'

type Claim = StoredIn<'persistentvolumeclaims'>
type Volume = StoredIn<'persistentvolumes'>

const provisioner = 'simulated.muster.dev/volumes'
const protections = new Set(['kubernetes.io/pvc-protection', 'kubernetes.io/pv-protection'])
/** Cannot be the name of a volume. */
const storageClassKey = '/'
const defaultAnnotation = 'storageclass.kubernetes.io/is-default-class'

export function volumeBinder(tools: Tools): SimulatedController {
  const { cluster, writer } = tools
  return {
    workers: 1,
    first: [storageClassKey],
    own: {
      persistentvolumeclaims: (claim) => [
        simulatedKey(claim),
        ...(claim.spec?.volumeName ? [`/${claim.spec.volumeName}`] : []),
      ],
      persistentvolumes: ({ metadata, spec }) => [
        `/${metadata.name}`,
        ...(spec?.claimRef ? [] : cluster.list('persistentvolumeclaims').filter(isPending).map(simulatedKey)),
      ],
      'storageclasses.storage.k8s.io': () => cluster.list('persistentvolumeclaims').filter(isPending).map(simulatedKey),
    },
    others: {
      pods: ({ spec, metadata }) =>
        (spec?.volumes ?? []).flatMap(({ persistentVolumeClaim: claim }) =>
          claim ? [`${metadata.namespace}/${claim.claimName}`] : [],
        ),
    },
    async reconcile(key) {
      const { namespace, name } = splitKey(key)
      if (key === storageClassKey) {
        await ensureStorageClass(tools)
        return undefined
      }
      if (namespace === '') {
        const volume = cluster.get('persistentvolumes', undefined, name)
        if (volume) await reclaimVolume(tools, volume)
        return undefined
      }
      const claim = cluster.get('persistentvolumeclaims', namespace, name)
      if (claim?.metadata.deletionTimestamp)
        await releaseIfUnused(tools, 'persistentvolumeclaims', claim, !isUsed(cluster, claim))
      if (!claim || !isPending(claim) || claim.metadata.deletionTimestamp) return undefined
      const volume = findVolume(cluster, claim) ?? (await provision(tools, claim))
      if (!volume) {
        await writer.updateStatus('persistentvolumeclaims', claim, { ...claim.status, phase: 'Pending' })
        return undefined
      }
      await bind(tools, claim, volume)
      return undefined
    },
  }
}

/** Creates a default storage class, if the cluster has no class at all. */
async function ensureStorageClass({ cluster, writer }: Tools): Promise<void> {
  if (cluster.list('storageclasses.storage.k8s.io').length > 0) return
  await writer.create('storageclasses.storage.k8s.io', {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: 'standard', annotations: { [defaultAnnotation]: 'true' } },
    provisioner,
    reclaimPolicy: 'Delete',
    volumeBindingMode: 'WaitForFirstConsumer',
  })
}

function isPending({ status }: Claim): boolean {
  return status?.phase !== 'Bound'
}

function findVolume(cluster: SimulatedState, claim: Claim): Volume | undefined {
  const { spec, metadata } = claim
  const requested = parseQuantity((spec?.resources?.requests?.['storage'] as string | undefined) ?? '0')
  const fits = (volume: Volume): boolean => {
    const { claimRef, storageClassName = '', accessModes = [], capacity } = volume.spec ?? {}
    if (claimRef) return claimRef.namespace === metadata.namespace && claimRef.name === metadata.name
    if (spec?.volumeName) return volume.metadata.name === spec.volumeName
    const has = parseQuantity((capacity?.['storage'] as string | undefined) ?? '0')
    const selector = spec?.selector as LabelSelectorSpec | undefined
    return (
      storageClassName === (spec?.storageClassName ?? '') &&
      (spec?.accessModes ?? []).every((mode) => accessModes.includes(mode)) &&
      compareQuantities(has, requested) >= 0 &&
      (!selector || matchLabels(labelsOf(selector), volume.metadata.labels))
    )
  }
  return cluster.list('persistentvolumes').find((volume) => !volume.metadata.deletionTimestamp && fits(volume))
}

async function provision({ cluster, writer }: Tools, claim: Claim): Promise<Volume | undefined> {
  const { spec, metadata } = claim
  const { namespace = '', name, uid } = metadata
  const storageClass = cluster.get('storageclasses.storage.k8s.io', undefined, spec?.storageClassName ?? '')
  if (!storageClass || spec?.volumeName || storageClass.provisioner === 'kubernetes.io/no-provisioner') return undefined
  if (storageClass.volumeBindingMode === 'WaitForFirstConsumer' && consumersOf(cluster, claim).length === 0)
    return undefined
  return await writer.create('persistentvolumes', {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: {
      name: `pvc-${uid}`,
      annotations: { 'pv.kubernetes.io/provisioned-by': storageClass.provisioner },
    },
    spec: {
      accessModes: spec?.accessModes ?? [],
      capacity: { storage: spec?.resources?.requests?.['storage'] ?? '1Gi' },
      claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid },
      hostPath: { path: `/simulated/pvc-${uid}`, type: '' },
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? 'Delete',
      storageClassName: storageClass.metadata.name,
      volumeMode: spec?.volumeMode ?? 'Filesystem',
    },
  })
}

function consumersOf(cluster: SimulatedState, { metadata }: Claim): readonly StoredPod[] {
  return cluster
    .list('pods', metadata.namespace)
    .filter(({ spec }) => spec?.volumes?.some((volume) => volume.persistentVolumeClaim?.claimName === metadata.name))
}

function isUsed(cluster: SimulatedState, claim: Claim): boolean {
  return consumersOf(cluster, claim).some((pod) => pod.spec?.nodeName && !isFinished(pod))
}

/** Removes the protection finalizer of an object that is being deleted, once it is not in use. */
async function releaseIfUnused<K extends 'persistentvolumeclaims' | 'persistentvolumes'>(
  { writer }: Tools,
  table: K,
  object: StoredIn<K>,
  isFree: boolean,
): Promise<void> {
  const { finalizers = [], ...metadata } = object.metadata
  const left = finalizers.filter((one) => !protections.has(one))
  if (!isFree || left.length === finalizers.length) return
  await writer.update(table, { ...object, metadata: { ...metadata, ...(left.length > 0 && { finalizers: left }) } })
}

async function bind({ cluster, writer }: Tools, claim: Claim, volume: Volume): Promise<void> {
  const { namespace = '', name, uid, resourceVersion } = claim.metadata
  const held = volume.spec?.claimRef
  const taken =
    held?.uid === uid
      ? volume
      : await writer.update('persistentvolumes', {
          ...volume,
          spec: {
            ...volume.spec,
            claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid, resourceVersion },
          },
        })
  await writer.updateStatus('persistentvolumes', taken, { ...taken.status, phase: 'Bound' })
  const live = cluster.get('persistentvolumeclaims', namespace, name)
  if (live?.metadata.uid !== uid) return
  const annotations = { ...live.metadata.annotations, 'pv.kubernetes.io/bind-completed': 'yes' }
  const named = await writer.update('persistentvolumeclaims', {
    ...live,
    metadata: { ...live.metadata, annotations },
    spec: { ...live.spec, volumeName: volume.metadata.name },
  })
  const { accessModes = [], capacity = {} } = volume.spec ?? {}
  await writer.updateStatus('persistentvolumeclaims', named, { ...named.status, phase: 'Bound', accessModes, capacity })
}

/** Applies the reclaim policy to a volume whose claim is gone. */
async function reclaimVolume(tools: Tools, volume: Volume): Promise<void> {
  const { cluster, writer } = tools
  if (volume.metadata.deletionTimestamp) {
    return await releaseIfUnused(tools, 'persistentvolumes', volume, volume.status?.phase !== 'Bound')
  }
  const { claimRef, persistentVolumeReclaimPolicy: policy } = volume.spec ?? {}
  const claim = claimRef && cluster.get('persistentvolumeclaims', claimRef.namespace, claimRef.name ?? '')
  if (!claimRef || (claimRef.uid && claim?.metadata.uid === claimRef.uid) || !claimRef.uid) {
    const phase = claimRef?.uid ? 'Bound' : 'Available'
    await writer.updateStatus('persistentvolumes', volume, { ...volume.status, phase })
    return
  }
  const released = await writer.updateStatus('persistentvolumes', volume, { ...volume.status, phase: 'Released' })
  if (policy !== 'Delete') return
  await writer.remove('persistentvolumes', released)
}
