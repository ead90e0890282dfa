/**
 * The flags of etcd, as the test control plane takes them. Callers also set them by environment variables: `ETCD_DATA_DIR` is
 * `--data-dir`.
 */
import { MusterError } from '../../kube/muster-error.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { isLoopback } from '../../kube/text/loopback.ts'
import { asksForVersion, type ProgramFlags, readProgramFlags } from './program-flags.ts'

interface EtcdSettings {
  readonly listen: readonly { readonly host: string; readonly port: number }[]
  readonly warnings: readonly string[]
}

export const etcdFlags: ProgramFlags = {
  program: 'etcd',
  singleDash: true,
  understood: {
    'listen-client-urls': { help: 'addresses to answer on (default http://localhost:2379)' },
    'listen-metrics-urls': { help: 'further addresses to answer on' },
    version: { help: 'print the version, and end', isSwitch: true },
  },
  ignoredSwitches: [
    'auto-tls',
    'client-cert-auth',
    'discovery-insecure-skip-tls-verify',
    'discovery-insecure-transport',
    'enable-distributed-tracing',
    'enable-grpc-gateway',
    'enable-log-rotation',
    'enable-pprof',
    'force-new-cluster',
    'initial-election-tick-advance',
    'memory-mlock',
    'peer-auto-tls',
    'peer-client-cert-auth',
    'peer-skip-client-san-verification',
    'pre-vote',
    'socket-reuse-address',
    'socket-reuse-port',
    'strict-reconfig-check',
    'unsafe-no-fsync',
  ],
  ignored: [
    'advertise-client-urls',
    'auth-token',
    'auth-token-ttl',
    'auto-compaction-mode',
    'auto-compaction-retention',
    'backend-batch-interval',
    'backend-batch-limit',
    'backend-bbolt-freelist-type',
    'bcrypt-cost',
    'bootstrap-defrag-threshold-megabytes',
    'cert-file',
    'cipher-suites',
    'client-cert-allowed-hostname',
    'client-cert-file',
    'client-crl-file',
    'client-key-file',
    'compact-hash-check-time',
    'compaction-batch-limit',
    'compaction-sleep-interval',
    'config-file',
    'corrupt-check-time',
    'cors',
    'data-dir',
    'discovery',
    'discovery-cacert',
    'discovery-cert',
    'discovery-dial-timeout',
    'discovery-endpoints',
    'discovery-fallback',
    'discovery-keepalive-time',
    'discovery-keepalive-timeout',
    'discovery-key',
    'discovery-password',
    'discovery-proxy',
    'discovery-request-timeout',
    'discovery-srv',
    'discovery-srv-name',
    'discovery-token',
    'discovery-user',
    'distributed-tracing-address',
    'distributed-tracing-instance-id',
    'distributed-tracing-sampling-rate',
    'distributed-tracing-service-name',
    'downgrade-check-time',
    'election-timeout',
    'feature-gates',
    'grpc-keepalive-interval',
    'grpc-keepalive-min-time',
    'grpc-keepalive-timeout',
    'heartbeat-interval',
    'host-whitelist',
    'initial-advertise-peer-urls',
    'initial-cluster',
    'initial-cluster-state',
    'initial-cluster-token',
    'key-file',
    'listen-client-http-urls',
    'listen-peer-urls',
    'log-format',
    'log-level',
    'log-outputs',
    'log-rotation-config-json',
    'logger',
    'max-concurrent-streams',
    'max-learners',
    'max-request-bytes',
    'max-snapshots',
    'max-txn-ops',
    'max-wals',
    'metrics',
    'name',
    'peer-cert-allowed-cn',
    'peer-cert-allowed-hostname',
    'peer-cert-file',
    'peer-client-cert-file',
    'peer-client-key-file',
    'peer-crl-file',
    'peer-key-file',
    'peer-trusted-ca-file',
    'quota-backend-bytes',
    'raft-read-timeout',
    'raft-write-timeout',
    'self-signed-cert-validity',
    'snapshot-catchup-entries',
    'snapshot-count',
    'tls-max-version',
    'tls-min-version',
    'trusted-ca-file',
    'v2-deprecation',
    'wal-dir',
    'warning-apply-duration',
    'warning-unary-request-duration',
    'watch-progress-notify-interval',
  ],
  unbuilt: ['cert-file', 'client-cert-auth', 'config-file'],
}

/** `version` if that is all that is asked for. @throws InvalidFlag */
export function readEtcdFlags(
  words: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): EtcdSettings | 'version' {
  const read = readProgramFlags(etcdFlags, words)
  if (asksForVersion(read)) return 'version'
  const { values, warnings } = read
  const urlsOf = (name: string): readonly string[] => {
    const text = values.get(name)?.at(-1) ?? env[`ETCD_${name.replaceAll('-', '_').toUpperCase()}`] ?? ''
    return text.split(',').filter((url) => url.trim() !== '')
  }
  const clients = urlsOf('listen-client-urls')
  const urls = [...(clients.length > 0 ? clients : ['http://localhost:2379']), ...urlsOf('listen-metrics-urls')]
  return { listen: urls.map(addressOf), warnings }
}

function addressOf(text: string): EtcdSettings['listen'][number] {
  const url = URL.parse(text.trim())
  const invalid = (why: string): MusterError =>
    new MusterError(flagErrors.InvalidFlag, `etcd: --listen-client-urls ${text}: ${why}.`)
  if (!url || url.port === '') throw invalid('give a URL with a port, such as http://127.0.0.1:2379')
  if (url.protocol !== 'http:') throw invalid('this control plane serves http only')
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const port = Number(url.port)
  if (host === '0.0.0.0') return { host: '127.0.0.1', port }
  if (host === '::') return { host: '::1', port }
  if (!isLoopback(host)) throw invalid('it listens on loopback addresses only')
  return { host, port }
}
