/**
 * The loads of Kueue's performance tests in real time: an API server, the workloads operator in a manager, and generator and
 * mimicked execution, three processes on the same cores. No pods: the runner completes the one small object that each
 * AppWrapper wraps.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Client } from '../../../src/client/client.ts'
import { createClient } from '../../../src/client/create-client.ts'
import { httpTransport } from '../../../src/client/http/http-transport.ts'
import { connectionFromKubeconfig } from '../../../src/client/load-connection.ts'
import { systemClock } from '../../../src/clock/system-clock.ts'
import { resourceOf } from '../../../src/kube/typed-resource.ts'
import type { UntypedObject } from '../../../src/kube/object.ts'
import { AppWrapper } from '../../../src/workloads/appwrapper/appwrapper.ts'
import { kueueKinds } from '../../../src/workloads/quota/kueue-kinds.ts'
import { QuotaSubtree } from '../../../src/workloads/quota/quota-subtree.ts'
import type { ProgramMemory, ProgramRequests } from '../../measured-manager.ts'
import { askProgram, buildProgram, createKinds, startProgram, stopProgram } from '../../measured-process.ts'
import { startCluster } from '../../../test/real/cluster.ts'
import { runSuite, type SuiteResult } from './load.ts'
import { namespace, nominal, openCrd, quotaObjects, runKind, type Suite } from './suites.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))

export interface RealTimeResult extends SuiteResult {
  readonly memory: ProgramMemory
  readonly requests: ProgramRequests
}

/** `server` is the embedded one, or kube-apiserver with etcd. */
export async function measureRealTime(
  suite: Suite,
  server: 'embedded' | 'real',
  log: (line: string) => void,
): Promise<RealTimeResult> {
  const folder = await mkdtemp(path.join(tmpdir(), 'muster-bench-'))
  const kubeconfig = path.join(folder, 'kubeconfig')
  const cluster = server === 'real' ? await startReal(kubeconfig) : await startEmbedded(kubeconfig)
  try {
    const connection = await connectionFromKubeconfig(await readFile(kubeconfig, 'utf8'))
    const client = createClient({ transport: httpTransport(connection, { clock: systemClock }) })
    await prepare(client, suite)
    const program = await buildProgram(new URL('program.ts', import.meta.url), folder)
    const child = await startProgram(program, kubeconfig)
    const result = await runSuite(client, suite, log)
    const memory = await askProgram<ProgramMemory>(child, 'memory')
    const requests = await askProgram<ProgramRequests>(child, 'requests')
    await stopProgram(child)
    await client.close()
    return { ...result, memory, requests }
  } finally {
    await cluster.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

interface Cluster {
  stop(): Promise<void>
}

async function startReal(kubeconfig: string): Promise<Cluster> {
  const cluster = await startCluster({ authorization: 'AlwaysAllow', durable: true })
  await writeFile(kubeconfig, cluster.access.kubeconfig)
  return cluster
}

async function startEmbedded(kubeconfig: string): Promise<Cluster> {
  const args = [path.join(root, 'bin/muster'), 'apiserver', '--kubeconfig-out', kubeconfig]
  const child = spawn(args[0]!, args.slice(1), { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(createInterface({ input: child.stdout }), 'line')
  return {
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
  }
}

async function prepare(client: Client, suite: Suite): Promise<void> {
  const crds = resourceOf('apiextensions.k8s.io/v1', 'CustomResourceDefinition')
  for (const kind of Object.values(kueueKinds('v1beta1'))) await client.create(crds, openCrd(kind))
  await client.create(crds, openCrd(runKind))
  const namespaces = resourceOf('v1', 'Namespace')
  await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  await createKinds(client, [AppWrapper, QuotaSubtree])
  client.discovery.invalidate()
  for (const object of quotaObjects(suite)) await createSoon(client, object)
  const nodes = resourceOf('v1', 'Node')
  const cpus = (nominal * suite.cohorts * suite.queues * 1.5) / nodeCpus
  for (let index = 0; index < cpus; index++) {
    const { metadata } = await client.create(nodes, node(index))
    // Its admission has tainted it as not ready, until a controller that does not run here sees that it is.
    await client.patch(nodes, { name: metadata.name }, { spec: { taints: null } }, { type: 'merge' })
  }
}

/** Half as much again as all quota: it is quota that work waits for. */
const nodeCpus = 96

function node(index: number): UntypedObject {
  const allocatable = { cpu: `${nodeCpus}`, memory: '384Gi', pods: '110' }
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: `node-${index}` },
    status: { allocatable, capacity: allocatable, conditions: [{ type: 'Ready', status: 'True' }] },
  }
}

/** A CRD is served a moment after it was created. */
async function createSoon(client: Client, object: UntypedObject): Promise<void> {
  const [group = '', version = ''] = object.apiVersion.split('/')
  for (;;) {
    const resource = await client.discovery.resourceFor({ group, version, kind: object.kind })
    if (resource) {
      await client.create(resource, object)
      return
    }
    client.discovery.invalidate()
    await sleep(100)
  }
}
