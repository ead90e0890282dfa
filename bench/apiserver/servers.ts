/** The two servers: start, address, memory and stop. bench.ts describes the rules. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { readYaml } from '../../src/kube/yaml/yaml.ts'
import { apiOf } from '../../test/real/api.ts'
import { startCluster } from '../../test/real/cluster.ts'
import type { Target } from './load.ts'

export interface Contender {
  /** Resolves when the server has responded that it is ready. */
  start(): Promise<Running>
}

export interface Running {
  readonly target: Target
  /** From its first process until its response that it is ready. */
  readonly readyMs: number
  /** Sum of all its processes. */
  residentBytes(): number
  stop(): Promise<void>
}

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The package must have been built. */
export const embedded: Contender = {
  async start() {
    const { began, ...running } = await launchEmbedded()
    const { url: server, ca, token } = running.target
    const noCertificate = { cert: '', key: '' }
    const tokens = { admin: token, alice: '', bob: '' }
    const api = apiOf({ server, ca, token, version: '', admin: noCertificate, tokens, kubeconfig: '' })
    const { status } = await api.call('GET', '/readyz')
    const readyMs = performance.now() - began
    api.close()
    if (status !== 200) throw new Error(`the embedded server said that it is ready, and then ${status}`)
    return { ...running, readyMs }
  },
}

/** Resolves when the server has printed its address, before its first request. */
async function launchEmbedded(): Promise<Omit<Running, 'readyMs'> & { readonly began: number }> {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-bench-'))
  const kubeconfig = path.join(folder, 'kubeconfig')
  const args = ['apiserver', '--data', path.join(folder, 'data'), '--kubeconfig-out', kubeconfig]
  const { NODE_OPTIONS: _options, NODE_EXTRA_CA_CERTS: _authorities, ...env } = process.env
  const program = install(folder)
  const began = performance.now()
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'], env })
  await once(createInterface({ input: child.stdout }), 'line')
  const { clusters, users } = readYaml(readFileSync(kubeconfig, 'utf8')) as unknown as {
    readonly clusters: readonly { readonly cluster: Readonly<Record<string, string>> }[]
    readonly users: readonly { readonly user: { readonly token: string } }[]
  }
  const { server = '', 'certificate-authority-data': ca = '' } = clusters[0]!.cluster
  return {
    began,
    target: { url: server, ca: Buffer.from(ca, 'base64').toString(), token: users[0]!.user.token },
    residentBytes: () => residentBytes(child.pid!),
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The layout of an installed package, without the files of a checkout. Returns its program. */
function install(folder: string): string {
  cpSync(path.join(root, 'bin'), path.join(folder, 'bin'), { recursive: true })
  symlinkSync(path.join(root, 'dist'), path.join(folder, 'dist'))
  return path.join(folder, 'bin', 'muster')
}

export const real: Contender = {
  async start() {
    const cluster = await startCluster({ durable: true })
    const { server, ca, tokens } = cluster.access
    return {
      target: { url: server, ca, token: tokens.admin },
      readyMs: cluster.startMs(),
      residentBytes: () => cluster.processes().reduce((sum, pid) => sum + residentBytes(pid), 0),
      stop: () => cluster.stop(),
    }
  },
}

function residentBytes(pid: number): number {
  const [, kilobytes = '0'] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1024
}
