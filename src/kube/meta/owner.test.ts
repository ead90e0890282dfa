import { describe, expect, it } from 'vitest'
import { kubeErrors } from '../errors.ts'
import { isMusterError } from '../muster-error.ts'
import type { KubeObject, ObjectMeta } from '../object.ts'
import { controllerOf, isControlledBy, ownerReference, removeOwner } from './owner.ts'

const object = (kind: string, metadata: ObjectMeta, apiVersion = 'apps/v1'): KubeObject => ({
  apiVersion,
  kind,
  metadata,
})

const deployment = object('Deployment', { name: 'web', namespace: 'a', uid: 'u1' })
const other = object('Deployment', { name: 'other', namespace: 'a', uid: 'u2' })
const cluster = object('Fleet', { name: 'all', uid: 'u3' }, 'example.com/v1')
const pod = object('Pod', { name: 'web-1', namespace: 'a', labels: { app: 'web' } }, 'v1')

const invalidOwner: unknown = expect.toSatisfy((error) => isMusterError(error, kubeErrors.InvalidOwner))

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

  it('name an owner without further fields', () => {
    expect(ownerReference(deployment)).toEqual({ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'u1' })
  })

  it('cannot name an object without uid, nor an Event', () => {
    expect(() => ownerReference(object('Deployment', { name: 'web' }))).toThrow(invalidOwner)
    expect(() => ownerReference(object('Event', { name: 'e', uid: 'u' }, 'v1'))).toThrow(invalidOwner)
  })
})

describe('asking for owners', () => {
  const owned = object(
    'Pod',
    { ...pod.metadata, ownerReferences: [ownerReference(deployment, { controller: true }), ownerReference(other)] },
    'v1',
  )

  it('distinguishes the controller from other owners', () => {
    expect(isControlledBy(owned, deployment)).toBe(true)
    expect(isControlledBy(owned, other)).toBe(false)
    expect(isControlledBy(owned, object('Deployment', { name: 'web', namespace: 'a', uid: 'new' }))).toBe(false)
    expect(isControlledBy(pod, object('Deployment', { name: 'web' }))).toBe(false)
    expect(controllerOf(pod)).toBeUndefined()
  })

  it('removes one owner, or returns the same object', () => {
    expect(removeOwner(owned, deployment).metadata.ownerReferences).toEqual([ownerReference(other)])
    expect(removeOwner(owned, cluster)).toBe(owned)
    expect(removeOwner(pod, deployment)).toBe(pod)
  })
})
