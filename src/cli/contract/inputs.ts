/** `muster inputs`: extracts the input directory of an operator from a must-gather or a cluster. */
import { systemClock } from '../../clock/system-clock.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { cliErrors } from '../errors.ts'
import { contractErrors } from '../../contract/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { Resource } from '../../kube/kind.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { inputResourcesOf } from '../../contract/declaration/declaration.ts'
import { openGatherFolder } from '../../contract/directory/gather-folder.ts'
import { inputsOfCluster, inputsOfGather } from '../../contract/directory/inputs.ts'
import { redacted } from '../../contract/directory/redaction.ts'
import { type InputResources, readInputResources } from '../../contract/declaration/resource-list.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { connectionFlags, connectionOptions } from '../command/connection-flags.ts'
import { loadOperator } from '../module/module.ts'
import { entriesOf, readNamedFile, writing } from '../command/named-file.ts'

const command: Command = defineCommand({
  usage: 'from-must-gather DIR | from-cluster',
  details: `Writes the declared inputs of an operator as an input directory, from a must-gather directory or a cluster. Namespaces and
discovery are kept. One of --operator, --binary and --input-resources provides the declaration.`,
  flags: {
    ...connectionFlags,
    operator: { type: 'string', value: 'MODULE', help: 'a file that exports an operator' },
    binary: {
      type: 'string',
      value: 'PROGRAM',
      help: 'a program that implements the contract; its input-resources are used',
    },
    'input-resources': { type: 'string', value: 'FILE', help: 'the output of input-resources of a program' },
    'output-dir': { type: 'string', value: 'DIR', help: 'folder to write to' },
    redact: { type: 'boolean', help: 'replace the values of Secrets, equal ones by equal text' },
    strict: { type: 'boolean', help: 'an unreadable file is an error (default: it is reported and skipped)' },
  },
  async run({ flags, positionals, out, err }) {
    const [from, folder, ...more] = positionals
    const isGather = from === 'from-must-gather'
    if ((!isGather && from !== 'from-cluster') || more.length > 0 || isGather === (folder === undefined)) {
      throw new MusterError(flagErrors.InvalidFlag, 'inputs takes from-must-gather DIR, or from-cluster.')
    }
    const outputDir = flags['output-dir']
    if (outputDir === undefined) throw new MusterError(flagErrors.InvalidFlag, '--output-dir is required.')
    // Files that are already in the folder would be read as inputs.
    const there = await entriesOf('output-dir', outputDir)
    if (there.length > 0) throw new MusterError(cliErrors.AlreadyThere, `${outputDir} is not empty.`)
    const { list, resources } = await declared(flags.operator, flags.binary, flags['input-resources'])
    const { applyConfigurationResources } = list
    const warn = (line: string): void => err(`warning: ${line}`)
    const { strict = false, redact: secrets = false } = flags
    const found = isGather
      ? await inputsOfGather(folder!, applyConfigurationResources, { strict, warn, resources, secrets })
      : await fromCluster(applyConfigurationResources, connectionOptions(flags), { secrets, warn })
    const content = secrets ? redacted(found) : found
    const files = writing('output-dir', outputDir, () => openGatherFolder(outputDir).update(content))
    const objects = [...found.selected.values()].reduce((sum, each) => sum + each.objects.length, 0)
    out(`${objects} objects in ${files} files: ${outputDir}`)
    return 0
  },
})

async function fromCluster(
  list: InputResources['applyConfigurationResources'],
  connection: ReturnType<typeof connectionOptions>,
  options: Parameters<typeof inputsOfCluster>[2],
): ReturnType<typeof inputsOfCluster> {
  const { connect } = await import('../../client/connect.ts')
  const client = await connect(connection)
  try {
    return await inputsOfCluster(client, list, options)
  } finally {
    await client.close()
  }
}

async function declared(
  module: string | undefined,
  binary: string | undefined,
  file: string | undefined,
): Promise<{ readonly list: InputResources; readonly resources: readonly Resource[] }> {
  if ([module, binary, file].filter((each) => each !== undefined).length !== 1) {
    throw new MusterError(flagErrors.InvalidFlag, 'Pass one of --operator, --binary, --input-resources.')
  }
  if (module !== undefined) {
    const operator = await loadOperator(module)
    return { list: inputResourcesOf(operator), resources: operator.inputs }
  }
  if (file !== undefined) {
    const text = await readNamedFile('input-resources', file)
    return { list: readInputResources(readYaml(text, { source: file }), file), resources: [] }
  }
  const { runProgram } = await import('../../contract/external/program.ts')
  const running = { program: { command: binary! }, clock: systemClock, network: 'open' } as const
  const { code, stdout, stderr, problem } = await runProgram(running, ['input-resources'])
  if (code !== 0) {
    // The end of the output is the most informative part.
    const said = stderr.trim().split('\n').at(-1) ?? ''
    const how = `${problem ?? `exit code ${code}`}${said === '' ? '' : ` (${said})`}`
    throw new MusterError(contractErrors.ExternalFailed, `${binary} input-resources: ${how}.`)
  }
  return { list: readInputResources(readYaml(stdout, { source: binary! }), binary!), resources: [] }
}

export default command
