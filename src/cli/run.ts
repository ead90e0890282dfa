/** `muster run`: a manager with operators, on a cluster or on an embedded one. */
import path from 'node:path'
import type { Client } from '../client/client.ts'
import { aborted } from '../clock/aborted.ts'
import { systemClock } from '../clock/system-clock.ts'
import { consolePage } from '../console/page.ts'
import { MusterError } from '../kube/errors.ts'
import type { JsonObject } from '../kube/json.ts'
import { formatResource } from '../kube/kind.ts'
import { ownFiles } from '../manager/config/own-files.ts'
import type { Settings } from '../manager/config/settings.ts'
import { replicaName } from '../manager/leases/replica-name.ts'
import type { ManagerService, ManagerServiceOptions, WebhookPlace } from '../manager/runtime/manager-service.ts'
import type { Operator } from '../operator/operator.ts'
import { type Command, defineCommand } from './command.ts'
import { connectionFlags, connectionOptions } from './connection-flags.ts'
import { installKinds } from './install-kinds.ts'
import type { Log } from '../manager/logging/log-line.ts'
import { logWriter } from '../manager/config/log-writer.ts'
import { writeManagerFile } from './manager-file.ts'
import { fileOf } from '../manager/loading/module.ts'
import { loadOperator } from './module.ts'
import { readNamespaces, readObjectName } from './namespace-flag.ts'
import { loadOwnMuster, type OwnMuster, translated } from './own-muster.ts'

const command: Command = defineCommand({
  usage: '[MODULE…]',
  details: `MODULE is a TypeScript or JavaScript file that exports an operator: as "operator", as default, or as NAME with
FILE#NAME. The configuration may name more operators, and programs that implement the operator contract. Prints one line when
they are ready; the log is on standard error, one JSON object a line. Ctrl-C shuts down after the running reconciles.`,
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
      help: 'ConfigMap to follow instead; created with the defaults if missing',
    },
    set: {
      type: 'string',
      value: 'PATH=VALUE',
      multiple: true,
      help: 'a setting, overrides all other layers; may be repeated',
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
      help: 'start an embedded cluster and run on it; kubeconfig: .muster/kubeconfig',
    },
  },
  async run({ flags, positionals, out, err, signal }) {
    const { file, configmap, set = [] } = flags
    if (file !== undefined && configmap !== undefined) {
      throw new MusterError('InvalidFlag', '--file and --configmap: a manager follows one of them.')
    }
    if (positionals.length === 0 && file === undefined && configmap === undefined) {
      throw new MusterError(
        'InvalidFlag',
        'run takes MODULEs, such as src/operator.ts, or a configuration that names some.',
      )
    }
    const namespaces = readNamespaces(flags.namespace)
    const given: Given[] = []
    for (const module of positionals) given.push({ module, operator: await loadOperator(module) })
    const muster = await loadOwnMuster(positionals[0] === undefined ? (file ?? 'muster.yaml') : fileOf(positionals[0]))
    const webhooks = readWebhooks(flags.webhooks, flags['webhook-port'])
    const from =
      file !== undefined
        ? { file }
        : configmap !== undefined
          ? { configMap: readObjectName('configmap', configmap) }
          : undefined
    const running = { given, muster, namespaces, webhooks, from, set, out, err, signal }
    if (!flags.embedded) {
      await run({ ...running, install: flags.install ?? false, connection: connectionOptions(flags) })
      return 0
    }
    if (flags.kubeconfig !== undefined || flags.context !== undefined) {
      throw new MusterError(
        'InvalidFlag',
        '--embedded brings a cluster of its own: leave --kubeconfig and --context out.',
      )
    }
    const onLoopback = webhooks ?? { address: { url: 'https://127.0.0.1:0' }, listen: { host: '127.0.0.1', port: 0 } }
    const { besideEmbeddedCluster } = await import('./embedded-cluster.ts')
    const kubeconfig = path.resolve('.muster', 'kubeconfig')
    await besideEmbeddedCluster(
      { port: undefined, kubeconfig, folder: undefined, nodes: '3' },
      async ({ url, use }) => {
        out(`an embedded cluster is ready on ${url}; to use it: ${use}`)
        await run({ ...running, webhooks: onLoopback, install: true, connection: { kubeconfig } })
      },
    )
    return 0
  },
})

interface Given {
  readonly module: string
  readonly operator: Operator
}

interface Running {
  readonly given: readonly Given[]
  readonly muster: OwnMuster
  readonly namespaces: readonly string[] | undefined
  readonly webhooks: WebhookPlace | undefined
  readonly from: ManagerServiceOptions['from']
  readonly set: readonly string[]
  readonly install: boolean
  readonly connection: ReturnType<typeof connectionOptions>
  readonly out: (line: string) => void
  readonly err: (line: string) => void
  readonly signal: AbortSignal
}

async function run(running: Running): Promise<void> {
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
    given: given.map(({ module, operator }) => ({
      name: operator.name,
      module: path.resolve(module),
      load: () => Promise.resolve(operator),
    })),
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
    onProblem: (operator, { message }) => log({ operator, problem: message }),
  })
  /** Aborted after the service has stopped: a requested shutdown is not a failure. */
  const end = new AbortController()
  /** Operators whose kinds were checked: once each. */
  const prepared = new Map<string, Promise<void>>()
  const prepare = async (client: Client, operator: Operator): Promise<void> => {
    if (install) await installKinds(client, operator, end.signal)
    for (const line of await missingKinds(client, operator, end.signal)) err(line)
  }
  try {
    service = await muster.manager.startManagerService({
      ...(from && { from }),
      environment: process.env,
      flags: running.set,
      over: [{ source: 'flags', value: overriding(running) }],
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
      log,
      signal,
      ...(running.webhooks && { webhooks: running.webhooks }),
    })
    const forget = await announced(service.statusUrl, log)
    try {
      // An operator whose caches never sync must not delay the announcement of the others.
      const patience = systemClock.sleep(patienceMs, signal).catch(() => undefined)
      await Promise.race([service.runtime.settled(), patience, aborted(signal)])
      if (!signal.aborted) out(announcement(service, namespaces))
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
      log({ problem: `muster top asks process ${other.pid}, a manager that was started in this folder before; ${how}` })
    }
    return remove
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    log({ problem: `.muster/manager.json cannot be written (${code}), and muster top does not find it; ${how}` })
    return () => undefined
  }
}

function announcement({ runtime, configuration }: ManagerService, namespaces: readonly string[] | undefined): string {
  const posts = runtime.posts()
  const failed = posts.filter(({ stand }) => stand === 'failed').length
  const starting = posts.filter(({ stand }) => stand === 'starting').length
  const names = posts.filter(({ stand }) => stand !== 'failed' && stand !== 'starting').map(({ id }) => id)
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
    throw new MusterError('InvalidFlag', `--webhook-port ${port}: it must be a port, 0 for a free one.`)
  }
  if (place === undefined) return undefined
  if (place.startsWith('https://') && URL.canParse(place)) {
    const url = new URL(place)
    return { address: { url: place }, listen: { port: given ?? Number(url.port || 443) } }
  }
  const [namespace, name, ...rest] = place.split('/')
  if (!namespace || !name || rest.length > 0 || place.includes(':')) {
    throw new MusterError('InvalidFlag', `--webhooks ${place}: write https://HOST:PORT, or NAMESPACE/SERVICE.`)
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
