/**
 * A test control plane: an embedded API server on loopback, in this process, for tests of any client. What envtest is to a Go
 * project, without a process to start and without files.
 *
 *     const plane = await startTestControlPlane({ objects: [crd] })
 *     config.loadFromString(plane.kubeconfig)      // @kubernetes/client-node, or any other client
 *     await plane.stop()
 *
 * It takes the time of the machine, because clients do. A test of an operator of this kit needs none of it: a test environment has
 * no socket, and a clock of its own.
 */
import { type ApiServer, createApiServer } from '../../apiserver/server/api-server.ts'
import { kubeconfigText } from '../../apiserver/http/kubeconfig.ts'
import { loopbackAuthority, startListener } from '../../apiserver/http/listener.ts'
import { simulatedNodes, simulatedWorkloads } from '../../apiserver/simulated/simulation.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import { kubeErrors } from '../../kube/errors.ts'
import { kindOf } from '../../kube/kind.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { UntypedObject } from '../../kube/object.ts'

export interface TestControlPlaneOptions {
  /** A port on 127.0.0.1; 0 selects a free one. @default 0 */
  readonly port?: number
  /** Objects to create at the start: CRDs first, then the others in this order. @default none */
  readonly objects?: readonly UntypedObject[]
  /**
   * Whether the controllers of kube-controller-manager run: garbage collection, deletion of namespaces, quotas. Without them it is
   * what envtest starts. @default true
   */
  readonly controllerManager?: boolean
  /** Number of simulated nodes, on which Pods of workloads run. @default 0, Pods stay pending */
  readonly nodes?: number
}

/** A user of the control plane. */
export interface TestUser {
  readonly name: string
  /** @default none; `system:masters` may do everything */
  readonly groups?: readonly string[]
}

export interface TestControlPlane {
  /** `https://127.0.0.1:36123`. */
  readonly url: string
  /** The certificate authority that clients must trust, in PEM. */
  readonly ca: string
  /** The kubeconfig of an administrator. */
  readonly kubeconfig: string
  /** The kubeconfig of another user, who may do what RBAC says. */
  kubeconfigOf(user: TestUser): string
  /** The server itself, for clients in this process. */
  readonly server: ApiServer
  /** Ends watches and closes all connections. */
  stop(): Promise<void>
}

export async function startTestControlPlane(options: TestControlPlaneOptions = {}): Promise<TestControlPlane> {
  const { port, objects = [], controllerManager = true, nodes = 0 } = options
  const authority = loopbackAuthority(systemClock)
  const server = createApiServer({
    clock: systemClock,
    controllerManager,
    serviceAccounts: controllerManager,
    rootCa: authority.cert,
    workloads: nodes > 0 ? simulatedWorkloads({ nodes: simulatedNodes(nodes) }) : undefined,
  })
  await createAll(server, objects)
  const listener = await startListener(server, { clock: systemClock, port, authority })
  const kubeconfigOf: TestControlPlane['kubeconfigOf'] = ({ name, groups }) =>
    kubeconfigText(listener, { certificate: listener.clientCertificate({ commonName: name, organizations: groups }) })
  return {
    url: listener.url,
    ca: listener.ca,
    kubeconfig: kubeconfigOf({ name: 'admin', groups: ['system:masters'] }),
    kubeconfigOf,
    server,
    stop: () => listener.close(),
  }
}

async function createAll(server: ApiServer, objects: readonly UntypedObject[]): Promise<void> {
  if (objects.length === 0) return
  const client = createClient({ transport: inProcessTransport(server), clock: systemClock })
  const isDefinition = ({ kind }: UntypedObject): boolean => kind === 'CustomResourceDefinition'
  const inOrder = [...objects.filter(isDefinition), ...objects.filter((object) => !isDefinition(object))]
  for (const object of inOrder) {
    const { apiVersion, kind } = object
    const resource = await client.discovery.resourceFor(kindOf(object))
    if (!resource) throw new MusterError(kubeErrors.InvalidObject, `${apiVersion} ${kind}: no such kind is served.`)
    await client.create(resource, object)
    if (isDefinition(object)) client.discovery.invalidate()
  }
  await client.close()
}
