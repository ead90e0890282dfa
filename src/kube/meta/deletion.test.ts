import { describe, expect, it } from 'vitest'
import { isReleased, isStillThere } from './deletion.ts'
import type { ObjectMeta, UntypedObject } from '../object.ts'

const deletionTimestamp = '2026-01-01T00:00:00Z'
const pod = (metadata: ObjectMeta): UntypedObject => ({ apiVersion: 'v1', kind: 'Pod', metadata })
const namespace = (...finalizers: readonly string[]): UntypedObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: 'n', deletionTimestamp },
  spec: { finalizers },
})

describe('an object that is being deleted', () => {
  it.each<[string, UntypedObject, boolean]>([
    ['not marked for deletion', pod({ name: 'p' }), false],
    ['marked', pod({ name: 'p', deletionTimestamp }), true],
    ['held by a finalizer', pod({ name: 'p', deletionTimestamp, finalizers: ['a/b'] }), false],
    ['in its grace period', pod({ name: 'p', deletionTimestamp, deletionGracePeriodSeconds: 30 }), false],
    ['after its grace period', pod({ name: 'p', deletionTimestamp, deletionGracePeriodSeconds: 0 }), true],
    ['a namespace with content', namespace('kubernetes'), false],
    ['an empty namespace', namespace(), true],
    ['another kind of that name', { ...namespace('kubernetes'), apiVersion: 'example.com/v1' }, true],
  ])('%s', (_case, object, released) => {
    expect(isReleased(object)).toBe(released)
  })

  it('still exists when a delete returns it marked and with finalizers', () => {
    expect(isStillThere(namespace('kubernetes'))).toBe(true)
    expect(isStillThere(pod({ name: 'p', deletionTimestamp, finalizers: ['a/b'] }))).toBe(true)
    expect(isStillThere(pod({ name: 'p', deletionTimestamp }))).toBe(false)
    expect(isStillThere(pod({ name: 'p' }))).toBe(false)
    expect(isStillThere({ apiVersion: 'v1', kind: 'Status', metadata: {}, status: 'Success' })).toBe(false)
  })
})
