/**
 * A live program whose user-workload cluster differs from the manager's cluster: two embedded servers on loopback, and
 * the path from `muster.yaml` to what the program can reach.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import start from '../../src/cli/cluster/start.ts'
import type { Client } from '../../src/client/client.ts'
import { connect } from '../../src/client/connect.ts'
import { systemClock as clock } from '../../src/clock/system-clock.ts'
import { programLoader } from '../../src/contract/external/load-program.ts'
import { programSandboxProblem } from '../../src/contract/external/program.ts'
import { readConfiguration } from '../../src/manager/config/configuration.ts'
import { describeFinding, type Finding } from '../../src/manager/findings/finding.ts'
import { createLoader } from '../../src/manager/loading/loader.ts'
import { reachCluster, reachLocal } from '../../src/manager/runtime/cluster-connection.ts'
import { startRuntime } from '../../src/manager/runtime/runtime.ts'
import { ConfigMap } from '../../src/kube/kinds.ts'
import { resourceOf, type TypedResource } from '../../src/kube/typed-resource.ts'

const program = fileURLToPath(new URL('../contract/live-operator.mjs', import.meta.url))
const Namespace: TypedResource = resourceOf('v1', 'Namespace')
const ServiceAccount: TypedResource = resourceOf('v1', 'ServiceAccount')
const RoleBinding: TypedResource = resourceOf('rbac.authorization.k8s.io/v1', 'RoleBinding')
const live = { name: 'live', namespace: 'apps' }

interface Cluster {
  readonly client: Client
  readonly kubeconfig: string
  /** `127.0.0.1:34567` */
  readonly address: string
}

async function cluster(folder: string, name: string): Promise<Cluster> {
  const kubeconfig = path.join(folder, `${name}.kubeconfig`)
  const stop = new AbortController()
  const ready = Promise.withResolvers<void>()
  const invocation = { positionals: [], out: () => ready.resolve(), err: () => undefined, signal: stop.signal }
  const end = start.run({ ...invocation, flags: { 'kubeconfig-out': kubeconfig, nodes: '0' } })
  await ready.promise
  const client = await connect({ kubeconfig })
  onTestFinished(async () => {
    await client.close()
    stop.abort()
    await end
  })
  const [, address = ''] = /server: .*?([\d.]+:\d+)/.exec(await readFile(kubeconfig, 'utf8')) ?? []
  await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'apps' } })
  return { client, kubeconfig, address }
}

/** A listed server outside. */
async function outside(): Promise<string> {
  const server = createServer((_, response) => response.end('hello'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `127.0.0.1:${(server.address() as { readonly port: number }).port}`
}

/** Without the sandbox there is no proxy: a live program is then rejected, as other tests show. */
const isCut = (await programSandboxProblem(clock)) === undefined

describe('a live program beside a management cluster', () => {
  it.runIf(isCut)('reaches the user-workload cluster and the listed origins, and nothing else', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'muster-clusters-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const management = await cluster(folder, 'management')
    const workload = await cluster(folder, 'workload')
    const listed = await outside()
    // Its account exists in that cluster only.
    await workload.client.create(ServiceAccount, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: live })
    await workload.client.create(RoleBinding, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: live,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', ...live }],
    })
    const env = { NAMESPACE: 'apps', MANAGEMENT: management.address, OUTSIDE: listed, NO_PROXY: '*' }
    const value = {
      clientConnection: { kubeconfig: management.kubeconfig },
      clusters: { workload: { kubeconfig: workload.kubeconfig } },
      placement: { userWorkload: 'workload' },
      operators: {
        live: {
          program: { command: process.execPath, args: [program], env, live: true },
          identity: { serviceAccount: 'apps/live' },
          outside: [`http://${listed}`],
        },
      },
    }
    const { settings } = readConfiguration([{ source: 'muster.yaml', value }])
    const hidden = [management.kubeconfig, workload.kubeconfig]
    const loader = createLoader({ folder, programs: programLoader({ hidden }) })
    const local = await reachLocal(settings.clientConnection, { clock })
    const findings: Finding[] = []
    let kubeconfig: (() => Promise<string>) | undefined
    const runtime = startRuntime({
      settings,
      identity: 'one',
      local,
      reach: (name, to, home) => reachCluster(name, to, home, { clock }),
      async load(name, section) {
        const loaded = await loader.load(name, section)
        const { host } = loaded
        return {
          ...loaded,
          host(options) {
            ;({ kubeconfig } = options)
            return host!(options)
          },
        }
      },
      onFinding: (finding) => void findings.push(finding),
    })
    onTestFinished(async () => {
      await runtime.stop()
      await loader.close()
      await local.client.close()
    })
    await runtime.settled()

    expect(await written(workload.client)).toEqual({
      as: 'system:serviceaccount:apps:live',
      cluster: '200',
      servers: `https://${workload.address}`,
      // Neither through the proxy nor directly.
      management: '403, ECONNREFUSED',
      elsewhere: '403',
      outside: '200 hello, ECONNREFUSED',
      unproxied: '["",""]',
    })
    expect(findings.map((finding) => [finding.kind, describeFinding(finding)])).toEqual([
      ['refusedEgress', expect.stringContaining('live tried to reach elsewhere.example.com:443')],
      ['refusedEgress', expect.stringContaining(`live tried to reach ${management.address}`)],
    ])
    // Its workload objects are not in the other cluster, and its token is invalid there.
    await expect(management.client.get(ConfigMap, live)).rejects.toThrow(/not found/)
    const own = await kubeconfig!()
    expect(own).not.toContain(management.address)
    const stolen = path.join(folder, 'stolen.kubeconfig')
    await expect(attempt(own, workload, stolen)).resolves.toMatchObject({ metadata: live })
    await expect(attempt(own, management, stolen)).rejects.toThrow(/Unauthorized|401/)
  })
})

/** The object that it wrote there, as soon as it exists. */
async function written(client: Client): Promise<unknown> {
  const stop = new AbortController()
  const { items, metadata } = await client.list(ConfigMap, { namespace: live.namespace })
  const there = items.find(({ metadata: { name } }) => name === live.name)
  if (there) return there.data
  const { resourceVersion } = metadata
  const watched = { namespace: live.namespace, resourceVersion, signal: stop.signal }
  for await (const { type, object } of client.watch(ConfigMap, watched)) {
    if (type !== 'ADDED' || object.metadata.name !== live.name) continue
    return object.data
  }
  return undefined
}

/** Uses the token of a kubeconfig on a cluster. */
async function attempt(kubeconfig: string, to: Cluster, file: string): Promise<unknown> {
  const { users } = JSON.parse(kubeconfig) as {
    readonly users: readonly { readonly user: { readonly token: string } }[]
  }
  const text = await readFile(to.kubeconfig, 'utf8')
  await writeFile(file, text.replace(/token: .*/, `token: ${users[0]!.user.token}`), { mode: 0o600 })
  const client = await connect({ kubeconfig: file })
  try {
    return await client.get(ConfigMap, live)
  } finally {
    await client.close()
  }
}
