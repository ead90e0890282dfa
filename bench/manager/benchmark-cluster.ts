/**
 * The cluster of both sides: a real kube-apiserver with etcd, filled once, and reset to that state before each
 * measurement. Requests of operators are counted in the server's audit log, open watches in its metrics.
 */
import { closeSync, fstatSync, mkdtempSync, openSync, readSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Snapshot, startCluster } from '../../test/real/cluster.ts'
import { cpuSeconds } from './process-cost.ts'
import { inParallel, type Observer, observerAgent, openObserver } from './observer.ts'

export interface GroundSizes {
  readonly secrets: number
  readonly nodes: number
  /** Operators that have CRs from the start. */
  readonly operators: number
  readonly crsOfEach: number
}

export interface BenchmarkCluster {
  readonly observer: Observer
  readonly kubeconfig: string
  /** Saves the current state. The servers are stopped meanwhile. */
  keep(): Promise<Snapshot>
  /** Restores the saved state, or the initial one. */
  reset(kept?: Snapshot): Promise<void>
  addWidgets(kind: number, count: number): Promise<void>
  openWatches(): Promise<number>
  /** CPU time of the servers since their last start. */
  cpuSeconds(): number
  /** Starts counting requests of all clients except the observer. */
  listen(): { requestCounts(): Promise<RequestCounts> }
  stop(): Promise<void>
}

/** Requests of a server. */
export interface RequestCounts {
  /** Without Leases and without opening watches. */
  readonly requests: number
  readonly leases: number
  /** Opened watches: the timeout that the client set for each, in seconds. */
  readonly watches: readonly number[]
  /** Number of requests by type: `patch configmaps`. */
  readonly by: ReadonlyMap<string, number>
}

export const namespace = 'bench'
export const configMaps: string = `/api/v1/namespaces/${namespace}/configmaps`
export const deployments: string = `/apis/apps/v1/namespaces/${namespace}/deployments`

const padded = (number: number): string => String(number).padStart(2, '0')
export const widgetsOf = (kind: number): string =>
  `/apis/bench.muster.dev/v1/namespaces/${namespace}/widget${padded(kind)}s`
export const kindOf = (kind: number): string => `Widget${padded(kind)}`
export const widgetName = (kind: number, index: number): string => `widget${padded(kind)}-${index}`

const secretBytes = 8192
const atOnce = 32

export async function openBenchmarkCluster(
  crds: readonly string[],
  sizes: GroundSizes,
  log: (line: string) => void,
): Promise<BenchmarkCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'muster-bench-'))
  const audit = join(folder, 'audit.log')
  const policy = join(folder, 'policy.yaml')
  writeFileSync(policy, auditPolicy)
  writeFileSync(audit, '')
  const cluster = await startCluster({
    flags: [`--audit-policy-file=${policy}`, `--audit-log-path=${audit}`, '--audit-log-mode=batch'],
  }).catch((error: unknown) => {
    rmSync(folder, { recursive: true, force: true })
    throw error
  })
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(kubeconfig, cluster.access.kubeconfig, { mode: 0o600 })
  let observer = openObserver(cluster.access)
  const stop = async (): Promise<void> => {
    observer.close()
    await cluster.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  const addWidgets = (kind: number, count: number): Promise<void> =>
    inParallel(count, atOnce, (index) => createWidget(observer, kind, index, sizes.secrets))
  try {
    await fill(observer, crds, sizes)
    for (let kind = 0; kind < sizes.operators; kind++) await addWidgets(kind, sizes.crsOfEach)
    log('keeping that state')
    const reopen = async (): Promise<void> => {
      observer.close()
      observer = openObserver(cluster.access)
      await served(observer, crds.length)
    }
    const keep = async (): Promise<Snapshot> => {
      const snapshot = await cluster.snapshot()
      await reopen()
      return snapshot
    }
    const filled = await keep()
    return {
      get observer() {
        return observer
      },
      kubeconfig,
      keep,
      async reset(kept = filled) {
        await cluster.restore(kept)
        await reopen()
      },
      addWidgets,
      openWatches: async () => watchesOf(await observer.send('GET', '/metrics')),
      cpuSeconds: () => cluster.processes().reduce((sum, pid) => sum + cpuSeconds(pid), 0),
      listen: () => listen(audit),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Requests of all clients but the server itself; of each only its end, or its start where it is long-running. */
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  users: ['system:apiserver']
- level: None
  nonResourceURLs: ['/metrics', '/readyz*']
- level: Metadata
`

async function fill(observer: Observer, crds: readonly string[], { secrets, nodes }: GroundSizes): Promise<void> {
  await observer.send('POST', '/api/v1/namespaces', { metadata: { name: namespace } })
  await inParallel(crds.length, 8, (index) =>
    observer.send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crds[index]),
  )
  await inParallel(nodes, atOnce, (index) => observer.send('POST', '/api/v1/nodes', node(index)))
  await inParallel(secrets, atOnce, (index) =>
    observer.send('POST', `/api/v1/namespaces/${namespace}/secrets`, secret(index)),
  )
  await served(observer, crds.length)
}

/** A CRD is served a moment after it is stored, and again after a restart; a watch of it, another moment later. */
async function served(observer: Observer, kinds: number): Promise<void> {
  const paths = [configMaps, deployments, ...Array.from({ length: kinds }, (_, kind) => widgetsOf(kind))]
  for (const path of paths) {
    for (let attempt = 0; ; attempt++) {
      try {
        const close = await observer.follow(`${path}?watch=true`, () => undefined)
        close()
        break
      } catch (error) {
        if (attempt === 100) throw error
        await sleep(100)
      }
    }
  }
}

async function createWidget(observer: Observer, kind: number, index: number, secrets: number): Promise<void> {
  await observer.send('POST', widgetsOf(kind), {
    apiVersion: 'bench.muster.dev/v1',
    kind: kindOf(kind),
    metadata: { name: widgetName(kind, index) },
    spec: { replicas: 1, value: '0', secretName: `secret-${(kind * 100 + index) % secrets}` },
  })
}

/** All different, and not compressible. */
function secret(index: number): object {
  let text = ''
  for (let seed = index * 7919 + 1; text.length < secretBytes;) {
    seed = (seed * 48_271) % 2_147_483_647
    text += seed.toString(36)
  }
  return {
    metadata: { name: `secret-${index}` },
    data: { token: Buffer.from(text.slice(0, secretBytes)).toString('base64') },
  }
}

function node(index: number): object {
  return {
    metadata: {
      name: `node-${index}`,
      labels: { 'kubernetes.io/hostname': `node-${index}`, 'kubernetes.io/os': 'linux' },
    },
    spec: { podCIDR: `10.1.${index}.0/24` },
  }
}

function watchesOf(metrics: string): number {
  let count = 0
  for (const line of metrics.split('\n')) {
    if (!line.startsWith('apiserver_longrunning_requests{') || !line.includes('verb="WATCH"')) continue
    count += Number(line.slice(line.lastIndexOf(' ') + 1))
  }
  return count
}

interface AuditLine {
  readonly stage: string
  readonly verb: string
  readonly requestURI: string
  readonly userAgent?: string
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string }
}

function listen(audit: string): { requestCounts(): Promise<RequestCounts> } {
  const start = sizeOf(audit)
  return {
    async requestCounts() {
      // The log is written with a delay.
      await sleep(1500)
      const by = new Map<string, number>()
      const watches: number[] = []
      let requests = 0
      let leases = 0
      for (const line of readFrom(audit, start).split('\n')) {
        if (line === '') continue
        const { stage, verb, requestURI, userAgent = '', objectRef } = JSON.parse(line) as AuditLine
        if (userAgent === observerAgent) continue
        const isWatch = verb === 'watch'
        if (stage !== (isWatch ? 'ResponseStarted' : 'ResponseComplete')) continue
        const { resource = requestURI.split('?')[0], subresource } = objectRef ?? {}
        const what = `${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`}`
        by.set(what, (by.get(what) ?? 0) + 1)
        if (isWatch) watches.push(Number(/[?&]timeoutSeconds=(\d+)/.exec(requestURI)?.[1] ?? 1800))
        else if (resource === 'leases') leases++
        else requests++
      }
      return { requests, leases, watches, by }
    },
  }
}

function sizeOf(file: string): number {
  const open = openSync(file, 'r')
  const { size } = fstatSync(open)
  closeSync(open)
  return size
}

function readFrom(file: string, start: number): string {
  const open = openSync(file, 'r')
  try {
    const bytes = Buffer.alloc(fstatSync(open).size - start)
    readSync(open, bytes, 0, bytes.length, start)
    return bytes.toString()
  } finally {
    closeSync(open)
  }
}
