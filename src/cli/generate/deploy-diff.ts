/**
 * What applying an installation would change in a live cluster, as a unified diff. Each object is sent as a dry run, so that
 * defaults, webhooks and other field managers count; nothing is written.
 */
import type { Client } from '../../client/client.ts'
import { clientErrors } from '../../client/errors.ts'
import type { InstallationDescription } from '../../deploy/description.ts'
import { plainObjects } from '../../deploy/kustomize.ts'
import type { JsonObject } from '../../kube/json.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import { asObject } from '../../kube/json-object.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { kindOf } from '../../kube/kind.ts'
import { writeYaml } from '../../kube/yaml/yaml.ts'
import { type DiffLine, unified } from '../../manager/plan/unified.ts'

/** Empty if nothing would change. Objects of kinds that the cluster does not serve are new. */
export async function deployDiff(
  description: InstallationDescription,
  client: Client,
  signal: AbortSignal,
): Promise<readonly DiffLine[]> {
  const objects = (['crds', 'manager'] as const).flatMap((group) =>
    [...plainObjects(description, group).values()].flat(),
  )
  const lines: DiffLine[] = []
  for (const object of objects) {
    const { live, after } = await compared(client, asObject(object), signal)
    for (const line of unified(live && shown(live), shown(after), nameOf(after))) lines.push(line)
  }
  return lines
}

async function compared(
  client: Client,
  object: UntypedObject,
  signal: AbortSignal,
): Promise<{ readonly live?: UntypedObject | undefined; readonly after: UntypedObject }> {
  const resource = await client.discovery.resourceFor(kindOf(object), { signal })
  if (!resource) return { after: object }
  const { namespace, name } = object.metadata
  const where = { name: name!, ...(namespace !== undefined && { namespace }) }
  const absent = (error: unknown): undefined => {
    if (isMusterError(error, clientErrors.NotFound)) return undefined
    throw error
  }
  const live = await client.get(resource, where, { signal }).catch(absent)
  if (!live) return { after: object }
  // Helm makes the namespace by itself, without labels.
  if (object.kind === 'Namespace') return { live, after: live }
  const options = { fieldManager: 'muster-deploy', force: true, dryRun: true, signal }
  const after = await client.apply(resource, object, options)
  return { live, after }
}

/** Without what the server counts and remembers. */
function shown(object: UntypedObject): string {
  const { metadata, status: _, ...rest } = object as UntypedObject & { readonly status?: unknown }
  const { managedFields: _fields, resourceVersion: _version, generation: _count, uid: _uid, ...kept } = metadata
  const { creationTimestamp: _since, selfLink: _link, ...own } = kept as JsonObject
  return writeYaml({ ...rest, metadata: own })
}

function nameOf({ kind, metadata: { namespace, name } }: UntypedObject): string {
  return `${kind}/${namespace === undefined ? '' : `${namespace}/`}${name}`
}
