/**
 * The manager process: a runtime with everything around it. It follows its configuration, serves health, metrics and
 * cost, exports traces, and serves webhooks. `muster run` and `muster up` start one.
 */
import type { Clock, Timer } from '../../clock/clock.ts'
import { type Random, systemRandom } from '../../clock/random.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { createSharedCache } from '../../cache/shared-cache.ts'
import type { Client } from '../../client/client.ts'
import { managerErrors } from '../errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import { createLogBuffer } from '../logging/log-buffer.ts'
import type { Log } from '../logging/log-line.ts'
import type { Live } from '../../operator/live.ts'
import { createActivity, type ActivityInput } from '../observability/activity.ts'
import type { ConfigMapFormat } from '../config/config-map-format.ts'
import { configMapSource } from '../config/config-map-source.ts'
import type { Configuration } from '../config/configuration.ts'
import { fileSource } from '../config/file-source.ts'
import type { Layer } from '../config/layer.ts'
import { type OpenConfiguration, openConfiguration } from '../config/open-configuration.ts'
import { objectNameOf, webhookAddressOf } from '../config/options-of.ts'
import { podLayer, type PodPlace } from '../config/pod-layer.ts'
import { durationMs } from '../config/setting-fields.ts'
import type { OperatorSettings } from '../config/operator-settings.ts'
import type { Declared } from '../config/schema.ts'
import type { ClusterSettings, ListenSettings, Settings } from '../config/settings.ts'
import type { ConfigurationSource } from '../config/source.ts'
import { countedTransport } from '../observability/counted-transport.ts'
import type { HealthReport } from '../observability/health.ts'
import { createRunMeter, loopMs } from '../run/run-meter.ts'
import { keepSmall } from '../memory/memory-at-rest.ts'
import { createMetrics, type Metrics } from '../observability/metrics.ts'
import { processUsage } from '../observability/process-usage.ts'
import type { ManagerCondition, ManagerReport, CoLocatedWorkload } from '../observability/report.ts'
import type { LaneObserver, LaneState } from '../schedule/lane.ts'
import { startStatusServer, type StatusServerOptions } from '../observability/status-server.ts'
import { createTracing, type Tracing, tracingSettings } from '../observability/tracing.ts'
import { createQuarantine } from '../watchdog/quarantine.ts'
import type { Watchdog } from '../watchdog/watchdog.ts'
import { createWebhookHost, type WebhookAddress } from '../webhooks/webhook-host.ts'
import { startWebhooks } from '../webhooks/webhooks.ts'
import { keepYoung, type YoungGarbage } from '../memory/young-garbage.ts'
import type { Reached } from './clusters.ts'
import { createEndings, type Endings } from './shutdown-stack.ts'
import { type ConfigurationReports, reportConfiguration } from './configuration-reports.ts'
import { type DeferredWebhooks, deferredWebhooks } from './deferred-webhooks.ts'
import type { ReachOptions } from './cluster-connection.ts'
import { type Runtime, type RuntimeOptions, startRuntime } from './runtime.ts'
import type { LoadedOperator } from '../loading/loader.ts'
import { messageText } from '../config/message-text.ts'
import { untilAborted } from './until-aborted.ts'

interface ConfigMapPlace {
  /** `namespace/name`. */
  readonly configMap: string
  /** That of another program. @default the key `muster.yaml` */
  readonly format?: ConfigMapFormat | undefined
}

export interface ManagerServiceOptions {
  /** The configuration file or ConfigMap. @default none: defaults, environment and flags */
  readonly from?: { readonly file: string } | ConfigMapPlace
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Each is `path=value`. */
  readonly flags?: readonly string[]
  /** The Pod that it runs in: its objects are in that namespace by default. @default none */
  readonly pod?: PodPlace | undefined
  /** Configuration layers above all others. */
  readonly over?: readonly Layer[]
  /** The operators whose configuration sections are valid. */
  readonly declared: (settings: Settings) => Promise<readonly Declared[]>
  readonly load: (name: string, settings: OperatorSettings, client: Client) => Promise<LoadedOperator>
  readonly connect: (connection: Settings['clientConnection'], reach: ReachOptions) => Promise<Reached>
  readonly reach: (name: string, settings: ClusterSettings, local: Client, reach: ReachOptions) => Promise<Reached>
  readonly identity: string
  readonly clock?: Clock
  readonly random?: Random
  readonly log: Log
  /** @default as in the settings */
  readonly webhooks?: WebhookPlace
  /** Live calls of operators. @default real ones */
  readonly live?: (client: Client) => Live
  /** What else runs in this process: `an embedded cluster`. */
  readonly coLocated?: CoLocatedWorkload
  /** The loopback port of the status server, if no other program has taken it. @default a free one */
  readonly statusPort?: number | undefined
  /** Files of the console. @default no console */
  readonly page?: StatusServerOptions['page']
  /** Ends the process when an operator hangs it. Without it, no operator is quarantined. */
  readonly watchdog?: Watchdog | undefined
  /** `FILE#NAME` of an operator, to detect changed code. @default the operator is built in */
  readonly moduleOf?: (operator: string, settings: OperatorSettings) => Promise<string | undefined>
  /** Cancels the start: an API server that does not respond may block it for long. */
  readonly signal?: AbortSignal
}

/** The address of the webhooks for API servers, and where they listen. */
export interface WebhookPlace {
  readonly address: WebhookAddress
  readonly listen: { readonly host?: string; readonly port: number }
}

export interface ManagerService {
  readonly runtime: Runtime
  readonly configuration: OpenConfiguration
  /** The URL of the status server on this machine. */
  readonly statusUrl: string
  report(): ManagerReport
  /**
   * Resolves when the process should be restarted: it started with default settings because its configuration was
   * invalid, and the valid ones since then cannot be applied to a running process.
   */
  readonly outdated: Promise<void>
  stop(): Promise<void>
}

const sampleMs = 15_000

/** @throws InvalidConfiguration, and connection errors */
export async function startManagerService(options: ManagerServiceOptions): Promise<ManagerService> {
  const { signal, log } = options
  // Timers do not keep the process alive, nor does a lost connection: without an API server, the process would exit.
  const { port1: alive } = new MessageChannel()
  alive.ref()
  const endings = createEndings()
  const endAll = async (): Promise<void> => {
    try {
      await endings.close()
    } catch (error) {
      log({ level: 'warn', msg: 'Shutdown was not clean', error: messageText(error) })
    }
    alive.close()
  }
  let stopped: Promise<void> | undefined
  const starting = start(options, endings)
  try {
    const started = await (signal ? untilAborted(starting, signal) : starting)
    return { ...started, stop: () => (stopped ??= endAll()) }
  } catch (error) {
    await endAll()
    // The start may have progressed meanwhile.
    starting.then(endAll, endAll).catch(() => undefined)
    throw error
  }
}

async function start(options: ManagerServiceOptions, endings: Endings): Promise<Omit<ManagerService, 'stop'>> {
  const { clock = systemClock, random = systemRandom, environment = {}, identity } = options
  const buffer = createLogBuffer()
  const log: Log = (line) => {
    buffer.add(line, clock.now())
    options.log(line)
  }
  const layers = {
    defaults: options.pod && [podLayer(options.pod)],
    environment,
    flags: options.flags,
    over: options.over,
    operators: options.declared,
  }
  const metrics = createMetrics()
  // The connection to the cluster of a ConfigMap cannot be configured in that ConfigMap.
  const bare = await openConfiguration(layers)
  let local: Reached | undefined
  const connected = async (settings: Settings): Promise<Reached> => {
    if (local) return local
    tracing = tracingOf(settings, environment, clock)
    local = await options.connect(settings.clientConnection, reaching)
    const { client } = local
    endings.add(() => client.close())
    if (tracing) endings.add(tracing.close.bind(tracing))
    return local
  }
  let tracing: Tracing | undefined
  const reaching: ReachOptions = {
    clock,
    around(transport, server) {
      const counted = countedTransport(transport, server, metrics)
      return tracing ? tracing.mark(counted) : counted
    },
    onMoved: ({ name, server }) => log({ level: 'info', msg: 'Connection has changed', cluster: name, server }),
  }
  const { from } = options
  let follow: ((next: Configuration) => void) | undefined
  let reports: ConfigurationReports | undefined
  const outdated = Promise.withResolvers<void>()
  let cameUpWithout = false
  const configuration = from
    ? await openConfiguration({
        ...layers,
        source: 'file' in from ? fileSource(from.file, { clock }) : await mapSource(from),
        onChange(next, changes) {
          reports?.changed(changes)
          const needsRestart = changes.some(({ effect }) => effect === 'restart')
          if (cameUpWithout && needsRestart) outdated.resolve()
          else follow?.(next)
          cameUpWithout = false
        },
        onProblem(problem, isRejected) {
          if (isRejected) reports?.rejected(problem)
          else log({ level: 'warn', msg: 'Configuration source', error: problem.message })
        },
        onMended: () => reports?.mended(),
      })
    : bare
  endings.add(() => configuration.close())
  if (from) {
    reports = reportConfiguration({ configuration, clock, log, metrics, client: () => local?.client })
    // A ConfigMap that was invalid at the start.
    if (configuration.problem) reports.rejected(configuration.problem)
  }

  async function mapSource({ configMap, format }: ConfigMapPlace): Promise<ConfigurationSource> {
    const { client } = await connected(bare.current.settings)
    const cache = createSharedCache({ client, clock, random })
    endings.add(() => cache.close())
    return configMapSource({ client, cache, format, ...objectNameOf(configMap) })
  }

  cameUpWithout = configuration.isFallback
  const { settings } = configuration.current
  const reached = await connected(settings)
  // The start was cancelled: start nothing that would have to be stopped at once.
  options.signal?.throwIfAborted()
  const { client } = reached
  const activity = createActivity({ clock })
  let young: YoungGarbage | undefined
  const watched = watchedBy({ ...options, log }, configuration, client)
  const webhooks = webhooksOf(settings, client, { ...options, log })
  if (webhooks) endings.add(() => webhooks.close())
  const runtime = startRuntime({
    settings,
    identity,
    pod: options.pod?.pod,
    clock,
    random,
    log,
    metrics,
    local: reached,
    reach: (name, cluster, home) => options.reach(name, cluster, home, reaching),
    load: async (name, section) => await options.load(name, section, client),
    observer: observers(activity, metrics, { ended: () => young?.ended() }),
    meter: createRunMeter({
      clock,
      random,
      busyMs: loopMs,
      ...(tracing && { within: (id, work) => tracing!.within(id, work) }),
    }),
    onLedger(ledger, as) {
      activity.note(ledger, as)
      if (tracing && random.next() < configuration.current.settings.tracing.sampleRatio) tracing.note(ledger)
    },
    onFinding: (finding, as) => activity.find(finding, as),
    ...watched,
    ...(webhooks && { webhooks }),
    ...(options.live && { live: options.live(client) }),
  })
  endings.add(() => runtime.stop())
  // Changes since the configuration was read.
  follow = (next) => {
    runtime
      .reconfigure(next.settings)
      .catch((error: unknown) => log({ level: 'warn', msg: 'Settings were not applied', error: messageText(error) }))
  }
  follow(configuration.current)

  const activityInput = (): ActivityInput => {
    // Once for all consumers: it counts the cached objects.
    const informerReports = runtime.clusters.reports()
    const condition = reports?.condition()
    const informers = informerReports.flatMap(([, of]) => of)
    return {
      lanes: runtime.manager.lanes(),
      operators: runtime.manager.operators(),
      informers,
      informersOf(lane) {
        const [, at] = lane.split('@')
        const there = informerReports.filter(([cluster]) => cluster === at)
        return there.length > 0 ? there.flatMap(([, of]) => of) : informers
      },
      usage: processUsage(client.stats().requests),
      health: whole(runtime.health(informerReports, unmet(condition))),
      configuration: reports?.report(),
      leases: runtime.leases(),
      assignments: runtime.assignments().map(({ id, state }) => ({ name: id, state })),
      replica: identity,
      ...(options.coLocated !== undefined && { coLocated: options.coLocated }),
    }
  }
  const report = (): ManagerReport => activity.report(activityInput())
  const sampling = repeating(clock, sampleMs, () => activity.sample(activityInput()))
  endings.add(() => sampling.cancel())
  // Only with the real clock: virtual time jumps between two timers.
  if (clock === systemClock) {
    const isFree = ({ waiting, running }: LaneState): boolean => waiting + running === 0
    const isIdle = (): boolean => [...runtime.manager.lanes().values()].every(isFree)
    const small = keepSmall({ clock, isIdle })
    young = keepYoung({ clock, isIdle })
    endings.add(() => {
      small.close()
      young?.close()
    })
  }
  const { page } = options
  const statusUrl = await serveStatus({
    configuration,
    condition: () => reports?.condition(),
    runtime,
    metrics,
    report,
    logs: (after) => buffer.after(after),
    page,
    port: options.statusPort ?? 0,
    log,
    environment,
    endings,
  })
  return { runtime, configuration, statusUrl, report, outdated: outdated.promise }
}

/** Why the latest configuration is not in force. */
function unmet(condition: ManagerCondition | undefined): string | undefined {
  return condition?.status === 'False' ? condition.message : undefined
}

/** The complete report. */
function whole(health: HealthReport): HealthReport {
  return { ...health, problems: [...health.problems, ...health.warnings] }
}

interface Asked {
  readonly configuration: OpenConfiguration
  readonly condition: () => ManagerCondition | undefined
  readonly runtime: Runtime
  readonly metrics: Metrics
  readonly report: () => ManagerReport
  readonly logs: StatusServerOptions['logs']
  readonly page: StatusServerOptions['page'] | undefined
  /** Of the complete status. */
  readonly port: number
  readonly log: Log
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly endings: Endings
}

/** Health, metrics and the console at the configured addresses; the complete status on a loopback port. */
async function serveStatus({
  configuration,
  condition,
  runtime,
  metrics,
  report,
  logs,
  page,
  port: ownPort,
  log,
  environment,
  endings,
}: Asked): Promise<string> {
  const { settings, sources } = configuration.current
  const health = (): HealthReport => runtime.health(undefined, unmet(condition()))
  const rendered = (): string => metrics.render(report())
  const listen = async (
    name: 'health' | 'metrics' | 'console',
    served: Partial<StatusServerOptions>,
  ): Promise<void> => {
    const { address, port }: ListenSettings = settings[name]
    if (port === 0) return
    // In a Pod it must be reachable from outside; elsewhere it listens on loopback unless an address is configured.
    const isOpen = sources.has(`${name}.address`) || environment['KUBERNETES_SERVICE_HOST'] !== undefined
    try {
      const server = await startStatusServer({ host: isOpen ? address : '127.0.0.1', port, health, ...served })
      endings.add(() => server.close())
      if (name === 'console') log({ msg: 'Console is served', url: server.url })
    } catch (error) {
      // The port is a default: a second manager on the same machine takes another one.
      if (!isMusterError(error, managerErrors.PortTaken) || sources.has(`${name}.port`)) throw error
      log({
        level: 'warn',
        msg: `Port is taken: ${name} is not served. Choose another with --set ${name}.port=N`,
        error: error.message,
      })
    }
  }
  await listen('health', {})
  await listen('metrics', { metrics: rendered })
  const shown = { report, ...(page && { page }) }
  if (page) await listen('console', shown)
  else if (settings.console.port !== 0)
    log({ level: 'warn', msg: 'console.port is set, but this manager brings no console' })
  const complete = { host: '127.0.0.1', health, metrics: rendered, ...(logs && { logs }), ...shown }
  const own = await startStatusServer({ ...complete, port: ownPort }).catch((error: unknown) => {
    if (!isMusterError(error, managerErrors.PortTaken) || ownPort === 0) throw error
    return startStatusServer({ ...complete, port: 0 })
  })
  endings.add(() => own.close())
  return own.url
}

function webhooksOf(settings: Settings, client: Client, options: ManagerServiceOptions): DeferredWebhooks | undefined {
  const { clock = systemClock, log } = options
  const { secret, address: host, port } = settings.webhooks
  const address = webhookAddressOf(settings.webhooks)
  const place: WebhookPlace | undefined = options.webhooks ?? (address && { address, listen: { host, port } })
  if (!place) return undefined
  return deferredWebhooks(async () => {
    const cache = createSharedCache({ client, clock })
    const webhooks = await startWebhooks({
      host: createWebhookHost({
        clock,
        thread: options.watchdog?.thread,
        onFailure: ({ error, ...failure }) =>
          log({ level: 'error', msg: 'Webhook failed', ...failure, error: String(error) }),
      }),
      clock,
      cluster: { client, cache },
      secret: objectNameOf(secret),
      ...place,
      onProblem: (where, error) =>
        log({ level: 'warn', msg: 'Webhooks are not registered', webhooks: where, error: messageText(error) }),
    })
    return {
      ...webhooks,
      async close() {
        await webhooks.close()
        cache.close()
      },
    }
  })
}

/** A limit of 0 turns the watchdog off. */
function watchedBy(
  { watchdog, moduleOf, identity, clock = systemClock, log }: ManagerServiceOptions,
  configuration: OpenConfiguration,
  client: Client,
): Pick<RuntimeOptions, 'heartbeats' | 'quarantine'> {
  if (!watchdog) return {}
  const { blockedFor, quarantine: configMap } = configuration.current.settings.watchdog
  const { kubeconfig, context } = configuration.current.settings.clientConnection
  watchdog.limit(durationMs(blockedFor))
  if (durationMs(blockedFor) === 0) return {}
  watchdog.tell({ about: 'cluster', kubeconfig, context, configMap: objectNameOf(configMap), replica: identity })
  const quarantine = createQuarantine({
    client,
    clock,
    configMap,
    log,
    moduleOf: moduleOf ?? (() => Promise.resolve(undefined)),
    isChosen: (operator) => configuration.current.sources.has(`operators.${operator}.isolation`),
    tell: (fact) => watchdog.tell(fact),
  })
  return { heartbeats: watchdog.heartbeats, quarantine }
}

function tracingOf(
  { tracing: { endpoint } }: Settings,
  environment: Readonly<Record<string, string | undefined>>,
  clock: Clock,
): Tracing | undefined {
  // OpenTelemetry's environment variables count as well; the settings take precedence.
  const traced = tracingSettings({
    ...environment,
    ...(endpoint !== undefined && { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }),
  })
  return traced && createTracing({ ...traced, clock })
}

function observers(...all: readonly Partial<LaneObserver>[]): LaneObserver {
  return {
    added: (...layers) => all.forEach((one) => one.added?.(...layers)),
    started: (...layers) => all.forEach((one) => one.started?.(...layers)),
    ended: (...layers) => all.forEach((one) => one.ended?.(...layers)),
  }
}

function repeating(clock: Clock, ms: number, act: () => void): Timer {
  let timer = clock.after(ms, ring)
  function ring(): void {
    timer = clock.after(ms, ring)
    act()
  }
  return { cancel: () => timer.cancel() }
}
