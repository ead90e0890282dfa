import { describe, expect, it } from 'vitest'
import { embedded } from '../../../test/embedded.ts'
import { createStorage } from '../storage.ts'
import { bootstrapPolicy } from './bootstrap-policy.ts'
import { rbacTables } from './rbac.ts'

describe('the policy that clusters start with', () => {
  it('is changed in one cluster, and in that one only', async () => {
    const { server } = embedded()
    const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles/view'
    const [blue, red] = [server.cluster('blue'), server.cluster('red')]
    expect((await blue.handle({ method: 'DELETE', path, headers: {} })).status).toBe(200)
    expect((await blue.handle({ method: 'GET', path, headers: {} })).status).toBe(404)
    expect((await red.handle({ method: 'GET', path, headers: {} })).status).toBe(200)
  })

  it('owns what names it as its owner, until it is removed', async () => {
    const { raw } = embedded()
    const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles/view'
    const role = (await raw('GET', path)).json as { readonly metadata: { readonly uid: string } }
    const owner = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      name: 'view',
      uid: role.metadata.uid,
    }
    const owned = '/api/v1/namespaces/default/configmaps'
    await raw('POST', owned, { body: { metadata: { name: 'a', ownerReferences: [owner] } } })
    expect((await raw('GET', `${owned}/a`)).status).toBe(200)
    await raw('DELETE', path)
    expect((await raw('GET', `${owned}/a`)).status).toBe(404)
  })

  it('is the same for all that start within a second, and frozen where they share it', () => {
    const policy = bootstrapPolicy(5000)
    expect(bootstrapPolicy(5999)).toBe(policy)
    expect(bootstrapPolicy(6000)).not.toBe(policy)
    for (const [table, shelf] of policy) createStorage().share(table, shelf)
    const role = policy.get(rbacTables.clusterRoles)!.objects.get('/view')!
    expect(Object.isFrozen(role) && Object.isFrozen(role.metadata.labels)).toBe(true)
  })

  it('has roles for every binding, and different uids for all', () => {
    const policy = bootstrapPolicy(0)
    const objects = [...policy.values()].flatMap((shelf) => shelf.objects.values().toArray())
    expect(new Set(objects.map(({ metadata }) => metadata.uid)).size).toBe(objects.length)
    const names = (table: string): readonly string[] =>
      [...policy.get(table)!.objects.values()].map(({ metadata }) => metadata.name)
    const roles = { ClusterRole: names(rbacTables.clusterRoles), Role: names(rbacTables.roles) }
    for (const table of [rbacTables.clusterRoleBindings, rbacTables.roleBindings]) {
      for (const binding of policy.get(table)!.objects.values()) {
        const { kind, name } = binding['roleRef'] as { readonly kind: keyof typeof roles; readonly name: string }
        expect(roles[kind]).toContain(name)
      }
    }
  })
})
