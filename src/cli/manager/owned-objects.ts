/**
 * The objects that belong to an object: by owner reference, by Muster's owner label, or by the label of the holder that embeds
 * them (an Installation, a Platform). Every list is requested once.
 */
import type { Client, DiscoveredResource } from '../../client/client.ts'
import { clientErrors } from '../../client/errors.ts'
import { builtinResource } from '../../kube/builtin.ts'
import { formatApiVersion, kindOf } from '../../kube/kind.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { ControllerSummary } from '../../manager/observability/report.ts'
import { ownerLabel } from '../../operator/dependent/desired.ts'
import { holderLabel, installationHolder } from '../../platform/installation/holder.ts'

export interface OwnedObjects {
  of(object: UntypedObject): Promise<readonly UntypedObject[]>
}

interface OwnedObjectsOptions {
  readonly client: Client
  /** The controllers of the manager, if one answers: its custom kinds are followed, too. */
  readonly controllers: readonly ControllerSummary[]
  /** Custom kinds of this group are followed. */
  readonly group: string
  readonly signal: AbortSignal
}

/** What operators and workload controllers create. Custom kinds are added: a cluster may serve hundreds of others. */
const ownable: ReadonlySet<string> = new Set([
  '/Pod',
  '/Service',
  '/ConfigMap',
  '/Secret',
  '/PersistentVolumeClaim',
  '/ServiceAccount',
  'apps/Deployment',
  'apps/ReplicaSet',
  'apps/StatefulSet',
  'apps/DaemonSet',
  'batch/Job',
  'batch/CronJob',
  'policy/PodDisruptionBudget',
  'networking.k8s.io/Ingress',
  'autoscaling/HorizontalPodAutoscaler',
])

export async function openOwnedObjects(options: OwnedObjectsOptions): Promise<OwnedObjects> {
  const { client, controllers, group: ownGroup, signal } = options
  const hosted = new Set(controllers.map(({ group, kind }) => `${group}/${kind}`))
  const kinds = (await client.discovery.resources({ signal })).filter((resource) => {
    const { group, kind, verbs } = resource
    const isCustom = group === ownGroup && !builtinResource(resource)
    return verbs.includes('list') && (ownable.has(`${group}/${kind}`) || hosted.has(`${group}/${kind}`) || isCustom)
  })
  const lists = new Map<string, Promise<readonly UntypedObject[]>>()

  const objects = (namespace: string | undefined, labelSelector?: string): Promise<readonly UntypedObject[]> => {
    const key = `${namespace ?? ''} ${labelSelector ?? ''}`
    const known = lists.get(key)
    if (known) return known
    const chosen = kinds.filter(({ namespaced }) => namespaced || namespace === undefined)
    const listing = Promise.all(chosen.map((kind) => listed(client, kind, { namespace, labelSelector, signal })))
    const all = listing.then((found) => found.flat())
    lists.set(key, all)
    return all
  }

  return {
    async of(object) {
      const { uid, name = '', namespace } = object.metadata
      if (uid === undefined) return []
      const { group, kind } = kindOf(object)
      const isCustom = !builtinResource(kindOf(object))
      // A cluster-scoped object of a built-in kind, such as a Namespace, owns too much to be listed.
      const near = namespace === undefined && !isCustom ? [] : await objects(namespace)
      const found = near.filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid))
      const controller = controllers.find((one) => one.group === group && one.kind === kind)
      // An owner reference cannot cross namespaces: Muster labels such dependents instead.
      if (controller) found.push(...(await objects(undefined, `${ownerLabel}=${uid}`)))
      const label = controller?.embeds ?? (group === 'platform.muster.dev' && kind === 'Installation' && holderLabel)
      if (label) {
        const holders = [...new Set([name, installationHolder({ name, namespace })])].filter((holder) =>
          /^[A-Za-z0-9]/.test(holder),
        )
        found.push(...(await objects(undefined, `${label} in (${holders.join(',')})`)))
      }
      return [...new Map(found.map((one) => [one.metadata.uid, one])).values()]
    },
  }
}

/** Kinds that the user may not list are left out: the explanation has less detail then. */
async function listed(
  client: Client,
  resource: DiscoveredResource,
  options: {
    readonly namespace: string | undefined
    readonly labelSelector: string | undefined
    readonly signal: AbortSignal
  },
): Promise<readonly UntypedObject[]> {
  try {
    const { items } = await client.list(resource, options)
    // Items of a list may have no kind of their own.
    const kind = { apiVersion: formatApiVersion(resource), kind: resource.kind }
    return items.map((item) => Object.assign({}, item, kind))
  } catch (error) {
    if (isMusterError(error, clientErrors.Forbidden)) return []
    throw error
  }
}
