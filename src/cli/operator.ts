/** The commands of the operator contract, for an operator in a file. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { MusterError } from '../kube/errors.ts'
import { isJsonObject } from '../kube/json.ts'
import { readYaml } from '../kube/yaml.ts'
import { type Command, defineCommand } from './command.ts'
import { loadOperator } from './module.ts'

export const command: Command = defineCommand({
  usage: 'MODULE|NAME COMMAND [flags]',
  details: `MODULE is a file that exports an operator, as for "muster run"; NAME is one that ./muster.yaml says where it is from.
COMMAND is one of the contract's:
  input-resources                     what it reads, as YAML
  output-resources                    what it writes, as YAML
  apply-configuration                 runs once on a directory, with no network:
    --input-dir DIR                     a must-gather directory
    --output-dir DIR                    where what it wants is written; give a fresh one
    --now TIME                          where its clock stands, as 2026-01-31T12:00:00Z (default: now)
    --controllers A,-B,*                which of its controllers run (default: *)
    --strict                            a file that cannot be read is an error (default: it is named and left out)
  apply-configuration-live            the same, and may reach the user-workload cluster:
    --kubeconfig FILE                   how (default: as usual)
Exit code: 0 all is well, 1 a controller failed or wrote what it did not declare. See docs/contract.md.`,
  flags: {},
  verbatim: true,
  async run({ positionals, out, err, signal }) {
    const [module, ...words] = positionals
    if (module === undefined || module === '--help' || words.length === 0) {
      throw new MusterError('InvalidFlag', 'operator takes a MODULE and a COMMAND; "muster help operator" tells which.')
    }
    const { cutOff } = await import('../contract/cut-off.ts')
    if (words[0] === 'apply-configuration') await cutOff(err)
    // What comes out is written at once, at the end: before that there is nothing to finish.
    signal.addEventListener('abort', () => process.exit(130), { once: true })
    const operator = await loadOperator(await referenceOf(module))
    const { runContractCommand } = await import('../contract/commands.ts')
    return await runContractCommand(operator, words, { out, err })
  },
})

/** What is no file may be the name of an operator in the configuration of a manager. */
async function referenceOf(word: string): Promise<string> {
  if (/[./#]/.test(word) || existsSync(word)) return word
  const text = await readFile('muster.yaml', 'utf8').catch(() => '')
  const value = text === '' ? null : readYaml(text, { source: 'muster.yaml' })
  const operators = isJsonObject(value) && isJsonObject(value['operators']) ? value['operators'] : {}
  const section = Object.hasOwn(operators, word) ? operators[word] : undefined
  const from = isJsonObject(section) ? section['from'] : undefined
  return typeof from === 'string' && from.startsWith('.') ? from : word
}
