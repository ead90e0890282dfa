/**
 * The flags of kube-apiserver, as the test control plane takes them: which have an effect, which are accepted without one, and
 * what they mean together.
 */
import { MusterError } from '../../kube/muster-error.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { isLoopback } from '../../kube/text/loopback.ts'
import { nearest } from '../../kube/text/nearest.ts'
import { asksForVersion, isTrue, type ProgramFlags, readProgramFlags } from './program-flags.ts'

/** What the flags ask for. Files are named, and not read yet. */
export interface ApiServerSettings {
  /** A loopback address. */
  readonly host: string
  readonly port: number
  /** Holds `apiserver.crt` and `apiserver.key`; they are created there if they are missing. */
  readonly certDir: string | undefined
  readonly servingCertificate: { readonly certFile: string; readonly keyFile: string } | undefined
  readonly clientCaFile: string | undefined
  readonly tokenFile: string | undefined
  readonly issuer: string | undefined
  readonly signingKeyFile: string | undefined
  readonly authorization: 'RBAC' | 'AlwaysAllow'
  readonly anonymous: boolean
  readonly disabledAdmissionPlugins: readonly string[]
  /** A network, IPv4. */
  readonly serviceRange: string
  readonly warnings: readonly string[]
}

export const apiServerFlags: ProgramFlags = {
  program: 'kube-apiserver',
  singleDash: false,
  understood: {
    'secure-port': { help: 'port to listen on, 1 to 65535 (default 6443)' },
    'bind-address': { help: 'loopback address to listen on; 0.0.0.0 and :: mean loopback (default 0.0.0.0)' },
    'cert-dir': { help: 'folder with apiserver.crt and apiserver.key; created there if missing' },
    'tls-cert-file': { help: 'serving certificate, in place of that in --cert-dir' },
    'tls-private-key-file': { help: 'its private key' },
    'client-ca-file': { help: 'authorities of client certificates' },
    'token-auth-file': { help: 'static tokens: token,user,uid,"group1,group2"' },
    'anonymous-auth': { help: 'whether requests without credentials are served (default true)', isSwitch: true },
    'authorization-mode': { help: 'RBAC or AlwaysAllow (default AlwaysAllow)' },
    'service-account-issuer': { help: 'issuer of service account tokens' },
    'service-account-signing-key-file': { help: 'private key that signs them' },
    'service-cluster-ip-range': { help: 'range of Service addresses, IPv4 (default 10.0.0.0/24)' },
    'disable-admission-plugins': { help: 'admission plugins that do not run' },
    'enable-admission-plugins': { help: 'admission plugins that run beside the default ones' },
    version: { help: 'print the version, and end', isSwitch: true },
  },
  ignoredSwitches: [
    'aggregator-reject-forwarding-redirect',
    'allow-privileged',
    'audit-log-batch-throttle-enable',
    'audit-log-compress',
    'audit-log-truncate-enabled',
    'audit-webhook-batch-throttle-enable',
    'audit-webhook-truncate-enabled',
    'contention-profiling',
    'disable-http2-serving',
    'emulation-forward-compatible',
    'enable-aggregator-routing',
    'enable-bootstrap-token-auth',
    'enable-garbage-collector',
    'enable-logs-handler',
    'enable-priority-and-fairness',
    'encryption-provider-config-automatic-reload',
    'log-json-split-stream',
    'log-text-split-stream',
    'permit-address-sharing',
    'permit-port-sharing',
    'profiling',
    'runtime-config-emulation-forward-compatible',
    'service-account-extend-token-expiration',
    'service-account-lookup',
    'shutdown-send-retry-after',
    'watch-cache',
  ],
  ignored: [
    'admission-control',
    'admission-control-config-file',
    'advertise-address',
    'allow-metric-labels',
    'allow-metric-labels-manifest',
    'api-audiences',
    'apiserver-count',
    'audit-log-batch-buffer-size',
    'audit-log-batch-max-size',
    'audit-log-batch-max-wait',
    'audit-log-batch-throttle-burst',
    'audit-log-batch-throttle-qps',
    'audit-log-format',
    'audit-log-maxage',
    'audit-log-maxbackup',
    'audit-log-maxsize',
    'audit-log-mode',
    'audit-log-path',
    'audit-log-truncate-max-batch-size',
    'audit-log-truncate-max-event-size',
    'audit-log-version',
    'audit-policy-file',
    'audit-webhook-batch-buffer-size',
    'audit-webhook-batch-initial-backoff',
    'audit-webhook-batch-max-size',
    'audit-webhook-batch-max-wait',
    'audit-webhook-batch-throttle-burst',
    'audit-webhook-batch-throttle-qps',
    'audit-webhook-config-file',
    'audit-webhook-initial-backoff',
    'audit-webhook-mode',
    'audit-webhook-truncate-max-batch-size',
    'audit-webhook-truncate-max-event-size',
    'audit-webhook-version',
    'authentication-config',
    'authentication-token-webhook-cache-ttl',
    'authentication-token-webhook-config-file',
    'authentication-token-webhook-version',
    'authorization-config',
    'authorization-policy-file',
    'authorization-webhook-cache-authorized-ttl',
    'authorization-webhook-cache-unauthorized-ttl',
    'authorization-webhook-config-file',
    'authorization-webhook-version',
    'coordinated-leadership-lease-duration',
    'coordinated-leadership-renew-deadline',
    'coordinated-leadership-retry-period',
    'cors-allowed-origins',
    'debug-socket-path',
    'default-not-ready-toleration-seconds',
    'default-unreachable-toleration-seconds',
    'default-watch-cache-size',
    'delete-collection-workers',
    'disabled-metrics',
    'egress-selector-config-file',
    'emulated-version',
    'encryption-provider-config',
    'endpoint-reconciler-type',
    'etcd-cafile',
    'etcd-certfile',
    'etcd-compaction-interval',
    'etcd-count-metric-poll-period',
    'etcd-db-metric-poll-interval',
    'etcd-healthcheck-timeout',
    'etcd-keyfile',
    'etcd-prefix',
    'etcd-readycheck-timeout',
    'etcd-servers',
    'etcd-servers-overrides',
    'event-ttl',
    'external-hostname',
    'feature-gates',
    'goaway-chance',
    'http2-max-streams-per-connection',
    'kubelet-certificate-authority',
    'kubelet-client-certificate',
    'kubelet-client-key',
    'kubelet-port',
    'kubelet-preferred-address-types',
    'kubelet-read-only-port',
    'kubelet-timeout',
    'kubernetes-service-node-port',
    'lease-reuse-duration-seconds',
    'livez-grace-period',
    'log-flush-frequency',
    'log-json-info-buffer-size',
    'log-text-info-buffer-size',
    'logging-format',
    'max-connection-bytes-per-sec',
    'max-mutating-requests-inflight',
    'max-requests-inflight',
    'min-compatibility-version',
    'min-request-timeout',
    'oidc-ca-file',
    'oidc-client-id',
    'oidc-groups-claim',
    'oidc-groups-prefix',
    'oidc-issuer-url',
    'oidc-required-claim',
    'oidc-signing-algs',
    'oidc-username-claim',
    'oidc-username-prefix',
    'peer-advertise-ip',
    'peer-advertise-port',
    'peer-ca-file',
    'proxy-client-cert-file',
    'proxy-client-key-file',
    'request-timeout',
    'requestheader-allowed-names',
    'requestheader-client-ca-file',
    'requestheader-extra-headers-prefix',
    'requestheader-group-headers',
    'requestheader-uid-headers',
    'requestheader-username-headers',
    'runtime-config',
    'service-account-api-audiences',
    'service-account-jwks-uri',
    'service-account-key-file',
    'service-account-max-token-expiration',
    'service-account-signing-endpoint',
    'service-node-port-range',
    'show-hidden-metrics-for-version',
    'shutdown-delay-duration',
    'shutdown-watch-termination-grace-period',
    'storage-backend',
    'storage-initialization-timeout',
    'storage-media-type',
    'strict-transport-security-directives',
    'tls-cipher-suites',
    'tls-curve-preferences',
    'tls-min-version',
    'tls-sni-cert-key',
    'tracing-config-file',
    'v',
    'vmodule',
    'watch-cache-sizes',
  ],
  unbuilt: [
    'admission-control',
    'admission-control-config-file',
    'api-audiences',
    'audit-log-path',
    'audit-policy-file',
    'audit-webhook-config-file',
    'authentication-config',
    'authentication-token-webhook-config-file',
    'authorization-config',
    'authorization-policy-file',
    'authorization-webhook-config-file',
    'enable-bootstrap-token-auth',
    'encryption-provider-config',
    'feature-gates',
    'goaway-chance',
    'oidc-issuer-url',
    'requestheader-client-ca-file',
    'runtime-config',
    'service-account-api-audiences',
    'service-account-max-token-expiration',
    'service-account-signing-endpoint',
  ],
}

/** All admission plugins of kube-apiserver; those that run here, and are on by default, first. */
const admissionPlugins = {
  built: [
    'CertificateApproval',
    'CertificateSigning',
    'CertificateSubjectRestriction',
    'DefaultIngressClass',
    'DefaultStorageClass',
    'DefaultTolerationSeconds',
    'LimitRanger',
    'MutatingAdmissionPolicy',
    'MutatingAdmissionWebhook',
    'NamespaceLifecycle',
    'PersistentVolumeClaimResize',
    'PodSecurity',
    'Priority',
    'ResourceQuota',
    'RuntimeClass',
    'ServiceAccount',
    'StorageObjectInUseProtection',
    'TaintNodesByCondition',
    'ValidatingAdmissionPolicy',
    'ValidatingAdmissionWebhook',
  ],
  unbuilt: [
    'AlwaysAdmit',
    'AlwaysDeny',
    'AlwaysPullImages',
    'ClusterTrustBundleAttest',
    'DenyServiceExternalIPs',
    'EventRateLimit',
    'ExtendedResourceToleration',
    'ImagePolicyWebhook',
    'LimitPodHardAntiAffinityTopology',
    'NamespaceAutoProvision',
    'NamespaceExists',
    'NodeDeclaredFeatureValidator',
    'NodeRestriction',
    'OwnerReferencesPermissionEnforcement',
    'PodGroupProtection',
    'PodNodeSelector',
    'PodResizeValidator',
    'PodTolerationRestriction',
    'PodTopologyLabels',
  ],
} as const

const authorizationModes = ['RBAC', 'AlwaysAllow', 'AlwaysDeny', 'ABAC', 'Webhook', 'Node'] as const

/** `version` if that is all that is asked for. @throws InvalidFlag */
export function readApiServerFlags(words: readonly string[]): ApiServerSettings | 'version' {
  const read = readProgramFlags(apiServerFlags, words)
  if (asksForVersion(read)) return 'version'
  const { values } = read
  const warnings = [...read.warnings]
  const last = (name: string): string | undefined => values.get(name)?.at(-1)
  const file = (name: string): string | undefined => last(name) || undefined

  const authorization = readModes(values.get('authorization-mode'), values.has('authorization-config'), warnings)
  const disabled = readPlugins('disable-admission-plugins', values)
  for (const name of readPlugins('enable-admission-plugins', values)) {
    if (disabled.includes(name)) throw invalid(`admission plugin ${name} is both enabled and disabled`)
    if (!admissionPlugins.built.some((one) => one === name))
      warnings.push(`the admission plugin ${name} is not built; it does not run.`)
  }
  return {
    host: readHost(last('bind-address')),
    port: readPort(last('secure-port')),
    certDir: file('cert-dir'),
    servingCertificate: readServing(file('tls-cert-file'), file('tls-private-key-file')),
    clientCaFile: file('client-ca-file'),
    tokenFile: file('token-auth-file'),
    issuer: readIssuers(values.get('service-account-issuer')),
    signingKeyFile: file('service-account-signing-key-file'),
    authorization,
    // As kube-apiserver: where all is allowed, a stranger must not be.
    anonymous: authorization === 'RBAC' && isTrue(last('anonymous-auth') ?? 'true'),
    disabledAdmissionPlugins: disabled,
    serviceRange: readRange(last('service-cluster-ip-range') || '10.0.0.0/24', warnings),
    warnings,
  }
}

function readHost(address = '0.0.0.0'): string {
  if (address === '0.0.0.0' || address === '') return '127.0.0.1'
  if (address === '::') return '::1'
  if (isLoopback(address)) return address
  throw invalid(`--bind-address ${address}: this control plane listens on loopback addresses only, such as 127.0.0.1`)
}

function readPort(text = '6443'): number {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port >= 1 && port <= 65_535) return port
  throw invalid(`--secure-port ${JSON.stringify(text)} is no port. Give a number from 1 to 65535`)
}

/** At most 20 bits, as kube-apiserver takes them. The second range of two is of the other family. */
function readRange(text: string, warnings: string[]): string {
  const ranges = text.split(',').map((range) => range.trim())
  const networks = ranges.map(networkOf)
  const found = networks.find((network) => network !== 'IPv6')
  if (found === undefined || networks.includes('IPv6'))
    warnings.push('--service-cluster-ip-range: IPv6 is not built; Services have IPv4 addresses.')
  return found ?? '10.0.0.0/24'
}

function networkOf(range: string): string {
  if (range.includes(':') && /^[\da-f:.]+\/\d{1,3}$/i.test(range)) return 'IPv6'
  const [, a = '', b = '', c = '', d = '', length = ''] =
    /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\/(\d{1,2})$/.exec(range) ?? []
  const [numbers, prefix] = [[a, b, c, d].map(Number), Number(length)]
  if (length === '' || numbers.some((number) => number > 255) || prefix < 12 || prefix > 30)
    throw invalid(
      `--service-cluster-ip-range ${JSON.stringify(range)} is no range. Give one such as 10.0.0.0/24, of /12 to /30`,
    )
  const bits = numbers.reduce((sum, number) => sum * 256 + number, 0)
  const network = bits - (bits % 2 ** (32 - prefix))
  return `${[24, 16, 8, 0].map((shift) => Math.floor(network / 2 ** shift) % 256).join('.')}/${prefix}`
}

function readServing(
  certFile: string | undefined,
  keyFile: string | undefined,
): ApiServerSettings['servingCertificate'] {
  if (certFile === undefined && keyFile === undefined) return undefined
  if (certFile !== undefined && keyFile !== undefined) return { certFile, keyFile }
  throw invalid('--tls-cert-file and --tls-private-key-file belong together')
}

/** The first one issues tokens. A real server accepts tokens of the others, which nothing here signs. */
function readIssuers(issuers: readonly string[] = []): string | undefined {
  for (const issuer of issuers) {
    if (issuer.includes(':') && !URL.canParse(issuer))
      throw invalid(`--service-account-issuer ${JSON.stringify(issuer)} contains a colon, and is no valid URL`)
  }
  return issuers[0] || undefined
}

function readModes(
  given: readonly string[] | undefined,
  isConfigured: boolean,
  warnings: string[],
): ApiServerSettings['authorization'] {
  if (!given) return isConfigured ? 'RBAC' : 'AlwaysAllow'
  const modes = listed(given)
  for (const mode of modes) {
    if (authorizationModes.some((one) => one === mode)) continue
    const near = nearest(mode, authorizationModes)
    throw invalid(`--authorization-mode: no such mode ${mode}.${near === undefined ? '' : ` Did you mean ${near}?`}`)
  }
  if (modes.includes('AlwaysAllow')) return 'AlwaysAllow'
  const unbuilt = modes.filter((mode) => mode !== 'RBAC')
  if (!modes.includes('RBAC')) throw invalid(`--authorization-mode ${modes.join(',')}: give RBAC or AlwaysAllow`)
  if (unbuilt.length > 0) warnings.push(`--authorization-mode: ${unbuilt.join(', ')} is not built; RBAC decides.`)
  return 'RBAC'
}

function readPlugins(flag: string, values: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const known: readonly string[] = [...admissionPlugins.built, ...admissionPlugins.unbuilt]
  const names = listed(values.get(flag) ?? [])
  for (const name of names) {
    if (known.includes(name)) continue
    const near = nearest(name, known)
    throw invalid(`--${flag}: no such plugin ${name}.${near === undefined ? '' : ` Did you mean ${near}?`}`)
  }
  return names
}

function listed(values: readonly string[]): readonly string[] {
  return values.flatMap((value) => value.split(',')).filter((one) => one !== '')
}

function invalid(why: string): MusterError {
  return new MusterError(flagErrors.InvalidFlag, `kube-apiserver: ${why}${why.endsWith('?') ? '' : '.'}`)
}
