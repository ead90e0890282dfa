/** `muster history`: the revisions of an Installation, and what became of them. */
import type { InstallationObject, InstallationStatus } from '../../platform/installation/installation.ts'
import type { RevisionObject } from '../../platform/installation/revision.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { connectionFlags } from '../command/connection-flags.ts'
import { formatOutput, outputFlag, readOutputFormat } from '../command/output-flag.ts'
import { columns } from '../manager/report-table.ts'
import { isolateControl } from '../terminal/control-characters.ts'
import { atInstallation, installationFlags, readArguments, readInstallation } from './cluster-installation.ts'
import { revisionsOfInstallation } from './installation-content.ts'

type Told = NonNullable<InstallationStatus['history']>[number]

/** One state of a revision; a revision that failed and was repeated has several. */
interface HistoryRow {
  readonly revision: number
  readonly at: string
  readonly state: Told['state'] | 'Pending'
  readonly chart: string
  readonly objects: number | undefined
  /** Its content is kept: a rollback to it is possible. */
  readonly isKept: boolean
  readonly isActive: boolean
  readonly message: string
}

const command: Command = defineCommand({
  usage: 'NAME',
  details: `The oldest first. STATE is Deployed, Superseded by a later revision, Failed, or Pending. ACTIVE is the revision whose objects
are applied; "pinned" says that it stays until muster upgrade. A revision whose OBJECTS are unknown is not kept any more, and
cannot be rolled back to.`,
  flags: { ...connectionFlags, ...installationFlags, output: outputFlag },
  async run({ flags, positionals, out, signal }) {
    const name = readArguments('history', positionals, 'NAME, such as web')
    const format = readOutputFormat(flags.output)
    return await atInstallation(name, flags, signal, async (place) => {
      const installation = await readInstallation(place)
      const rows = historyOf(installation, await revisionsOfInstallation(place))
      if (format) out(await formatOutput(rows, format))
      else for (const line of tableOf(rows, installation)) out(line)
      return 0
    })
  },
})

function historyOf(
  { metadata, status = {} }: InstallationObject,
  revisions: readonly RevisionObject[],
): readonly HistoryRow[] {
  const { history = [] } = status
  const kept = new Map(revisions.map((revision) => [revision.spec.number, revision]))
  const rowOf = ({
    revision,
    at,
    state,
    version,
    message = '',
  }: Omit<Told, 'state' | 'digest'> & Pick<HistoryRow, 'state'>): HistoryRow => {
    const spec = kept.get(revision)?.spec
    return {
      revision,
      at,
      state,
      chart: [spec?.name, spec?.version ?? version].filter((part) => part !== undefined).join('-'),
      objects: spec?.phases.reduce((sum, phase) => sum + phase.objects.length, 0),
      isKept: spec !== undefined,
      isActive: revision === status.revision,
      message,
    }
  }
  const told = new Set(history.map(({ revision }) => revision))
  const pending = revisions
    .filter(({ spec }) => !told.has(spec.number))
    .map(({ spec, metadata: { creationTimestamp = metadata.creationTimestamp ?? '' } }) =>
      rowOf({ revision: spec.number, at: creationTimestamp, state: 'Pending' }),
    )
  return [...history.map(rowOf), ...pending]
}

function tableOf(rows: readonly HistoryRow[], { spec }: InstallationObject): readonly string[] {
  if (rows.length === 0) return ['There is no revision yet.']
  const last = rows.findLastIndex(({ isActive }) => isActive)
  const lines = rows.map(({ revision, at, state, chart, objects, message }, index) => [
    String(revision),
    at,
    state,
    index === last ? (spec.revision === revision ? 'pinned' : 'yes') : '–',
    isolateControl(chart) || '–',
    objects === undefined ? '–' : String(objects),
    isolateControl(message.replaceAll('\n', ' ')),
  ])
  return columns([['REVISION', 'UPDATED', 'STATE', 'ACTIVE', 'CHART', 'OBJECTS', 'MESSAGE'], ...lines])
}

export default command
