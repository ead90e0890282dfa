/** `muster plan`: a dry run of an operator on a live cluster, as a diff. */
import path from 'node:path'
import { styleText } from 'node:util'
import type { Client } from '../../client/client.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { stringifyJson } from '../../kube/json.ts'
import type { DryRunOptions, OperatorPlan } from '../../manager/plan/dry-run.ts'
import { ownFiles } from '../../manager/config/own-files.ts'
import { planLines, type PlanLine } from '../../manager/plan/text.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { connectionFlags, connectionOptions } from '../command/connection-flags.ts'
import { fileOf } from '../../manager/loading/module.ts'
import { loadOperator } from '../module/module.ts'
import { builtInOperators } from '../module/package-module.ts'
import { readNamedFile } from '../command/named-file.ts'
import { readNamespaces } from '../command/namespace-flag.ts'
import { loadOwnMuster, type OwnMuster, translated } from '../module/own-muster.ts'

const command: Command = defineCommand({
  usage: 'MODULE|NAME [CR …]',
  details: `MODULE is a file that exports an operator, as for "muster run"; with --file, NAME is one of that configuration,
which may be a program: it runs, and its mutations are sent as dry runs. CR is NAMESPACE/NAME, or a NAME in any namespace;
without one, all CRs are planned. Reconciles run on the live objects, but no write is sent: writes are assumed to succeed, so
that their consequences show, too. Secrets are masked.
Exit code: 0 nothing would change, 2 something would, 1 something would fail.`,
  flags: {
    ...connectionFlags,
    file: { type: 'string', short: 'f', value: 'FILE', help: 'configuration that names the operator' },
    namespace: { type: 'string', short: 'n', value: 'NAME,…', help: 'these namespaces only (default: all)' },
    json: { type: 'boolean', help: 'one JSON document instead of a diff' },
  },
  async run({ flags, positionals, out, signal }) {
    const [which, ...crs] = positionals
    if (which === undefined)
      throw new MusterError(flagErrors.InvalidFlag, 'plan takes a MODULE, such as src/operator.ts.')
    const namespaces = readNamespaces(flags.namespace)
    const muster = await loadOwnMuster(flags.file ?? fileOf(which))
    const given =
      flags.file === undefined
        ? { operator: await loadOperator(which) }
        : await named(which, { file: flags.file, kubeconfig: flags.kubeconfig }, muster)
    const client = await muster.connect(connectionOptions(flags))
    const cache = muster.createSharedCache({ client })
    try {
      const how = { ...given, client, cache, crs, signal, ...(namespaces && { namespaces }) }
      if ('dryRun' in how && crs.length > 0) {
        throw new MusterError(
          flagErrors.InvalidFlag,
          `${which} is a program, and looks at everything at once: leave CRs out.`,
        )
      }
      const plan = 'dryRun' in how ? await how.dryRun(how) : await muster.dryRun(how)
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

type Named =
  | Pick<DryRunOptions, 'operator' | 'config' | 'namespaces'>
  | { readonly dryRun: (how: { readonly client: Client; readonly signal: AbortSignal }) => Promise<OperatorPlan> }

/** An operator of a configuration file. */
async function named(
  name: string,
  own: { readonly file: string; readonly kubeconfig: string | undefined },
  muster: OwnMuster,
): Promise<Named> {
  const { file } = own
  const { composeConfiguration, textLayer } = await import('../../manager/config/open-configuration.ts')
  const text = await readNamedFile('file', file)
  const folder = path.dirname(path.resolve(file))
  const loader = muster.manager.createLoader({ folder, own, given: builtInOperators() })
  const { configuration } = await composeConfiguration([await textLayer(file, text)], {
    environment: process.env,
    operators: (settings) => loader.declared(settings),
  })
  const { operators } = configuration.settings
  const section = Object.hasOwn(operators, name) ? operators[name]! : undefined
  if (!section) throw new MusterError(flagErrors.InvalidFlag, `${file} names no operator ${name}.`)
  const { program, isolation } = section
  if (program) {
    const { dryRunProgram, programOf } = await muster.contract()
    const hidden = await ownFiles({ ...own, settings: configuration.settings })
    const hosted = await programOf({ ...section, program }, folder, { hidden, others: () => Object.keys(operators) })
    return { dryRun: async (how) => await dryRunProgram({ name, hosted, ...how }) }
  }
  if (isolation !== 'inline') {
    throw new MusterError(
      flagErrors.InvalidFlag,
      `${name} runs at the level ${isolation}, and a plan is made in this process.`,
    )
  }
  const { operator } = await loader.load(name, section)
  const config = section.config as Readonly<Record<string, unknown>>
  return { operator, config, ...(section.namespaces && { namespaces: section.namespaces }) }
}

function exitCodeOf({ changes, crs }: OperatorPlan): number {
  if (crs.some(({ outcome }) => outcome === 'failed' || outcome === 'unsettled')) return 1
  return changes.length > 0 ? 2 : 0
}

const colours = { head: 'bold', hunk: 'cyan', removed: 'red', added: 'green', note: 'gray' } as const

/** Coloured on a terminal that supports it (NO_COLOR, FORCE_COLOR). */
function painted({ kind, text }: PlanLine): string {
  return kind === 'same' ? text : styleText(colours[kind], text, { stream: process.stdout })
}

export default command
