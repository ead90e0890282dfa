/** Shows what an operator would write, as a diff, and writes nothing. */
import { styleText } from 'node:util'
import { MusterError } from '../kube/errors.ts'
import { stringifyJson } from '../kube/json.ts'
import type { OperatorPlan } from '../manager/plan/foresight.ts'
import { planLines, type PlanLine } from '../manager/plan/text.ts'
import { type Command, defineCommand } from './command.ts'
import { connectionFlags, connectionOptions } from './connection-flags.ts'
import { fileOf } from '../manager/loading/module.ts'
import { loadOperator } from './module.ts'
import { readNamespaces } from './namespace-flag.ts'
import { loadOwnMuster, translated } from './own-muster.ts'

export const command: Command = defineCommand({
  usage: 'MODULE [CR …]',
  details: `MODULE is a file that exports an operator, as for "muster run". CR is NAMESPACE/NAME, or a NAME in any namespace;
without one, all of them are looked at. The operator's reconciles run on what is in the cluster, but nothing is sent: their
writes are assumed to have been done, so that what follows from them shows, too. Secrets are masked.
Exit code: 0 nothing would change, 2 something would, 1 something would fail.`,
  flags: {
    ...connectionFlags,
    namespace: { type: 'string', short: 'n', value: 'NAME,…', help: 'look at these namespaces (default: all)' },
    json: { type: 'boolean', help: 'one JSON document instead of a diff' },
  },
  async run({ flags, positionals, out, signal }) {
    const [module, ...crs] = positionals
    if (module === undefined) throw new MusterError('InvalidFlag', 'plan takes a MODULE, such as src/operator.ts.')
    const namespaces = readNamespaces(flags.namespace)
    const operator = await loadOperator(module)
    const muster = await loadOwnMuster(fileOf(module))
    const client = await muster.connect(connectionOptions(flags))
    const cache = muster.createSharedCache({ client })
    try {
      const plan = await muster.foresee({ operator, client, cache, crs, signal, ...(namespaces && { namespaces }) })
      if (flags.json) out(stringifyJson(plan, 2))
      else for (const line of planLines(plan)) out(painted(line))
      return exitCodeOf(plan)
    } catch (error) {
      throw translated(error)
    } finally {
      cache.close()
      await client.close()
    }
  },
})

function exitCodeOf({ changes, crs }: OperatorPlan): number {
  if (crs.some(({ outcome }) => outcome === 'failed' || outcome === 'unsettled')) return 1
  return changes.length > 0 ? 2 : 0
}

const colours = { head: 'bold', hunk: 'cyan', removed: 'red', added: 'green', note: 'gray' } as const

/** In colour on a terminal that wants it (NO_COLOR, FORCE_COLOR). */
function painted({ kind, text }: PlanLine): string {
  return kind === 'same' ? text : styleText(colours[kind], text, { stream: process.stdout })
}
