/**
 * The objects of quota as a coordinator takes them in, and the model that they make: worked out anew when one of them has changed, and
 * only when it is asked for.
 */
import { Namespace } from '../../kube/kinds.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { CoordinatorChange } from '../../operator/coordinator/coordinator.ts'
import { fields } from '../../operator/view/projected-input.ts'
import type { Input } from '../../operator/view/input.ts'
import { kueueKinds } from './kueue-kinds.ts'
import { type QuotaCharge, type QuotaModel, type QuotaObjects, type QuotaOptions, readQuota } from './quota-model.ts'
import { QuotaSubtree } from './quota-subtree.ts'

/** All releases of Kueue serve this version. */
const kueue = kueueKinds('v1beta1')

const kinds: Readonly<Record<keyof QuotaObjects, Resource>> = {
  subtrees: QuotaSubtree,
  clusterQueues: kueue.clusterQueue,
  localQueues: kueue.localQueue,
  cohorts: kueue.cohort,
  resourceFlavors: kueue.resourceFlavor,
  priorityClasses: kueue.priorityClass,
}

/** What a coordinator reads to follow quota. Kinds that the cluster does not serve have no objects. */
export const quotaInputs: readonly (Resource | Input)[] = [
  ...Object.values(kinds),
  // Their labels are metadata, which is always read.
  fields(Namespace, ['status.phase']),
]

export interface QuotaTracker {
  /** Incremented when the model may have changed. */
  readonly version: number
  /** @returns whether the change is one of quota */
  take(change: CoordinatorChange): boolean
  model(): QuotaModel
  /** What an object with these labels is charged to. */
  chargeOf(object: KubeObject): QuotaCharge
}

export function createQuotaTracker(options: QuotaOptions = {}): QuotaTracker {
  const places = new Map(Object.entries(kinds).map(([name, resource]) => [formatResource(resource), name]))
  const objects = new Map(Object.keys(kinds).map((name) => [name, new Map<string, KubeObject>()]))
  const namespaces = new Map<string, Readonly<Record<string, string>>>()
  const namespaceKind = formatResource(Namespace)
  let version = 0
  let known: { readonly at: number; readonly model: QuotaModel } | undefined

  const model = (): QuotaModel => {
    if (known?.at === version) return known.model
    const listed = (name: keyof QuotaObjects): readonly KubeObject[] => [...objects.get(name)!.values()]
    const made = readQuota(
      {
        subtrees: listed('subtrees'),
        clusterQueues: listed('clusterQueues'),
        localQueues: listed('localQueues'),
        cohorts: listed('cohorts'),
        resourceFlavors: listed('resourceFlavors'),
        priorityClasses: listed('priorityClasses'),
      },
      options,
    )
    known = { at: version, model: made }
    return made
  }

  return {
    get version() {
      return version
    },
    take({ resource, object, before }) {
      const kind = formatResource(resource)
      const { namespace = '', name = '' } = (object ?? before)?.metadata ?? {}
      const place = places.get(kind)
      if (place === undefined && kind !== namespaceKind) return false
      version++
      if (place === undefined) {
        if (object) namespaces.set(name, object.metadata.labels ?? {})
        else namespaces.delete(name)
        return true
      }
      const key = `${namespace}/${name}`
      if (object) objects.get(place)!.set(key, object)
      else objects.get(place)!.delete(key)
      return true
    },
    model,
    chargeOf({ metadata: { namespace = '', labels = {} } }) {
      return model().chargeOf({ namespace, labels, namespaceLabels: namespaces.get(namespace) ?? {} })
    },
  }
}
