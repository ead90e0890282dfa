/**
 * The manifests of `muster generate deploy`, applied: two replicas come up as the service account that the manifests make, find
 * their configuration by the Pod that they run in, host an operator and fail over. No request is refused, and no grant is
 * unused. On the embedded server in `npm test`, on a real one in `npm run test:real`.
 */
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../src/client/client.ts'
import { createThroughWebhook } from '../created-object.ts'
import { installationObjects, releaseScope, resolvedObjects } from '../../src/deploy/installation.ts'
import { plainObjects } from '../../src/deploy/kustomize.ts'
import { defaultValues, valueTable, withValue } from '../../src/deploy/values.ts'
import { builtinResource } from '../../src/kube/builtin.ts'
import { isJsonObject, type JsonObject } from '../../src/kube/json.ts'
import { kindOf, type Resource } from '../../src/kube/kind.ts'
import type { KubeObject, UntypedObject } from '../../src/kube/object.ts'
import type { Deployment } from '../../src/kube/types/apps/v1.ts'
import type { Pod } from '../../src/kube/types/core/v1.ts'
import { readYaml, writeYaml } from '../../src/kube/yaml/yaml.ts'
import { installedConfigMap, type PodPlace } from '../../src/manager/config/pod-layer.ts'
import { leaseResource } from '../../src/manager/leases/lease.ts'
import { reachCluster, reachLocal } from '../../src/manager/runtime/cluster-connection.ts'
import { findPod } from '../../src/manager/runtime/find-pod.ts'
import { type ManagerService, startManagerService } from '../../src/manager/runtime/manager-service.ts'
import { mutatingConfigurations, validatingConfigurations } from '../../src/manager/webhooks/registration.ts'
import { defineController } from '../../src/operator/controller.ts'
import { defineDependent } from '../../src/operator/dependent/dependent.ts'
import { boolean, integer } from '../../src/operator/kind/field.ts'
import { defineKind } from '../../src/operator/kind/kind.ts'
import { ConfigMap, Deployment as deployments, Pod as pods } from '../../src/kube/kinds.ts'
import { defineOperator, type Operator } from '../../src/operator/operator.ts'
import { resourceOf } from '../../src/kube/typed-resource.ts'
import { defineWebhook } from '../../src/operator/kind/webhook.ts'
import { describeInstallation } from '../installation.ts'
import { memoryMachine } from '../memory-machine.ts'
import { type Asked, grantsOf, recording, silent, tellQuarantine, usedBy } from './asked.ts'
import { createWaiters, openProcessEnvironment, type ProcessEnvironment } from './process-environment.ts'

const suffix = `i${Math.floor(performance.timeOrigin).toString(36)}`
const namespace = `install-${suffix}`
const name = `town-${suffix}`

const Gate = defineKind({
  group: `${suffix}.example.com`,
  version: 'v1',
  kind: 'Gate',
  spec: { width: integer({ default: 1 }), isLocked: boolean({ default: false }) },
})
const sign = defineDependent({
  for: Gate,
  kind: ConfigMap,
  id: 'sign',
  name: ({ cr }) => `${cr.metadata.name}-sign`,
  fromCR: ({ cr }) => ({ data: { width: String(cr.spec.width) } }),
})
const lock = defineDependent({
  for: Gate,
  kind: ConfigMap,
  id: 'lock',
  name: ({ cr }) => `${cr.metadata.name}-lock`,
  activeWhen: ({ cr }) => cr.spec.isLocked,
  fromCR: () => ({ data: { key: 'none' } }),
})
const controllers = [defineController({ for: Gate, dependents: [sign, lock] })]
const plain = defineOperator({ name: 'gates', controllers })
const guarded = defineOperator({
  name: 'gates',
  controllers,
  webhooks: [defineWebhook({ for: Gate, validate: () => undefined, mutate: () => undefined })],
})

let environment: ProcessEnvironment
let admin: Client
const { notice, until } = createWaiters()
/** ConfigMaps by name, as they are written. */
const written = new Map<string, ConfigMap>()
beforeAll(async () => {
  environment = await openProcessEnvironment(namespace, [{ ...plain, own: Gate }])
  admin = environment.client
  environment.follow((object) => {
    written.set(object.metadata.name, object)
    notice()
  })
}, 60_000)
afterAll(() => environment.close(), 60_000)

function resourceFor(object: KubeObject): Resource {
  const kind = kindOf(object)
  return builtinResource(kind) ?? resourceOf(object.apiVersion, kind.kind)
}

/** As `kubectl apply --server-side` does. */
async function apply(objects: readonly JsonObject[]): Promise<void> {
  for (const object of objects as unknown as readonly UntypedObject[]) {
    await admin.apply(resourceFor(object), object, { fieldManager: 'installer', force: true })
  }
}

async function remove(objects: readonly JsonObject[]): Promise<void> {
  for (const object of objects.toReversed() as unknown as readonly UntypedObject[]) {
    const { namespace: space, name: called } = object.metadata
    await admin.delete(resourceFor(object), { name: called!, ...(space !== undefined && { namespace: space }) })
  }
}

interface Installed {
  readonly objects: readonly JsonObject[]
  readonly asked: Asked[]
  /** Starts a replica, as the container of the Deployment would. */
  readonly start: (replica: string) => Promise<ManagerService>
}

/** Values by their paths. */
type Values = readonly (readonly [path: string, value: string | number | boolean])[]

function objectsOf(operator: Operator, config: JsonObject, values: Values = []): readonly JsonObject[] {
  const description = describeInstallation([operator], config, { name, namespace })
  const chosen = values.reduce(
    (all, [where, value]) => withValue(all, where.split('.'), value),
    withValue(defaultValues(valueTable(description)), ['crds', 'keep'], false),
  )
  return resolvedObjects(
    installationObjects(description).filter(({ group }) => group === 'manager'),
    releaseScope(chosen, { name, namespace }),
  )
}

/** Grants that only this variant has, and that were not used. The first test uses those of every installation. */
function unusedOfVariant({ objects, asked }: Pick<Installed, 'objects' | 'asked'>): readonly string[] {
  const read = (of: readonly JsonObject[]): readonly string[] => [...grantsOf(of as unknown as readonly KubeObject[])]
  const usual = new Set(read(objectsOf(plain, { operators: { gates: {} } })))
  const own = read(objects).filter((grant) => !usual.has(grant))
  expect(own).not.toEqual([])
  const used = usedBy(asked)
  return own.filter((grant) => !used.has(grant))
}

async function install(operator: Operator, config: JsonObject, values: Values = [], isOld = false): Promise<Installed> {
  const objects = objectsOf(operator, config, values)
  await apply(objects)
  const { token } = await admin.createToken({ namespace, name }, { expirationSeconds: 3600 })
  const kubeconfig = path.join(environment.folder, 'as-installed')
  const text = readYaml(await readFile(environment.kubeconfig, 'utf8'), { source: 'kubeconfig' }) as JsonObject
  const [user] = text['users'] as readonly JsonObject[]
  await writeFile(kubeconfig, writeYaml({ ...text, users: [{ ...user, user: { token } }] }))
  const asked: Asked[] = []
  return {
    objects,
    asked,
    async start(replica) {
      const variables = await environmentOf(replica)
      const pod = await podOf(variables)
      return await startManagerService({
        pod,
        from: { configMap: installedConfigMap(pod)! },
        environment: { ...variables, MUSTER__health__port: '0', MUSTER__metrics__port: '0' },
        declared: () => Promise.resolve([operator]),
        load: () => Promise.resolve({ operator }),
        connect: (connection, reach) =>
          reachLocal(
            { ...connection, kubeconfig },
            { ...reach, around: (transport, server) => recording(reach.around!(transport, server), asked, isOld) },
          ),
        reach: reachCluster,
        identity: replica,
        watchdog: silent,
        // In place of the Service, to which no API server here has a way.
        webhooks: { address: { url: 'https://127.0.0.1:0' }, listen: { host: '127.0.0.1', port: 0 } },
        log: (line) => {
          if (line['isLeader'] === true) leaders.push(replica)
          const shown = JSON.stringify(line)
          if (shown.includes('orbidden')) problems.push(shown)
          notice()
        },
      })
    },
  }
}
const problems: string[] = []
/** Replicas that came to lead, in turn. */
const leaders: string[] = []

/** Makes the Pod of a replica, and resolves the variables of its container as a kubelet does. */
async function environmentOf(replica: string): Promise<Record<string, string>> {
  const { spec } = await admin.get<Deployment & KubeObject>(deployments, { namespace, name })
  const { metadata, spec: ofPod } = spec.template
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, name: replica, namespace }, spec: ofPod! }
  const { metadata: made } = await admin.create<Pod & KubeObject>(pods, pod as unknown as Pod & KubeObject)
  const fields: Record<string, string> = {
    'metadata.name': replica,
    'metadata.namespace': namespace,
    'metadata.uid': made.uid!,
  }
  const variables: Record<string, string> = {}
  for (const { name: variable, value = '', valueFrom } of ofPod!.containers[0]!.env ?? []) {
    const given = valueFrom ? fields[valueFrom.fieldRef!.fieldPath]! : value
    variables[variable] = given.replaceAll(/\$\((\w+)\)/g, (_, other: string) => variables[other] ?? '')
  }
  return variables
}

async function podOf(variables: Record<string, string>): Promise<PodPlace> {
  const account = '/var/run/secrets/kubernetes.io/serviceaccount'
  const files = { [`${account}/token`]: 'token', [`${account}/namespace`]: namespace }
  const env = { ...variables, KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' }
  return (await findPod({ machine: memoryMachine({ env, files }) }))!
}

async function createGate(called: string, spec: JsonObject = {}): Promise<void> {
  const cr = { apiVersion: `${Gate.group}/v1`, kind: 'Gate', metadata: { name: called, namespace }, spec }
  await createThroughWebhook(admin, Gate, cr)
}

const leading = (replica: string): Promise<void> =>
  until(
    () => leaders.at(-1) === replica,
    () => `${replica} leads`,
  )

const isWritten = (called: string, data: JsonObject): boolean =>
  Object.entries(data).every(([key, value]) => written.get(called)?.data?.[key] === value)

/** Creates, changes, corrects, prunes and restores dependents: everything that the operator declares. */
async function exercise(called: string): Promise<void> {
  const [ofSign, ofLock] = [`${called}-sign`, `${called}-lock`]
  await createGate(called, { isLocked: true })
  await until(
    () => isWritten(ofSign, { width: '1' }) && isWritten(ofLock, { key: 'none' }),
    () => `${called} is made`,
  )
  const gate = { namespace, name: called }
  await admin.patch(Gate, gate, { spec: { width: 2, isLocked: false } }, { type: 'merge' })
  await until(
    () => isWritten(ofSign, { width: '2' }),
    () => `${called} is changed`,
  )
  // A dependent that vanishes again and again: the CR is read before it is made once more.
  for (let times = 0; times < 3; times++) {
    const before = written.get(ofSign)?.metadata.uid
    await admin.delete(ConfigMap, { namespace, name: ofSign })
    await until(
      () => written.get(ofSign)?.metadata.uid !== before,
      () => `${ofSign} is restored`,
    )
  }
}

/** The second replica looks often whether it may lead. */
const quickly = { operators: { gates: {} }, leaderElection: { retryPeriod: '250ms' } }

describe('an installation', { timeout: 60_000 }, () => {
  it('starts as its service account, hosts an operator and fails over: no request is forbidden, each grant is used', async () => {
    leaders.length = 0
    const { objects, asked, start } = await install(plain, quickly, [], true)
    const one = await start('one')
    await leading('one')
    const two = await start('two')
    await one.runtime.settled()
    await exercise('north')
    expect(two.runtime.isLeader).toBe(false)
    await tellQuarantine(one.runtime.clusters.local.client, { namespace, name: `${name}-quarantine` })
    await one.stop()
    await leading('two')
    await exercise('south')
    await two.stop()
    // Records that were deleted by hand are made again.
    await admin.delete(leaseResource, { namespace, name })
    await admin.delete(ConfigMap, { namespace, name: `${name}-quarantine` })
    const three = await start('three')
    await leading('three')
    await tellQuarantine(three.runtime.clusters.local.client, { namespace, name: `${name}-quarantine` })
    await three.stop()

    expect(problems).toEqual([])
    expect(asked.filter(({ isRefused }) => isRefused)).toEqual([])
    const used = usedBy(asked)
    const unused = grantsOf(objects as unknown as readonly KubeObject[]).filter((grant) => !used.has(grant))
    // No request: API servers ask for this permission when an owner reference blocks the deletion of its owner.
    expect(unused).toEqual([`update gates/finalizers.${Gate.group} /*`])
    await remove(objects)
  })

  it('shards, with a Lease for each replica that is deleted with its Pod', async () => {
    leaders.length = 0
    const { objects, asked, start } = await install(plain, { operators: { gates: {} } }, [['sharding', true]])
    const replicas = await Promise.all([start('first'), start('second')])
    const ofReplicas = { namespace, labelSelector: `muster.dev/shards=${name}` }
    let { items } = await admin.list(leaseResource, ofReplicas)
    while (items.length < 2) ({ items } = await admin.list(leaseResource, ofReplicas))
    expect(items.map(({ metadata }) => metadata.ownerReferences?.map((owner) => owner.name))).toEqual([
      ['first'],
      ['second'],
    ])
    await createGate('east')
    await until(
      () => isWritten('east-sign', { width: '1' }),
      () => 'east is made',
    )
    await Promise.all(replicas.map((replica) => replica.stop()))
    expect(problems).toEqual([])
    expect(asked.filter(({ isRefused }) => isRefused)).toEqual([])
    expect(unusedOfVariant({ objects, asked })).toEqual([])
    await remove(objects)
  })

  it.each(['impersonation', 'token'] as const)('writes as an account of the operator, by %s', async (by) => {
    const identity = { serviceAccount: `${namespace}/gates`, by }
    leaders.length = 0
    const { objects, asked, start } = await install(plain, { operators: { gates: { identity } } })
    const one = await start(by)
    await leading(by)
    await exercise(`west-${by}`)
    await one.stop()
    expect(problems).toEqual([])
    expect(asked.filter(({ isRefused }) => isRefused)).toEqual([])
    expect(unusedOfVariant({ objects, asked })).toEqual([])
    await remove(objects)
  })

  it('registers webhooks in objects that go with it', async () => {
    leaders.length = 0
    const { objects, asked, start } = await install(guarded, { operators: { gates: {} } })
    const one = await start('guard')
    await leading('guard')
    await createGate('guarded')
    await until(
      () => isWritten('guarded-sign', { width: '1' }),
      () => 'guarded is made',
    )
    for (const kind of [validatingConfigurations, mutatingConfigurations]) {
      const { webhooks = [] } = await admin.get<KubeObject & { webhooks?: readonly unknown[] }>(kind, {
        name: 'muster-gates',
      })
      expect(webhooks).toHaveLength(1)
    }
    // An upgrade applies the same objects again, and leaves alone what the manager has written into them.
    await apply(objects)
    const { webhooks = [] } = await admin.get<KubeObject & { webhooks?: readonly unknown[] }>(
      validatingConfigurations,
      {
        name: 'muster-gates',
      },
    )
    expect(webhooks).toHaveLength(1)
    await one.stop()
    expect(problems).toEqual([])
    expect(asked.filter(({ isRefused }) => isRefused)).toEqual([])
    await remove(objects)
    for (const kind of [validatingConfigurations, mutatingConfigurations]) {
      await expect(admin.get(kind, { name: 'muster-gates' })).rejects.toThrow('not found')
    }
  })

  it('has manifests that an API server accepts, monitoring aside, whose kinds it does not know', async () => {
    const description = describeInstallation([plain], {}, { name, namespace })
    const objects = [...plainObjects(description, 'manager').values()].flat()
    await apply(objects)
    const kinds = objects.map((object) => object['kind'])
    expect(kinds).toContain('Deployment')
    const live = await admin.get<Deployment & KubeObject>(deployments, { namespace, name })
    const container = live.spec.template.spec!.containers[0]!
    expect(isJsonObject(container.securityContext)).toBe(true)
    await remove(objects.filter(({ kind }) => kind !== 'Namespace'))
  })
})
