import { describe, expect, it } from 'vitest'
import type { UntypedObject } from '../../kube/object.ts'
import { withDefaultTolerations } from './default-tolerations.ts'

const pod = (...tolerations: readonly object[]): UntypedObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {},
  spec: { containers: [], tolerations },
})

const keysOf = ({ spec }: UntypedObject): unknown =>
  (spec as { tolerations: readonly { key?: string }[] }).tolerations.map(({ key }) => key)

describe('tolerations that every pod has', () => {
  it('come behind those that it has itself', () => {
    const own = { key: 'own', operator: 'Exists' }
    const keys = ['own', 'node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']
    expect(keysOf(withDefaultTolerations(pod(own)))).toEqual(keys)
  })

  it('come once', () => {
    const once = withDefaultTolerations(pod())
    expect(withDefaultTolerations(once)).toBe(once)
  })

  it('do not come where the pod says what it tolerates', () => {
    const all = pod({ operator: 'Exists' })
    expect(withDefaultTolerations(all)).toBe(all)
    const other = pod({ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' })
    expect(keysOf(withDefaultTolerations(other))).toHaveLength(3)
  })
})
