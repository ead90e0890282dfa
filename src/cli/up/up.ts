/**
 * `muster up`, for a first look: an embedded cluster with simulated workloads, a manager with the example operators, sample
 * objects, and a live table of the activity.
 */
import path from 'node:path'
import type { Client } from '../../client/client.ts'
import { aborted } from '../../clock/aborted.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { consolePage } from '../../console/page.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { apiserverErrors } from '../../apiserver/errors.ts'
import { managerErrors } from '../../manager/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { ManagerReport } from '../../manager/observability/report.ts'
import type { Operator } from '../../operator/operator.ts'
import { platformName } from '../../platform/installation/holder.ts'
import { workloadsName } from '../../workloads/configuration/workloads-config.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { exampleFiles, sampleMark, samples, tries } from './demo.ts'
import { waitsForUser } from './sample-appwrappers.ts'
import { besideEmbeddedCluster, embeddedConfigMap, type ReadyCluster } from '../cluster/embedded-cluster.ts'
import { keepConsolePort, keptConsolePort } from '../cluster/kept-identity.ts'
import { runningHere, writeManagerFile } from '../manager/manager-file.ts'
import type { OwnMuster } from '../module/own-muster.ts'

/** Before the cluster starts: the rest is its memory. */
const bytesAtStart = process.memoryUsage.rss()

const command: Command = defineCommand({
  details: `The cluster is local and for trying things out: Pods are simulated, no container runs. Its data is kept in the folder of
--data for the next start. Ctrl-C ends it.`,
  flags: {
    data: { type: 'string', value: 'DIR', help: 'folder for the data (default: .muster/data)' },
    memory: { type: 'boolean', help: 'keep the data in memory only' },
    port: { type: 'string', value: 'N', help: 'port of the API server on 127.0.0.1 (default: a free one)' },
    nodes: { type: 'string', value: 'N', help: 'simulated nodes for Pods to run on (default: 3)' },
    'kubeconfig-out': { type: 'string', value: 'FILE', help: 'kubeconfig to write (default: .muster/kubeconfig)' },
  },
  async run({ flags, positionals, out, err, signal }) {
    if (positionals.length > 0) throw new MusterError(flagErrors.InvalidFlag, 'up takes flags only.')
    if (flags.memory && flags.data !== undefined)
      throw new MusterError(flagErrors.InvalidFlag, '--memory keeps nothing: leave --data out.')
    const folder = flags.memory ? undefined : path.resolve(flags.data ?? path.join('.muster', 'data'))
    const other = await runningHere()
    if (other)
      throw new MusterError(
        apiserverErrors.StorageInUse,
        `.muster is used by process ${other.pid}, a manager on ${other.url}.`,
      )
    const kubeconfig = path.resolve(flags['kubeconfig-out'] ?? path.join('.muster', 'kubeconfig'))
    // The examples load while the cluster starts.
    const loading = loadExamples()
    loading.catch(() => undefined)
    try {
      await besideEmbeddedCluster(
        { port: flags.port, kubeconfig, folder, nodes: flags.nodes ?? '3' },
        async (started) => await show({ started, kubeconfig, folder, examples: await loading, out, err, signal }),
      )
    } catch (error) {
      // Errors of a start that the user interrupted are not reported.
      if (!signal.aborted) throw error
    }
    return 0
  },
})

interface Shown {
  readonly started: ReadyCluster
  readonly kubeconfig: string
  readonly folder: string | undefined
  readonly examples: Examples
  readonly out: (line: string) => void
  readonly err: (line: string) => void
  readonly signal: AbortSignal
}

async function show({ started, kubeconfig, folder, examples, out, err, signal }: Shown): Promise<void> {
  const { muster, operators } = examples
  const manager = await startManager({ muster, operators, kubeconfig, folder, err, signal })
  const { remove } = await writeManagerFile(manager.url)
  try {
    if (!signal.aborted) for (const line of introduction(started, folder, manager)) out(line)
    await follow(manager, out, signal)
  } finally {
    remove()
    await manager.stop()
  }
  out(folder === undefined ? 'stopped' : `stopped; everything is kept in ${shown(folder)}`)
}

interface Examples {
  readonly muster: Hosting
  readonly operators: readonly Operator[]
}

type Hosting = Pick<OwnMuster['manager'], 'startManagerService' | 'reachLocal' | 'reachCluster'>

async function loadExamples(): Promise<Examples> {
  const files = exampleFiles()
  const { loadOperator } = await import('../module/module.ts')
  const { builtInOperators } = await import('../module/package-module.ts')
  // Façades and the node scaler are for people who ask for them.
  const hosted = builtInOperators().filter(({ name }) => name === platformName || name === workloadsName)
  const [muster, ...operators] = await Promise.all([
    loadHosting(files[0]!),
    ...files.map((file) => loadOperator(file)),
    ...hosted.map((operator) => operator.load()),
  ])
  return { muster, operators }
}

/** From the copy of muster that the examples import: in a package, another copy than this command's. */
async function loadHosting(file: string): Promise<Hosting> {
  // In a checkout it is this copy; only the needed modules are loaded.
  if (file.endsWith('.ts')) {
    const loading = [
      import('../../manager/runtime/manager-service.ts'),
      import('../../manager/runtime/cluster-connection.ts'),
    ] as const
    const [{ startManagerService }, { reachLocal, reachCluster }] = await Promise.all(loading)
    return { startManagerService, reachLocal, reachCluster }
  }
  const { loadOwnMuster } = await import('../module/own-muster.ts')
  return (await loadOwnMuster(file)).manager
}

interface RunningManager {
  readonly url: string
  readonly names: readonly string[]
  /** Operators that could not be started; the start is retried. */
  readonly failed: readonly string[]
  /** The sample objects were created. */
  readonly isNew: boolean
  report(): ManagerReport
  /** Resolves when nothing waits or runs. */
  idle(): Promise<void>
  stop(): Promise<void>
}

interface ManagerStart {
  readonly muster: Hosting
  readonly operators: readonly Operator[]
  readonly kubeconfig: string
  /** Of the data, which keeps the port of the console. */
  readonly folder: string | undefined
  readonly err: (line: string) => void
  readonly signal: AbortSignal
}

/** Starts the manager: the only function here that knows how operators are hosted. */
async function startManager(starting: ManagerStart): Promise<RunningManager> {
  const { muster, operators, kubeconfig, folder, err, signal } = starting
  const { startManagerService, reachLocal, reachCluster } = muster
  const [{ installKinds }, { simulatedSidecars }] = await Promise.all([
    import('../manager/install-kinds.ts'),
    import('./simulated-sidecars.ts'),
  ])
  const service = await startManagerService({
    // In the cluster, so that `muster pause OPERATOR` has a place to say so.
    from: { configMap: embeddedConfigMap },
    environment: process.env,
    over: [
      { source: 'muster up', value: { clientConnection: { kubeconfig }, health: { port: 0 }, metrics: { port: 0 } } },
    ],
    declared: () => Promise.resolve(operators),
    async load(name, _, client) {
      const operator = operators.find((each) => each.name === name)
      if (!operator) throw new MusterError(managerErrors.ModuleUnusable, `${name} is none of the examples.`)
      await installKinds(client, operator, signal)
      return { operator }
    },
    connect: reachLocal,
    reach: reachCluster,
    identity: 'muster-up',
    live: (client) => simulatedSidecars(client, systemClock),
    coLocated: { name: 'an embedded cluster', bytes: Math.max(process.memoryUsage.rss() - bytesAtStart, 0) },
    page: consolePage(),
    statusPort: keptConsolePort(folder),
    log(line) {
      // Activity is in the table; problems are printed here.
      if ((line.level === 'warn' || line.level === 'error') && !signal.aborted) err(JSON.stringify(line))
    },
  })
  const { runtime } = service
  try {
    keepConsolePort(folder, service.statusUrl)
    await runtime.settled()
    const failed = runtime.assignments().flatMap(({ operator, state }) => (state === 'failed' ? [operator] : []))
    return {
      url: service.statusUrl,
      names: operators.map(({ name }) => name),
      failed,
      isNew: failed.length === 0 && (await createSamples(runtime.clusters.local.client, signal)),
      report: () => service.report(),
      idle: () => runtime.manager.atRest(),
      stop: () => service.stop(),
    }
  } catch (error) {
    await service.stop()
    throw error
  }
}

/** Once for a cluster: samples that a user deleted stay deleted. Returns whether they were created. */
async function createSamples(client: Client, signal: AbortSignal): Promise<boolean> {
  const [resource, done] = sampleMark
  const { name = '', namespace } = done.metadata
  if (await present(client.get(resource, { name, namespace }, { signal }), 'NotFound')) return false
  for (const [each, object] of [...samples, sampleMark])
    await present(client.create(each, object, { fieldManager: 'muster-up', signal }), 'AlreadyExists')
  return true
}

/** False for the expected error. @throws any other error */
async function present(answer: Promise<unknown>, expected: 'NotFound' | 'AlreadyExists'): Promise<boolean> {
  try {
    await answer
    return true
  } catch (error) {
    // By its name: the client may belong to another copy of muster.
    if (error instanceof Error && error.name === expected) return false
    throw error
  }
}

function introduction(
  { url, use, note }: ReadyCluster,
  folder: string | undefined,
  manager: RunningManager,
): readonly string[] {
  const seconds = (performance.now() / 1000).toFixed(1)
  const kept = folder === undefined ? 'in memory' : `kept in ${shown(folder)}`
  const again = folder === undefined ? 'again without --memory, twice' : 'again'
  return [
    `an embedded cluster is ready on ${url} after ${seconds} s (${kept}${note}); to use it:`,
    '',
    `  ${use}`,
    '',
    `a manager hosts ${new Intl.ListFormat('en').format(manager.names)}; to watch it in a browser:`,
    '',
    `  ${manager.url}`,
    '',
    'things to try in another shell:',
    '',
    ...tries.flatMap(({ what, command: words, effect }) => [`  # ${what}: ${effect}`, `  ${words}`]),
    `  # stop it here with Ctrl-C and start it ${again}: all is looked at, and nothing is written`,
    '',
  ]
}

const everyMs = 1000
const mostRounds = 15

/** Whether the latest reconcile of an object has ended with something that it waits for, other than its user. */
function isWaiting({ operators }: ManagerReport): boolean {
  return operators.some(({ recentRuns }) => {
    const latest = new Map(recentRuns.toReversed().map((run) => [`${run.controller} ${run.key}`, run]))
    return [...latest.values()].some(({ outcome, key }) => outcome === 'waiting' && key !== waitsForUser)
  })
}

/** A live table; where there is no terminal, a line for each entry of activity. */
async function follow(manager: RunningManager, out: (line: string) => void, signal: AbortSignal): Promise<void> {
  const { newsOf, tableOf } = await import('../manager/report-table.ts')
  const { openScreen } = await import('../terminal/screen.ts')
  const screen = process.stdout.isTTY ? openScreen(process.stdout) : undefined
  let before: ManagerReport | undefined
  const look = (): void => {
    const report = manager.report()
    if (screen) screen.draw(tableOf(report))
    else for (const line of newsOf(before, report)) out(line)
    before = report
  }
  const ended = aborted(signal)
  if (signal.aborted) return
  if (manager.failed.length > 0) out(`not started, and tried again: ${manager.failed.join(', ')}`)
  else if (!screen) {
    // Objects that take their time, such as Pods that start, are waited for, but not for ever.
    for (let rounds = 0; rounds < mostRounds && !signal.aborted; rounds++) {
      await Promise.race([manager.idle(), ended])
      look()
      if (!isWaiting(before!)) break
      await Promise.race([systemClock.sleep(everyMs, signal).catch(() => undefined), ended])
    }
    const writes = before!.operators.reduce((sum, { cost }) => sum + cost.writes, 0)
    out(
      `at rest: ${manager.isNew ? 'the cluster was new, ' : ''}${writes === 1 ? '1 write' : `${writes} writes`} since this start`,
    )
  }
  while (!signal.aborted) {
    look()
    await Promise.race([systemClock.sleep(everyMs, signal).catch(() => undefined), ended])
  }
}

/** The path relative to the working directory. */
function shown(file: string): string {
  const relative = path.relative('', file)
  return relative.startsWith('..') ? file : relative
}

export default command
