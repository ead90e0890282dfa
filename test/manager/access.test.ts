/**
 * A manager with only the roles that `muster generate rbac` writes: no request is forbidden, and each rule of the
 * manager is used. On the embedded server in `npm test`, on a real one in `npm run test:real`.
 */
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { managedAccess } from '../../src/cli/generate/rbac.ts'
import type { Client } from '../../src/client/client.ts'
import { createThroughWebhook } from '../created-object.ts'
import { builtinResource } from '../../src/kube/builtin.ts'
import type { JsonObject } from '../../src/kube/json.ts'
import { kindOf } from '../../src/kube/kind.ts'
import type { KubeObject, UntypedObject } from '../../src/kube/object.ts'
import { readYaml, writeYaml } from '../../src/kube/yaml/yaml.ts'
import { readConfiguration } from '../../src/manager/config/configuration.ts'
import { reachCluster, reachLocal } from '../../src/manager/runtime/cluster-connection.ts'
import { startManagerService } from '../../src/manager/runtime/manager-service.ts'
import { mutatingConfigurations, validatingConfigurations } from '../../src/manager/webhooks/registration.ts'
import { defineConversion } from '../../src/operator/kind/conversion.ts'
import { defineController } from '../../src/operator/controller.ts'
import { integer } from '../../src/operator/kind/field.ts'
import { defineKind } from '../../src/operator/kind/kind.ts'
import { ConfigMap, Secret } from '../../src/kube/kinds.ts'
import { defineOperator, type Operator } from '../../src/operator/operator.ts'
import { defineDependent } from '../../src/operator/dependent/dependent.ts'
import { defineWebhook, type Webhook } from '../../src/operator/kind/webhook.ts'
import { type Asked, grantsOf, recording, silent, tellQuarantine, usedBy } from './asked.ts'
import { type ProcessEnvironment, openProcessEnvironment } from './process-environment.ts'

const suffix = `r${Math.floor(performance.timeOrigin).toString(36)}`
const namespace = `access-${suffix}`
const name = `gate-${suffix}`

const small = { version: 'v1alpha1', spec: { size: integer({ default: 1 }) } } as const
const Gate = defineKind({
  group: `gates-${suffix}.example.com`,
  version: 'v1',
  kind: 'Gate',
  spec: { width: integer({ default: 1 }) },
  otherVersions: [small],
})
const config = defineDependent({
  for: Gate,
  kind: ConfigMap,
  name: ({ cr }) => `${cr.metadata.name}-made`,
  fromCR: ({ cr }) => ({ data: { width: String(cr.spec.width) } }),
})
const controller = defineController({ for: Gate, dependents: [config] })
const conversion = defineConversion(Gate, small, {
  toStored: ({ spec }) => ({ spec: { width: spec.size ?? 1 } }),
  fromStored: ({ spec }) => ({ spec: { size: spec.width ?? 1 } }),
})
const validate: NonNullable<Webhook['validate']> = () => undefined
const mutate: NonNullable<Webhook['mutate']> = () => undefined

/** Successive versions: each removes registrations of the previous one that it does not serve. */
const versions: Readonly<Record<string, Operator>> = {
  everything: defineOperator({
    name,
    controllers: [controller],
    webhooks: [defineWebhook({ for: Gate, validate, mutate })],
    conversions: [conversion],
  }),
  'validation alone': defineOperator({
    name,
    controllers: [controller],
    webhooks: [defineWebhook({ for: Gate, validate })],
  }),
  'mutation alone': defineOperator({
    name,
    controllers: [controller],
    webhooks: [defineWebhook({ for: Gate, mutate })],
  }),
}
const plain = defineOperator({ name, controllers: [controller] })

const quarantine = { namespace, name: `${name}-quarantine` }
const secret = { namespace, name: `${name}-certificates` }
const around = {
  watchdog: { quarantine: `${namespace}/${quarantine.name}` },
  webhooks: { secret: `${namespace}/${secret.name}` },
  health: { port: 0 },
  metrics: { port: 0 },
}
const elected = { ...around, leaderElection: { leaderElect: true, resourceNamespace: namespace, resourceName: name } }
const sharded = { ...around, sharding: { enabled: true, namespace, group: name } }

let environment: ProcessEnvironment
let admin: Client

beforeAll(async () => {
  environment = await openProcessEnvironment(namespace, [{ ...plain, own: Gate }])
  admin = environment.client
}, 60_000)
afterAll(() => environment.close(), 60_000)

/** Registrations without a server reject every request. */
async function unregister(): Promise<void> {
  for (const resource of [validatingConfigurations, mutatingConfigurations])
    await admin.delete(resource, { name: `muster-${name}` }).catch(() => undefined)
}

async function apply(object: KubeObject): Promise<void> {
  const resource = builtinResource(kindOf(object))!
  await admin.apply(resource, object as UntypedObject, { fieldManager: 'test', force: true })
}

/** The grants of the roles of the manager, one by one. */
function grantsIn(objects: readonly KubeObject[]): readonly string[] {
  return grantsOf(objects.filter(({ metadata }) => metadata.name === `${name}-manager`))
}

interface Life {
  readonly refused: readonly Asked[]
  readonly asked: readonly Asked[]
  readonly granted: readonly string[]
}

let lives = 0

/** Runs a manager with the roles of the operator and its settings until a CR has its child. */
async function live(operator: Operator, value: JsonObject, configMap?: string, isOld = false): Promise<Life> {
  const { settings } = readConfiguration([{ source: 'test', value }], [operator])
  const access = managedAccess(operator, { settings, name, account: namespace, configMap })
  for (const object of access) await apply(object)
  const { token } = await admin.createToken({ namespace, name }, { expirationSeconds: 3600 })
  const kubeconfig = path.join(environment.folder, 'as-account')
  const text = readYaml(await readFile(environment.kubeconfig, 'utf8'), { source: 'kubeconfig' }) as JsonObject
  const [user] = text['users'] as readonly JsonObject[]
  await writeFile(kubeconfig, writeYaml({ ...text, users: [{ ...user, user: { token } }] }))

  const asked: Asked[] = []
  const lines: JsonObject[] = []
  const service = await startManagerService({
    ...(configMap !== undefined && { from: { configMap } }),
    over: [{ source: 'test', value }],
    declared: () => Promise.resolve([operator]),
    load: () => Promise.resolve({ operator }),
    connect: (connection, reach) =>
      reachLocal(
        { ...connection, kubeconfig },
        { ...reach, around: (transport, server) => recording(reach.around!(transport, server), asked, isOld) },
      ),
    reach: reachCluster,
    identity: 'replica',
    watchdog: silent,
    webhooks: { address: { url: 'https://127.0.0.1:0' }, listen: { host: '127.0.0.1', port: 0 } },
    log: (line) => void lines.push(line),
  })
  try {
    await service.runtime.settled()
    const made = `one-${++lives}`
    const child = { namespace, name: `${made}-made` }
    const seen = environment.client.watch(ConfigMap, { namespace, fieldSelector: `metadata.name=${child.name}` })
    const cr = { apiVersion: `${Gate.group}/v1`, kind: 'Gate', metadata: { name: made, namespace }, spec: {} }
    await createThroughWebhook(admin, Gate, cr)
    for await (const { type } of seen) if (type === 'ADDED') break
    await tellQuarantine(service.runtime.clusters.local.client, quarantine)
  } finally {
    await service.stop()
  }
  expect(lines.filter(({ error }) => JSON.stringify(error ?? '').includes('orbidden'))).toEqual([])
  return { asked, refused: asked.filter(({ isRefused }) => isRefused), granted: grantsIn(access) }
}

describe('a manager with the generated roles', { timeout: 60_000 }, () => {
  it('leads and registers webhooks of every kind: no request is forbidden, and each rule is used', async () => {
    const granted = new Set<string>()
    const asked: Asked[] = []
    const configMap = `${namespace}/${name}-configuration`
    for (const [version, operator] of Object.entries(versions)) {
      const life = await live(operator, elected, configMap, version === 'everything')
      expect(life.refused).toEqual([])
      for (const grant of life.granted) granted.add(grant)
      asked.push(...life.asked)
      // A prepared empty Secret: it is patched, and the registrations with it.
      const data = Object.fromEntries(
        Object.keys((await admin.get(Secret, secret)).data ?? {}).map((key) => [key, null]),
      )
      const isTls = { 'tls.crt': '', 'tls.key': '' }
      await admin.patch(Secret, secret, { data: { ...data, ...isTls } }, { type: 'merge', fieldManager: 'test' })
    }
    await unregister()
    const used = usedBy(asked)
    expect([...granted].filter((grant) => !used.has(grant))).toEqual([])
  })

  it('shares operators with other replicas', async () => {
    await admin.delete(ConfigMap, quarantine).catch(() => undefined)
    const { refused, asked, granted } = await live(plain, sharded)
    expect(refused).toEqual([])
    const used = usedBy(asked)
    // The Events of the quarantine are the same as before, and are counted up.
    expect(granted.filter((grant) => !used.has(grant))).toEqual([])
  })

  it.each(['impersonation', 'token'] as const)('writes as the operator’s own account, by %s', async (by) => {
    const identity = { serviceAccount: `${namespace}/${name}-${by}`, by }
    await admin.delete(ConfigMap, quarantine).catch(() => undefined)
    const { refused, asked, granted } = await live(plain, { ...elected, operators: { [name]: { identity } } })
    expect(refused).toEqual([])
    const used = usedBy(asked)
    const left = granted.filter((grant) => !used.has(grant))
    // The Lease exists from before.
    expect(left).toEqual([`create leases.coordination.k8s.io ${namespace}/*`])
  })
})
