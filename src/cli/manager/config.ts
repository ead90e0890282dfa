/** `muster config`: prints the effective configuration of a manager, with the source of each value. */
import path from 'node:path'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { managerErrors } from '../../manager/errors.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { describeError, MusterError } from '../../kube/muster-error.ts'
import type { Layer } from '../../manager/config/layer.ts'
import { composeConfiguration, textLayer } from '../../manager/config/open-configuration.ts'
import { type ShownSetting, shownSettings, shownYaml } from '../../manager/config/shown.ts'
import type { ConfigurationSource } from '../../manager/config/source.ts'
import { scalar } from '../../manager/config/yaml-scalar.ts'
import { createLoader, type GivenOperator } from '../../manager/loading/loader.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { connectionFlags, connectionOptions } from '../command/connection-flags.ts'
import { loadOperator } from '../module/module.ts'
import { builtInOperators } from '../module/package-module.ts'

const command: Command = defineCommand({
  usage: '[MODULE…]',
  details: `The layers are defaults, --file or --configmap, the environment (MUSTER__leaderElection__leaderElect=true) and --set; later
ones win. MODULEs are further operators of the manager. Operators that the configuration names are loaded to validate their
own settings. Nothing is written. Secrets are not shown.
Exit code: 0 valid, 1 invalid; all problems are printed.`,
  flags: {
    file: { type: 'string', short: 'f', value: 'FILE', help: 'a configuration in YAML or JSON' },
    configmap: { type: 'string', value: 'NAMESPACE/NAME', help: 'a configuration in a ConfigMap, key muster.yaml' },
    set: { type: 'string', value: 'PATH=VALUE', multiple: true, help: 'one setting; may be repeated' },
    output: { type: 'string', short: 'o', value: 'table|json|yaml', help: 'output format (default: table)' },
    schema: { type: 'boolean', help: 'print the JSON schema instead, with the sections of the operators' },
    ...connectionFlags,
  },
  async run({ flags, positionals, out, err }) {
    const { output = 'table', set = [] } = flags
    if (output !== 'table' && output !== 'json' && output !== 'yaml') {
      throw new MusterError(flagErrors.InvalidFlag, `--output ${output}: it must be table, json or yaml.`)
    }
    const { layers, folder } = await readSource(flags, err)
    let isInOrder = true
    const loader = createLoader({
      folder,
      own: { file: flags.file, kubeconfig: flags.kubeconfig },
      given: [...builtInOperators(), ...(await Promise.all(positionals.map(given)))],
      onProblem(_, problem) {
        isInOrder = false
        err(describeError(problem))
      },
    })
    try {
      const { configuration, operators } = await composeConfiguration(layers, {
        environment: process.env,
        flags: set,
        operators: (settings) => loader.declared(settings),
      })
      if (flags.schema) {
        const { configurationJsonSchema } = await import('../../manager/config/json-schema.ts')
        out(JSON.stringify(configurationJsonSchema(operators), undefined, 2))
      } else {
        const shown = shownSettings(configuration, operators)
        if (output === 'json') out(JSON.stringify(readYaml(shownYaml(shown)), undefined, 2))
        else for (const line of output === 'yaml' ? [shownYaml(shown)] : table(shown)) out(line)
      }
    } catch (error) {
      if (!(error instanceof MusterError)) throw error
      isInOrder = false
      err(describeError(error))
    } finally {
      await loader.close()
    }
    return isInOrder ? 0 : 1
  },
})

interface SourceFlags {
  readonly file?: string
  readonly configmap?: string
  readonly kubeconfig?: string
  readonly context?: string
}

async function readSource(
  { file, configmap, ...connection }: SourceFlags,
  err: (line: string) => void,
): Promise<{ readonly layers: readonly Layer[]; readonly folder: string | undefined }> {
  if (file !== undefined && configmap !== undefined) {
    throw new MusterError(flagErrors.InvalidFlag, 'The configuration is in a file or in a ConfigMap: leave one out.')
  }
  if (file !== undefined) {
    const { fileSource } = await import('../../manager/config/file-source.ts')
    const source = fileSource(file)
    return { layers: await layersOf(source, err), folder: source.folder }
  }
  if (configmap === undefined) return { layers: [], folder: undefined }
  const [namespace, name, ...rest] = configmap.split('/')
  if (!namespace || !name || rest.length > 0) {
    throw new MusterError(flagErrors.InvalidFlag, `--configmap ${configmap}: write NAMESPACE/NAME.`)
  }
  const { connect } = await import('../../client/connect.ts')
  const { createSharedCache } = await import('../../cache/shared-cache.ts')
  const { configMapSource } = await import('../../manager/config/config-map-source.ts')
  const client = await connect(connectionOptions(connection))
  const cache = createSharedCache({ client })
  try {
    return { layers: await layersOf(configMapSource({ client, cache, namespace, name }), err), folder: undefined }
  } finally {
    cache.close()
    await client.close()
  }
}

async function layersOf(source: ConfigurationSource, err: (line: string) => void): Promise<readonly Layer[]> {
  const text = await source.read()
  if (text !== undefined) return [await textLayer(source.name, text)]
  if (!source.isRemote) throw new MusterError(managerErrors.InvalidConfiguration, `${source.name} is not there.`)
  err(`${source.name} is not there: a manager would create it, with the defaults.`)
  return []
}

async function given(module: string): Promise<GivenOperator> {
  const operator = await loadOperator(module)
  return { name: operator.name, load: () => Promise.resolve(operator), module: path.resolve(module) }
}

function table(shown: readonly ShownSetting[]): readonly string[] {
  const rows = [
    ['SETTING', 'VALUE', 'FROM'],
    ...shown.map(({ path: steps, value, source }) => [steps.join('.'), scalar(value), source]),
  ]
  const width = (column: number): number => Math.max(...rows.map((row) => row[column]!.length))
  const [first, second] = [width(0), Math.min(width(1), 40)]
  return rows.map(([name, value, source]) => `${name!.padEnd(first)}  ${value!.padEnd(second)}  ${source}`)
}

export default command
