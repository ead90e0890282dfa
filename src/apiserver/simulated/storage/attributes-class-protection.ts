/**
 * Protection of VolumeAttributesClasses: the finalizer that admission adds to each class is removed when no volume and
 * no claim names the class.
 */
import { type SimulatedState, splitKey, type StoredIn } from '../controller/cluster.ts'
import type { SimulatedController, Tools } from '../controller/controller.ts'

const table = 'volumeattributesclasses.storage.k8s.io'
const finalizer = 'kubernetes.io/vac-protection'

export function attributesClassProtection({ cluster, writer }: Tools): SimulatedController {
  return {
    own: { [table]: ({ metadata }: StoredIn<typeof table>) => [`/${metadata.name}`] },
    others: {
      persistentvolumeclaims: (claim) => namedByClaim(claim).map((name) => `/${name}`),
      persistentvolumes: (volume) => namedByVolume(volume).map((name) => `/${name}`),
    },
    async reconcile(key) {
      const live = cluster.get(table, undefined, splitKey(key).name)
      if (!live) return undefined
      const { finalizers = [], ...metadata } = live.metadata
      const isProtected = finalizers.includes(finalizer)
      if (!metadata.deletionTimestamp) {
        // A class may lack the finalizer: a user may remove it.
        if (!isProtected)
          await writer.update(table, { ...live, metadata: { ...metadata, finalizers: [...finalizers, finalizer] } })
      } else if (isProtected && !isUsed(cluster, metadata.name)) {
        const left = finalizers.filter((one) => one !== finalizer)
        await writer.update(table, { ...live, metadata: { ...metadata, ...(left.length > 0 && { finalizers: left }) } })
      }
      return undefined
    },
  }
}

function isUsed(cluster: SimulatedState, name: string): boolean {
  return (
    cluster.list('persistentvolumes').some((volume) => namedByVolume(volume).includes(name)) ||
    cluster.list('persistentvolumeclaims').some((claim) => namedByClaim(claim).includes(name))
  )
}

/** A claim names its desired class, its current one, and the target of a change in progress. */
function namedByClaim({ spec, status }: StoredIn<'persistentvolumeclaims'>): readonly string[] {
  return [
    spec?.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ].flatMap((name) => (name ? [name] : []))
}

function namedByVolume({ spec }: StoredIn<'persistentvolumes'>): readonly string[] {
  return spec?.volumeAttributesClassName ? [spec.volumeAttributesClassName] : []
}
