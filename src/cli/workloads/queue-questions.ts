/** `muster queue list`, `explain` and `what-if`: what the queue does with the AppWrappers of a cluster, or of a directory. */
import { connect } from '../../client/connect.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { isJsonObject } from '../../kube/json.ts'
import { asObject } from '../../kube/json-object.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { formatDuration, formatTime, parseTime } from '../../kube/units/duration.ts'
import { readYamlDocuments } from '../../kube/yaml/yaml.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { type AppWrapperObject, isAppWrapper } from '../../workloads/appwrapper/appwrapper.ts'
import {
  forecastQueue,
  type QueueEntry,
  type QueueForecast,
  type StartForecast,
} from '../../workloads/forecast/queue-forecast.ts'
import { connectionOptions } from '../command/connection-flags.ts'
import { readNamedFile } from '../command/named-file.ts'
import { formatOutput, readOutputFormat } from '../command/output-flag.ts'
import { columns } from '../manager/report-table.ts'
import { isolateControl } from '../terminal/control-characters.ts'
import { readQueueSettings } from './queue-configuration.ts'
import { queueObjectsOfCluster, queueObjectsOfFolder, storedAppWrapper } from './queue-objects.ts'

/** The values of the flags of the command. */
interface QuestionFlags {
  readonly kubeconfig?: string
  readonly context?: string
  readonly namespace?: string
  readonly from?: string
  readonly file?: string
  readonly configmap?: string
  readonly now?: string
  readonly output?: string
}

interface QueueQuestion {
  readonly verb: 'list' | 'explain' | 'what-if'
  /** The name for `explain`, the file for `what-if`. */
  readonly subject: string | undefined
  readonly flags: QuestionFlags
  readonly out: (line: string) => void
  readonly err: (line: string) => void
  readonly signal: AbortSignal
}

/** Resolves to the exit code: 1 if the AppWrapper in question does not start. */
export async function answerQuestion({ verb, subject, flags, out, err, signal }: QueueQuestion): Promise<number> {
  if ((verb === 'list') !== (subject === undefined))
    throw new MusterError(flagErrors.InvalidFlag, 'queue takes list, explain NAME, what-if FILE or replay TRACE.')
  const format = readOutputFormat(flags.output)
  const now = readTime(flags.now)
  const { namespace = 'default' } = flags
  const created = verb === 'what-if' ? await readAppWrapper(subject!, flags.namespace) : undefined
  const settings = await readQueueSettings(flags, async (read) => {
    const client = await connect(connectionOptions(flags))
    try {
      return await read(client)
    } finally {
      await client.close()
    }
  })
  const objects =
    flags.from === undefined
      ? await queueObjectsOfCluster(connectionOptions(flags), signal)
      : await queueObjectsOfFolder(flags.from, err)
  const forecast = forecastQueue({ objects, settings, now })
  noteProblems(forecast, err)
  const isIdle = !settings.mcad.quotaEnabled && objects.some(({ object }) => object.kind === 'QuotaSubtree')
  if (isIdle) err('QuotaSubtrees do not count: mcad.quotaEnabled is false in this configuration (--file, --configmap).')
  if (verb === 'list') {
    const entries = forecast.entries.filter((entry) => flags.namespace === undefined || entry.namespace === namespace)
    if (format) out(await formatOutput(entries.map(dated), format))
    else for (const line of listLines(entries, now)) out(line)
    return 0
  }
  const answer = created ? forecast.whatIf(created) : explained(forecast, namespace, subject!)
  if (!answer) {
    err(`There is no AppWrapper ${isolateControl(`${namespace}/${subject}`)}.`)
    return 1
  }
  if (format) {
    const { entry, at, ...rest } = answer
    out(await formatOutput({ ...dated(entry), ...(at !== undefined && { startsAt: formatTime(at) }), ...rest }, format))
  } else for (const line of answerLines(answer, forecast, now)) out(isolateControl(line))
  return answer.entry.state === 'waits' && answer.at === undefined ? 1 : 0
}

type Answer = StartForecast & { readonly entry: QueueEntry }

function explained(forecast: QueueForecast, namespace: string, name: string): Answer | undefined {
  const entry = forecast.entries.find((one) => one.namespace === namespace && one.name === name)
  const start = entry && forecast.startOf(namespace, name)
  return entry && start && { entry, ...start }
}

function readTime(text: string | undefined): number {
  if (text === undefined) return systemClock.now()
  const time = parseTime(text)
  if (time !== undefined) return time
  throw new MusterError(flagErrors.InvalidFlag, `--now ${text}: write a time as 2026-01-01T00:00:00Z.`)
}

async function readAppWrapper(file: string, namespace: string | undefined): Promise<AppWrapperObject> {
  const text = await readNamedFile('what-if', file)
  const found = readYamlDocuments(text, { source: file })
    .filter(isJsonObject)
    .map((document) => asObject(document))
    .filter((object) => typeof object.apiVersion === 'string' && isAppWrapper(object))
  const [object, ...more] = found
  if (!object || more.length > 0)
    throw new MusterError(flagErrors.InvalidFlag, `${file} has ${found.length} AppWrappers: what-if takes one.`)
  const stored = storedAppWrapper(object)
  const { name, namespace: own } = stored.metadata
  const metadata = {
    ...stored.metadata,
    name: name === '' ? 'what-if' : name,
    namespace: own ?? namespace ?? 'default',
  }
  return { ...stored, metadata }
}

function noteProblems({ problems }: QueueForecast, err: (line: string) => void): void {
  for (const { object, field, message } of problems)
    err(isolateControl(`${object}${field === '' ? '' : `, ${field}`}: ${message}`))
}

function dated({ since, ...entry }: QueueEntry): object {
  return { ...entry, since: formatTime(since) }
}

function listLines(entries: readonly QueueEntry[], now: number): readonly string[] {
  const rows = entries.map((entry) =>
    [
      entry.namespace,
      entry.name,
      entry.state,
      entry.position === undefined ? '' : String(entry.position),
      String(Math.round(entry.priority * 100) / 100),
      spanText(now - entry.since),
      entry.quotas.join(' ') || '-',
      entry.message ?? '',
    ].map(isolateControl),
  )
  return columns([['NAMESPACE', 'NAME', 'STATE', 'POSITION', 'PRIORITY', 'AGE', 'QUOTA', 'WHY'], ...rows])
}

function answerLines(
  { entry, at, evicted, before }: Answer,
  { entries }: QueueForecast,
  now: number,
): readonly string[] {
  const { namespace, name, state, position, message, quotas } = entry
  const title = `AppWrapper ${namespace}/${name}`
  const lines = [
    state === 'starts' ? `${title} starts now.` : state === 'waits' ? `${title} waits.` : `${title}: ${state}.`,
  ]
  if (message !== undefined && message !== '') lines.push(`why: ${message}`)
  if (quotas.length > 0) lines.push(`quota: ${quotas.join(', ')}`)
  if (state !== 'waits') return lines
  const ahead = entries.filter(
    (one) => one.state === 'waits' && one.quotas.join() === quotas.join() && (one.position ?? 0) < (position ?? 0),
  )
  if (position !== undefined) lines.push(`position: ${position}`)
  if (ahead.length > 0) lines.push(`ahead: ${listText(ahead.map((one) => `${one.namespace}/${one.name}`))}`)
  if (evicted.length > 0) lines.push(`evicts: ${listText(evicted)}`)
  if (before.length > 0) lines.push(`starts after: ${listText(before)}`)
  lines.push(
    at === undefined
      ? 'starts: unknown; what has to end first does not declare when'
      : `starts: ${formatTime(at)}, in ${spanText(at - now)}, if nothing else arrives`,
  )
  return lines
}

/** The first ones, and how many there are. */
function listText(names: readonly string[]): string {
  const most = 5
  const rest = names.length > most ? ` and ${names.length - most} more` : ''
  return `${names.slice(0, most).join(', ')}${rest}`
}

function spanText(ms: number): string {
  const seconds = Math.max(Math.round(ms / 1000), 0)
  return formatDuration(BigInt(seconds) * 1_000_000_000n)
}
