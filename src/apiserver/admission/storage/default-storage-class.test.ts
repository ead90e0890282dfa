import { describe, expect, it } from 'vitest'
import type { UntypedObject } from '../../../kube/object.ts'
import { withDefaultClass } from './default-storage-class.ts'

const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' }
const classOf = (name: string, creationTimestamp: string, own = annotations): UntypedObject => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { name, creationTimestamp, annotations: own },
})
const claim: UntypedObject = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'c' }, spec: {} }

describe('the default storage class', () => {
  it('is the newest default, and of equally old ones the first by name', () => {
    const classes = [
      classOf('old', '2020-01-01T00:00:00Z'),
      classOf('b', '2021-01-01T00:00:00Z'),
      classOf('a', '2021-01-01T00:00:00Z'),
    ]
    expect(withDefaultClass(claim, classes)).toMatchObject({ spec: { storageClassName: 'a' } })
  })

  it('does not apply to claims that name a class, even an empty one', () => {
    const own = { ...claim, spec: { storageClassName: '' } }
    expect(withDefaultClass(own, [classOf('a', '2020-01-01T00:00:00Z')])).toBe(own)
  })

  it('does not exist without a class that is marked as default', () => {
    const plain = { ...classOf('a', '2020-01-01T00:00:00Z'), metadata: { name: 'a' } }
    expect(withDefaultClass(claim, [plain])).toBe(claim)
  })
})
