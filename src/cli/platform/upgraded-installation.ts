/** What `muster install` and `muster upgrade` do: declare an Installation, and wait for it. */
import { clientErrors } from '../../client/errors.ts'
import type { JsonObject } from '../../kube/json.ts'
import { asObject } from '../../kube/json-object.ts'
import { Namespace } from '../../kube/kinds.ts'
import { formatApiVersion } from '../../kube/kind.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import { Installation } from '../../platform/installation/installation.ts'
import type { Flags, FlagValues, Invocation } from '../command/command.ts'
import type { connectionFlags } from '../command/connection-flags.ts'
import { cliErrors } from '../errors.ts'
import type { valueFlags } from '../render/value-flags.ts'
import {
  atInstallation,
  cliFieldManager,
  findInstallation,
  type installationFlags,
  type InstallationPlace,
  readNamespace,
} from './cluster-installation.ts'
import { declaredSpec, type specFlags } from './declared-spec.ts'
import type { sourceFlags } from './source-argument.ts'
import { hasFailed, progressMessage, readTimeout, type waitFlags, waitForReady } from './wait.ts'

export const declaringFlags = {
  'create-namespace': { type: 'boolean', help: 'create the namespace of the Installation, if it is missing' },
  'dry-run': { type: 'boolean', help: 'print the Installation instead of writing it' },
} as const

type Given = FlagValues<
  typeof connectionFlags &
    typeof installationFlags &
    typeof sourceFlags &
    typeof valueFlags &
    typeof specFlags &
    typeof waitFlags &
    typeof declaringFlags
>
type Printing = Pick<Invocation<Flags>, 'out' | 'signal'>

/** Creates a new Installation. @throws InstallationExists */
export async function install(name: string, source: string, given: Given, { out, signal }: Printing): Promise<number> {
  readTimeout(given)
  const spec = await declaredSpec(source, given)
  const object = manifestOf(name, readNamespace(given.namespace), spec)
  if (given['dry-run']) return await printed(object, out)
  return await atInstallation(name, given, signal, async (place) => {
    await createNamespace(place, given)
    return await waitAfterWrite(place, await created(place, object), given, out)
  })
}

/** Changes an Installation; with `create`, one that does not exist is created. @throws InstallationNotFound */
export async function upgrade(
  name: string,
  source: string | undefined,
  given: Given & { readonly create?: boolean },
  { out, signal }: Printing,
): Promise<number> {
  readTimeout(given)
  return await atInstallation(name, given, signal, async (place) => {
    const { ref, client } = place
    const before = await findInstallation(place)
    if (!before && !(given.create && source !== undefined)) {
      const cure = given.create ? 'to create it, name a SOURCE' : '--create creates it'
      throw new MusterError(
        cliErrors.InstallationNotFound,
        `There is no Installation ${ref.namespace}/${name}: ${cure}.`,
      )
    }
    const spec = await declaredSpec(source, given, before?.spec)
    const object = manifestOf(name, ref.namespace, spec)
    if (given['dry-run']) return await printed(object, out)
    if (!before) {
      await createNamespace(place, given)
      return await waitAfterWrite(place, await created(place, object), given, out)
    }
    // The whole spec: a value that is no longer given goes away. The resourceVersion keeps changes of others from being lost.
    const { status: _, ...whole } = before
    const { metadata } = await client.update(Installation, asObject({ ...whole, spec }), {
      fieldManager: cliFieldManager,
      signal,
    })
    return await waitAfterWrite(
      place,
      { generation: metadata.generation, isSuspended: before.spec.suspend },
      given,
      out,
    )
  })
}

function manifestOf(name: string, namespace: string, spec: JsonObject): JsonObject {
  return { apiVersion: formatApiVersion(Installation), kind: Installation.kind, metadata: { name, namespace }, spec }
}

async function printed(object: JsonObject, out: (line: string) => void): Promise<number> {
  const { writeYaml } = await import('../../kube/yaml/yaml.ts')
  out(writeYaml(object).trimEnd())
  return 0
}

async function created({ client, ref, signal }: InstallationPlace, object: JsonObject): Promise<Written> {
  try {
    const { metadata } = await client.create(Installation, asObject(object), { fieldManager: cliFieldManager, signal })
    return { generation: metadata.generation, isSuspended: false }
  } catch (error) {
    if (!isMusterError(error, clientErrors.AlreadyExists)) throw error
    throw new MusterError(
      cliErrors.InstallationExists,
      `Installation ${ref.namespace}/${ref.name} exists: change it with muster upgrade ${ref.name}.`,
      { cause: error },
    )
  }
}

async function createNamespace({ client, ref, signal }: InstallationPlace, given: Given): Promise<void> {
  if (!given['create-namespace']) return
  try {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: ref.namespace } }
    await client.create(Namespace, namespace, { fieldManager: cliFieldManager, signal })
  } catch (error) {
    if (!isMusterError(error, clientErrors.AlreadyExists)) throw error
  }
}

interface Written {
  readonly generation: number | undefined
  readonly isSuspended: boolean
}

/** Waits, unless it was told not to. The exit code: 1 if it has failed. */
export async function waitAfterWrite(
  place: InstallationPlace,
  { generation = 1, isSuspended }: Written,
  given: FlagValues<typeof waitFlags>,
  out: (line: string) => void,
): Promise<number> {
  const about = `Installation ${place.ref.namespace}/${place.ref.name}`
  if (isSuspended) {
    out(`${about} is changed; it is suspended: nothing is applied until spec.suspend is false.`)
    return 0
  }
  if (given['no-wait']) {
    out(`${about} is declared.`)
    return 0
  }
  const ended = await waitForReady(place, generation, { timeoutMs: readTimeout(given), out })
  const { status = {} } = ended
  if (hasFailed(ended)) {
    out(`${about} has failed: ${progressMessage(ended) ?? ''}`)
    return 1
  }
  const version = status.version === undefined ? '' : `, version ${status.version}`
  out(`${about} is ready: revision ${status.revision}${version}, ${objectCount(status.objects ?? 0)}.`)
  if (status.notes !== undefined) out(`\n${status.notes.trimEnd()}`)
  return 0
}

function objectCount(count: number): string {
  return count === 1 ? '1 object' : `${count} objects`
}
