/** `muster migrate codeflare`: the configuration of MCAD, InstaScale and the CodeFlare operator as one of a manager. */
import { text as readStream } from 'node:stream/consumers'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import type { Client } from '../../client/client.ts'
import { connect } from '../../client/connect.ts'
import { clientErrors } from '../../client/errors.ts'
import type { JsonObject } from '../../kube/json.ts'
import { asJson } from '../../kube/json-object.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import { resourceOf } from '../../kube/typed-resource.ts'
import { readYamlDocuments, writeYaml } from '../../kube/yaml/yaml.ts'
import { objectsOf } from '../../render/manifests/plain-manifests.ts'
import { readManifestFiles } from '../../render/source/manifest-files.ts'
import { migrateCodeflare } from '../../workloads/configuration/codeflare-migration.ts'
import type { CommandLine } from '../../workloads/configuration/legacy-flags.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { connectionFlags, connectionOptions } from '../command/connection-flags.ts'
import { isolateControl } from '../terminal/control-characters.ts'

const command: Command = defineCommand({
  usage: 'codeflare [FILE…|-]',
  details: `Prints the configuration of a manager, for muster run --file, from what MCAD, InstaScale and the CodeFlare operator were
configured with: MCADs and InstaScales (codeflare.codeflare.dev), the ConfigMaps codeflare-operator-config,
appwrapper-operator-config and instascale-config, and flags and environment of their Deployments. They are read from files, folders
or standard input; without any, from the cluster. What could not be carried over is said on standard error, with the reason.
Nothing is written to a cluster.`,
  flags: {
    ...connectionFlags,
    mcad: { type: 'string', value: 'FLAGS', help: 'flags of MCAD: --mcad="--backofftime 30 --quotaEnabled"' },
    instascale: { type: 'string', value: 'FLAGS', help: 'flags of InstaScale, in the same way' },
  },
  async run({ flags, positionals: [from, ...places], out, err, signal }) {
    if (from !== 'codeflare')
      throw new MusterError(
        flagErrors.InvalidFlag,
        'migrate takes codeflare, and files, such as muster migrate codeflare old.yaml.',
      )
    const commandLines = [...commandLine('mcad', flags.mcad), ...commandLine('instascale', flags.instascale)]
    const isOffline = places.length > 0 || commandLines.length > 0
    const objects = isOffline ? await objectsOfFiles(places) : await objectsOfCluster(connectionOptions(flags), signal)
    const { settings, notes, sources } = migrateCodeflare(objects, commandLines)
    if (sources.length === 0) {
      err('There is no configuration of MCAD, InstaScale or the CodeFlare operator here.')
      return 1
    }
    for (const { object, field, why } of notes)
      err(isolateControl(`${object}${field === '' ? '' : `, ${field}`}: ${why}`))
    for (const source of sources) out(`# from ${isolateControl(source)}`)
    out(writeYaml(settings).trimEnd())
    return 0
  },
})

function commandLine(program: CommandLine['program'], text: string | undefined): readonly CommandLine[] {
  if (text === undefined) return []
  return [{ program, argv: text.split(/\s+/).filter((word) => word !== ''), environment: {} }]
}

async function objectsOfFiles(places: readonly string[]): Promise<readonly JsonObject[]> {
  const objects: JsonObject[] = []
  for (const place of places)
    for (const { name, text } of await filesOf(place))
      for (const document of readYamlDocuments(text, { source: name }))
        if (document !== null) objects.push(...objectsOf(document, name))
  return objects
}

async function filesOf(place: string): Promise<Awaited<ReturnType<typeof readManifestFiles>>> {
  if (place === '-') return [{ name: 'standard input', text: await readStream(process.stdin) }]
  try {
    return await readManifestFiles(place)
  } catch (error) {
    if (error instanceof MusterError) throw error
    throw new MusterError(flagErrors.InvalidFlag, `${place} cannot be read: ${(error as Error).message}.`, {
      cause: error,
    })
  }
}

const resources = [
  resourceOf('codeflare.codeflare.dev/v1alpha1', 'MCAD', { plural: 'mcads', namespaced: true }),
  resourceOf('codeflare.codeflare.dev/v1alpha1', 'InstaScale', { plural: 'instascales', namespaced: true }),
  resourceOf('ibm.com/v1', 'QuotaSubtree', { plural: 'quotasubtrees', namespaced: true }),
  resourceOf('v1', 'ConfigMap'),
  resourceOf('apps/v1', 'Deployment'),
]

async function objectsOfCluster(
  options: ReturnType<typeof connectionOptions>,
  signal: AbortSignal,
): Promise<readonly JsonObject[]> {
  const client = await connect(options)
  try {
    const lists = await Promise.all(resources.map((resource) => listed(client, resource, signal)))
    return lists.flat()
  } finally {
    await client.close()
  }
}

async function listed(
  client: Client,
  resource: (typeof resources)[number],
  signal: AbortSignal,
): Promise<readonly JsonObject[]> {
  try {
    const { items } = await client.list(resource, { signal })
    return items.map((item) => asJson(item))
  } catch (error) {
    if (isMusterError(error, clientErrors.NotFound) || isMusterError(error, clientErrors.KindNotServed)) return []
    throw error
  }
}

export default command
