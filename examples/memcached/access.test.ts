/** The role of `muster generate rbac` is sufficient and minimal. */
import { createApiServer } from '@muster-dev/muster/apiserver'
import { createSharedCache } from '@muster-dev/muster/cache'
import { type Client, createClient, inProcessTransport, type Transport } from '@muster-dev/muster/client'
import { virtualClock } from '@muster-dev/muster/testing'
import { hostOperator } from '@muster-dev/muster/manager'
import {
  ConfigMap,
  defineController,
  defineOperator,
  defineDependent,
  Deployment,
  Secret,
} from '@muster-dev/muster/operator'
import { describe, expect, it } from 'vitest'
import { attributesOf } from '../../src/apiserver/access/request-attributes.ts'
import { parseTarget } from '../../src/apiserver/access/request-target.ts'
import { simulatedWorkloads } from '../../src/apiserver/simulated/simulation.ts'
import { accessObjects } from '../../src/cli/generate/rbac.ts'
import { seededRandom } from '../../src/clock/random.ts'
import { builtinResource } from '../../src/kube/builtin.ts'
import { kindOf, type Resource } from '../../src/kube/kind.ts'
import type { KubeObject, UntypedObject } from '../../src/kube/object.ts'
import type { PolicyRule } from '../../src/kube/types/rbac/v1.ts'
import type { Operator } from '../../src/operator/operator.ts'
import { Memcached, operator } from './operator.ts'

const old = { for: Memcached, name: ({ cr }: { readonly cr: Memcached }) => `${cr.metadata.name}-old` }
const labels = { app: 'old' }
const template = { metadata: { labels }, spec: { containers: [{ name: 'old', image: 'old' }] } }

/** Dependents of an earlier version: the same three, under other names. */
const earlier = defineOperator({
  name: 'memcached',
  controllers: [
    defineController({
      for: Memcached,
      dependents: [
        defineDependent({ ...old, kind: ConfigMap }),
        defineDependent({ ...old, kind: Secret }),
        defineDependent({
          ...old,
          kind: Deployment,
          initial: { spec: { selector: { matchLabels: labels }, template } },
        }),
      ],
    }),
  ],
})

interface Life {
  /** `patch deployments`, in order. */
  readonly refused: readonly string[]
  /** The requested resources and verbs. */
  readonly asked: ReadonlySet<string>
  readonly deployment: Deployment | undefined
}

/** Runs the operator through everything that it can do, with these permissions. */
async function live(access: readonly KubeObject[], namespaces?: readonly string[]): Promise<Life> {
  const clock = virtualClock()
  const random = seededRandom(1)
  const server = createApiServer({ clock, random, workloads: simulatedWorkloads() })
  const admin = createClient({ transport: inProcessTransport(server), clock, random })
  const apply = async (object: unknown): Promise<void> => {
    const resource = builtinResource(kindOf(object as KubeObject))!
    await admin.apply(resource, object as UntypedObject, { fieldManager: 'test', force: true })
  }
  const run = async (which: Operator, client: Client, meanwhile?: () => Promise<unknown>): Promise<void> => {
    const cache = createSharedCache({ client, clock, random })
    const host = hostOperator({ operator: which, client, cache, clock, ...(namespaces && { namespaces }) })
    // Without the permission to watch it never starts, and fails when it is stopped.
    host.start().catch(() => undefined)
    await clock.advance(5000)
    await meanwhile?.()
    await clock.advance(90_000)
    const stopping = host.stop()
    await clock.advance(1000)
    await stopping
    cache.close()
  }

  const name = { name: 'a', namespace: 'default' }
  await apply(Memcached.crd())
  await clock.settle()
  for (const object of access) await apply(object)
  await apply({ apiVersion: 'v1', kind: 'Secret', metadata: { ...name, name: 'b' }, data: { password: 'eA==' } })
  await admin.create(Memcached, {
    apiVersion: 'cache.example.com/v1alpha1',
    kind: 'Memcached',
    metadata: name,
    spec: { passwordFrom: 'b' },
  })
  await run(earlier, admin)

  const refused: string[] = []
  const asked = new Set<string>()
  const { token } = await admin.createToken({ ...name, name: 'memcached' }, { expirationSeconds: 86_400 })
  const transport = as(token, inProcessTransport(server), (what, isRefused) => {
    asked.add(what)
    if (isRefused) refused.push(what)
  })
  const client = createClient({ transport, clock, random })
  await run(operator, client)
  // A new process against a server without streaming lists: the operator receives the same objects again.
  const again = createClient({ transport: withoutStreamedLists(transport), clock, random })
  await run(operator, again, async () => {
    // Without its label a dependent is not watched: the operator finds it in its way, and reads it.
    const unlabelled = { metadata: { labels: { 'app.kubernetes.io/managed-by': null } } }
    for (const kind of [ConfigMap, Secret, Deployment] as readonly Resource[])
      await admin.patch(kind, name, unlabelled, { type: 'merge' }).catch(() => undefined)
    await clock.advance(2000)
    // A dependent that vanishes twice may be garbage-collected with its CR: the operator reads the CR.
    for (let time = 0; time < 2; time++) {
      await admin.delete(ConfigMap, name).catch(() => undefined)
      await clock.advance(2000)
    }
  })
  const deployment = await admin.get(Deployment, name).catch(() => undefined)
  for (const one of [client, again, admin]) await one.close()
  return { refused, asked, deployment }
}

/** Sends every request as a service account. */
function as(token: string, transport: Transport, tell: (what: string, isRefused: boolean) => void): Transport {
  return {
    ...transport,
    async send(request) {
      const headers = { ...request.headers, authorization: `Bearer ${token}` }
      const response = await transport.send({ ...request, headers })
      const wanted = attributesOf(request.method, parseTarget(request.path)!)
      const isRefused = response.status === 401 || response.status === 403
      if ('resource' in wanted) {
        const { verb, resource, subresource } = wanted
        tell(`${verb} ${resource}${subresource ? `/${subresource}` : ''}`, isRefused)
      }
      return response
    },
  }
}

function withoutStreamedLists(transport: Transport): Transport {
  return {
    ...transport,
    send: (request) =>
      transport.send({
        ...request,
        // A server that does not know it refuses what belongs to it; this one does, when it stands alone.
        path: request.path.replace('sendInitialEvents=true', ''),
      }),
  }
}

const granted = accessObjects(operator).flatMap((object) =>
  rulesOf(object).flatMap(({ resources = [], verbs }) =>
    resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}`)),
  ),
)

function without(omitted: string): readonly KubeObject[] {
  return accessObjects(operator).map((object) => {
    const rules = rulesOf(object).flatMap(({ apiGroups = [], resources = [], verbs }) =>
      resources.flatMap((resource) => {
        const left = verbs.filter((verb) => `${verb} ${resource}` !== omitted)
        return left.length > 0 ? [{ apiGroups, resources: [resource], verbs: left }] : []
      }),
    )
    return rules.length > 0 ? Object.assign({}, object, { rules }) : object
  })
}

function rulesOf(object: KubeObject): readonly PolicyRule[] {
  return (object as { readonly rules?: readonly PolicyRule[] }).rules ?? []
}

/** Asked of the server by no request of its own: an apply that makes something new needs both verbs. */
const createdByApply = granted.filter((grant) => grant.startsWith('create ') && grant !== 'create events')
/** For servers that guard owner references (OwnerReferencesPermissionEnforcement): this one does not. */
const guarded = 'update memcacheds/finalizers'

describe('the generated role of memcached', () => {
  it('is sufficient, and each of its verbs is used', async () => {
    const { refused, asked, deployment } = await live(accessObjects(operator))
    expect(refused).toEqual([])
    expect(granted.filter((grant) => !asked.has(grant))).toEqual([...createdByApply, guarded])
    // What the last one is for.
    expect(deployment?.metadata?.ownerReferences?.[0]).toMatchObject({ kind: 'Memcached', blockOwnerDeletion: true })
  })

  it('states what is watched of the kinds that it may list', () => {
    const watched = (objects: readonly KubeObject[]): readonly unknown[] =>
      objects.flatMap(({ kind, metadata }) => {
        const text = metadata.annotations?.['muster.dev/watches']
        return text === undefined ? [] : [[kind, text.split('; ')]]
      })
    const selections = [
      'configmaps/v1 */[app.kubernetes.io/managed-by=memcached]',
      'deployments.apps/v1 */[app.kubernetes.io/managed-by=memcached]',
      'memcacheds.cache.example.com/v1alpha1',
      'pods/v1 */[app=memcached]',
      'secrets/v1 $.metadata.namespace/$.spec.passwordFrom of memcacheds.cache.example.com/v1alpha1',
      'secrets/v1 */[app.kubernetes.io/managed-by=memcached]',
    ]
    expect(watched(accessObjects(operator))).toEqual([['ClusterRole', selections]])
    expect(watched(accessObjects(operator, { namespaces: ['default'] }))).toEqual([['Role', selections]])
  })

  it('is sufficient as Roles in the served namespaces', async () => {
    const namespaces = ['default']
    expect((await live(accessObjects(operator, { namespaces }), namespaces)).refused).toEqual([])
  })

  it.each([...createdByApply, 'get configmaps', 'watch pods', 'patch memcacheds/status'])(
    'is not sufficient without %s',
    async (grant) => {
      expect((await live(without(grant))).refused).not.toEqual([])
    },
  )
})
