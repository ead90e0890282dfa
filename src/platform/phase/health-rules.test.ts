import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { UntypedObject } from '../../kube/object.ts'
import { healthOf } from '../../kube/meta/health.ts'
import { type HealthRule, healthWith } from './health-rules.ts'

const widget = (status?: object, metadata: object = {}): UntypedObject => ({
  apiVersion: 'example.com/v2',
  kind: 'Widget',
  metadata: { name: 'a', ...metadata },
  ...(status && { status }),
})

const rule = (expressions: Partial<HealthRule>): readonly HealthRule[] => [
  { apiVersion: 'example.com/v1', kind: 'Widget', ...expressions },
]

const full = healthWith(
  rule({
    inProgress: "status.phase in ['Pending', 'Both']",
    failed: "status.phase in ['Broken', 'Both']",
    current: "status.phase == 'Ready'",
  }),
)

describe('health by rules', () => {
  it.each([
    ['Pending', 'InProgress'],
    ['Broken', 'Failed'],
    ['Ready', 'Current'],
    // The first rule that holds decides.
    ['Both', 'InProgress'],
    ['Other', 'InProgress'],
  ])('of phase %s is %s', (phase, status) => {
    expect(full(widget({ phase }), 0)).toMatchObject({ status })
  })

  it('is Unknown, with the reason, when an expression fails', () => {
    expect(full(widget(), 0)).toMatchObject({ status: 'Unknown', message: expect.stringMatching(/inProgress.*phase/) })
    for (const current of ['status.', 'unknown == 1', "'text'"]) {
      expect(healthWith(rule({ current }))(widget({}), 0)).toMatchObject({ status: 'Unknown', reason: 'RuleFailed' })
    }
  })

  it('is Unknown when the rules cost too much', () => {
    const list = Array.from({ length: 2000 }, (_, index) => index)
    const current = 'status.list.all(a, status.list.all(b, status.list.all(c, a + b + c >= 0)))'
    expect(healthWith(rule({ current }))(widget({ list }), 0)).toMatchObject({ status: 'Unknown' })
  })

  it('can ask whether a member is there, and see the whole object', () => {
    expect(healthWith(rule({ current: 'has(status.phase)' }))(widget(), 0)).toMatchObject({ status: 'InProgress' })
    expect(healthWith(rule({ current: "self.metadata.name == 'a'" }))(widget(), 0)).toMatchObject({ status: 'Current' })
  })

  it('leaves to kstatus what every kind shares, and what no rule decides', () => {
    expect(full(undefined, 0).status).toBe('NotFound')
    expect(full(widget({ phase: 'Ready' }, { deletionTimestamp: '2026-01-01T00:00:00Z' }), 0).status).toBe(
      'Terminating',
    )
    expect(full(widget({ phase: 'Ready', observedGeneration: 1 }, { generation: 2 }), 0).status).toBe('InProgress')
    const failing = healthWith(rule({ failed: 'false' }))
    const ready = widget({ conditions: [{ type: 'Ready', status: 'True' }] })
    expect(failing(ready, 0)).toEqual(healthOf(ready, 0))
  })

  it('judges kinds without a rule as before', () => {
    const other: UntypedObject = { apiVersion: 'other.example.com/v1', kind: 'Widget', metadata: { name: 'a' } }
    expect(full(other, 0)).toEqual(healthOf(other, 0))
  })

  it('never throws, whatever the expressions and objects are', () => {
    const text = fc.oneof(fc.string(), fc.constantFrom('status', 'status.a.b', 'self.all(x, x)', 'metadata.name + 1'))
    fc.assert(
      fc.property(text, fc.jsonValue(), (current, status) => {
        const object: UntypedObject = { ...widget(), status }
        const found = healthWith(rule({ current }))(object, 0)
        expect(found.status).toBeTypeOf('string')
      }),
    )
  })
})
