/** `muster codeflare`: in place of the CodeFlare operator, MCAD or InstaScale, with their configuration, flags and environment. */
import { findPod } from '../../manager/runtime/find-pod.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import type { Layer } from '../../manager/config/layer.ts'
import { connect } from '../../client/connect.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { ImportNote } from '../../platform/import/field-reader.ts'
import { codeflareFormat } from '../../workloads/configuration/codeflare-config-map.ts'
import { codeflareConfigMap } from '../../workloads/configuration/codeflare-settings.ts'
import { platformOf, type PlatformSupport, scalerName } from '../../workloads/configuration/instascale-section.ts'
import { type LegacyProgram, readLegacyFlags } from '../../workloads/configuration/legacy-flags.ts'
import { inWorkloads, SettingsDraft, sharedScaler } from '../../workloads/configuration/settings-draft.ts'
import { workloadsName } from '../../workloads/configuration/workloads-config.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { runManager } from '../manager/run.ts'
import { loadOwnMuster } from '../module/own-muster.ts'
import { isolateControl } from '../terminal/control-characters.ts'

const programs = { operator: 'codeflare', mcad: 'mcad', instascale: 'instascale' } as const

const command: Command = defineCommand({
  usage: 'operator|mcad|instascale [FLAG…]',
  details: `Runs the queue of AppWrappers and the node scaler in place of another program, with the flags and the environment variables
of that program; what has no effect is said on standard error.

operator    The CodeFlare operator: follows the ConfigMap codeflare-operator-config, or that of --config NAME, in the namespace
            of the variable NAMESPACE, or of the Pod. It is created with the defaults if it is missing; if it is not valid, the
            command fails and names it.
            The node scaler runs as instascale.enabled says; without it, on OpenShift and where Cluster API is served (looked up
            at the start).
mcad        MCAD: --backofftime, --quotaEnabled and the like. The queue alone.
instascale  InstaScale. The node scaler alone, for AppWrappers with the label orderedinstance that the queue of another process
            finds without nodes.

--install, for all three, installs the CRDs. docs/coming-from-codeflare.md lists the flags; muster migrate codeflare turns what you
have into a configuration for muster run.`,
  verbatim: true,
  flags: {},
  async run({ positionals: [word = '', ...words], out, err, signal }) {
    if (!Object.hasOwn(programs, word))
      throw new MusterError(
        flagErrors.InvalidFlag,
        'codeflare takes what it replaces: operator, mcad or instascale, such as muster codeflare mcad --backofftime 30.',
      )
    const program = programs[word as keyof typeof programs]
    const { argv, install, config } = ownFlags(program, words)
    const tell = (notes: readonly ImportNote[]): void => {
      for (const { object, field, why } of notes) err(isolateControl(`${object}, ${field}: ${why}`))
    }
    const draft = legacySettings(program, argv)
    tell(draft.notes)
    const connection = connectionOf(draft)
    const pod = await findPod(connection)
    const over: Layer = { source: `flags of ${word}`, value: draft.settings, places: draft.places }
    const namespace = process.env['NAMESPACE'] || pod?.namespace
    if (program === 'codeflare' && !namespace)
      throw new MusterError(
        flagErrors.InvalidFlag,
        `in which namespace is the ConfigMap ${config}? Set the environment variable NAMESPACE.`,
      )
    await runManager({
      given: [],
      muster: await loadOwnMuster('muster.yaml'),
      pod,
      namespaces: undefined,
      webhooks: undefined,
      from:
        program === 'codeflare'
          ? { configMap: `${namespace}/${config}`, format: codeflareFormat(tell, await platformAt(connection, signal)) }
          : undefined,
      set: [],
      over: [over],
      install,
      connection,
      out,
      err,
      signal,
    })
    return 0
  },
})

interface OwnFlags {
  readonly argv: readonly string[]
  readonly install: boolean
  /** The name of the ConfigMap. */
  readonly config: string
}

/** Flags that are not settings. @throws InvalidFlag */
function ownFlags(program: LegacyProgram, words: readonly string[]): OwnFlags {
  const argv: string[] = []
  let [install, config] = [false, codeflareConfigMap]
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    const [, given] = /^--?config=(.+)$/.exec(word) ?? []
    if (word === '--install') install = true
    else if (program === 'codeflare' && given !== undefined) config = given
    else if (program === 'codeflare' && /^--?config$/.test(word)) config = words[++at] ?? ''
    else argv.push(word)
  }
  if (!/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(config))
    throw new MusterError(flagErrors.InvalidFlag, '--config: it must be the name of a ConfigMap.')
  return { argv, install, config }
}

/** The settings of flags and environment, and which operators run. @throws UnknownFlag, InvalidFlag */
function legacySettings(program: LegacyProgram, argv: readonly string[]): SettingsDraft {
  const draft = new SettingsDraft()
  const origin = { object: program, field: '' }
  draft.set(inWorkloads(), {}, origin)
  if (program === 'instascale') {
    // The section is that of the queue, which does not run.
    draft.set(['operators', workloadsName, 'enabled'], false, origin)
    draft.set(['operators', scalerName], sharedScaler[scalerName], origin)
    draft.set(inWorkloads('instascale'), { enabled: true, inference: false }, origin)
  }
  readLegacyFlags({ program, argv, environment: process.env }, draft)
  return draft
}

/** What of the cluster can give nodes. */
async function platformAt(connection: { readonly kubeconfig?: string }, signal: AbortSignal): Promise<PlatformSupport> {
  const client = await connect(connection)
  try {
    return platformOf((await client.discovery.resources({ signal })).map(({ group }) => group))
  } finally {
    await client.close()
  }
}

function connectionOf({ settings }: SettingsDraft): { readonly kubeconfig?: string } {
  const connection = settings['clientConnection'] as { readonly kubeconfig?: string } | undefined
  return connection?.kubeconfig === undefined ? {} : { kubeconfig: connection.kubeconfig }
}

export default command
