/** All objects of some kinds at one moment, as a view's source. Later changes do not show. */
import type { Client } from '../../client/client.ts'
import { freezeDeep } from '../../cache/decode/intern.ts'
import { clientErrors } from '../../client/errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import type { Json } from '../../kube/json.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { ViewSource } from '../../operator/view/view.ts'

export async function snapshot(client: Client, resources: readonly Resource[]): Promise<ViewSource> {
  const byKind = new Map<string, ReadonlyMap<string, KubeObject>>()
  for (const resource of resources) {
    const objects = await listed(client, resource)
    if (objects)
      byKind.set(formatResource(resource), new Map(objects.map((object) => [keyOf(object.metadata), object])))
  }
  const of = (resource: Resource): readonly KubeObject[] => [...(byKind.get(formatResource(resource))?.values() ?? [])]
  return {
    get: (resource, name) => byKind.get(formatResource(resource))?.get(keyOf(name)),
    list: (resource, namespace) =>
      of(resource).filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace),
    byOwner: (resource, uid) =>
      of(resource).filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid)),
    serves: (resource) => byKind.has(formatResource(resource)),
  }
}

/** Undefined if the kind is not served. */
async function listed(client: Client, resource: Resource): Promise<readonly KubeObject[] | undefined> {
  try {
    const { items } = await client.list(resource)
    return items.map((object) => freezeDeep(object as unknown as Json) as unknown as KubeObject)
  } catch (error) {
    if (isMusterError(error, clientErrors.KindNotServed, clientErrors.NotFound)) return undefined
    throw error
  }
}

function keyOf({
  namespace = '',
  name = '',
}: {
  readonly namespace?: string | undefined
  readonly name?: string | undefined
}): string {
  return `${namespace}/${name}`
}
