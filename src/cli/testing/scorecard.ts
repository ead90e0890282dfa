/** `muster scorecard`: checks the behaviour of an operator on embedded clusters, in virtual time. */
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { isJsonObject } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { readYamlDocuments } from '../../kube/yaml/yaml.ts'
import { rules, scorecard } from '../../simulate/scorecard/scorecard.ts'
import { formatScorecardLine, formatSummary } from '../../simulate/scorecard/table.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { loadOperator } from '../module/module.ts'
import { readNamedFile } from '../command/named-file.ts'
import { readOutside } from './outside.ts'

const command: Command = defineCommand({
  usage: 'MODULE',
  details: `MODULE is a TypeScript or JavaScript file that exports an operator: as "operator", as default, or as NAME with
FILE#NAME. It runs on embedded clusters, in virtual time, with the permissions that it declares; no other cluster is needed
or touched. Prints the evidence for each rule, and the resulting capability level. Exit code 1: a rule is broken. The rules are
in docs/scorecard.md.`,
  flags: {
    sample: {
      type: 'string',
      value: 'FILE',
      help: 'the CR to use, and objects that it needs (default: generated from the schema)',
    },
    live: {
      type: 'string',
      value: 'FILE',
      help: 'a file that exports live() or outside(), the simulated application (default: none)',
    },
    json: { type: 'boolean', help: 'one JSON object instead of a table' },
  },
  async run({ flags, positionals, out }) {
    const [module] = positionals
    if (module === undefined || positionals.length > 1) {
      throw new MusterError(flagErrors.InvalidFlag, 'scorecard takes one MODULE, such as src/operator.ts.')
    }
    const sample = flags.sample === undefined ? undefined : await readSample(flags.sample)
    const outside = flags.live === undefined ? undefined : await readOutside(flags.live)
    const width = Math.max(...rules.map(({ name }) => name.length))
    const card = await scorecard({
      load: () => loadOperator(module, { anew: true }),
      sample,
      live: outside && ((world) => outside(undefined, world).live),
      ...(!flags.json && { onLine: (line) => out(formatScorecardLine(line, width)) }),
    })
    if (flags.json) out(JSON.stringify(card, undefined, 2))
    else for (const line of formatSummary(card)) out(line)
    return card.passed ? 0 : 1
  },
})

export async function readSample(file: string): Promise<readonly UntypedObject[]> {
  return readYamlDocuments(await readNamedFile('sample', file), { source: file }).map((document) => {
    const isObject =
      isJsonObject(document) && typeof document['apiVersion'] === 'string' && typeof document['kind'] === 'string'
    if (!isObject || !isJsonObject(document['metadata'])) {
      throw new MusterError(flagErrors.InvalidFlag, `${file} holds something that is no Kubernetes object.`)
    }
    return document as unknown as UntypedObject
  })
}

export default command
