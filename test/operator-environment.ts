/**
 * The environment of an example operator: the embedded server in `npm test`, the real one in `npm run test:real`. A
 * test must not depend on which. Neither runs workload controllers here: tests write their status.
 *
 * The operator acts as a service account with exactly the role derived from its declaration.
 */
import { readFileSync } from 'node:fs'
import { inject } from 'vitest'
import { createApiServer } from '../src/apiserver/server/api-server.ts'
import { createSharedCache, type InformerReport } from '../src/cache/shared-cache.ts'
import type { Client } from '../src/client/client.ts'
import { createClient } from '../src/client/create-client.ts'
import { httpTransport } from '../src/client/http/http-transport.ts'
import { inProcessTransport } from '../src/client/in-process.ts'
import { connectionFromKubeconfig } from '../src/client/load-connection.ts'
import type { Transport } from '../src/transport/transport.ts'
import { systemClock } from '../src/clock/system-clock.ts'
import { isConditionTrue } from '../src/kube/meta/condition.ts'
import { clientErrors } from '../src/client/errors.ts'
import { isMusterError } from '../src/kube/muster-error.ts'
import type { ObjectMeta, UntypedObject } from '../src/kube/object.ts'
import type { CustomResourceDefinition } from '../src/kube/types/apiextensions/v1.ts'
import { hostOperator, type OperatorHostOptions } from '../src/manager/hosting/host.ts'
import type { Ledger } from '../src/operator/ledger.ts'
import type { Operator } from '../src/operator/operator.ts'
import { roleOf } from '../src/operator/role.ts'
import { type ObjectOf, resourceOf, type TypedResource } from '../src/kube/typed-resource.ts'
import type { ObjectName } from '../src/operator/view/view.ts'
import type { Access } from './real/cluster.ts'

export interface SentRequest {
  readonly method: string
  readonly path: string
  readonly status: number
}

/** A running operator in one namespace. */
export interface RunningOperator {
  /** Its requests, without the watches of its caches. */
  readonly sent: readonly SentRequest[]
  /** Its mutating requests; Events are separate. */
  writes(): readonly SentRequest[]
  readonly ledgers: readonly Ledger[]
  /** The state of its caches. */
  report(): readonly InformerReport[]
  /** Resolves when no key is waiting or running. */
  idle(): Promise<void>
  stop(): Promise<void>
}

export interface OperatorEnvironment {
  /** The client of an administrator. */
  readonly client: Client
  /** A new namespace. */
  namespace(): Promise<string>
  run(namespace: string, options?: Pick<OperatorHostOptions, 'config'>): Promise<RunningOperator>
  /** Polls until the condition holds; fails after a while with the last result. */
  until<T>(look: () => Promise<T>, holds: (seen: T) => boolean): Promise<T>
  close(): Promise<void>
}

const Namespace: TypedResource = resourceOf('v1', 'Namespace')
const Crd: TypedResource<CustomResourceDefinition> = resourceOf('apiextensions.k8s.io/v1', 'CustomResourceDefinition')
const rbac = 'rbac.authorization.k8s.io/v1'
const ClusterRole: TypedResource = resourceOf(rbac, 'ClusterRole')
const ClusterRoleBinding: TypedResource = resourceOf(rbac, 'ClusterRoleBinding')

/** Longer than any test may take: an unmet condition ends in the test's timeout. */
const patienceMs = 240_000

/** `embedded` uses the embedded server even where there is a real one. */
export async function openOperatorEnvironment(
  operator: Operator,
  on: 'embedded' | 'any' = 'any',
): Promise<OperatorEnvironment> {
  const newTransport = await transports(on)
  const client = createClient({ transport: newTransport() })
  const unique = `${operator.name}-${crypto.randomUUID().slice(0, 8)}`
  let namespaces = 0

  const until: OperatorEnvironment['until'] = async (look, holds) => {
    const deadline = performance.now() + patienceMs
    for (;;) {
      const seen = await look()
      if (holds(seen)) return seen
      if (performance.now() > deadline) throw new Error(`still not so: ${JSON.stringify(seen)}`)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  for (const kind of operator.kinds) {
    const crd = kind.crd() as unknown as UntypedObject
    await client.apply(Crd, crd, { fieldManager: 'test', force: true })
    await until(
      () => client.get<CustomResourceDefinition>(Crd, { name: crd.metadata.name! }),
      ({ status }) => isConditionTrue(status?.conditions as Parameters<typeof isConditionTrue>[0], 'Established'),
    )
  }
  const account = { kind: 'ServiceAccount', namespace: 'default', name: unique }
  const role = roleOf(operator) as unknown as UntypedObject
  await client.create(ClusterRole, { ...role, metadata: { name: unique } })
  await client.create(ClusterRoleBinding, {
    apiVersion: rbac,
    kind: 'ClusterRoleBinding',
    metadata: { name: unique },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: unique },
    subjects: [account],
  })

  return {
    client,
    until,
    async namespace() {
      const name = `${unique}-${++namespaces}`
      await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
      return name
    },
    async run(namespace, options = {}) {
      const sent: SentRequest[] = []
      const ledgers: Ledger[] = []
      const user = `system:serviceaccount:${account.namespace}:${account.name}`
      const own = createClient({ transport: counted(newTransport(), user, sent) })
      const cache = createSharedCache({ client: own })
      const host = hostOperator({
        ...options,
        operator,
        client: own,
        cache,
        namespaces: [namespace],
        onLedger: (ledger) => void ledgers.push(ledger),
      })
      await host.start()
      return {
        sent,
        ledgers,
        report: () => cache.report(),
        writes: () => sent.filter(({ method, path }) => method !== 'GET' && !/\/events(?:\/|$|\?)/.test(path)),
        idle: () => host.idle(),
        async stop() {
          await host.stop()
          cache.close()
          await own.close()
        },
      }
    },
    async close() {
      for (let index = 1; index <= namespaces; index++) {
        const name = `${unique}-${index}`
        // A real server without controllers does not empty a deleted namespace.
        for (const resource of operator.inputs) {
          await client.deleteCollection(resource, { namespace: name }).catch((error: unknown) => {
            // A suite may have deleted the kind, and its objects with it.
            if (!isMusterError(error, clientErrors.KindNotServed)) throw error
          })
        }
        await client.delete(Namespace, { name })
      }
      await client.delete(ClusterRoleBinding, { name: unique })
      await client.delete(ClusterRole, { name: unique })
      await client.close()
    },
  }
}

async function transports(on: 'embedded' | 'any'): Promise<() => Transport> {
  if (on === 'embedded' || !process.env['MUSTER_TEST_REAL']) {
    const server = createApiServer({ clock: systemClock })
    return () => inProcessTransport(server)
  }
  const file = process.env['MUSTER_REAL_ACCESS']
  // Examples are compiled without test/real/setup.ts, which declares what it provides.
  const { kubeconfig } = file
    ? (JSON.parse(readFileSync(file, 'utf8')) as Access)
    : (inject('cluster' as never) satisfies Access)
  const connection = await connectionFromKubeconfig(kubeconfig)
  return () => httpTransport(connection, { clock: systemClock })
}

/** Acts as the user, and records requests and responses. */
function counted(transport: Transport, user: string, sent: SentRequest[]): Transport {
  return {
    ...transport,
    async send(request) {
      const { method, path, headers } = request
      const answer = await transport.send({ ...request, headers: { ...headers, 'impersonate-user': user } })
      if (!/[?&]watch=/.test(path)) sent.push({ method, path, status: answer.status })
      return answer
    },
  }
}

/** The object, or undefined. */
export async function find<T extends TypedResource>(
  client: Client,
  resource: T,
  name: ObjectName,
): Promise<ObjectOf<T> | undefined> {
  try {
    return (await client.get(resource, name)) as ObjectOf<T>
  } catch (error) {
    if (isMusterError(error, clientErrors.NotFound)) return undefined
    throw error
  }
}

/** The work of the missing controller: a Deployment whose pods are all ready. */
export async function markDeploymentReady(client: Client, resource: TypedResource, name: ObjectName): Promise<void> {
  const { metadata, spec } = await client.get<Rolled>(resource as TypedResource<Rolled>, name)
  const { replicas, template } = spec
  const status = {
    observedGeneration: metadata.generation!,
    replicas,
    updatedReplicas: replicas,
    readyReplicas: replicas,
    availableReplicas: replicas,
    conditions: [
      { type: 'Available', status: 'True', reason: 'MinimumReplicasAvailable', message: 'Played.' },
      { type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable', message: 'Played.' },
    ],
  }
  await client.patch(resource, name, { status }, { type: 'merge', subresource: 'status' })
  const Pod: TypedResource = resourceOf('v1', 'Pod')
  const podName = (index: number): ObjectName => ({ namespace: name.namespace, name: `${name.name}-${index}` })
  for (let index = 0; index < replicas; index++) {
    if (await find(client, Pod, podName(index))) continue
    const labels = template.metadata.labels
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { ...podName(index), labels }, spec: template.spec }
    await client.create(Pod, pod as unknown as UntypedObject)
  }
  for (let index = replicas; await find(client, Pod, podName(index)); index++) {
    await client.delete(Pod, podName(index), { gracePeriodSeconds: 0 })
  }
}

interface Rolled {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
  readonly spec: {
    readonly replicas: number
    readonly template: { readonly metadata: ObjectMeta; readonly spec: object }
  }
}
