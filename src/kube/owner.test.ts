import { describe, expect, it } from 'vitest'
import { isMusterError } from './errors.ts'
import type { KubeObject, ObjectMeta } from './object.ts'
import { controllerOf, isControlledBy, isOwnedBy, ownerReference, removeOwner, setOwner } from './owner.ts'

const object = (kind: string, metadata: ObjectMeta, apiVersion = 'apps/v1'): KubeObject => ({
  apiVersion,
  kind,
  metadata,
})

const deployment = object('Deployment', { name: 'web', namespace: 'a', uid: 'u1' })
const other = object('Deployment', { name: 'other', namespace: 'a', uid: 'u2' })
const cluster = object('Fleet', { name: 'all', uid: 'u3' }, 'example.com/v1')
const pod = object('Pod', { name: 'web-1', namespace: 'a', labels: { app: 'web' } }, 'v1')

const invalidOwner: unknown = expect.toSatisfy((error) => isMusterError(error, 'InvalidOwner'))

describe('owner references', () => {
  it('name a controller, and block its deletion', () => {
    expect(ownerReference(deployment, { controller: true })).toEqual({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      name: 'web',
      uid: 'u1',
      controller: true,
      blockOwnerDeletion: true,
    })
  })

  it('name a plain owner with nothing more', () => {
    expect(ownerReference(deployment)).toEqual({ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'u1' })
    expect(ownerReference(deployment, { blockOwnerDeletion: true })).toHaveProperty('blockOwnerDeletion', true)
    expect(ownerReference(deployment, { controller: true, blockOwnerDeletion: false })).toMatchObject({
      controller: true,
      blockOwnerDeletion: false,
    })
  })

  it('cannot name what does not exist yet, nor an Event', () => {
    expect(() => ownerReference(object('Deployment', { name: 'web' }))).toThrow(invalidOwner)
    expect(() => ownerReference(object('Event', { name: 'e', uid: 'u' }, 'v1'))).toThrow(invalidOwner)
  })
})

describe('setting an owner', () => {
  it('adds a reference and leaves the rest, and the original, alone', () => {
    const owned = setOwner(pod, deployment, { controller: true })
    expect(owned.metadata).toEqual({
      ...pod.metadata,
      ownerReferences: [ownerReference(deployment, { controller: true })],
    })
    expect(pod.metadata.ownerReferences).toBeUndefined()
  })

  it('gives back the same object when nothing changes', () => {
    const owned = setOwner(pod, deployment, { controller: true })
    expect(setOwner(owned, deployment, { controller: true })).toBe(owned)
  })

  it('refuses a second controller, but takes more owners', () => {
    const owned = setOwner(pod, deployment, { controller: true })
    expect(() => setOwner(owned, other, { controller: true })).toThrow(invalidOwner)
    expect(() => setOwner(owned, other, { controller: true })).toThrow(
      'Pod a/web-1 is controlled by Deployment web already, not by Deployment a/other.',
    )
    const both = setOwner(owned, other)
    expect(both.metadata.ownerReferences).toHaveLength(2)
    expect(controllerOf(both)?.name).toBe('web')
  })

  it('replaces the reference to an owner that was created anew, or is read in another version', () => {
    const owned = setOwner(setOwner(pod, deployment, { controller: true }), other)
    const renewed = { ...deployment, apiVersion: 'apps/v2', metadata: { ...deployment.metadata, uid: 'u9' } }
    const again = setOwner(owned, renewed, { controller: true })
    expect(again.metadata.ownerReferences?.map(({ apiVersion, uid }) => [apiVersion, uid])).toEqual([
      ['apps/v2', 'u9'],
      ['apps/v1', 'u2'],
    ])
  })

  it('lets a cluster-scoped owner own anything', () => {
    expect(isOwnedBy(setOwner(pod, cluster), cluster)).toBe(true)
    const volume = object('PersistentVolume', { name: 'v' }, 'v1')
    expect(isOwnedBy(setOwner(volume, cluster), cluster)).toBe(true)
  })

  it('refuses a namespaced owner for what lies in another namespace or in none', () => {
    expect(() => setOwner(object('Pod', { name: 'p', namespace: 'b' }, 'v1'), deployment)).toThrow(
      'Deployment a/web cannot own Pod b/p, which is in namespace b.',
    )
    expect(() => setOwner(object('Node', { name: 'n' }, 'v1'), deployment)).toThrow(invalidOwner)
  })
})

describe('asking for owners', () => {
  const owned = setOwner(setOwner(pod, deployment, { controller: true }), other)

  it('goes by uid', () => {
    expect(isOwnedBy(owned, deployment)).toBe(true)
    expect(isOwnedBy(owned, other)).toBe(true)
    expect(isOwnedBy(owned, cluster)).toBe(false)
    expect(isOwnedBy(owned, object('Deployment', { name: 'web', namespace: 'a', uid: 'new' }))).toBe(false)
    expect(isOwnedBy(owned, object('Deployment', { name: 'web' }))).toBe(false)
    expect(isOwnedBy(pod, deployment)).toBe(false)
  })

  it('tells the controller from other owners', () => {
    expect(isControlledBy(owned, deployment)).toBe(true)
    expect(isControlledBy(owned, other)).toBe(false)
    expect(isControlledBy(pod, object('Deployment', { name: 'web' }))).toBe(false)
    expect(controllerOf(pod)).toBeUndefined()
  })

  it('removes one owner, or nothing', () => {
    expect(removeOwner(owned, deployment).metadata.ownerReferences).toEqual([ownerReference(other)])
    expect(removeOwner(owned, cluster)).toBe(owned)
    expect(removeOwner(pod, deployment)).toBe(pod)
  })
})
