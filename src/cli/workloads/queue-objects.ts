/** The objects that the queue decides by, from a cluster or from a directory such as a must-gather. */
import { readGather } from '../../apiserver/must-gather/must-gather.ts'
import type { Client } from '../../client/client.ts'
import { connect } from '../../client/connect.ts'
import { clientErrors } from '../../client/errors.ts'
import { formatApiVersion, parseApiVersion, type Resource } from '../../kube/kind.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import { kindsOf } from '../../operator/view/input.ts'
import { AppWrapper, type AppWrapperObject } from '../../workloads/appwrapper/appwrapper.ts'
import { appWrapperConversion } from '../../workloads/appwrapper/conversion.ts'
import { queueInputs } from '../../workloads/forecast/queue-inputs.ts'
import type { connectionOptions } from '../command/connection-flags.ts'

interface QueueObject {
  readonly resource: Resource
  readonly object: KubeObject
}

const resources: readonly Resource[] = kindsOf(queueInputs)
const byKind = new Map(resources.map((resource) => [`${resource.kind}.${resource.group}`, resource]))

export async function queueObjectsOfCluster(
  options: ReturnType<typeof connectionOptions>,
  signal: AbortSignal,
): Promise<readonly QueueObject[]> {
  const client = await connect(options)
  try {
    return (await Promise.all(resources.map((resource) => listed(client, resource, signal)))).flat()
  } finally {
    await client.close()
  }
}

/** A kind that is not served has no objects. */
async function listed(client: Client, resource: Resource, signal: AbortSignal): Promise<readonly QueueObject[]> {
  try {
    const { items } = await client.list(resource, { signal })
    return items.map((object) => ({ resource, object }))
  } catch (error) {
    if (isMusterError(error, clientErrors.NotFound) || isMusterError(error, clientErrors.KindNotServed)) return []
    throw error
  }
}

/** Files that cannot be read are reported to `warn`. */
export async function queueObjectsOfFolder(
  folder: string,
  warn: (message: string) => void,
): Promise<readonly QueueObject[]> {
  const found: QueueObject[] = []
  for await (const { object } of readGather(folder, { warn })) {
    const { group } = parseApiVersion(object.apiVersion)
    const resource = byKind.get(`${object.kind}.${group}`)
    if (resource)
      found.push({ resource, object: resource.group === AppWrapper.group ? storedAppWrapper(object) : object })
  }
  return found
}

/** An AppWrapper of any version, as it is stored. */
export function storedAppWrapper(object: UntypedObject): AppWrapperObject {
  const { apiVersion, kind, metadata } = object
  const stored = { apiVersion: formatApiVersion(AppWrapper), kind, metadata: { name: '', ...metadata } }
  const { version } = parseApiVersion(apiVersion)
  if (version !== appWrapperConversion.version) return { spec: {}, ...object, ...stored }
  return { spec: {}, ...appWrapperConversion.toStored(object), ...stored }
}
