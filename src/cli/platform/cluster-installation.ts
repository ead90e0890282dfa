/** What the commands for Installations share: their flags, the connection, and the Installation that is named. */
import type { Client, ObjectRef } from '../../client/client.ts'
import { connect } from '../../client/connect.ts'
import { clientErrors } from '../../client/errors.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { Installation, type InstallationObject } from '../../platform/installation/installation.ts'
import type { FlagValues } from '../command/command.ts'
import { type connectionFlags, connectionOptions } from '../command/connection-flags.ts'
import { readNamespaces } from '../command/namespace-flag.ts'
import { cliErrors } from '../errors.ts'

export const installationFlags = {
  namespace: { type: 'string', short: 'n', value: 'NAME', help: 'namespace of the Installation (default: default)' },
} as const

/** The field manager of what these commands write. */
export const cliFieldManager = 'muster-cli'

/** A place in a cluster that serves Installations. */
export interface InstallationPlace {
  readonly client: Client
  readonly ref: ObjectRef & { readonly namespace: string }
  readonly signal: AbortSignal
}

/** The name of an Installation, and at most `most` further arguments. @throws InvalidFlag */
export function readArguments(command: string, positionals: readonly string[], usage: string, most = 0): string {
  const [name] = positionals
  if (name !== undefined && positionals.length <= most + 1) return name
  throw new MusterError(flagErrors.InvalidFlag, `${command} takes ${usage}.`)
}

/** @throws InvalidFlag */
export function readNamespace(text: string | undefined): string {
  const [namespace = 'default', ...more] = readNamespaces(text) ?? []
  if (more.length === 0) return namespace
  throw new MusterError(flagErrors.InvalidFlag, `--namespace ${text}: an Installation is in one namespace.`)
}

/** @throws PlatformMissing */
export async function atInstallation<T>(
  name: string,
  given: FlagValues<typeof connectionFlags & typeof installationFlags>,
  signal: AbortSignal,
  work: (place: InstallationPlace) => Promise<T>,
): Promise<T> {
  const namespace = readNamespace(given.namespace)
  const client = await connect(connectionOptions(given))
  try {
    if (!(await client.discovery.resourceFor(Installation, { signal }))) {
      throw new MusterError(
        cliErrors.PlatformMissing,
        'The cluster does not serve Installations (platform.muster.dev).',
      )
    }
    return await work({ client, ref: { name, namespace }, signal })
  } finally {
    await client.close()
  }
}

/** Undefined: there is none. */
export async function findInstallation({
  client,
  ref,
  signal,
}: InstallationPlace): Promise<InstallationObject | undefined> {
  return await ifFound(client.get<InstallationObject>(Installation, ref, { signal }))
}

/** @throws InstallationNotFound */
export async function readInstallation(place: InstallationPlace): Promise<InstallationObject> {
  const installation = await findInstallation(place)
  if (installation) return installation
  const { namespace, name } = place.ref
  throw new MusterError(cliErrors.InstallationNotFound, `There is no Installation ${namespace}/${name}.`)
}

/** Undefined where the server has no such object. */
export async function ifFound<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (isMusterError(error, clientErrors.NotFound)) return undefined
    throw error
  }
}
