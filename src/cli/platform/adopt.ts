/** `muster adopt release`: turns a Helm release into an Installation, and with `--give-back` an Installation into a Helm release. */
import { styleText } from 'node:util'
import { systemClock } from '../../clock/system-clock.ts'
import { Secret } from '../../kube/kinds.ts'
import type { JsonObject } from '../../kube/json.ts'
import { asJson, asObject } from '../../kube/json-object.ts'
import { formatApiVersion } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { writeYaml } from '../../kube/yaml/yaml.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import type { HelmRelease } from '../../platform/helm-release/helm-release.ts'
import { encodeReleaseSecret } from '../../platform/helm-release/release-secret.ts'
import { Installation, type InstallationObject } from '../../platform/installation/installation.ts'
import { hookOf } from '../../platform/phase/hook.ts'
import { type Command, defineCommand, type FlagValues } from '../command/command.ts'
import { connectionFlags } from '../command/connection-flags.ts'
import { cliErrors } from '../errors.ts'
import { isolateControl } from '../terminal/control-characters.ts'
import {
  atInstallation,
  cliFieldManager,
  findInstallation,
  installationFlags,
  type InstallationPlace,
  readInstallation,
} from './cluster-installation.ts'
import { contentDiff } from './content-diff.ts'
import {
  deployedRelease,
  forgetRelease,
  hideRelease,
  keepRelease,
  keptRelease,
  releaseObjects,
} from './helm-releases.ts'
import { asHelm, changeOwners, withoutHelm } from './field-owners.ts'
import { revisionContent } from './installation-content.ts'
import { renderedContent } from './rendered-content.ts'
import { readSource, sourceFlags } from './source-argument.ts'
import { waitAfterWrite } from './upgraded-installation.ts'
import { readTimeout, waitFlags, waitForRemoval } from './wait.ts'

const flags = {
  ...connectionFlags,
  ...installationFlags,
  ...sourceFlags,
  yes: { type: 'boolean', short: 'y', help: 'take the release over; without it, only the difference is printed' },
  'give-back': { type: 'boolean', help: 'end the Installation, and leave its objects to Helm again' },
  ...waitFlags,
} as const

const command: Command = defineCommand({
  usage: 'release NAME [SOURCE]',
  details: `Prints what would change if an Installation took over the release NAME of Helm, in the same namespace; with --yes it does, and
Helm does not list the release any more. SOURCE is the chart, as for "muster install", rendered with the values of the release, which are
kept in the Secret NAME-values; without SOURCE the objects of the release are taken as they are. --give-back writes the release for
Helm, deployed as it is now, and removes the Installation without its objects.`,
  flags,
  async run({ flags: given, positionals, out, signal }) {
    const [what, name, source, ...more] = positionals
    if (what !== 'release' || name === undefined || more.length > 0)
      throw new MusterError(
        flagErrors.InvalidFlag,
        'Usage: muster adopt release NAME [SOURCE], such as muster adopt release web ./chart.',
      )
    readTimeout(given)
    return await atInstallation(name, given, signal, async (place) =>
      given['give-back'] ? await giveBack(place, given, out) : await takeOver(place, source, given, out),
    )
  },
})

type Given = FlagValues<typeof flags>

async function takeOver(
  place: InstallationPlace,
  source: string | undefined,
  given: Given,
  out: (line: string) => void,
): Promise<number> {
  const { client, ref, signal } = place
  const { name, namespace } = ref
  if (await findInstallation(place)) {
    const cure = `end it with muster adopt release ${name} --give-back, or muster uninstall ${name} --keep`
    throw new MusterError(cliErrors.InstallationExists, `Installation ${namespace}/${name} exists: ${cure}.`)
  }
  const release = await deployedRelease(place, name)
  const { spec, values } = await adoptingSpec(release, source, given)
  const object = {
    apiVersion: formatApiVersion(Installation),
    kind: Installation.kind,
    metadata: { name, namespace },
    spec,
  }
  if (source !== undefined) {
    // What the API server would add, and the values before they are in their Secret.
    const whole = { ...object, spec: { ...spec, values: release.values, valuesFrom: [] } }
    const { items } = await renderedContent(place, asObject(whole) as ReturnType<typeof asObject> & InstallationObject)
    const rendered = items.map((item) => item.object).filter((one) => hookOf(one) === undefined)
    const lines = contentDiff(releaseObjects(release), rendered, namespace)
    for (const { kind, text } of lines) {
      const line = isolateControl(text)
      out(kind === 'same' ? line : styleText(colours[kind], line, { stream: process.stdout }))
    }
    if (lines.length === 0) out('nothing would change in the objects')
    const left = leftOut(releaseObjects(release), rendered)
    if (left.length > 0) out(`not in the chart, and left in the cluster as they are: ${left.join(', ')}`)
  } else out('the objects of the release would stay as they are')
  if (!given.yes) {
    out(`To take over release ${namespace}/${name}, revision ${release.revision}, add --yes.`)
    return 0
  }
  await keepRelease(place, release, cliFieldManager)
  if (values) await client.apply(Secret, values, { fieldManager: cliFieldManager, force: true, signal })
  const { metadata } = await client.create(Installation, asObject(object), { fieldManager: cliFieldManager, signal })
  const code = await waitAfterWrite(place, { generation: metadata.generation, isSuspended: false }, given, out)
  if (code !== 0) return code
  await changeOwners(place, releaseObjects(release), withoutHelm)
  await hideRelease(place, name)
  return code
}

/** Objects of the release that the chart does not have: they get no holder, and are not pruned. */
function leftOut(before: readonly UntypedObject[], after: readonly UntypedObject[]): readonly string[] {
  const nameOf = ({ kind, metadata }: UntypedObject): string => `${kind} ${metadata.name}`
  const known = new Set(after.map(nameOf))
  return before.map(nameOf).filter((name) => !known.has(name))
}

const colours = { head: 'bold', hunk: 'cyan', removed: 'red', added: 'green' } as const

interface Adopting {
  readonly spec: JsonObject
  /** The Secret with the values of the release; undefined if it has none. */
  readonly values: ReturnType<typeof asObject> | undefined
}

/** @throws InvalidFlag where the objects of the release cannot be part of an Installation */
async function adoptingSpec(release: HelmRelease, source: string | undefined, given: Given): Promise<Adopting> {
  const { name, namespace, manifest } = release
  const adopt = { helmRelease: name }
  if (source === undefined) {
    if (releaseObjects(release).some(({ kind }) => kind === 'Secret')) {
      throw new MusterError(
        flagErrors.InvalidFlag,
        `Release ${namespace}/${name} has Secrets, which an Installation would show: name its chart as SOURCE.`,
      )
    }
    return { spec: { source: { manifests: { text: manifest } }, adopt }, values: undefined }
  }
  const spec = { source: asJson(await readSource(source, given)), releaseName: name, adopt }
  if (Object.keys(release.values).length === 0) return { spec, values: undefined }
  const valuesName = `${name}-values`
  return {
    spec: { ...spec, valuesFrom: [{ kind: 'Secret', name: valuesName, key: 'values.yaml', optional: false }] },
    values: {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: valuesName, namespace },
      data: { 'values.yaml': Buffer.from(writeYaml(release.values)).toString('base64') },
    },
  }
}

async function giveBack(place: InstallationPlace, given: Given, out: (line: string) => void): Promise<number> {
  const { client, ref, signal } = place
  const { status = {} } = await readInstallation(place)
  const release = await keptRelease(place, ref.name)
  const { items } = await revisionContent(place, status.revision ?? 0)
  const objects = items.filter(({ object, isCrdFile }) => !isCrdFile && hookOf(object) === undefined)
  const manifest = objects.map(({ object }) => `---\n${writeYaml(asJson(object))}`).join('')
  const revision = release.revision + 1
  const secret = encodeReleaseSecret(
    { ...release, manifest, revision, status: 'deployed' },
    { createdAt: systemClock.now() / 1000 },
  )
  await client.patch(
    Installation,
    ref,
    { spec: { deletion: 'orphan', suspend: false } },
    { type: 'merge', fieldManager: cliFieldManager, signal },
  )
  await client.apply(Secret, secret, { fieldManager: cliFieldManager, force: true, signal })
  await client.delete(Installation, ref, { signal })
  await waitForRemoval(place, { timeoutMs: readTimeout(given), out })
  await changeOwners(
    place,
    objects.map(({ object }) => object),
    asHelm,
  )
  await forgetRelease(place, ref.name)
  out(`Release ${ref.namespace}/${ref.name} is Helm's again, revision ${revision}.`)
  return 0
}

export default command
