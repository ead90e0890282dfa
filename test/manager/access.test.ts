/**
 * A manager with the roles that `muster generate rbac` writes, and with nothing else: no request is refused, and each rule for
 * the manager is used. On the embedded server in `npm test`, on a real one in `npm run test:real`.
 */
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { managedAccess } from '../../src/cli/generate/rbac.ts'
import type { Client } from '../../src/client/client.ts'
import type { Transport } from '../../src/transport/transport.ts'
import { systemClock } from '../../src/clock/system-clock.ts'
import { builtinResource } from '../../src/kube/builtin.ts'
import type { JsonObject } from '../../src/kube/json.ts'
import { kindOf } from '../../src/kube/kind.ts'
import type { KubeObject, UntypedObject } from '../../src/kube/object.ts'
import type { PolicyRule } from '../../src/kube/types/rbac/v1.ts'
import { readYaml, writeYaml } from '../../src/kube/yaml.ts'
import { readConfiguration } from '../../src/manager/config/configuration.ts'
import { reachCluster, reachLocal } from '../../src/manager/runtime/cluster-connection.ts'
import { startManagerService } from '../../src/manager/runtime/manager-service.ts'
import { createThreadWatch } from '../../src/manager/threads/thread-watch.ts'
import { createMarkBoard } from '../../src/manager/threads/mark-board.ts'
import { addEntries, type QuarantineEntry, entryKey } from '../../src/manager/watchdog/quarantine-record.ts'
import { createQuarantine } from '../../src/manager/watchdog/quarantine.ts'
import type { Watchdog } from '../../src/manager/watchdog/watchdog.ts'
import { mutatingConfigurations, validatingConfigurations } from '../../src/manager/webhooks/registration.ts'
import { defineConversion } from '../../src/operator/conversion.ts'
import { defineController } from '../../src/operator/controller.ts'
import { integer } from '../../src/operator/field.ts'
import { defineKind } from '../../src/operator/kind.ts'
import { ConfigMap, Secret } from '../../src/operator/kinds.ts'
import { defineOperator, type Operator } from '../../src/operator/operator.ts'
import { defineDependent } from '../../src/operator/dependent.ts'
import { defineWebhook, type Webhook } from '../../src/operator/webhook.ts'
import { type Ground, openGround } from './ground.ts'

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
const controller = defineController({ for: Gate, resources: [config] })
const conversion = defineConversion(Gate, small, {
  toStored: ({ spec }) => ({ spec: { width: spec.size ?? 1 } }),
  fromStored: ({ spec }) => ({ spec: { size: spec.width ?? 1 } }),
})
const validate: NonNullable<Webhook['validate']> = () => undefined
const mutate: NonNullable<Webhook['mutate']> = () => undefined

/** The versions that follow one another: of what one registered, the next takes away what it does not serve. */
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

interface Asked {
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly namespace: string
  readonly name: string
  readonly isRefused: boolean
}

let ground: Ground
let admin: Client

beforeAll(async () => {
  ground = await openGround(namespace, [{ ...plain, own: Gate }])
  admin = ground.client
}, 60_000)
afterAll(() => ground.close(), 60_000)

/** Those who stay registered when nobody answers refuse everything. */
async function unregister(): Promise<void> {
  for (const resource of [validatingConfigurations, mutatingConfigurations])
    await admin.delete(resource, { name: `muster-${name}` }).catch(() => undefined)
}

async function apply(object: KubeObject): Promise<void> {
  const resource = builtinResource(kindOf(object))!
  await admin.apply(resource, object as UntypedObject, { fieldManager: 'test', force: true })
}

/** As RBAC sees a request; undefined for what is no resource. */
function askedBy(method: string, target: string, status: number): Omit<Asked, 'isRefused'> | undefined {
  const [where = '', query] = target.split('?')
  const isWatch = new URLSearchParams(query).get('watch') === 'true'
  const [, root, ...rest] = where.split('/')
  const group = root === 'apis' ? (rest.shift() ?? '') : ''
  rest.shift()
  const isIn = rest[0] === 'namespaces' && rest.length > 2
  const [space = '', plural, called = '', below] = isIn ? rest.slice(1) : ['', ...rest]
  if (plural === undefined || (root !== 'api' && root !== 'apis')) return undefined
  const fields = new URLSearchParams(query).get('fieldSelector') ?? ''
  const [, selected = ''] = /^metadata\.name=([^,]+)$/.exec(fields) ?? []
  const reading = isWatch ? 'watch' : called === '' ? 'list' : 'get'
  const patching = status === 201 ? 'create' : 'patch'
  const verbs: Readonly<Record<string, string>> = { GET: reading, POST: 'create', PUT: 'update', PATCH: patching }
  const resource = below === undefined ? plural : `${plural}/${below}`
  return { verb: verbs[method] ?? 'delete', group, resource, namespace: space, name: called || selected }
}

function recording(transport: Transport, asked: Asked[], isOld: boolean): Transport {
  return {
    ...transport,
    async send(sent) {
      // Of a server that cannot begin a watch with a list, lists are asked for.
      const request = isOld ? { ...sent, path: sent.path.replace('sendInitialEvents=true', '') } : sent
      const response = await transport.send(request)
      const what = askedBy(request.method, request.path, response.status)
      const isRefused = response.status === 401 || response.status === 403
      if (what) asked.push({ ...what, isRefused })
      // An apply that creates is a patch, too.
      if (what?.verb === 'create' && request.method === 'PATCH') asked.push({ ...what, verb: 'patch', isRefused })
      const as = Object.entries(request.headers ?? {}).find(([key]) => key.toLowerCase() === 'impersonate-user')?.[1]
      if (typeof as === 'string') {
        const [, , space = '', account = ''] = as.split(':')
        const verb = 'impersonate'
        asked.push({ verb, group: '', resource: 'serviceaccounts', namespace: space, name: account, isRefused })
      }
      return response
    },
  }
}

/** The grants of the roles of the manager, one by one. */
function grantsIn(objects: readonly KubeObject[]): readonly string[] {
  return objects
    .filter(({ kind, metadata }) => /^(?:Cluster)?Role$/.test(kind) && metadata.name === `${name}-manager`)
    .flatMap((role) =>
      (role as KubeObject & { readonly rules: readonly PolicyRule[] }).rules.flatMap(
        ({ apiGroups = [], resources = [], resourceNames = ['*'], verbs }) =>
          resources.flatMap((resource) =>
            verbs.flatMap((verb) =>
              resourceNames.map((one) => `${verb} ${resource}.${apiGroups[0]} ${role.metadata.namespace ?? ''}/${one}`),
            ),
          ),
      ),
    )
}

function usedBy(asked: readonly Asked[]): ReadonlySet<string> {
  return new Set(
    asked.flatMap(({ verb, group, resource, namespace: space, name: one }) =>
      [one, '*'].map((called) => `${verb} ${resource}.${group} ${space}/${called}`),
    ),
  )
}

/** In the thread of the tests there is no watchdog: what it does with the cluster is done here. */
const silent: Watchdog = {
  board: createMarkBoard(),
  thread: createThreadWatch({ clock: systemClock, onHeld: () => undefined }),
  limit: () => undefined,
  tell: () => undefined,
  close: () => Promise.resolve(),
}

async function tellQuarantine(client: Client): Promise<void> {
  const entry: QuarantineEntry = {
    operator: 'mad',
    controller: 'mad',
    key: 'a/b',
    step: 'CRChecker',
    heldSeconds: 10,
    at: '2026-01-01T00:00:00Z',
    replica: 'one',
    line: '',
    or: [],
  }
  for (const version of ['1', '2']) {
    await addEntries(client, quarantine, new Map([[entryKey('mad', version), entry]]), { timeoutMs: 10_000 })
  }
  const { or: _, at, ...rest } = entry
  const configMap = `${namespace}/${quarantine.name}`
  const finding = { ...rest, kind: 'quarantined', since: at, record: configMap, at: 0 } as const
  for (let restart = 0; restart < 2; restart++) {
    const one = createQuarantine({
      client,
      clock: systemClock,
      configMap,
      moduleOf: () => Promise.resolve(undefined),
      isChosen: () => false,
      tell: () => undefined,
      log: () => undefined,
    })
    await one.read({}, AbortSignal.timeout(10_000))
    await one.announce(finding)
    await one.announce(finding)
  }
}

interface Life {
  readonly refused: readonly Asked[]
  readonly asked: readonly Asked[]
  readonly granted: readonly string[]
}

/** A life of a manager with the roles that follow from the operator and its settings: it takes a CR to its child. */
async function live(operator: Operator, value: JsonObject, configMap?: string, isOld = false): Promise<Life> {
  const { settings } = readConfiguration([{ source: 'test', value }], [operator])
  const access = managedAccess(operator, { settings, name, account: namespace, configMap })
  for (const object of access) await apply(object)
  const { token } = await admin.createToken({ namespace, name }, { expirationSeconds: 3600 })
  const kubeconfig = path.join(ground.folder, 'as-account')
  const text = readYaml(await readFile(ground.kubeconfig, 'utf8'), { source: 'kubeconfig' }) as JsonObject
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
    const made = `one-${Object.keys(value).length}-${asked.length}`
    const child = { namespace, name: `${made}-made` }
    const seen = ground.client.watch(ConfigMap, { namespace, fieldSelector: `metadata.name=${child.name}` })
    // A server may ask a webhook that it heard of a moment before it trusts its certificate.
    const cr = { apiVersion: `${Gate.group}/v1`, kind: 'Gate', metadata: { name: made, namespace }, spec: {} }
    for (let isMade = false; !isMade;) {
      isMade = await admin.create(Gate, cr).then(
        () => true,
        () => false,
      )
    }
    for await (const { type } of seen) if (type === 'ADDED') break
    await tellQuarantine(service.runtime.clusters.local.client)
  } finally {
    await service.stop()
  }
  expect(lines.filter(({ problem }) => JSON.stringify(problem ?? '').includes('orbidden'))).toEqual([])
  return { asked, refused: asked.filter(({ isRefused }) => isRefused), granted: grantsIn(access) }
}

describe('a manager with the roles that are generated', { timeout: 60_000 }, () => {
  it('leads, and registers webhooks of every kind: nothing is refused, and each rule is used', async () => {
    const granted = new Set<string>()
    const asked: Asked[] = []
    const configMap = `${namespace}/${name}-configuration`
    for (const [version, operator] of Object.entries(versions)) {
      const life = await live(operator, elected, configMap, version === 'everything')
      expect(life.refused).toEqual([])
      for (const grant of life.granted) granted.add(grant)
      asked.push(...life.asked)
      // One that was made ready, with nothing in it: it is patched, and the registrations with it.
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

  it('shares the operators with other replicas', async () => {
    await admin.delete(ConfigMap, quarantine).catch(() => undefined)
    const { refused, asked, granted } = await live(plain, sharded)
    expect(refused).toEqual([])
    const used = usedBy(asked)
    // The Events of the quarantine are the same as before, and are counted on.
    expect(granted.filter((grant) => !used.has(grant))).toEqual([])
  })

  it.each(['impersonation', 'token'] as const)('writes as the operator’s own account, by %s', async (by) => {
    const identity = { serviceAccount: `${namespace}/${name}-${by}`, by }
    await admin.delete(ConfigMap, quarantine).catch(() => undefined)
    const { refused, asked, granted } = await live(plain, { ...elected, operators: { [name]: { identity } } })
    expect(refused).toEqual([])
    const used = usedBy(asked)
    const left = granted.filter((grant) => !used.has(grant))
    // The Lease is there from before.
    expect(left).toEqual([`create leases.coordination.k8s.io ${namespace}/*`])
  })
})
