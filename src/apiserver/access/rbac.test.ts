import { describe, expect, it } from 'vitest'
import type { UntypedObject } from '../../kube/object.ts'
import { createStorage, type Storage } from '../storage/storage.ts'
import type { Attributes, Identity } from './identity.ts'
import { createRbac, rbacTables } from './rbac.ts'

const apiVersion = 'rbac.authorization.k8s.io/v1'
const alice: Identity = { username: 'alice', groups: ['developers'], extra: new Map() }
const listPods = { verb: 'list', group: '', version: 'v1', resource: 'pods', namespace: 'here' } satisfies Attributes

function putRole(storage: Storage): void {
  const rules = [{ verbs: ['list'], apiGroups: [''], resources: ['pods'] }]
  storage.put(rbacTables.clusterRoles, {
    kind: 'ClusterRole',
    apiVersion,
    metadata: { name: 'reader', uid: 'r' },
    rules,
  })
}

function binding(name: string, subjects: readonly object[], namespace?: string): UntypedObject {
  const metadata = { name, uid: name, ...(namespace !== undefined && { namespace }) }
  const kind = namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding'
  return { kind, apiVersion, metadata, roleRef: { kind: 'ClusterRole', name: 'reader' }, subjects }
}

describe('RBAC', () => {
  it('follows created, changed and deleted bindings, also those from before the first decision', () => {
    const storage = createStorage()
    const rbac = createRbac(storage)
    putRole(storage)
    storage.put(rbacTables.clusterRoleBindings, binding('a', [{ kind: 'Group', name: 'developers' }]))
    expect(rbac.decide(alice, listPods).allowed).toBe(true)
    storage.put(rbacTables.clusterRoleBindings, binding('a', [{ kind: 'Group', name: 'others' }]))
    expect(rbac.decide(alice, listPods).allowed).toBe(false)
    storage.put(rbacTables.roleBindings, binding('b', [{ kind: 'User', name: 'alice' }], 'here'))
    expect(rbac.decide(alice, listPods)).toEqual({
      allowed: true,
      reason: 'RBAC: allowed by RoleBinding "b/here" of ClusterRole "reader" to User "alice"',
    })
    expect(rbac.decide(alice, { ...listPods, namespace: 'there' }).allowed).toBe(false)
    expect(rbac.decide(alice, { ...listPods, namespace: undefined }).allowed).toBe(false)
    storage.remove(rbacTables.roleBindings, binding('b', [{ kind: 'User', name: 'alice' }], 'here'))
    expect(rbac.decide(alice, listPods).allowed).toBe(false)
  })

  it('grants nothing by a binding that was reverted', () => {
    const storage = createStorage()
    const rbac = createRbac(storage)
    putRole(storage)
    expect(rbac.decide(alice, listPods).allowed).toBe(false)
    const subjects = [{ kind: 'User', name: 'alice' }]
    const object = storage.put(rbacTables.clusterRoleBindings, binding('a', subjects))
    expect(rbac.decide(alice, listPods).allowed).toBe(true)
    const change = { type: 'ADDED', revision: storage.revision, object, previous: undefined } as const
    storage.undo([{ table: rbacTables.clusterRoleBindings, change }])
    expect(rbac.decide(alice, listPods).allowed).toBe(false)
  })

  it('handles names with a special meaning in JavaScript', () => {
    const storage = createStorage()
    const rbac = createRbac(storage)
    putRole(storage)
    storage.put(rbacTables.clusterRoleBindings, binding('__proto__', [{ kind: 'User', name: 'constructor' }]))
    expect(rbac.decide({ ...alice, username: '__proto__' }, listPods).allowed).toBe(false)
    expect(rbac.decide({ ...alice, username: 'constructor' }, listPods).allowed).toBe(true)
  })

  it('distinguishes a user from a group of the same name', () => {
    const storage = createStorage()
    const rbac = createRbac(storage)
    putRole(storage)
    storage.put(rbacTables.clusterRoleBindings, binding('a', [{ kind: 'User', name: 'developers' }]))
    expect(rbac.decide(alice, listPods).allowed).toBe(false)
    expect(rbac.decide({ ...alice, groups: ['system:masters'] }, listPods)).toEqual({ allowed: true, reason: '' })
  })
})
