import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { embedded } from '../../../test/embedded.ts'
import { seededRandom } from '../../clock/random.ts'
import { virtualClock } from '../../clock/virtual-clock.ts'
import { type JsonObject, parseJson } from '../../kube/json.ts'
import { createApiServer } from '../server/api-server.ts'
import type { BootstrapObjects } from '../storage/bootstrap-objects.ts'
import { randomUuid } from '../cluster/state.ts'
import type { StoredObject } from '../storage/storage.ts'
import { bootstrapPolicy, policyFromRecord } from './bootstrap-policy.ts'
import { rbacTables } from '../access/rbac.ts'

const allOf = (policy: BootstrapObjects): readonly StoredObject[] =>
  policy.tables.flatMap((table) => policy.objectsOf(table))

const uidsOf = (policy: BootstrapObjects): readonly string[] => allOf(policy).map(({ metadata }) => metadata.uid)

describe('the bootstrap policy', () => {
  it('can be changed in one cluster without affecting others', async () => {
    const { server } = embedded()
    const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles/view'
    const [blue, red] = [server.cluster('blue'), server.cluster('red')]
    expect((await blue.handle({ method: 'DELETE', path, headers: {} })).status).toBe(200)
    expect((await blue.handle({ method: 'GET', path, headers: {} })).status).toBe(404)
    expect((await red.handle({ method: 'GET', path, headers: {} })).status).toBe(200)
  })

  it('owns its dependents until it is removed; an object recreated in its place does not', async () => {
    const { raw } = embedded()
    const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
    const role = (await raw('GET', `${roles}/view`)).json as { readonly metadata: { readonly uid: string } }
    const owner = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      name: 'view',
      uid: role.metadata.uid,
    }
    const owned = '/api/v1/namespaces/default/configmaps'
    const own = async (name: string): Promise<void> =>
      void (await raw('POST', owned, { body: { metadata: { name, ownerReferences: [owner] } } }))
    await own('a')
    expect((await raw('GET', `${owned}/a`)).status).toBe(200)
    await raw('DELETE', `${roles}/view`)
    expect((await raw('GET', `${owned}/a`)).status).toBe(404)
    await raw('POST', roles, { body: { metadata: { name: 'view' }, rules: [] } })
    await own('b')
    expect((await raw('GET', `${owned}/b`)).status).toBe(404)
  })

  it('is deterministic, also from its record', () => {
    const policy = bootstrapPolicy(5000, 'seed', 7)
    const kept = policyFromRecord(parseJson(policy.record()) as JsonObject)!
    expect(allOf(kept)).toEqual(allOf(policy))
    expect(kept.record()).toBe(policy.record())
    expect(allOf(bootstrapPolicy(6000, 'seed', 7))).not.toEqual(allOf(policy))
  })

  it('cannot be created from an unknown record', () => {
    const record = parseJson(bootstrapPolicy(0, 'seed', 2).record()) as JsonObject
    expect(policyFromRecord(record)).toBeDefined()
    for (const wrong of [
      { policy: 'v9.9.9' },
      { policy: '../rbac' },
      { policy: 1 },
      { seed: undefined },
      { first: '2' },
    ])
      expect(policyFromRecord({ ...record, ...wrong })).toBeUndefined()
  })

  it('has consecutive revisions, and the declared number of objects', () => {
    const policy = bootstrapPolicy(0, 'seed', 40)
    expect(allOf(policy).map(({ metadata }) => Number(metadata.resourceVersion))).toEqual(
      Array.from({ length: policy.size }, (_, at) => 40 + at),
    )
  })

  it('shares its rules between clusters, frozen', () => {
    const [one, other] = ['a', 'b'].map((seed) => bootstrapPolicy(0, seed, 2).objectsOf(rbacTables.clusterRoles)[0]!)
    expect(one!['rules']).toBe(other!['rules'])
    expect(one!['rules']).toSatisfy(Object.isFrozen)
    expect(one!.metadata.managedFields).toSatisfy(Object.isFrozen)
  })

  it('has roles for every binding', () => {
    const policy = bootstrapPolicy(0, 'seed', 2)
    const names = (table: string): readonly string[] => policy.objectsOf(table).map(({ metadata }) => metadata.name)
    const roles = { ClusterRole: names(rbacTables.clusterRoles), Role: names(rbacTables.roles) }
    for (const table of [rbacTables.clusterRoleBindings, rbacTables.roleBindings]) {
      for (const binding of policy.objectsOf(table)) {
        const { kind, name } = binding['roleRef'] as { readonly kind: keyof typeof roles; readonly name: string }
        expect(roles[kind]).toContain(name)
      }
    }
  })

  it('is made of files that never change once published', () => {
    const folder = new URL('bootstrap-policy/', import.meta.url)
    const digest = (name: string): string =>
      createHash('sha256')
        .update(readFileSync(new URL(name, folder)))
        .digest('hex')
    expect(Object.fromEntries(readdirSync(folder).map((name) => [name, digest(name)]))).toEqual({
      'v1.37.1.json': '9806164a15ceaa94a8298f9a7cb7196c90bd84e0ab602a76c6a08afae01a4bb6',
    })
  })
})

describe('the uids of that policy', () => {
  it('are version 4 UUIDs, unique, and lead to their objects', () => {
    const policy = bootstrapPolicy(0, 'seed', 2)
    const uids = uidsOf(policy)
    expect(new Set(uids).size).toBe(policy.size)
    for (const uid of uids) expect(uid).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
    const [role] = policy.objectsOf(rbacTables.clusterRoles)
    expect(policy.placeOf(role!.metadata.uid)).toEqual({
      table: rbacTables.clusterRoles,
      namespace: undefined,
      name: role!.metadata.name,
    })
    expect(policy.placeOf('other')).toBeUndefined()
  })

  it('differ from those of other clusters and of other objects', async () => {
    const server = createApiServer({ clock: virtualClock(), random: seededRandom(1) })
    const rbac = '/apis/rbac.authorization.k8s.io/v1'
    const urls = [
      ...['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'].map((plural) => `${rbac}/${plural}`),
      '/api/v1/namespaces',
      '/api/v1/services',
    ]
    const uids: string[] = []
    for (const cluster of ['', 'blue', 'red']) {
      for (const path of urls) {
        const { body } = await server.cluster(cluster).handle({ method: 'GET', path, headers: {} })
        const chunks: Uint8Array[] = []
        for await (const chunk of body) chunks.push(chunk)
        const { items } = parseJson(Buffer.concat(chunks).toString()) as unknown as { readonly items: StoredObject[] }
        uids.push(...items.map(({ metadata }) => metadata.uid))
      }
    }
    expect(uids.length).toBeGreaterThan(3 * 141)
    expect(new Set(uids).size).toBe(uids.length)
    const random = seededRandom(1)
    const drawn = new Set(Array.from({ length: 1000 }, () => randomUuid(random)))
    const others = uids.filter((uid) => !drawn.has(uid))
    expect(others.length).toBe(3 * 141)
  })
})
