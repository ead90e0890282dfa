/**
 * `npm run bench -- install`: a thousand Installations of four objects each on one real kube-apiserver: how long until all of
 * them are ready, how much memory the manager takes, what it sends at rest and after a restart, and how soon a change is written.
 *
 * Flux has published 253 to 279 seconds and 223 to 361 MiB for the same number of objects, on sixteen cores.
 */
import type { ChildProcess } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../../src/client/client.ts'
import { createClient } from '../../src/client/create-client.ts'
import { httpTransport } from '../../src/client/http/http-transport.ts'
import { connectionFromKubeconfig } from '../../src/client/load-connection.ts'
import { isConditionTrue } from '../../src/kube/meta/condition.ts'
import { resourceOf } from '../../src/kube/typed-resource.ts'
import type { UntypedObject } from '../../src/kube/object.ts'
import { systemClock } from '../../src/clock/system-clock.ts'
import { Installation } from '../../src/platform/installation/installation.ts'
import { Revision } from '../../src/platform/installation/revision.ts'
import { startCluster } from '../../test/real/cluster.ts'
import { type BenchReport, type Figure, figure } from '../figure.ts'
import type { BenchOptions } from '../main.ts'
import { percentilesOf } from '../manager/percentiles.ts'
import type { ProgramMemory, ProgramRequests, SentWrite } from '../measured-manager.ts'
import { askProgram, buildProgram, createKinds, startProgram, stopProgram } from '../measured-process.ts'

const name = 'install'
const namespace = 'bench'
const flux = { seconds: 253, bytes: 223 * 1024 * 1024 }

interface Sizes {
  readonly installations: number
  readonly restMs: number
  readonly changes: number
}

const full: Sizes = { installations: 1000, restMs: 600_000, changes: 300 }
const quick: Sizes = { installations: 100, restMs: 20_000, changes: 50 }

/** `--only ready` leaves out the rest of ten minutes, the restart and the changes. */
export async function run({ quick: isQuick, only, log }: BenchOptions): Promise<BenchReport> {
  const sizes = isQuick ? quick : full
  const folder = await mkdtemp(path.join(tmpdir(), 'muster-bench-'))
  const cluster = await startCluster({ authorization: 'AlwaysAllow', durable: true })
  const figures: Figure[] = []
  try {
    const kubeconfig = path.join(folder, 'kubeconfig')
    await writeFile(kubeconfig, cluster.access.kubeconfig)
    const connection = await connectionFromKubeconfig(cluster.access.kubeconfig)
    const client = createClient({ transport: httpTransport(connection, { clock: systemClock }) })
    await prepare(client)
    const program = await buildProgram(new URL('program.ts', import.meta.url), folder)
    let child = await startProgram(program, kubeconfig)

    log(`${sizes.installations} Installations of four objects`)
    const half = sizes.installations / 2
    const firstSeconds = await installAll(client, 0, half)
    const first = await askProgram<ProgramMemory>(child, 'memory')
    const seconds = firstSeconds + (await installAll(client, half, sizes.installations))
    const second = await askProgram<ProgramMemory>(child, 'memory')
    log(
      `processor time ${(second.cpuMs / 1000).toFixed(1)} s, RSS at rest ${(second.rss / 2 ** 20).toFixed(0)} MiB, peak ${(second.peak / 2 ** 20).toFixed(0)} MiB, heap ${(second.heap / 2 ** 20).toFixed(0)} MiB`,
    )
    // Without what a process takes once: code, connections, kinds.
    const grown = (key: 'heap' | 'cached'): number => (second[key] - first[key]) / (sizes.installations - half)
    figures.push(
      figure(name, `${sizes.installations} Installations to Ready: seconds`, seconds, flux.seconds, 'Flux, published', {
        relation: '<=',
        limit: 60 / flux.seconds,
      }),
      figure(name, 'the same: most RSS', second.peak, flux.bytes, 'Flux, published', {
        relation: '<',
        limit: (200 * 1024 * 1024) / flux.bytes,
      }),
      figure(
        name,
        'heap of a further idle Installation, without its cached objects',
        grown('heap') - grown('cached'),
        10_240,
        'limit',
        {
          relation: '<=',
          limit: 1,
        },
      ),
      figure(name, 'its cached objects, for comparison', grown('cached'), grown('heap'), 'all of its heap', {
        relation: '<=',
        limit: 1,
      }),
    )

    if (only === 'ready') {
      await stopProgram(child)
      await client.close()
      return { figures, missing: [] }
    }

    log(`at rest for ${sizes.restMs / 1000} s`)
    figures.push(...(await resting(child, sizes.restMs, 'at rest')))

    log('restart')
    child = await stopProgram(child).then(() => startProgram(program, kubeconfig))
    await sleep(10_000)
    const restarted = await askProgram<ProgramRequests>(child, 'requests')
    figures.push(figure(name, 'after a restart: writes', restarted.writes, 1, 'limit', { relation: '<', limit: 1 }))

    log(`${sizes.changes} changes of a value`)
    const { p50, p99 } = percentilesOf(await changeAll(client, child, sizes))
    figures.push(
      figure(name, 'change of a value to first write: p50, ms', p50, 250, 'limit', {
        relation: '<',
        limit: 1,
      }),
      figure(name, 'change of a value to first write: p99, ms', p99, 250, 'limit', {
        relation: '<',
        limit: 1,
      }),
    )
    await stopProgram(child)
    await client.close()
  } finally {
    await cluster.stop()
    await rm(folder, { recursive: true, force: true })
  }
  return { figures, missing: [] }
}

async function prepare(client: Client): Promise<void> {
  const namespaces = resourceOf('v1', 'Namespace')
  await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  await createKinds(client, [Installation, Revision])
}

function installation(index: number, value: string): UntypedObject {
  const app = `app-${index}`
  const labels = `labels: { app: ${app} }`
  const text = [
    `apiVersion: v1\nkind: ServiceAccount\nmetadata: { name: ${app}, ${labels} }`,
    `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${app}, ${labels} }\ndata: { value: "${value}" }`,
    `apiVersion: v1\nkind: Service\nmetadata: { name: ${app}, ${labels} }\nspec: { selector: { app: ${app} }, ports: [{ port: 80 }] }`,
    `apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: { name: ${app}, ${labels} }\nrules: [{ apiGroups: [""], resources: [pods], verbs: [get] }]`,
  ].join('\n---\n')
  return {
    apiVersion: 'platform.muster.dev/v1alpha1',
    kind: 'Installation',
    metadata: { name: app, namespace },
    spec: { source: { manifests: { text } } },
  }
}

/** Seconds until Installations of these numbers are ready. */
async function installAll(client: Client, from: number, to: number): Promise<number> {
  const begun = Date.now()
  const isReady = allReady(client, to)
  await createAll(client, from, to)
  await isReady
  return (Date.now() - begun) / 1000
}

async function createAll(client: Client, from: number, to: number): Promise<void> {
  const numbers = Array.from({ length: to - from }, (_, index) => from + index).values()
  const work = async (): Promise<void> => {
    for (const index of numbers) await client.create(Installation, installation(index, 'one'))
  }
  await Promise.all(Array.from({ length: 8 }, work))
}

async function allReady(client: Client, count: number): Promise<void> {
  const ready = new Set<string>()
  // A server ends a watch when it sees fit.
  for (;;) {
    const watch = client.watch(Installation, { namespace, sendInitialEvents: true, allowBookmarks: true })
    for await (const event of watch) {
      if (event.type === 'ERROR') break
      if (event.type === 'BOOKMARK') continue
      const { metadata, status } = event.object
      if (isConditionTrue(status?.conditions, 'Ready') && status?.lastGood !== undefined) ready.add(metadata.name)
      if (ready.size === count) return
    }
  }
}

async function resting(child: ChildProcess, ms: number, when: string): Promise<readonly Figure[]> {
  await sleep(2000)
  const before = await askProgram<ProgramRequests>(child, 'requests')
  await sleep(ms)
  const after = await askProgram<ProgramRequests>(child, 'requests')
  return [
    figure(name, `${when}: writes`, after.writes - before.writes, 1, 'limit', { relation: '<', limit: 1 }),
    figure(name, `${when}: reads but watches`, after.reads - before.reads, 1, 'limit', { relation: '<', limit: 1 }),
  ]
}

/** Milliseconds from the answer to a change until the operator's first write for it is sent. */
async function changeAll(
  client: Client,
  child: ChildProcess,
  { changes, installations }: Sizes,
): Promise<readonly number[]> {
  const latencies: number[] = []
  await askProgram<readonly SentWrite[]>(child, 'writes')
  for (let at = 0; at < changes; at++) {
    const index = (at * 7) % installations
    const { spec } = installation(index, `changed-${at}`)
    await client.patch(Installation, { name: `app-${index}`, namespace }, { spec }, { type: 'merge' })
    const changedAt = Date.now()
    for (;;) {
      const writes = await askProgram<readonly SentWrite[]>(child, 'writes')
      const first = writes.find(([, where]) => where.includes(`/app-${index}`))
      if (first) {
        latencies.push(Math.max(0, first[0] - changedAt))
        break
      }
      await sleep(1)
    }
  }
  return latencies
}
