/**
 * `npm run bench -- platform`: a Platform on a real kube-apiserver: how soon a component that is switched on is written and ready,
 * what many changes at once cost, and whether one broken component holds up the others; and what fifty components send in a day of
 * virtual time. `--only latency`, `--only changes` and `--only rest` run one part.
 *
 * Components have four objects and no workload: they are ready when they are written. The limits are those of the issue; the old
 * reconciler of Kyma took 45 to 165 seconds before any work, its lifecycle-manager takes several passes of seconds.
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
import { seededRandom } from '../../src/clock/random.ts'
import { systemClock } from '../../src/clock/system-clock.ts'
import type { JsonObject } from '../../src/kube/json.ts'
import type { UntypedObject } from '../../src/kube/object.ts'
import { openTestEnvironment } from '../../src/manager/testing/test-environment.ts'
import { Component } from '../../src/platform/catalogue/component.ts'
import { ComponentVersion } from '../../src/platform/catalogue/component-version.ts'
import { componentsOperator } from '../../src/platform/components/operator.ts'
import { Platform } from '../../src/platform/components/platform.ts'
import { Installation } from '../../src/platform/installation/installation.ts'
import { Revision } from '../../src/platform/installation/revision.ts'
import { startCluster } from '../../test/real/cluster.ts'
import { type BenchReport, type Figure, figure, median } from '../figure.ts'
import type { BenchOptions } from '../main.ts'
import { percentilesOf } from '../manager/percentiles.ts'
import type { ProgramProcessor, SentWrite } from '../measured-manager.ts'
import { askProgram, buildProgram, createKinds, startProgram, stopProgram } from '../measured-process.ts'

const name = 'platform'
/** How many components the Platform has. */
const size = 50
const atOnce = [1, 5, 10, 20] as const
const limits = { firstWriteMs: 250, readyMs: 1000 }
const holds = { relation: '<', limit: 1 } as const

interface Sizes {
  /** How many components are switched on one by one. */
  readonly latencies: number
  readonly rounds: number
}

const full: Sizes = { latencies: 200, rounds: 5 }
const quick: Sizes = { latencies: 20, rounds: 1 }

export async function run({ quick: isQuick, only, log }: BenchOptions): Promise<BenchReport> {
  const sizes = isQuick ? quick : full
  const isPart = (part: string): boolean => only === undefined || only === part
  const figures: Figure[] = []
  if (isPart('latency') || isPart('changes')) {
    await onCluster(async (bench) => {
      if (isPart('latency')) figures.push(...(await latencies(bench, sizes, log)))
      if (isPart('changes')) figures.push(...(await changes(bench, sizes, log)))
    })
  }
  if (isPart('rest')) figures.push(...(await resting(log)))
  return { figures, missing: [] }
}

interface Bench {
  readonly client: Client
  readonly child: ChildProcess
  /** Publishes a component that no run has used. */
  readonly publish: (text?: string) => Promise<string>
  /** Switches exactly these on, and resolves when the API server has answered. */
  readonly declare: (names: readonly string[]) => Promise<void>
  /** Resolves when these, of which there may be more, are ready, and no others are left but the `broken`. */
  readonly converged: (names: readonly string[], broken?: readonly string[]) => Promise<void>
}

async function onCluster(work: (bench: Bench) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'muster-bench-'))
  const cluster = await startCluster({ authorization: 'AlwaysAllow', durable: true })
  try {
    const kubeconfig = path.join(folder, 'kubeconfig')
    await writeFile(kubeconfig, cluster.access.kubeconfig)
    const connection = await connectionFromKubeconfig(cluster.access.kubeconfig)
    const client = createClient({ transport: httpTransport(connection, { clock: systemClock }) })
    await createKinds(client, [Installation, Revision, Component, ComponentVersion, Platform])
    const child = await startProgram(await buildProgram(new URL('program.ts', import.meta.url), folder), kubeconfig)
    await client.create(Platform, object('Platform', 'default', {}))
    await work(benchOn(client, child))
    await stopProgram(child)
    await client.close()
  } finally {
    await cluster.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

function benchOn(client: Client, child: ChildProcess): Bench {
  let published = 0
  return {
    client,
    child,
    async publish(text) {
      const component = `app-${published++}`
      for (const [kind, one] of catalogue(component, text)) await client.create(kind, one)
      return component
    },
    async declare(names) {
      const spec = { components: names.map((one) => ({ name: one })) }
      await client.patch(Platform, { name: 'default' }, { spec }, { type: 'merge' })
    },
    converged: (names, broken = []) => converged(client, names, broken),
  }
}

function object(kind: string, id: string, spec: JsonObject): UntypedObject {
  return { apiVersion: 'platform.muster.dev/v1alpha1', kind, metadata: { name: id }, spec }
}

function catalogue(
  component: string,
  text = fourObjects(component),
): readonly (readonly [typeof Component | typeof ComponentVersion, UntypedObject])[] {
  const version = { component, version: '1.0.0', source: { manifests: { text } } }
  return [
    [ComponentVersion, object('ComponentVersion', `${component}-1.0.0`, version)],
    [Component, object('Component', component, { channels: [{ name: 'stable', version: '1.0.0' }] })],
  ]
}

function fourObjects(app: string): string {
  return [
    `apiVersion: v1\nkind: ServiceAccount\nmetadata: { name: ${app} }`,
    `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${app} }\ndata: { key: value }`,
    `apiVersion: v1\nkind: Service\nmetadata: { name: ${app} }\nspec: { selector: { app: ${app} }, ports: [{ port: 80 }] }`,
    `apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: { name: ${app} }\nrules: [{ apiGroups: [""], resources: [pods], verbs: [get] }]`,
  ].join('\n---\n')
}

async function converged(client: Client, names: readonly string[], broken: readonly string[]): Promise<void> {
  const wanted = new Set(names)
  const others = new Set(broken)
  // A server ends a watch when it sees fit.
  for (;;) {
    for await (const event of client.watch(Platform, { sendInitialEvents: true, allowBookmarks: true })) {
      if (event.type === 'ERROR') break
      if (event.type === 'BOOKMARK') continue
      const { metadata, status } = event.object
      const components = (status?.components ?? []).filter((one) => !others.has(one.name))
      const isReady = components.every((one) => one.state === 'Ready' && wanted.has(one.name))
      if (status?.observedGeneration === metadata.generation && isReady && components.length === wanted.size) return
    }
  }
}

/** Milliseconds from the answer to the change until the first write for the component is sent, and until it is ready. */
async function latencies(
  { child, publish, declare, converged: isConverged }: Bench,
  sizes: Sizes,
  log: BenchOptions['log'],
): Promise<readonly Figure[]> {
  log(`${sizes.latencies} components switched on, one by one`)
  const [firstWrites, readies]: [number[], number[]] = [[], []]
  let on: string[] = []
  for (let at = 0; at < sizes.latencies; at++) {
    if (on.length === size) {
      on = []
      await declare(on)
      await isConverged(on)
    }
    const component = await publish()
    // What publishing causes is no part of it.
    await sleep(100)
    await askProgram<readonly SentWrite[]>(child, 'writes')
    on = [...on, component]
    const isReady = isConverged(on).then(() => Date.now())
    await declare(on)
    const changedAt = Date.now()
    firstWrites.push(Math.max(0, (await firstWrite(child, component)) - changedAt))
    readies.push((await isReady) - changedAt)
  }
  await declare([])
  await isConverged([])
  const [write, ready] = [percentilesOf(firstWrites), percentilesOf(readies)]
  const { firstWriteMs, readyMs } = limits
  return [
    figure(name, 'switched on to first write: p50, ms', write.p50, firstWriteMs, 'limit', holds),
    figure(name, 'switched on to first write: p99, ms', write.p99, firstWriteMs, 'limit', holds),
    figure(name, 'switched on to Ready, no workload: p50, ms', ready.p50, readyMs, 'limit', holds),
    figure(name, 'switched on to Ready, no workload: p99, ms', ready.p99, readyMs, 'limit', holds),
  ]
}

async function firstWrite(child: ChildProcess, component: string): Promise<number> {
  for (;;) {
    const writes = await askProgram<readonly SentWrite[]>(child, 'writes')
    const first = writes.find(([, where]) => where.split('?')[0]!.endsWith(`/installations/${component}`))
    if (first) return first[0]
    await sleep(1)
  }
}

/** Some of fifty components leave, and as many new ones come, at once. */
async function changes(bench: Bench, sizes: Sizes, log: BenchOptions['log']): Promise<readonly Figure[]> {
  const { child, publish, declare, converged: isConverged } = bench
  const publishAll = async (count: number): Promise<readonly string[]> => {
    const names: string[] = []
    for (let left = count; left > 0; left--) names.push(await publish())
    return names
  }
  let on = await publishAll(size)
  await declare(on)
  await isConverged(on)
  const measured = async (names: readonly string[], broken: readonly string[] = []) => {
    await sleep(1000)
    const before = await askProgram<ProgramProcessor>(child, 'processor')
    const isDone = isConverged(names, broken).then(() => Date.now())
    const begun = Date.now()
    await declare([...names, ...broken])
    const ms = (await isDone) - begun
    // Events follow the last status.
    await sleep(500)
    return { ms, cpuMs: (await askProgram<ProgramProcessor>(child, 'processor')) - before }
  }
  const costs = new Map<number, number>()
  const onTimes = new Map<number, number>()
  for (const count of atOnce) {
    log(`${count} of ${size} components off, then as many on, ${sizes.rounds} times`)
    const rounds: { readonly cpuMs: number; readonly ms: number }[] = []
    for (let round = 0; round < sizes.rounds; round++) {
      const more = await publishAll(count)
      const off = await measured(on.slice(count))
      on = [...on.slice(count), ...more]
      const back = await measured(on)
      rounds.push({ cpuMs: (off.cpuMs + back.cpuMs) / (2 * count), ms: back.ms })
    }
    costs.set(count, median(rounds.map(({ cpuMs }) => cpuMs)))
    onTimes.set(count, median(rounds.map(({ ms }) => ms)))
  }
  log(`one of 20 components broken`)
  const most = atOnce.at(-1)!
  const healthy = await publishAll(most - 1)
  const refused = await publish(
    'apiVersion: v1\nkind: Service\nmetadata: { name: refused }\nspec: { ports: [{ port: 99999 }] }',
  )
  await measured(on.slice(most))
  const beside = await measured([...on.slice(most), ...healthy], [refused])
  return [
    ...atOnce.map((count) =>
      figure(
        name,
        `processor time of a change, ${count} at once: ms`,
        costs.get(count)!,
        costs.get(1)!,
        'one at once',
        { relation: '<=', limit: 1 },
      ),
    ),
    ...atOnce.map((count) =>
      figure(name, `${count} on at once, to Ready: ms`, onTimes.get(count)!, count * onTimes.get(1)!, 'one by one', {
        relation: '<=',
        limit: 1,
      }),
    ),
    figure(name, 'the other 19 to Ready, one of 20 broken: ms', beside.ms, onTimes.get(most)!, '20 healthy ones', {
      relation: '<=',
      limit: 1.5,
    }),
  ]
}

/** On the embedded server, whose clock is virtual. */
async function resting(log: BenchOptions['log']): Promise<readonly Figure[]> {
  log(`${size} components at rest for a day of virtual time`)
  let watches = 0
  const testEnv = await openTestEnvironment(componentsOperator({ clock: systemClock, random: seededRandom(1) }), {
    wire: (transport) => ({
      ...transport,
      send(request) {
        if (/[?&]watch=/.test(request.path)) watches++
        return transport.send(request)
      },
    }),
  })
  const names = Array.from({ length: size }, (_, index) => `app-${index}`)
  for (const one of names) for (const [kind, published] of catalogue(one)) await testEnv.client.create(kind, published)
  const components = names.map((one) => ({ name: one }))
  await testEnv.client.create(Platform, object('Platform', 'default', { components }))
  await testEnv.settle(60_000)
  const { status } = await testEnv.client.get(Platform, { name: 'default' })
  if (status?.state !== 'Ready') throw new Error(`The Platform is ${status?.state}.`)
  // Events of the installation are sent in the minutes after it.
  await testEnv.clock.advance(600_000)
  const before = { sent: testEnv.sent.length, writes: testEnv.writes.length, watches }
  await testEnv.clock.advance(24 * 3_600_000)
  const figures = [
    figure(name, 'a day at rest: writes', testEnv.writes.length - before.writes, 1, 'limit', holds),
    figure(name, 'a day at rest: requests but watches', testEnv.sent.length - before.sent, 1, 'limit', holds),
  ]
  log(`${watches - before.watches} watches were opened anew`)
  await testEnv.close()
  return figures
}
