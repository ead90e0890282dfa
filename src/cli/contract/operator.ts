/** `muster operator`: the commands of the operator contract, for an operator in a file or in a configuration. */
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { loadOperator } from '../module/module.ts'
import { namedOperator } from '../module/named-operator.ts'

const command: Command = defineCommand({
  usage: 'MODULE|NAME COMMAND [flags]',
  details: `MODULE is a file that exports an operator, as for "muster run"; NAME is one of ./muster.yaml, with its
settings: from a file, from a package, or a program, which runs in its sandbox.
COMMAND is one of the contract's:
  input-resources                     its inputs, as YAML
  output-resources                    its outputs, as YAML
  apply-configuration                 runs once on a directory, with no network:
    --input-dir DIR                     a must-gather directory
    --output-dir DIR                    for its mutations; must be new
    --now TIME                          its clock, such as 2026-01-31T12:00:00Z (default: now)
    --controllers A,-B,*                which of its controllers run (default: *)
    --strict                            a file that cannot be read is an error (default: it is named and left out)
  apply-configuration-live            the same, and may reach the user-workload cluster:
    --kubeconfig FILE                   how (default: as usual)
Exit code: 0 success, 1 a controller failed or wrote an undeclared object. See docs/contract.md.`,
  flags: {},
  verbatim: true,
  async run({ positionals, out, err, signal }) {
    const [module, ...words] = positionals
    if (module === undefined || module === '--help' || words.length === 0) {
      throw new MusterError(
        flagErrors.InvalidFlag,
        'operator takes a MODULE and a COMMAND; "muster help operator" tells which.',
      )
    }
    const named = await namedOperator(module)
    const { program } = named?.section ?? {}
    if (named && program) {
      const { runProgramCommand } = await import('./operator-program.ts')
      const section = { ...named.section, program }
      const code = await runProgramCommand({ ...named, section, words, out, err, signal })
      return signal.aborted ? 130 : code
    }
    // Before any code of the operator is loaded.
    if (words[0] === 'apply-configuration') {
      const { cutOff } = await import('../../contract/network-isolation.ts')
      await cutOff(err)
    }
    // The output is written at once at the end: before that there is nothing to finish.
    signal.addEventListener('abort', () => process.exit(130), { once: true })
    const { operator, config } = named ? await named.load() : { operator: await loadOperator(module), config: {} }
    const { runContractCommand } = await import('../../contract/commands.ts')
    return await runContractCommand(operator, words, { out, err }, { config })
  },
})

export default command
