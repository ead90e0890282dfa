/** What a cluster serves, found by its place in a URL: others know resources by nothing else. */
import type { Client } from '../../client/client.ts'
import type { Resource } from '../../kube/kind.ts'
import type { ResourceType } from '../mutation.ts'

/** Undefined: it is not served. Asks again when it is not known yet: a CRD may have come. */
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
