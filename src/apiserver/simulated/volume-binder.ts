/**
 * Volumes for claims. A claim gets a volume that is there and fits, or else a new one, as its storage class says; where
 * the class waits for the first consumer, when a pod wants it. Nothing is stored anywhere.
 */
import { compareQuantities, parseQuantity } from '../../kube/quantity.ts'
import { labelsOf, type LabelSelectorSpec, matchLabels } from '../../kube/selector.ts'
import { type SimulatedState, simulatedKey, splitKey, type StoredIn, type StoredPod } from './cluster.ts'
import type { SimulatedController, Tools } from './controller.ts'
import { isFinished } from './pod-facts.ts'

type Claim = StoredIn<'persistentvolumeclaims'>
type Volume = StoredIn<'persistentvolumes'>

const provisioner = 'simulated.muster.dev/volumes'
const protections = new Set(['kubernetes.io/pvc-protection', 'kubernetes.io/pv-protection'])
/** No volume is called that. */
const storageClassKey = '/'
const defaultAnnotation = 'storageclass.kubernetes.io/is-default-class'

export function volumeBinder(tools: Tools): SimulatedController {
  const { cluster, hand } = tools
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
        if (volume) await settleVolume(tools, volume)
        return undefined
      }
      const claim = cluster.get('persistentvolumeclaims', namespace, name)
      if (claim?.metadata.deletionTimestamp)
        await letGo(tools, 'persistentvolumeclaims', claim, !isUsed(cluster, claim))
      if (!claim || !isPending(claim) || claim.metadata.deletionTimestamp) return undefined
      const volume = findVolume(cluster, claim) ?? (await provision(tools, claim))
      if (!volume) {
        await hand.updateStatus('persistentvolumeclaims', claim, { ...claim.status, phase: 'Pending' })
        return undefined
      }
      await bind(tools, claim, volume)
      return undefined
    },
  }
}

/** A class for those who do not name one, if there is none at all. */
async function ensureStorageClass({ cluster, hand }: Tools): Promise<void> {
  if (cluster.list('storageclasses.storage.k8s.io').length > 0) return
  await hand.create('storageclasses.storage.k8s.io', {
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
  const wanted = parseQuantity((spec?.resources?.requests?.['storage'] as string | undefined) ?? '0')
  const fits = (volume: Volume): boolean => {
    const { claimRef, storageClassName = '', accessModes = [], capacity } = volume.spec ?? {}
    if (claimRef) return claimRef.namespace === metadata.namespace && claimRef.name === metadata.name
    if (spec?.volumeName) return volume.metadata.name === spec.volumeName
    const has = parseQuantity((capacity?.['storage'] as string | undefined) ?? '0')
    const selector = spec?.selector as LabelSelectorSpec | undefined
    return (
      storageClassName === (spec?.storageClassName ?? '') &&
      (spec?.accessModes ?? []).every((mode) => accessModes.includes(mode)) &&
      compareQuantities(has, wanted) >= 0 &&
      (!selector || matchLabels(labelsOf(selector), volume.metadata.labels))
    )
  }
  return cluster.list('persistentvolumes').find((volume) => !volume.metadata.deletionTimestamp && fits(volume))
}

async function provision({ cluster, hand }: Tools, claim: Claim): Promise<Volume | undefined> {
  const { spec, metadata } = claim
  const { namespace = '', name, uid } = metadata
  const storageClass = cluster.get('storageclasses.storage.k8s.io', undefined, spec?.storageClassName ?? '')
  if (!storageClass || spec?.volumeName || storageClass.provisioner === 'kubernetes.io/no-provisioner') return undefined
  if (storageClass.volumeBindingMode === 'WaitForFirstConsumer' && consumersOf(cluster, claim).length === 0)
    return undefined
  return await hand.create('persistentvolumes', {
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

/** What is in use stays until it is not: a finalizer holds it, and goes then. */
async function letGo<K extends 'persistentvolumeclaims' | 'persistentvolumes'>(
  { hand }: Tools,
  table: K,
  object: StoredIn<K>,
  isFree: boolean,
): Promise<void> {
  const { finalizers = [], ...metadata } = object.metadata
  const left = finalizers.filter((one) => !protections.has(one))
  if (!isFree || left.length === finalizers.length) return
  await hand.update(table, { ...object, metadata: { ...metadata, ...(left.length > 0 && { finalizers: left }) } })
}

async function bind({ cluster, hand }: Tools, claim: Claim, volume: Volume): Promise<void> {
  const { namespace = '', name, uid, resourceVersion } = claim.metadata
  const held = volume.spec?.claimRef
  const taken =
    held?.uid === uid
      ? volume
      : await hand.update('persistentvolumes', {
          ...volume,
          spec: {
            ...volume.spec,
            claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid, resourceVersion },
          },
        })
  await hand.updateStatus('persistentvolumes', taken, { ...taken.status, phase: 'Bound' })
  const live = cluster.get('persistentvolumeclaims', namespace, name)
  if (live?.metadata.uid !== uid) return
  const annotations = { ...live.metadata.annotations, 'pv.kubernetes.io/bind-completed': 'yes' }
  const named = await hand.update('persistentvolumeclaims', {
    ...live,
    metadata: { ...live.metadata, annotations },
    spec: { ...live.spec, volumeName: volume.metadata.name },
  })
  const { accessModes = [], capacity = {} } = volume.spec ?? {}
  await hand.updateStatus('persistentvolumeclaims', named, { ...named.status, phase: 'Bound', accessModes, capacity })
}

/** What becomes of a volume whose claim is gone. */
async function settleVolume(tools: Tools, volume: Volume): Promise<void> {
  const { cluster, hand } = tools
  if (volume.metadata.deletionTimestamp) {
    return await letGo(tools, 'persistentvolumes', volume, volume.status?.phase !== 'Bound')
  }
  const { claimRef, persistentVolumeReclaimPolicy: policy } = volume.spec ?? {}
  const claim = claimRef && cluster.get('persistentvolumeclaims', claimRef.namespace, claimRef.name ?? '')
  if (!claimRef || (claimRef.uid && claim?.metadata.uid === claimRef.uid) || !claimRef.uid) {
    const phase = claimRef?.uid ? 'Bound' : 'Available'
    await hand.updateStatus('persistentvolumes', volume, { ...volume.status, phase })
    return
  }
  const released = await hand.updateStatus('persistentvolumes', volume, { ...volume.status, phase: 'Released' })
  if (policy !== 'Delete') return
  await hand.remove('persistentvolumes', released)
}
