import { describe, expect, it } from 'vitest'
import type { UntypedObject } from '../../../kube/object.ts'
import { withDefaultTolerations } from './default-tolerations.ts'

const pod = (...tolerations: readonly object[]): UntypedObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {},
  spec: { containers: [], tolerations },
})

const keysOf = ({ spec }: UntypedObject): unknown =>
  (spec as { tolerations: readonly { key?: string }[] }).tolerations.map(({ key }) => key)

describe('default tolerations', () => {
  it('are appended to those of the pod', () => {
    const own = { key: 'own', operator: 'Exists' }
    const keys = ['own', 'node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']
    expect(keysOf(withDefaultTolerations(pod(own)))).toEqual(keys)
  })

  it('are added once', () => {
    const once = withDefaultTolerations(pod())
    expect(withDefaultTolerations(once)).toBe(once)
  })

  it('are not added if the pod sets them itself', () => {
    const all = pod({ operator: 'Exists' })
    expect(withDefaultTolerations(all)).toBe(all)
    const other = pod({ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' })
    expect(keysOf(withDefaultTolerations(other))).toHaveLength(3)
  })
})
