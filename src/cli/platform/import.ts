/** `muster import`: Installations from objects of Flux, Argo CD and Kyma. */
import { text as readStream } from 'node:stream/consumers'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { asJson } from '../../kube/json-object.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { readYamlDocuments, writeYaml } from '../../kube/yaml/yaml.ts'
import { importInstallations } from '../../platform/import/import-installations.ts'
import { objectsOf } from '../../render/manifests/plain-manifests.ts'
import { readManifestFiles } from '../../render/source/manifest-files.ts'
import { type Command, defineCommand } from '../command/command.ts'

const command: Command = defineCommand({
  usage: 'FILE…|-',
  details: `Reads HelmReleases and Kustomizations of Flux, Applications of Argo CD and ModuleTemplates of Kyma, with the sources to which
they refer, from files, folders or standard input, and prints Installations as YAML. What has no counterpart is noted on standard
error, field by field. Nothing is written to a cluster: review the output, then apply it.`,
  flags: {},
  async run({ positionals, out, err }) {
    if (positionals.length === 0)
      throw new MusterError(
        flagErrors.InvalidFlag,
        'import takes FILEs, such as release.yaml, or - for standard input.',
      )
    const objects: unknown[] = []
    for (const place of positionals) {
      for (const { name, text } of await filesOf(place)) {
        for (const document of readYamlDocuments(text, { source: name })) {
          if (document === null) continue
          for (const object of objectsOf(document, name)) objects.push(object)
        }
      }
    }
    const { installations, notes } = importInstallations(objects)
    for (const { object, field, why } of notes) err(`${object}${field === '' ? '' : `, ${field}`}: ${why}`)
    out(
      installations
        .map((installation) => `---\n${writeYaml(asJson(installation))}`)
        .join('')
        .trimEnd(),
    )
    return installations.length > 0 ? 0 : 1
  },
})

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

export default command
