/**
 * A manager whose API server comes back elsewhere follows its kubeconfig: with another certificate authority, with another port,
 * or as another cluster. It is not restarted, goes on leading, and its caches show the objects of the server that it talks to.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { type ServerListener, startListener } from '../../src/apiserver/http/listener.ts'
import { type ApiServer, createApiServer } from '../../src/apiserver/server/api-server.ts'
import type { Client } from '../../src/client/client.ts'
import { createClient } from '../../src/client/create-client.ts'
import { inProcessTransport } from '../../src/client/in-process.ts'
import { systemClock } from '../../src/clock/system-clock.ts'
import { stringifyJson } from '../../src/kube/json.ts'
import { ConfigMap } from '../../src/kube/kinds.ts'
import { asObject } from '../../src/kube/json-object.ts'
import { resourceOf } from '../../src/kube/typed-resource.ts'
import { reachCluster, reachLocal } from '../../src/manager/runtime/cluster-connection.ts'
import { startManagerService } from '../../src/manager/runtime/manager-service.ts'
import { defineController } from '../../src/operator/controller.ts'
import { defineDependent } from '../../src/operator/dependent/dependent.ts'
import { integer } from '../../src/operator/kind/field.ts'
import { defineKind } from '../../src/operator/kind/kind.ts'
import { defineOperator } from '../../src/operator/operator.ts'
import { listen } from '../loopback.ts'
import { silent } from './asked.ts'
import { createWaiters } from './process-environment.ts'

const Ship = defineKind({
  group: 'sea.example.com',
  version: 'v1',
  kind: 'Ship',
  spec: { sails: integer({ default: 1 }) },
})
const logbook = defineDependent({
  for: Ship,
  kind: ConfigMap,
  fromCR: ({ cr }) => ({ data: { sails: String(cr.spec.sails) } }),
})
const fleet = defineOperator({
  name: 'fleet',
  controllers: [defineController({ for: Ship, dependents: [logbook] })],
})
const crds = resourceOf('apiextensions.k8s.io/v1', 'CustomResourceDefinition')

interface World {
  readonly server: ApiServer
  readonly admin: Client
}

async function createWorld(): Promise<World> {
  const server = createApiServer({ clock: systemClock })
  const admin = createClient({ transport: inProcessTransport(server), clock: systemClock })
  await admin.create(crds, asObject(Ship.crd()))
  return { server, admin }
}

async function launch(admin: Client, name: string, sails: number): Promise<void> {
  const ship = { apiVersion: 'sea.example.com/v1', kind: 'Ship', metadata: { name, namespace: 'default' } }
  await admin.create(Ship, { ...ship, spec: { sails } })
}

const { notice, until } = createWaiters()

/** Each write of a ConfigMap: `name=sails`. */
function followed({ admin }: World): readonly string[] {
  const seen: string[] = []
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  const follow = async (): Promise<void> => {
    // A listener that closes ends all watches of its server.
    while (!stop.signal.aborted) {
      for await (const { type, object } of admin.watch(ConfigMap, { namespace: 'default', signal: stop.signal })) {
        if (type !== 'ADDED' && type !== 'MODIFIED') continue
        seen.push(`${object.metadata.name}=${object.data?.['sails'] ?? ''}`)
        notice()
      }
    }
  }
  follow().catch(() => undefined)
  return seen
}

async function writeKubeconfig(file: string, listener: ServerListener, server = listener.url): Promise<void> {
  const { cert, key } = listener.clientCertificate({ commonName: 'manager', organizations: ['system:masters'] })
  const encoded = (text: string): string => Buffer.from(text).toString('base64')
  const text = stringifyJson({
    clusters: [{ name: 'c', cluster: { server, 'certificate-authority-data': encoded(listener.ca) } }],
    users: [{ name: 'u', user: { 'client-certificate-data': encoded(cert), 'client-key-data': encoded(key) } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  })
  await writeFile(file, text)
}

interface Front {
  readonly url: string
  /** Leads the connections from now on to the listener at the URL. */
  leadTo(listener: string): void
  /** Refuses connections from now on. */
  close(): void
}

/** An address that stays while the listeners behind it change: a listener could not be sure to get its port again. */
async function startFront(): Promise<Front> {
  let target = 0
  const server = createServer((socket) => {
    const behind = connect(target, '127.0.0.1')
    // Neither end outlives the other.
    socket.on('error', () => behind.destroy()).on('close', () => behind.destroy())
    behind.on('error', () => socket.destroy()).on('close', () => socket.destroy())
    socket.pipe(behind).pipe(socket)
  })
  return {
    url: `https://127.0.0.1:${await listen(server)}`,
    leadTo: (listener) => void (target = Number(new URL(listener).port)),
    close: () => void server.close(),
  }
}

it('a manager follows its kubeconfig to another certificate authority, another port and another cluster', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'muster-moved-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const kubeconfig = path.join(folder, 'kubeconfig')
  const first = await createWorld()
  const seen = followed(first)
  const front = await startFront()
  let listener = await startListener(first.server, { clock: systemClock })
  onTestFinished(() => listener.close())
  front.leadTo(listener.url)
  await writeKubeconfig(kubeconfig, listener, front.url)
  const told: string[] = []
  const manager = await startManagerService({
    environment: {
      MUSTER__health__port: '0',
      MUSTER__metrics__port: '0',
      MUSTER__clientConnection__kubeconfig: kubeconfig,
      MUSTER__leaderElection__leaderElect: 'true',
      MUSTER__leaderElection__retryPeriod: '100ms',
      MUSTER__leaderElection__renewDeadline: '10s',
      MUSTER__operators__fleet__gates__debounce: '0s',
    },
    declared: () => Promise.resolve([fleet]),
    load: () => Promise.resolve({ operator: fleet }),
    over: [{ source: 'test', value: { operators: { fleet: {} } } }],
    connect: reachLocal,
    reach: reachCluster,
    identity: 'one',
    watchdog: silent,
    log(line) {
      told.push(line.msg)
      notice()
    },
  })
  onTestFinished(() => manager.stop())
  const made = (entry: string, where: readonly string[] = seen): Promise<void> =>
    until(
      () => where.includes(entry),
      () => `${entry} is made`,
    )
  await launch(first.admin, 'anna', 1)
  await made('anna=1')

  // The same address, another certificate authority: nothing of before is valid.
  await listener.close()
  listener = await startListener(first.server, { clock: systemClock })
  front.leadTo(listener.url)
  await launch(first.admin, 'berta', 2)
  await writeKubeconfig(kubeconfig, listener, front.url)
  await made('berta=2')

  // Another address. The kubeconfig follows later: until then there is no server.
  front.close()
  await listener.close()
  listener = await startListener(first.server, { clock: systemClock })
  await launch(first.admin, 'clara', 3)
  await writeKubeconfig(kubeconfig, listener)
  await made('clara=3')
  expect(manager.runtime.isLeader).toBe(true)

  // Another cluster, whose resource versions are higher: they say nothing about those of before.
  const second = await createWorld()
  const there = followed(second)
  for (let times = 0; times < 60; times++) {
    await second.admin.apply(
      ConfigMap,
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'noise', namespace: 'default' },
        data: { times: `${times}` },
      },
      { fieldManager: 'test' },
    )
  }
  await launch(second.admin, 'dora', 4)
  await listener.close()
  listener = await startListener(second.server, { clock: systemClock })
  await writeKubeconfig(kubeconfig, listener)
  await made('dora=4', there)
  await until(
    () => {
      const [, informers = []] = manager.runtime.clusters.reports()[0] ?? []
      return informers.some(({ resource, objects }) => resource.kind === 'Ship' && objects === 1)
    },
    () => 'the cache has the ships of the other cluster alone',
  )
  // Nothing of the first cluster was written into the second.
  expect(there.filter((entry) => /anna|berta|clara/.test(entry))).toEqual([])
  expect(told.filter((line) => line === 'Connection has changed').length).toBeGreaterThanOrEqual(3)
}, 60_000)
