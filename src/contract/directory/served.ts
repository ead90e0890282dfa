/** Looks up the resources that a cluster serves by group, version and plural: programs know nothing else. */
import type { Client } from '../../client/client.ts'
import type { Resource } from '../../kube/kind.ts'
import type { ResourceType } from '../declaration/mutation.ts'

/** Undefined if it is not served. Repeats discovery for an unknown resource: a CRD may be new. */
export async function servedResource(client: Client, type: ResourceType): Promise<Resource | undefined> {
  const find = async (): Promise<Resource | undefined> =>
    (await client.discovery.resources()).find(
      ({ group, version, plural }) => group === type.group && version === type.version && plural === type.resource,
    )
  const known = await find()
  if (known) return known
  client.discovery.invalidate()
  return await find()
}
