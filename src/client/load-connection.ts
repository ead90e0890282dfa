/**
 * Finds the {@link Connection}: a given kubeconfig, KUBECONFIG, ~/.kube/config, or the service account of the Pod; the first
 * that exists.
 */
import { errorCode } from '../system/error-code.ts'
import { delimiter, join } from 'node:path'
import type { Clock } from '../clock/clock.ts'
import { systemClock } from '../clock/system-clock.ts'
import { clientErrors } from './errors.ts'
import { MusterError } from '../kube/muster-error.ts'
import type { Json } from '../kube/json.ts'
import type { Connection, Impersonation } from './connection.ts'
import { fingerprintOf, followedConnection } from './followed-connection.ts'
import { type ChosenContext, chooseContext } from './credentials/context.ts'
import {
  anonymousCredentials,
  type CredentialOptions,
  readPemFile,
  userCredentials,
} from './credentials/credentials.ts'
import { inClusterConnection, inClusterName } from './credentials/in-cluster.ts'
import {
  isEmptyKubeconfig,
  type Kubeconfig,
  type KubeconfigUser,
  malformedKubeconfig,
  mergeKubeconfigs,
  parseKubeconfig,
  readKubeconfig,
} from './credentials/kubeconfig.ts'
import { explainFileError, type Machine, systemMachine } from './credentials/machine.ts'

export interface ConnectionOptions extends Partial<Omit<CredentialOptions, 'machine' | 'clock'>> {
  /** The context to use. @default the current one */
  readonly context?: string | undefined
  /** @default the machine's clock */
  readonly clock?: Clock | undefined
  /** @default the real machine */
  readonly machine?: Machine | undefined
}

export interface LoadConnectionOptions extends ConnectionOptions {
  /** One file, or several separated as in KUBECONFIG. */
  readonly kubeconfig?: string | undefined
}

export interface KubeconfigOptions extends ConnectionOptions {
  /** The source of the kubeconfig, for messages: `Secret kyma-system/cluster-a`. @default "kubeconfig" */
  readonly source?: string | undefined
}

/** The connection follows its source: see `followed-connection.ts`. */
export async function loadConnection(options: LoadConnectionOptions = {}): Promise<Connection> {
  return await followedConnection((context) =>
    findConnection(context === undefined || context === inClusterName ? options : { ...options, context }),
  )
}

async function findConnection(options: LoadConnectionOptions): Promise<Connection> {
  const machine = options.machine ?? systemMachine
  const named = options.kubeconfig || machine.env['KUBECONFIG']
  if (named) {
    const paths = [...new Set(named.split(delimiter).filter(Boolean))]
    const kubeconfig = await loadFiles(paths, machine)
    if (kubeconfig) return await connectionTo(chooseContext(kubeconfig, options.context), options)
    const origin = options.kubeconfig ? '' : 'KUBECONFIG names '
    const verb = paths.length > 1 ? 'none of which exists' : 'which does not exist'
    throw new MusterError(clientErrors.KubeconfigNotFound, `${origin}${paths.join(', ')}, ${verb}.`)
  }

  const home = join(machine.home(), '.kube', 'config')
  const kubeconfig = await loadFiles([home], machine)
  const useful = kubeconfig && (options.context || !isEmptyKubeconfig(kubeconfig))
  if (useful) return await connectionTo(chooseContext(kubeconfig, options.context), options)
  if (!options.context && machine.env['KUBERNETES_SERVICE_HOST']) {
    return await inClusterConnection({ machine, clock: options.clock ?? systemClock })
  }
  if (kubeconfig) return await connectionTo(chooseContext(kubeconfig), options)
  const pod = options.context ? '' : ', and this is not a Pod'
  throw new MusterError(clientErrors.KubeconfigNotFound, `KUBECONFIG is not set, ${home} does not exist${pod}.`)
}

/**
 * The connection of a kubeconfig that is not a file, such as one from a Secret. It is untrusted input: it must
 * not make this process read files or run programs.
 */
export async function connectionFromKubeconfig(
  kubeconfig: string | object,
  options: KubeconfigOptions = {},
): Promise<Connection> {
  const source = options.source ?? 'kubeconfig'
  const parsed =
    typeof kubeconfig === 'string' ? await parseKubeconfig(kubeconfig, source) : readKubeconfig(kubeconfig, source)
  const chosen = chooseContext(parsed, options.context)
  refuseUntrusted(chosen)
  return await connectionTo(chosen, options)
}

async function loadFiles(paths: readonly string[], machine: Machine): Promise<Kubeconfig | undefined> {
  const found: Kubeconfig[] = []
  for (const path of paths) {
    let content: string
    try {
      content = await machine.readFile(path)
    } catch (error) {
      if (errorCode(error) === 'ENOENT') continue
      const message = `the kubeconfig ${path} ${explainFileError(error)}.`
      throw new MusterError(clientErrors.CredentialFileUnreadable, message, { cause: error })
    }
    found.push(await parseKubeconfig(content, path, { file: true }))
  }
  return found.length > 0 ? mergeKubeconfigs(found) : undefined
}

function refuseUntrusted({ cluster, user }: ChosenContext): void {
  const problems: string[] = []
  const files = {
    [`${cluster.place.path}.certificate-authority`]: cluster.value.certificateAuthority,
    [`${user.place.path}.client-certificate`]: user.value.clientCertificate,
    [`${user.place.path}.client-key`]: user.value.clientKey,
    [`${user.place.path}.tokenFile`]: user.value.tokenFile,
    [`${user.place.path}.auth-provider.config.idp-certificate-authority`]:
      user.value.authProvider?.config?.['idp-certificate-authority'],
  }
  for (const [path, file] of Object.entries(files)) {
    if (file) problems.push(`${path} names a file, which is not allowed here: put its content inline`)
  }
  if (user.value.exec) {
    problems.push(`${user.place.path}.exec names a program, which is not allowed here: use a token or a certificate`)
  }
  if (problems.length > 0) throw malformedKubeconfig(user.place.source, problems)
}

async function connectionTo(chosen: ChosenContext, options: ConnectionOptions): Promise<Connection> {
  const { clock = systemClock, machine = systemMachine } = options
  const { value: cluster, place } = chosen.cluster
  const ca =
    cluster.certificateAuthorityData ||
    (cluster.certificateAuthority
      ? await readPemFile(cluster.certificateAuthority, place, 'certificate-authority', machine)
      : undefined)
  const secure = cluster.server.startsWith('https:')
  return {
    name: chosen.name,
    server: cluster.server,
    tls: {
      ca,
      insecureSkipVerify: cluster.insecureSkipTlsVerify,
      serverName: cluster.tlsServerName || undefined,
    },
    // As kubectl does: no secrets over an unencrypted connection.
    credentials: secure
      ? await userCredentials(chosen.user, clusterInfo(chosen, ca), { ...options, clock, machine })
      : anonymousCredentials,
    impersonate: impersonationOf(chosen.user.value),
    // An empty value in a kubeconfig means: use the environment.
    proxyUrl: cluster.proxyUrl || undefined,
    namespace: chosen.namespace ?? 'default',
    fingerprint: fingerprintOf([chosen.name, { ...cluster }, { ...chosen.user.value }, ca ?? null] as Json),
  }
}

function impersonationOf({ as, asUid, asGroups, asUserExtra }: KubeconfigUser): Impersonation | undefined {
  return as ? { user: as, uid: asUid || undefined, groups: asGroups, extra: asUserExtra } : undefined
}

/** The cluster in the format of an ExecCredential. */
function clusterInfo({ cluster: { value } }: ChosenContext, ca: string | undefined): Json {
  const config = value.extensions?.find(({ name }) => name === 'client.authentication.k8s.io/exec')?.extension
  return {
    server: value.server,
    'tls-server-name': value.tlsServerName,
    'insecure-skip-tls-verify': value.insecureSkipTlsVerify,
    'certificate-authority-data': ca && Buffer.from(ca, 'utf8').toString('base64'),
    'proxy-url': value.proxyUrl,
    'disable-compression': value.disableCompression,
    config,
  }
}
