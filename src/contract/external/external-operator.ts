/**
 * An operator that is a program: in whatever language, as long as it keeps the contract. It is hosted beside the others: its
 * inputs are subscribed to in the shared caches and laid out as a directory, of which only what changed is written anew;
 * when something did, it is run, without a network, and what it wants is checked, ordered and carried out.
 *
 *     caches ─▶ directory ─▶ program (walled) ─▶ output ─▶ checked ─▶ carried out
 *
 * A run that crashes, hangs, or leaves what may not be sent changes nothing. One in which some controllers failed is a partial
 * success: what the others want is carried out, and it is tried again.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { SharedCache } from '../../cache/shared-cache.ts'
import type { Subscription } from '../../cache/subscription.ts'
import type { Client } from '../../client/client.ts'
import type { Clock } from '../../clock/clock.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { formatTime } from '../../kube/duration.ts'
import { isMusterError, MusterError } from '../../kube/errors.ts'
import type { Json, JsonObject } from '../../kube/json.ts'
import type { Resource } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { readYaml } from '../../kube/yaml.ts'
import { createScheduler, type GateOptions, openGates, type Scheduler } from '../../manager/scheduler.ts'
import { type BackOffOptions, defaultBackOff } from '../../operator/failure.ts'
import { openGatherFolder } from '../gather-folder.ts'
import { discoveryOf } from '../inputs.ts'
import { type ClusterFolder, unspecifiedFolder } from '../mutation.ts'
import { type ReadOutput, readOutput } from '../output-reader.ts'
import { type InputResources, type OutputResources, readInputResources, readOutputResources } from '../resource-list.ts'
import { keyOf, selectObjects, typesIn } from '../selection.ts'
import { type CarriedOut, carryOut, checkMutations, severalWrites, type Target } from './carry-out.ts'
import { openEgressProxy } from './egress-proxy.ts'
import { type Network, networkTrouble, type Program, type ProgramLimits, runProgram } from './program.ts'
import { servedResource } from './served.ts'
import { scalarText } from '../scalar-text.ts'

export interface ExternalOptions {
  readonly name: string
  readonly program: Program
  readonly client: Client
  readonly cache: SharedCache
  readonly clock?: Clock
  /** A folder of its own, where its inputs are laid out. */
  readonly folder: string
  readonly limits?: Partial<ProgramLimits>
  /** It may have the machine's network, where that cannot be cut off. @default false: it is refused then */
  readonly allowNetwork?: boolean
  /** What keeps the network from being cut off here; undefined: nothing. @default it is tried, once a process */
  readonly canary?: () => Promise<string | undefined>
  /** It runs live: with a kubeconfig to the user-workload cluster, and a way out to nothing but what is listed. */
  readonly live?: { readonly kubeconfig: string; readonly allow: readonly string[] }
  /** Which of its controllers run. @default all */
  readonly controllers?: readonly string[]
  /** Runs it after this time even if nothing changed: for what depends on time alone. @default 600_000 */
  readonly resyncMs?: number
  readonly backOff?: BackOffOptions
  /** Who decides when it runs, and its gates there. @default nobody but itself */
  readonly schedule?: { readonly scheduler: Scheduler; readonly gates: GateOptions }
  /** Where each kind of output goes. @default to the one cluster */
  readonly targetOf?: (folder: ClusterFolder) => Target
  readonly log?: (line: JsonObject) => void
  readonly onRun?: (run: ExternalRun) => void
}

/** What came of one run. */
export interface ExternalRun {
  readonly operator: string
  readonly startedAt: number
  readonly exitCode: number | undefined
  /** Input files that were written or removed for it. */
  readonly inputChanges: number
  readonly output: ReadOutput | undefined
  readonly carriedOut: readonly CarriedOut[]
  /** What went wrong with the run as a whole: then nothing was carried out. */
  readonly error?: unknown
}

export interface ExternalHost {
  /** What it declares; known when it has started. */
  readonly inputs: InputResources | undefined
  readonly outputs: OutputResources | undefined
  /** Asks what it declares, fills the caches. @throws NetworkNotCut, ExternalFailed, InvalidResourceList */
  start(): Promise<void>
  /** Resolves when nothing is waiting or under way. */
  idle(): Promise<void>
  stop(): Promise<void>
}

const namespaces: Resource = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false }
/** One key: a program looks at everything at once. */
const theRun = 'run'
/** So many runs in a row that each write, while nobody else changes anything: it goes round in circles. */
const mostInARow = 10
const crawlMs = 60_000

export function hostExternal(options: ExternalOptions): ExternalHost {
  const { name, program, client, cache, clock = systemClock, limits = {}, resyncMs = 600_000 } = options
  const { backOff = defaultBackOff, log = () => undefined } = options
  const { scheduler, gates } = options.schedule ?? {
    scheduler: createScheduler({ clock, concurrency: 1 }),
    gates: { ...openGates, concurrency: 1, debounce: { quietMs: 200, maxMs: 2000 } },
  }
  // Its own writes are news to it: it decides what follows from them in its next run.
  const writing = `${name} writes`
  const writer = cache.writer(writing)
  const targetOf = options.targetOf ?? (() => ({ client, writer }))
  const gather = openGatherFolder(path.join(options.folder, 'input'))
  const subscriptions = new Map<string, Subscription>()
  const others: Subscription[] = []
  const stopping = new AbortController()
  let isStarted = false
  let inputs: InputResources | undefined
  let outputs: OutputResources | undefined
  let failures = 0
  let inARow = 0
  /** What the last run was made from, and whether it came to a good end. */
  let lastRun: { readonly at: number; readonly isDone: boolean } | undefined
  let isForeign = true

  const lane = scheduler.join(name, gates, async () => {
    try {
      await work()
    } catch (error) {
      log({ operator: name, error: describe(error) })
      lane.addAfter(theRun, backOff.mostMs, 'retry')
    }
  })

  const network = async (): Promise<Network> => {
    const trouble = await (options.canary ?? (() => networkTrouble(clock)))()
    if (trouble === undefined) return 'cut'
    if (options.allowNetwork) return 'open'
    throw new MusterError('NetworkNotCut', `${name}: ${trouble}.`)
  }

  const ask = async <T>(command: string, read: (value: Json, source: string) => T): Promise<T> => {
    const { code, stdout, stderr, trouble } = await runProgram(
      { program, limits, network: await network(), clock, signal: stopping.signal },
      [command],
    )
    if (code !== 0 || trouble !== undefined) {
      throw new MusterError(
        'ExternalFailed',
        `${name} ${command}: ${trouble ?? `exit code ${code}`}${lastLine(stderr)}.`,
      )
    }
    return read(readYaml(stdout, { source: `${name} ${command}` }), `${name} ${command}`)
  }

  async function work(): Promise<void> {
    const inputChanges = gather.update(await content())
    const isDue = !lastRun || !lastRun.isDone || clock.now() - lastRun.at >= resyncMs
    if (inputChanges === 0 && !isDue) return
    const startedAt = clock.now()
    const wasForeign = isForeign
    isForeign = false
    const run = await once(startedAt, inputChanges)
    const { carriedOut, error, output } = run
    const failed = carriedOut.filter((each) => each.error !== undefined)
    const isPartial = output?.results?.some(({ status }) => status === 'Failed' || status === 'Panicked') ?? false
    const isDone = error === undefined && failed.length === 0 && !isPartial
    lastRun = { at: startedAt, isDone }
    tell(run, failed)
    options.onRun?.(run)
    const hasWritten = carriedOut.length > failed.length
    inARow = hasWritten && !wasForeign ? inARow + 1 : 0
    if (inARow >= mostInARow) {
      log({
        operator: name,
        finding: 'hotLoop',
        message: `${name} has written in ${inARow} runs in a row, and nobody else.`,
      })
      lane.hold(theRun, crawlMs)
    }
    failures = isDone ? 0 : failures + 1
    const wait = isDone ? resyncMs : Math.min(backOff.firstMs * 2 ** Math.min(failures - 1, 30), backOff.mostMs)
    lane.addAfter(theRun, wait, isDone ? 'resync' : 'retry')
  }

  async function once(startedAt: number, inputChanges: number): Promise<ExternalRun> {
    const at = { operator: name, startedAt, inputChanges }
    const folder = mkdtempSync(path.join(options.folder, 'output-'))
    try {
      const { code, stderr, trouble } = await runIn(folder, startedAt)
      try {
        // Killed, or ended before it said what became of its controllers: what lies there is half of something.
        if (trouble !== undefined || (code !== 0 && code !== 1)) {
          throw new MusterError('ExternalFailed', `${name}: ${trouble ?? `exit code ${code}`}${lastLine(stderr)}.`)
        }
        const output = readOutput(folder)
        if (!output.results) throw new MusterError('ExternalFailed', `${name} left no results${lastLine(stderr)}.`)
        const how = { targetOf, declared: outputs!, fieldManager: name }
        const checked = await checkMutations(output.mutations, how)
        return { ...at, exitCode: code, output, carriedOut: await carryOut(checked, how) }
      } catch (error) {
        return { ...at, exitCode: code, output: undefined, carriedOut: [], error }
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }

  async function runIn(folder: string, now: number): ReturnType<typeof runProgram> {
    const words = ['--input-dir', gather.path, '--output-dir', folder, '--now', formatTime(now)]
    const chosen = options.controllers ? ['--controllers', options.controllers.join(',')] : []
    const running = { program, limits, clock, signal: stopping.signal }
    const { live } = options
    if (!live) {
      const walls = await network()
      return await runProgram({ ...running, network: walls }, ['apply-configuration', ...words, ...chosen])
    }
    if ((await network()) === 'open') return await runProgram({ ...running, network: 'open' }, liveWords())
    const socket = path.join(options.folder, 'egress.sock')
    rmSync(socket, { force: true })
    const proxy = await openEgressProxy(socket, {
      operator: name,
      allow: [...live.allow, ...serversIn(live.kubeconfig)],
      onRefused: ({ target, message }) => log({ operator: name, finding: 'egressRefused', target, message }),
    })
    try {
      return await runProgram({ ...running, network: { egress: socket } }, liveWords())
    } finally {
      await proxy.close()
    }

    function liveWords(): readonly string[] {
      const kubeconfig = path.join(options.folder, 'user-workload.kubeconfig')
      writeFileSync(kubeconfig, live!.kubeconfig, { mode: 0o600 })
      return ['apply-configuration-live', ...words, ...chosen, '--kubeconfig', kubeconfig]
    }
  }

  async function content(): Promise<Parameters<typeof gather.update>[0]> {
    const list = inputs!.applyConfigurationResources
    const pool = (type: { readonly group: string; readonly resource: string }): readonly UntypedObject[] =>
      subscriptions.get(keyOf(type))?.list() ?? []
    const selected = selectObjects(list, pool)
    const used = new Set(
      [...selected.values()].flatMap(({ objects }) => objects.map(({ metadata }) => metadata.namespace)),
    )
    const known = subscriptions.get(keyOf({ group: '', resource: 'namespaces' }))?.list() ?? []
    return {
      selected,
      namespaces: known.filter(({ metadata }) => used.has(metadata.name)),
      extra: await discoveryOf(client),
    }
  }

  function tell({ exitCode, carriedOut, output, error }: ExternalRun, failed: readonly CarriedOut[]): void {
    if (error !== undefined) log({ operator: name, outcome: 'failed', error: describe(error) })
    const undeclared = (output?.mutations ?? []).filter(({ folder }) => folder === unspecifiedFolder)
    for (const { file } of undeclared) log({ operator: name, finding: 'undeclaredWrite', message: file })
    for (const object of severalWrites(output?.mutations ?? [])) {
      log({ operator: name, finding: 'severalWrites', message: object })
    }
    for (const each of failed) log({ operator: name, write: each.read.file, error: describe(each.error) })
    const broken = (output?.results ?? []).filter(({ errors }) => errors.length > 0)
    for (const { controller, errors } of broken) log({ operator: name, controller, error: errors.join('; ') })
    if (carriedOut.length > 0)
      log({ operator: name, exitCode: exitCode ?? -1, written: carriedOut.length - failed.length })
  }

  return {
    get inputs() {
      return inputs
    },
    get outputs() {
      return outputs
    },
    async start() {
      mkdirSync(options.folder, { recursive: true, mode: 0o700 })
      // What an earlier process laid out is of its time.
      rmSync(gather.path, { recursive: true, force: true })
      inputs = await ask('input-resources', readInputResources)
      outputs = await ask('output-resources', readOutputResources)
      const types = typesIn(inputs.applyConfigurationResources)
      const found = await Promise.all(types.map((type) => servedResource(client, type)))
      const wanted = [namespaces, ...found.filter((resource) => resource !== undefined)]
      for (const resource of wanted) {
        const key = keyOf({ group: resource.group, resource: resource.plural })
        if (subscriptions.has(key)) continue
        const wake = (): void => {
          if (isStarted) lane.add(theRun)
        }
        // Who applies decides by what it owns already.
        subscriptions.set(key, cache.subscribe(resource, { consumer: name, managedFields: true, onEvent: wake }))
        // The same, but for the echoes of its own writes: what is heard here was somebody else.
        const foreign = cache.subscribe(resource, {
          consumer: writing,
          managedFields: true,
          onEvent: () => (isForeign = true),
        })
        others.push(foreign)
      }
      await Promise.all([...subscriptions.values()].map((subscription) => subscription.synced()))
      isStarted = true
      lane.add(theRun)
    },
    idle: () => lane.idle(),
    async stop() {
      stopping.abort()
      await lane.leave()
      for (const subscription of [...subscriptions.values(), ...others]) subscription.close()
    },
  }
}

/** `host:port` of each server that a kubeconfig names. */
function serversIn(kubeconfig: string): readonly string[] {
  const { clusters = [] } = readYaml(kubeconfig) as { readonly clusters?: readonly { readonly cluster?: JsonObject }[] }
  return clusters.flatMap(({ cluster }) => {
    const server = scalarText(cluster?.['server'])
    if (!URL.canParse(server)) return []
    const { hostname, port, protocol } = new URL(server)
    return [`${hostname}:${port || (protocol === 'http:' ? 80 : 443)}`]
  })
}

function lastLine(text: string): string {
  const line = text.trimEnd().split('\n').at(-1) ?? ''
  return line === '' ? '' : ` (${line.slice(0, 300)})`
}

function describe(error: unknown): string {
  if (isMusterError(error)) return `${error.code} ${error.name}: ${error.message}`
  return error instanceof Error ? error.message : String(error)
}
