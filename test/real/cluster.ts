/**
 * A real API server for tests: etcd and kube-apiserver as child processes on free loopback ports, with certificates,
 * users and data of their own in a temporary folder. No controllers and no kubelet run: what is written stays.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type RealBinaries, realBinaries } from '../../scripts/real-binaries.ts'
import { type CertificateAuthority, type PemPair, makeCa, makeSigningKeys } from '../certificates.ts'
import { freePort } from '../free-port.ts'
import { apiOf } from './api.ts'

export interface ClusterOptions {
  /** @default 'RBAC', where only `admin` may do anything until a test grants more */
  readonly authorization?: 'RBAC' | 'AlwaysAllow'
  /** Further flags of kube-apiserver: `--goaway-chance=0.02`. */
  readonly flags?: readonly string[]
  /** etcd waits for its disk, as in production. @default false, for tests have no use for it */
  readonly durable?: boolean
}

/** How to reach the server: plain data, so that it can be handed to test workers. */
export interface Access {
  /** `https://127.0.0.1:port` */
  readonly server: string
  /** `v1.37.1` */
  readonly version: string
  /** PEM of the CA that signed the server's certificate. */
  readonly ca: string
  /** Client certificate of user `admin`, group `system:masters`. */
  readonly admin: PemPair
  /** Static bearer tokens: `admin` (system:masters), `alice` (group developers), `bob` (no group). */
  readonly tokens: Readonly<Record<'admin' | 'alice' | 'bob', string>>
  /** A kubeconfig with the admin's certificate inline. */
  readonly kubeconfig: string
}

/** The state of etcd at one moment; see {@link Cluster.snapshot}. */
export type Snapshot = string & { readonly brand: 'Snapshot' }

export interface Cluster {
  readonly access: Access
  /** Signs client certificates that this server accepts. */
  readonly clientCa: CertificateAuthority
  /** Stops and starts kube-apiserver (and etcd) on the same ports and data. `kill` cuts connections without a word. */
  restart(how?: 'gracefully' | 'kill'): Promise<void>
  /** Keeps a copy of the data, for {@link Cluster.restore}. The servers stand still for it. */
  snapshot(): Promise<Snapshot>
  /** Restarts with older data: resource versions go back, and objects made since are gone. */
  restore(snapshot: Snapshot): Promise<void>
  /** Forgets history up to now, so that a watch from an older resource version gets 410 once caches are empty. */
  compact(): Promise<void>
  /** The server's process stops answering without closing anything: a silent socket. */
  pause(): Promise<void>
  resume(): void
  /** The ids of kube-apiserver and etcd. */
  processes(): readonly number[]
  /** Milliseconds of the latest start, from the first process to the first answer that it is ready. */
  startMs(): number
  /** Ends the processes and removes the data. */
  stop(): Promise<void>
}

export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const binaries = await realBinaries()
  for (let attempt = 1; ; attempt++) {
    try {
      return await tryToStart(options, binaries)
    } catch (error) {
      // A port that was free a moment ago may be taken by now.
      if (attempt === 3 || !String(error).includes('address already in use')) throw error
    }
  }
}

async function tryToStart(options: ClusterOptions, binaries: RealBinaries): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-real-'))
  const guard = startGuard()
  guard.tell(`dir ${folder}`)

  const at = (name: string): string => join(folder, name)
  const [serverCa, clientCa] = [makeCa({ commonName: 'server-ca' }), makeCa({ commonName: 'client-ca' })]
  const serving = serverCa.issue({
    commonName: 'kube-apiserver',
    dnsNames: ['localhost', 'kubernetes', 'kubernetes.default.svc'],
    ips: ['127.0.0.1', '::1'],
    server: true,
  })
  const admin = clientCa.issue({ commonName: 'admin', organizations: ['system:masters'] })
  const tokens = { admin: 'admin-token', alice: 'alice-token', bob: 'bob-token' }
  const signing = makeSigningKeys()
  const files = {
    'server.crt': serving.cert,
    'server.key': serving.key,
    'client-ca.crt': clientCa.cert,
    'signing.key': signing.privateKey,
    'signing.pub': signing.publicKey,
    'tokens.csv': `${tokens.admin},admin,u-admin,system:masters\n${tokens.alice},alice,u-alice,developers\n${tokens.bob},bob,u-bob\n`,
  }
  for (const [name, text] of Object.entries(files)) await writeFile(at(name), text, { mode: 0o600 })

  const [apiPort, etcdPort, peerPort] = [await freePort(), await freePort(), await freePort()]
  const etcdUrl = `http://127.0.0.1:${etcdPort}`
  const access: Access = {
    server: `https://127.0.0.1:${apiPort}`,
    version: binaries.version,
    ca: serverCa.cert,
    admin,
    tokens,
    kubeconfig: kubeconfigOf(`https://127.0.0.1:${apiPort}`, serverCa.cert, admin),
  }

  const etcdFlags = [
    `--data-dir=${at('etcd')}`,
    `--listen-client-urls=${etcdUrl}`,
    `--advertise-client-urls=${etcdUrl}`,
    `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
    `--initial-advertise-peer-urls=http://127.0.0.1:${peerPort}`,
    `--initial-cluster=default=http://127.0.0.1:${peerPort}`,
    ...(options.durable ? [] : ['--unsafe-no-fsync']),
    '--log-level=warn',
  ]
  const apiserverFlags = [
    `--etcd-servers=${etcdUrl}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    '--endpoint-reconciler-type=none',
    `--secure-port=${apiPort}`,
    `--cert-dir=${at('certs')}`,
    `--tls-cert-file=${at('server.crt')}`,
    `--tls-private-key-file=${at('server.key')}`,
    `--client-ca-file=${at('client-ca.crt')}`,
    `--token-auth-file=${at('tokens.csv')}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${at('signing.pub')}`,
    `--service-account-signing-key-file=${at('signing.key')}`,
    '--service-cluster-ip-range=10.0.0.0/16',
    `--authorization-mode=${options.authorization ?? 'RBAC'}`,
    // No controller makes the default service account of a namespace, so pods cannot be asked to have one.
    '--disable-admission-plugins=ServiceAccount',
    '--allow-privileged=true',
    ...(options.flags ?? []),
  ]

  let etcd: Server | undefined
  let apiserver: Server | undefined

  let startMs = 0
  const start = async (): Promise<void> => {
    const began = performance.now()
    etcd = await startServer('etcd', binaries.etcd, etcdFlags, at('etcd.log'), guard)
    await ready('etcd', etcd, async () => (await fetch(`${etcdUrl}/health`)).ok)
    apiserver = await startServer('kube-apiserver', binaries.apiserver, apiserverFlags, at('kube-apiserver.log'), guard)
    const api = apiOf(access)
    try {
      await ready('kube-apiserver', apiserver, async () => (await api.call('GET', '/readyz')).status === 200)
      startMs = performance.now() - began
    } finally {
      api.close()
    }
  }
  const halt = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
    await apiserver?.end(signal)
    await etcd?.end('SIGTERM')
  }
  const stop = async (): Promise<void> => {
    await halt('SIGKILL')
    await rm(folder, { recursive: true, force: true, maxRetries: 10 })
    guard.release()
  }

  try {
    await start()
  } catch (error) {
    await stop()
    throw error
  }

  let snapshots = 0
  return {
    access,
    clientCa,
    async restart(how = 'gracefully') {
      await halt(how === 'kill' ? 'SIGKILL' : 'SIGTERM')
      await start()
    },
    async snapshot() {
      await halt('SIGKILL')
      const copy = at(`snapshot-${++snapshots}`) as Snapshot
      await cp(at('etcd'), copy, { recursive: true })
      await start()
      return copy
    },
    async restore(snapshot) {
      await halt('SIGKILL')
      await rm(at('etcd'), { recursive: true, force: true })
      await mkdir(at('etcd'))
      await cp(snapshot, at('etcd'), { recursive: true })
      await start()
    },
    async compact() {
      const etcdCall = async (
        path: string,
        body: unknown,
      ): Promise<{ readonly header: { readonly revision: string } }> => {
        const answer = await fetch(`${etcdUrl}${path}`, { method: 'POST', body: JSON.stringify(body) })
        if (!answer.ok) throw new Error(`etcd ${path}: ${answer.status} ${await answer.text()}`)
        return (await answer.json()) as { readonly header: { readonly revision: string } }
      }
      const { header } = await etcdCall('/v3/kv/range', { key: Buffer.from('/').toString('base64'), limit: '1' })
      await etcdCall('/v3/kv/compaction', { revision: header.revision, physical: true })
    },
    pause: async () => await apiserver?.freeze(),
    resume: () => apiserver?.signal('SIGCONT'),
    processes: () => [apiserver, etcd].flatMap((server) => server?.process.pid ?? []),
    startMs: () => startMs,
    stop,
  }
}

interface Server {
  readonly process: ChildProcess
  /** The end of its log. */
  readonly lastWords: () => Promise<string>
  signal(signal: NodeJS.Signals): void
  /** Resolves when the process has stopped running. */
  freeze(): Promise<void>
  /** Resolves when the process is gone; a slow one is killed. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
}

async function startServer(
  name: string,
  program: string,
  flags: readonly string[],
  logFile: string,
  guard: Guard,
): Promise<Server> {
  const log = await open(logFile, 'a')
  const child = spawn(program, flags, { stdio: ['ignore', log.fd, log.fd] })
  await log.close()
  const { promise: gone, resolve } = Promise.withResolvers<void>()
  child.once('error', () => resolve())
  child.once('exit', () => resolve())
  const { pid } = child
  if (pid === undefined) throw new Error(`${name} could not be started: ${program}`)
  guard.tell(`+${pid}`)
  return {
    process: child,
    lastWords: async () => (await readFile(logFile, 'utf8')).split('\n').slice(-15).join('\n'),
    signal: (signal) => void child.kill(signal),
    async freeze() {
      child.kill('SIGSTOP')
      // The signal takes a moment to reach every thread; where there is no /proc to see it, wait for that moment.
      const state = async (): Promise<string> => (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.[0] ?? ''
      if (process.platform === 'linux') while ((await state()) !== 'T') await sleep(5)
      else await sleep(500)
    },
    async end(signal) {
      child.kill('SIGCONT')
      child.kill(signal)
      const patience = AbortSignal.timeout(15_000)
      patience.addEventListener('abort', () => child.kill('SIGKILL'))
      await gone
      guard.tell(`-${pid}`)
    },
  }
}

/** Asks until `check` holds; a process that ends first, or takes a minute, fails with the end of its log. */
async function ready(name: string, server: Server, check: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000
  for (;;) {
    const { exitCode, signalCode } = server.process
    if (exitCode !== null || signalCode !== null)
      throw new Error(`${name} ended with ${exitCode ?? signalCode}:\n${await server.lastWords()}`)
    if (await check().catch(() => false)) return
    if (performance.now() > deadline) throw new Error(`${name} is not ready after 60 s:\n${await server.lastWords()}`)
    await sleep(50)
  }
}

interface Guard {
  tell(line: string): void
  release(): void
}

function startGuard(): Guard {
  const script = fileURLToPath(new URL('./guard.ts', import.meta.url))
  // Detached: an interrupt from the keyboard reaches the whole process group, and the guard must see it through.
  const child = spawn(process.execPath, [script], { stdio: ['pipe', 'ignore', 'inherit'], detached: true })
  child.unref()
  child.stdin.on('error', () => undefined)
  return {
    tell: (line) => void child.stdin.write(`${line}\n`),
    release: () => void child.stdin.end(),
  }
}

function kubeconfigOf(server: string, ca: string, { cert, key }: PemPair): string {
  const base64 = (text: string): string => Buffer.from(text).toString('base64')
  return `apiVersion: v1
kind: Config
current-context: real
clusters:
- name: real
  cluster:
    server: ${server}
    certificate-authority-data: ${base64(ca)}
users:
- name: admin
  user:
    client-certificate-data: ${base64(cert)}
    client-key-data: ${base64(key)}
contexts:
- name: real
  context: { cluster: real, user: admin, namespace: default }
`
}
