/** `muster run`: a manager with operators, on a cluster or on an embedded one. */
import path from 'node:path'
import type { Client } from '../../client/client.ts'
import { aborted } from '../../clock/aborted.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { consolePage } from '../../console/page.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { JsonObject } from '../../kube/json.ts'
import { formatResource } from '../../kube/kind.ts'
import type { Layer } from '../../manager/config/layer.ts'
import { ownFiles } from '../../manager/config/own-files.ts'
import { installedConfigMap, type PodPlace } from '../../manager/config/pod-layer.ts'
import type { Settings } from '../../manager/config/settings.ts'
import { findPod } from '../../manager/runtime/find-pod.ts'
import { replicaName } from '../../manager/leases/replica-name.ts'
import type { ManagerService, ManagerServiceOptions, WebhookPlace } from '../../manager/runtime/manager-service.ts'
import type { CoLocatedWorkload } from '../../manager/observability/report.ts'
import type { Operator } from '../../operator/operator.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { connectionFlags, connectionOptions } from '../command/connection-flags.ts'
import { installKinds, refuseForeignKinds } from './install-kinds.ts'
import type { Log } from '../../manager/logging/log-line.ts'
import { logLevels } from '../../manager/logging/log-line.ts'
import { logFormats, logWriter } from '../../manager/logging/log-writer.ts'
import { writeManagerFile } from './manager-file.ts'
import { fileOf } from '../../manager/loading/module.ts'
import { loadOperator } from '../module/module.ts'
import { readNamespaces, readObjectName } from '../command/namespace-flag.ts'
import { builtInOperators, moduleReference } from '../module/package-module.ts'
import { loadOwnMuster, type OwnMuster, translated } from '../module/own-muster.ts'

const command: Command = defineCommand({
  usage: '[MODULE…]',
  details: `MODULE is a TypeScript or JavaScript file that exports an operator: as "operator", as default, or as NAME with
FILE#NAME; @SCOPE/PACKAGE/PART is one of a package, such as @muster-dev/muster/platform, the operator of Installations. The
configuration may name more operators, and programs that implement the operator contract. Prints one line when they are ready; the
log is on standard error, one line each. Ctrl-C shuts down after the running reconciles.

In a Pod it connects as the Pod's service account; its Lease, its quarantine record and its certificates are in the Pod's
namespace. In a Pod of an installation (see muster generate deploy) it needs no arguments: it follows the ConfigMap of the
installation.`,
  flags: {
    ...connectionFlags,
    file: {
      type: 'string',
      short: 'f',
      value: 'FILE',
      help: 'configuration to follow (see muster config --schema)',
    },
    configmap: {
      type: 'string',
      value: 'NAMESPACE/NAME',
      help: 'ConfigMap to follow instead; created with the defaults if missing. In a Pod, NAME alone is in its namespace',
    },
    set: {
      type: 'string',
      value: 'PATH=VALUE',
      multiple: true,
      help: 'a setting, overrides all other layers; may be repeated',
    },
    'log-format': { type: 'string', value: logFormats.join('|'), help: 'format of the log (default: json)' },
    'log-level': {
      type: 'string',
      value: logLevels.join('|'),
      help: 'the least important lines to write (default: info)',
    },
    namespace: { type: 'string', short: 'n', value: 'NAME,…', help: 'these namespaces only (default: all)' },
    install: { type: 'boolean', help: 'install the CRDs of the operators (server-side apply)' },
    webhooks: {
      type: 'string',
      value: 'URL|NAMESPACE/SERVICE',
      help: 'where API servers reach the webhooks (default: loopback with --embedded, else webhooks are not served)',
    },
    'webhook-port': {
      type: 'string',
      value: 'PORT',
      help: 'port of the webhook server (default: that of the URL, else 9443)',
    },
    embedded: {
      type: 'boolean',
      help: 'start an embedded cluster and run on it; kubeconfig: .muster/kubeconfig, configuration: ConfigMap default/muster',
    },
    data: { type: 'string', value: 'DIR', help: 'with --embedded: folder for its data (default: in memory only)' },
  },
  async run({ flags, positionals, out, err, signal }) {
    const { file, configmap } = flags
    const set = [
      ...(flags['log-format'] === undefined ? [] : [`logging.format=${flags['log-format']}`]),
      ...(flags['log-level'] === undefined ? [] : [`logging.level=${flags['log-level']}`]),
      ...(flags.set ?? []),
    ]
    if (file !== undefined && configmap !== undefined) {
      throw new MusterError(flagErrors.InvalidFlag, '--file and --configmap: a manager follows one of them.')
    }
    const pod = flags.embedded ? undefined : await findPod(connectionOptions(flags))
    const followed = configmap === undefined ? undefined : readConfigMap(configmap, pod)
    const installed = pod && positionals.length === 0 && file === undefined ? installedConfigMap(pod) : undefined
    const configMap = followed ?? installed
    if (positionals.length === 0 && file === undefined && configMap === undefined) {
      throw new MusterError(
        flagErrors.InvalidFlag,
        'run takes MODULEs, such as src/operator.ts, or a configuration that names some.',
      )
    }
    const namespaces = readNamespaces(flags.namespace)
    const given: Given[] = []
    for (const word of positionals) {
      const module = await moduleReference(word)
      given.push({ module, operator: await loadOperator(module) })
    }
    const muster = await loadOwnMuster(given[0] ? fileOf(given[0].module) : (file ?? 'muster.yaml'))
    const webhooks = readWebhooks(flags.webhooks, flags['webhook-port'])
    const from = file !== undefined ? { file } : configMap !== undefined ? { configMap } : undefined
    const running = { given, muster, pod, namespaces, webhooks, from, set, out, err, signal }
    if (!flags.embedded) {
      if (flags.data !== undefined)
        throw new MusterError(flagErrors.InvalidFlag, '--data is the folder of an embedded cluster: add --embedded.')
      await runManager({ ...running, install: flags.install ?? false, connection: connectionOptions(flags) })
      return 0
    }
    if (flags.kubeconfig !== undefined || flags.context !== undefined) {
      throw new MusterError(
        flagErrors.InvalidFlag,
        '--embedded brings a cluster of its own: leave --kubeconfig and --context out.',
      )
    }
    const bytesAtStart = process.memoryUsage.rss()
    const onLoopback = webhooks ?? { address: { url: 'https://127.0.0.1:0' }, listen: { host: '127.0.0.1', port: 0 } }
    const { besideEmbeddedCluster, embeddedConfigMap } = await import('../cluster/embedded-cluster.ts')
    // The ConfigMap is written with the ports of a Pod: on this machine they would be taken twice.
    const onConfigMap = { from: { configMap: embeddedConfigMap }, set: ['health.port=0', 'metrics.port=0', ...set] }
    const { keepConsolePort, keptConsolePort } = await import('../cluster/kept-identity.ts')
    const folder = flags.data === undefined ? undefined : path.resolve(flags.data)
    const kubeconfig = path.resolve('.muster', 'kubeconfig')
    await besideEmbeddedCluster({ port: undefined, kubeconfig, folder, nodes: '3' }, async ({ url, use }) => {
      out(`an embedded cluster is ready on ${url}; to use it: ${use}`)
      await runManager({
        ...running,
        ...(!from && onConfigMap),
        webhooks: onLoopback,
        install: true,
        connection: { kubeconfig },
        coLocated: { name: 'an embedded cluster', bytes: Math.max(process.memoryUsage.rss() - bytesAtStart, 0) },
        statusPort: () => keptConsolePort(folder),
        onServed: (statusUrl) => keepConsolePort(folder, statusUrl),
      })
    })
    return 0
  },
})

interface Given {
  readonly module: string
  readonly operator: Operator
}

/** In a Pod, a name alone is in the Pod's namespace. @throws InvalidFlag */
function readConfigMap(text: string, pod: PodPlace | undefined): string {
  return readObjectName('configmap', pod && !text.includes('/') ? `${pod.namespace}/${text}` : text)
}

/** What `muster run` runs, however the command line says it. */
interface Running {
  readonly pod: PodPlace | undefined
  readonly given: readonly Given[]
  readonly muster: OwnMuster
  readonly namespaces: readonly string[] | undefined
  readonly webhooks: WebhookPlace | undefined
  readonly from: ManagerServiceOptions['from']
  readonly set: readonly string[]
  /** Configuration layers above the source, such as the flags of another program. @default none */
  readonly over?: readonly Layer[]
  readonly install: boolean
  readonly connection: ReturnType<typeof connectionOptions>
  readonly out: (line: string) => void
  readonly err: (line: string) => void
  readonly signal: AbortSignal
  readonly coLocated?: CoLocatedWorkload
  /** The port of the console at the last start. */
  readonly statusPort?: () => number | undefined
  /** Notified of the address of the console. */
  readonly onServed?: (url: string) => void
}

export async function runManager(running: Running): Promise<void> {
  while (!running.signal.aborted) await runUntilOutdated(running)
}

async function runUntilOutdated(running: Running): Promise<void> {
  const { given, muster, namespaces, from, install, out, err, signal } = running
  let service: ManagerService | undefined
  const logging = (): Settings['logging'] =>
    service?.configuration.current.settings.logging ?? { format: 'json', level: 'info' }
  const log = logWriter(err, () => systemClock.now(), logging)
  let known: Settings | undefined
  const own = { file: from && 'file' in from ? from.file : undefined, kubeconfig: running.connection.kubeconfig }
  const watchdog = muster.manager.openWatchdog({ clock: systemClock, log })
  const loader = muster.manager.createLoader({
    thread: watchdog?.thread,
    given: [
      ...builtInOperators(),
      ...given.map(({ module, operator }) => ({
        name: operator.name,
        module: path.resolve(module),
        load: () => Promise.resolve(operator),
      })),
    ],
    folder: from && 'file' in from ? path.dirname(path.resolve(from.file)) : undefined,
    own,
    async programs(...asked) {
      const { programLoader } = await muster.contract()
      const others = (): readonly string[] => [
        ...given.map(({ operator }) => operator.name),
        ...Object.keys(known?.operators ?? {}),
      ]
      return await programLoader({ hidden: await ownFiles({ ...own, settings: known }), others })(...asked)
    },
    log,
    onProblem: (operator, { message }) =>
      log({ level: 'warn', msg: 'Operator cannot be loaded', operator, error: message }),
  })
  /** Aborted after the service has stopped: a requested shutdown is not a failure. */
  const end = new AbortController()
  /** Operators whose kinds were checked: once each. */
  const prepared = new Map<string, Promise<void>>()
  const prepare = async (client: Client, operator: Operator): Promise<void> => {
    if (install) await installKinds(client, operator, end.signal)
    else await refuseForeignKinds(client, operator, end.signal)
    for (const line of await missingKinds(client, operator, end.signal)) err(line)
  }
  try {
    service = await muster.manager.startManagerService({
      ...(from && { from }),
      environment: process.env,
      pod: running.pod,
      flags: running.set,
      over: [...(running.over ?? []), { source: 'flags', value: overriding(running) }],
      declared: (settings) => loader.declared((known = settings)),
      watchdog,
      moduleOf: (name, section) => loader.moduleOf(name, section),
      async load(name, section, client) {
        const one = await loader.load(name, section)
        try {
          if (!prepared.has(name)) prepared.set(name, prepare(client, one.operator))
          await prepared.get(name)
          return one
        } catch (error) {
          prepared.delete(name)
          await one.close?.()
          throw error
        }
      },
      connect: muster.manager.reachLocal,
      reach: muster.manager.reachCluster,
      identity: replicaName(),
      page: consolePage(),
      statusPort: running.statusPort?.(),
      ...(running.coLocated && { coLocated: running.coLocated }),
      log,
      signal,
      ...(running.webhooks && { webhooks: running.webhooks }),
    })
    running.onServed?.(service.statusUrl)
    const forget = await announced(service.statusUrl, log)
    try {
      // An operator whose caches never sync must not delay the announcement of the others.
      const patience = systemClock.sleep(patienceMs, signal).catch(() => undefined)
      await Promise.race([service.runtime.settled(), patience, aborted(signal)])
      if (!signal.aborted) {
        out(announcement(service, namespaces))
        out(`console: ${service.statusUrl}`)
      }
      await Promise.race([service.outdated, aborted(signal)])
    } finally {
      forget()
      await service.stop()
    }
  } catch (error) {
    if (!signal.aborted) throw translated(error)
  } finally {
    end.abort()
    await loader.close()
    await watchdog?.close()
  }
}

/** Lets `muster top` find this manager. Optional: the manager also runs if the file cannot be written. */
async function announced(url: string, log: Log): Promise<() => void> {
  const how = `for this one: muster top --url ${url}`
  try {
    const { other, remove } = await writeManagerFile(url)
    if (other) {
      log({
        level: 'warn',
        msg: `muster top queries process ${other.pid}, a manager that was started in this folder before; ${how}`,
      })
    }
    return remove
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    log({
      level: 'warn',
      msg: `.muster/manager.json cannot be written (${code}): muster top does not find this manager; ${how}`,
    })
    return () => undefined
  }
}

function announcement({ runtime, configuration }: ManagerService, namespaces: readonly string[] | undefined): string {
  const assignments = runtime.assignments()
  const failed = assignments.filter(({ state }) => state === 'failed').length
  const starting = assignments.filter(({ state }) => state === 'starting').length
  const names = assignments.filter(({ state }) => state !== 'failed' && state !== 'starting').map(({ id }) => id)
  const { leaderElection, sharding } = configuration.current.settings
  const where = namespaces ? ` in ${namespaces.join(', ')}` : ''
  const rest = [
    starting === 0 ? '' : `; ${starting} still waiting for what it reads`,
    failed === 0 ? '' : `; ${failed} cannot be started, and will be tried again`,
  ].join('')
  if (names.length === 0) return `no operator is running${rest}`
  const isOne = names.length === 1
  const who = isOne ? names[0] : `${names.length} operators`
  const how = sharding.enabled
    ? `${isOne ? 'is' : 'are'} shared with other replicas`
    : leaderElection.leaderElect
      ? `${isOne ? 'runs' : 'run'} when this replica leads`
      : `${isOne ? 'is' : 'are'} running`
  return `${who} ${how}${where}${rest}${isOne ? '' : `: ${names.join(', ')}`}`
}

/** Flags of this command that stand for settings. */
function overriding({ given, namespaces, connection }: Running): JsonObject {
  const sections = given.map(({ operator }) => [operator.name, { namespaces: [...(namespaces ?? [])] }])
  return {
    ...(Object.keys(connection).length > 0 && { clientConnection: connection }),
    ...(namespaces && { operators: Object.fromEntries(sections) as JsonObject }),
  }
}

const usualPort = 9443

/** How long the announcement waits for caches to sync. */
const patienceMs = 30_000

function readWebhooks(place: string | undefined, port: string | undefined): WebhookPlace | undefined {
  const given = port === undefined ? undefined : Number(port)
  if (given !== undefined && !(Number.isInteger(given) && given >= 0 && given < 65_536)) {
    throw new MusterError(flagErrors.InvalidFlag, `--webhook-port ${port}: it must be a port, 0 for a free one.`)
  }
  if (place === undefined) return undefined
  if (place.startsWith('https://') && URL.canParse(place)) {
    const url = new URL(place)
    return { address: { url: place }, listen: { port: given ?? Number(url.port || 443) } }
  }
  const [namespace, name, ...rest] = place.split('/')
  if (!namespace || !name || rest.length > 0 || place.includes(':')) {
    throw new MusterError(flagErrors.InvalidFlag, `--webhooks ${place}: write https://HOST:PORT, or NAMESPACE/SERVICE.`)
  }
  return { address: { service: { namespace, name } }, listen: { port: given ?? usualPort } }
}

/** An operator whose kinds are missing waits for them; the user is informed. */
async function missingKinds(
  client: Client,
  { inputs, kinds }: Operator,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const lines = inputs.map(async (resource) => {
    if (await client.discovery.resourceFor(resource, { signal })) return []
    const isOwn = kinds.some((kind) => formatResource(kind) === formatResource(resource))
    const cure = isOwn ? 'run with --install to install it' : 'install what brings it'
    return [`waiting for ${resource.kind} (${formatResource(resource)}), which the cluster does not serve: ${cure}`]
  })
  return (await Promise.all(lines)).flat()
}

export default command
