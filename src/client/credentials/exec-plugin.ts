/**
 * Credential plugins: a program that prints an ExecCredential (client.authentication.k8s.io), as used by cloud providers and
 * single sign-on. The credential is cached until shortly before it expires, and dropped after a 401; concurrent requests
 * share one run.
 */
import { errorCode } from '../../system/error-code.ts'
import { sep } from 'node:path'
import type { Clock } from '../../clock/clock.ts'
import { clientErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { type Json, parseJson, stringifyJson } from '../../kube/json.ts'
import { bearer, isHeaderSafe } from './bearer.ts'
import { checkPair } from './client-certificate.ts'
import type { ClientCertificate, Credentials } from '../connection.ts'
import { member, recordMember, textMember } from './document.ts'
import type { KubeconfigEntry, KubeconfigExec } from './kubeconfig.ts'
import { type Finished, type Machine } from './machine.ts'
import { printable, redact } from './redaction.ts'
import { type Fetched, renewable } from './renewable.ts'

interface ExecPluginOptions {
  readonly machine: Machine
  readonly clock: Clock
  /** `spec.cluster` for plugins that request it. */
  readonly clusterInfo: Json
  readonly timeoutMs: number
}

interface ExecResult {
  readonly headers: Readonly<Record<string, string>>
  readonly certificate: ClientCertificate | undefined
}

interface ExecStatus {
  readonly token?: string | undefined
  readonly clientCertificateData?: string | undefined
  readonly clientKeyData?: string | undefined
  readonly expirationTimestamp?: string | undefined
}

interface ExecCredential {
  readonly kind?: string | undefined
  readonly apiVersion?: string | undefined
  readonly status?: ExecStatus | undefined
}

const execCredential = recordMember<ExecCredential>({
  kind: member('kind', textMember),
  apiVersion: member('apiVersion', textMember),
  status: member(
    'status',
    recordMember<ExecStatus>({
      token: member('token', textMember),
      clientCertificateData: member('clientCertificateData', textMember),
      clientKeyData: member('clientKeyData', textMember),
      expirationTimestamp: member('expirationTimestamp', textMember),
    }),
  ),
})

/** Renewed this long before expiry, or a tenth of the remaining life if that is less. */
const leewayMs = 30_000

/** `plugin` is the validated `exec` of a kubeconfig user, with its command resolved relative to the file. */
export function execCredentials(plugin: KubeconfigEntry<KubeconfigExec>, options: ExecPluginOptions): Credentials {
  const result = renewable(() => runPlugin(plugin, options), options.clock)
  return {
    headers: async (signal) => (await result.get(signal)).headers,
    certificate: async (signal) => (await result.get(signal)).certificate,
    refused: (sent) =>
      result.refuse((held) => sent === undefined || sent['authorization'] === held.headers['authorization']),
  }
}

async function runPlugin(
  plugin: KubeconfigEntry<KubeconfigExec>,
  options: ExecPluginOptions,
): Promise<Fetched<ExecResult>> {
  const { machine, clock, clusterInfo } = options
  const { apiVersion, interactiveMode = 'IfAvailable', provideClusterInfo, env = [] } = plugin.value
  const interactive = interactiveMode !== 'Never' && machine.interactive()
  if (interactiveMode === 'Always' && !interactive) {
    throw failed(plugin, 'must ask a person (interactiveMode: Always), but standard input is not a terminal')
  }
  const spec = provideClusterInfo ? { cluster: clusterInfo, interactive } : { interactive }
  const finished = await runWithin(plugin, options, interactive, {
    ...machine.env,
    ...Object.fromEntries(env.map(({ name, value }) => [name, value ?? ''])),
    KUBERNETES_EXEC_INFO: stringifyJson({ kind: 'ExecCredential', apiVersion, spec }),
  })
  const status = readStatus(plugin, finished.stdout)
  return await credentialsOf(plugin, status, clock.now())
}

async function runWithin(
  plugin: KubeconfigEntry<KubeconfigExec>,
  { machine, clock, timeoutMs }: ExecPluginOptions,
  interactive: boolean,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Finished> {
  const { command = '', args = [], installHint } = plugin.value
  const hint = installHint ? ` ${printable(installHint)}` : ''
  const limit = new AbortController()
  const timer = clock.after(timeoutMs, () => limit.abort())
  let finished: Finished
  try {
    finished = await machine.run({ command, args, env, interactive, signal: limit.signal })
  } catch (error) {
    if (limit.signal.aborted) throw failed(plugin, `did not answer within ${timeoutMs / 1000} s and was stopped`)
    // The system's error is not kept as the cause: it contains the arguments, which may hold secrets.
    const code = errorCode(error)
    if (code === 'ENOENT') {
      throw failed(plugin, `was not found${command.includes(sep) ? '' : ' in PATH'}${hint && `.${hint}`}`)
    }
    throw failed(plugin, code === 'EACCES' ? 'is not executable' : `could not be started (${code ?? 'unknown error'})`)
  } finally {
    timer.cancel()
  }
  if (finished.exitCode === 0) return finished
  const said = redact(finished.stderr, [...secretsGiven(plugin.value), ...secretsPrinted(finished.stdout)])
  const end = finished.exitCode === null ? 'was ended by a signal' : `ended with exit code ${finished.exitCode}`
  // 126 and 127: a wrapper script did not find its program.
  const missing = finished.exitCode === 126 || finished.exitCode === 127 ? hint : ''
  throw failed(
    plugin,
    `${end}${said ? `: ${said}` : ' and wrote nothing to standard error'}${missing && `.${missing}`}`,
  )
}

/** Standard output is never quoted: it contains the token. */
function readStatus(plugin: KubeconfigEntry<KubeconfigExec>, stdout: string): ExecStatus {
  let answer: Json
  try {
    answer = parseJson(stdout)
  } catch {
    throw failed(plugin, stdout.trim() === '' ? 'printed nothing' : 'printed something else than JSON')
  }
  const problems: string[] = []
  const credential = execCredential(answer, '', problems)
  if (!credential || problems.length > 0) throw failed(plugin, `printed a malformed credential: ${problems.join('; ')}`)
  const { apiVersion } = plugin.value
  if (credential.kind !== 'ExecCredential' || credential.apiVersion !== apiVersion) {
    throw failed(plugin, `must print an ExecCredential of ${apiVersion}, as the kubeconfig says, but printed another`)
  }
  if (!credential.status) throw failed(plugin, 'printed a credential without status')
  return credential.status
}

async function credentialsOf(
  plugin: KubeconfigEntry<KubeconfigExec>,
  status: ExecStatus,
  now: number,
): Promise<Fetched<ExecResult>> {
  const token = status.token?.trim()
  const { clientCertificateData: cert, clientKeyData: key } = status
  if (!token && !cert && !key) throw failed(plugin, 'printed neither a token nor a certificate')
  if (Boolean(cert) !== Boolean(key)) throw failed(plugin, 'printed only one of certificate and key')
  if (token && !isHeaderSafe(token)) throw failed(plugin, 'printed a token that is not one line without spaces')
  const stated = status.expirationTimestamp ? Date.parse(status.expirationTimestamp) : Number.POSITIVE_INFINITY
  if (Number.isNaN(stated)) throw failed(plugin, 'printed an expirationTimestamp that is not a time (RFC 3339)')

  const origin = `the answer of credential plugin ${nameOf(plugin)}`
  const pair = cert && key ? await checkPair(cert, key, origin, origin) : undefined
  const expiresAt = Math.min(stated, pair?.expiresAt ?? Number.POSITIVE_INFINITY)
  return {
    value: { headers: token ? bearer(token) : {}, certificate: pair?.certificate },
    renewAt: expiresAt - Math.min(leewayMs, (expiresAt - now) / 10),
    expiresAt,
  }
}

/** Values that messages must not contain: variables of the plugin, and arguments that are not plain words. */
function secretsGiven({ env = [], args = [] }: KubeconfigExec): readonly string[] {
  const told = args.filter(
    (arg, index) =>
      !/^-{0,2}[a-z]+(?:-[a-z]+)*$/.test(arg) || /^-.*(?:secret|pass|token|key)/i.test(args[index - 1] ?? ''),
  )
  return [...env.map(({ value = '' }) => value), ...told, ...told.map((arg) => arg.slice(arg.indexOf('=') + 1))]
}

/** A failing plugin may have printed its credential, and quote it in its error. */
function secretsPrinted(stdout: string): readonly string[] {
  return [...stdout.matchAll(/"(?:token|clientKeyData)"\s*:\s*"([^"]+)"/g)].map(([, secret]) => secret ?? '')
}

function nameOf(plugin: KubeconfigEntry<KubeconfigExec>): string {
  return `"${printable(plugin.value.command ?? '')}"`
}

function failed(plugin: KubeconfigEntry<KubeconfigExec>, what: string): MusterError {
  const { path, source } = plugin.place
  return new MusterError(
    clientErrors.ExecPluginFailed,
    `credential plugin ${nameOf(plugin)} (${path} in ${source}) ${what}.`,
  )
}
