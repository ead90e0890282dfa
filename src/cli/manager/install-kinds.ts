/**
 * Installs the CRDs of operators, and waits until the API server serves them.
 *
 * One field manager installs all of them, so that operators may read kinds of each other. A CRD with other contents that another
 * client made is never overwritten, and neither is one of a façade that the other project has installed.
 */
import type { Client } from '../../client/client.ts'
import { ApiError } from '../../client/api-error.ts'
import { clientErrors } from '../../client/errors.ts'
import { isConditionTrue } from '../../kube/meta/condition.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import type { Resource } from '../../kube/kind.ts'
import type { CustomResourceDefinition } from '../../kube/types/apiextensions/v1.ts'
import { checkKind } from '../../operator/kind/kind-check.ts'
import type { Operator } from '../../operator/operator.ts'
import { facadeAnnotation } from '../../platform/facade/facade-names.ts'
import { cliErrors } from '../errors.ts'

const crds: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
}

const fieldManager = 'muster-kinds'

/** @throws ForeignDefinition */
export async function installKinds(client: Client, operator: Operator, signal: AbortSignal): Promise<void> {
  await refuseForeignKinds(client, operator, signal)
  for (const kind of operator.kinds) {
    checkKind(kind)
    const crd = kind.crd() as Definition
    const applied = await applyDefinition(client, crd, operator.name, signal)
    if (isEstablished(applied)) continue
    const fieldSelector = `metadata.name=${crd.metadata.name}`
    for await (const { type, object } of client.watch<CustomResourceDefinition>(crds, { fieldSelector, signal })) {
      if (type !== 'ERROR' && type !== 'BOOKMARK' && isEstablished(object)) break
    }
  }
  client.discovery.invalidate()
}

type Definition = CustomResourceDefinition & { readonly metadata: { readonly name: string } }

async function applyDefinition(
  client: Client,
  crd: Definition,
  operator: string,
  signal: AbortSignal,
): Promise<CustomResourceDefinition> {
  const apply = async (force: boolean): Promise<CustomResourceDefinition> =>
    await client.apply(crds, crd, { fieldManager, force, signal })
  try {
    return await apply(false)
  } catch (error) {
    if (!(error instanceof ApiError) || error.httpStatus !== 409) throw error
    const causes = error.status.details?.causes ?? []
    // Earlier versions installed CRDs under the name of the operator.
    const own = `conflict with "${operator}"`
    if (causes.length > 0 && causes.every(({ message = '' }) => message.startsWith(own))) return await apply(true)
    const live = await findDefinition(client, crd.metadata.name, signal)
    throw foreignDefinition(crd.metadata.name, live ? ownersOf(live) : [], operator, error)
  }
}

/**
 * A façade serves the API of another project: where that has installed its own CRD, the façade is not hosted.
 * @throws ForeignDefinition
 */
export async function refuseForeignKinds(client: Client, operator: Operator, signal: AbortSignal): Promise<void> {
  for (const kind of operator.kinds) {
    const { metadata } = kind.crd()
    const mark = metadata.annotations?.[facadeAnnotation]
    if (mark === undefined) continue
    const live = await findDefinition(client, metadata.name ?? '', signal)
    if (live && live.metadata?.annotations?.[facadeAnnotation] !== mark)
      throw foreignDefinition(metadata.name ?? '', ownersOf(live), operator.name)
  }
}

async function findDefinition(
  client: Client,
  name: string,
  signal: AbortSignal,
): Promise<CustomResourceDefinition | undefined> {
  try {
    return (await client.get(crds, { name }, { signal })) as CustomResourceDefinition
  } catch (error) {
    if (isMusterError(error, clientErrors.NotFound)) return undefined
    throw error
  }
}

/** The field managers of its specification. */
function ownersOf({ metadata }: CustomResourceDefinition): readonly string[] {
  const entries = (metadata?.managedFields ?? []).filter(({ subresource = '' }) => subresource === '')
  return [...new Set(entries.flatMap(({ manager }) => manager ?? []))]
}

function foreignDefinition(crd: string, owners: readonly string[], operator: string, cause?: unknown): MusterError {
  const made = owners.length > 0 ? `was made by ${owners.join(', ')}` : 'was made by another client'
  return new MusterError(
    cliErrors.ForeignDefinition,
    `The CRD ${crd} ${made}, and is not that of the operator ${operator}. It is left as it is, and ${operator} is not hosted.`,
    { cause },
  )
}

function isEstablished({ status }: CustomResourceDefinition): boolean {
  return isConditionTrue(status?.conditions as Parameters<typeof isConditionTrue>[0], 'Established')
}
