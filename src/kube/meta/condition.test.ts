import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Condition, type ConditionUpdate, findCondition, isConditionTrue, setCondition } from './condition.ts'

const now = Date.UTC(2026, 0, 1)
const later = now + 60_000
const ready: Condition = {
  type: 'Ready',
  status: 'True',
  reason: 'Fine',
  message: 'all is well',
  lastTransitionTime: '2026-01-01T00:00:00Z',
  observedGeneration: 3,
}
const { lastTransitionTime: _time, ...readyUpdate } = ready

describe('setting a condition', () => {
  it('adds one with the current time', () => {
    expect(setCondition(undefined, readyUpdate, now)).toEqual([ready])
    expect(setCondition([], { type: 'A', status: 'Unknown', reason: 'New' }, now)).toEqual([
      { type: 'A', status: 'Unknown', reason: 'New', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
    ])
  })

  it('returns the same array when nothing changes', () => {
    const conditions = [ready]
    expect(setCondition(conditions, readyUpdate, later)).toBe(conditions)
    const { observedGeneration: _generation, ...plain } = ready
    const without = [plain]
    expect(setCondition(without, { ...readyUpdate, observedGeneration: 0 }, later)).toBe(without)
  })

  it.each([{ reason: 'Better' }, { message: 'all is very well' }, { observedGeneration: 4 }])(
    'changes %j without a transition',
    (change) => {
      expect(setCondition([ready], { ...readyUpdate, ...change }, later)).toEqual([{ ...ready, ...change }])
    },
  )

  it('is a transition when, and only when, the status changes', () => {
    const changed = setCondition([ready], { ...readyUpdate, status: 'False' }, later)
    expect(changed).toEqual([{ ...ready, status: 'False', lastTransitionTime: '2026-01-01T00:01:00Z' }])
  })

  it('forgets a generation that is no longer stated', () => {
    const { observedGeneration: _generation, ...update } = readyUpdate
    expect(setCondition([ready], update, later)[0]).not.toHaveProperty('observedGeneration')
  })

  it('keeps the order and the other conditions, and never changes its input', () => {
    const other: Condition = { ...ready, type: 'Other' }
    const conditions = Object.freeze([ready, other])
    const changed = setCondition(conditions, { ...readyUpdate, reason: 'New' }, later)
    expect(changed.map(({ type }) => type)).toEqual(['Ready', 'Other'])
    expect(changed[1]).toBe(other)
    expect(conditions[0]).toBe(ready)
  })

  it('follows its laws', () => {
    const updates: fc.Arbitrary<ConditionUpdate> = fc.record(
      {
        type: fc.constantFrom('A', 'B'),
        status: fc.constantFrom('True' as const, 'False' as const, 'Unknown' as const),
        reason: fc.constantFrom('X', 'Y'),
        message: fc.constantFrom('', 'm'),
        observedGeneration: fc.nat(2),
      },
      { requiredKeys: ['type', 'status', 'reason'] },
    )
    fc.assert(
      fc.property(fc.array(updates), updates, (history, last) => {
        const before = history.reduce<readonly Condition[]>(
          (held, update, step) => setCondition(held, update, now + step * 1000),
          [],
        )
        const after = setCondition(before, last, later)
        const [old, set] = [findCondition(before, last.type), findCondition(after, last.type)]
        expect(set).toMatchObject({ status: last.status, reason: last.reason, message: last.message ?? '' })
        expect(set?.lastTransitionTime === old?.lastTransitionTime).toBe(set?.status === old?.status)
        expect(setCondition(after, last, later + 1000)).toBe(after)
        expect(new Set(after.map(({ type }) => type)).size).toBe(after.length)
      }),
    )
  })
})

describe('asking for a condition', () => {
  it('knows true, unknown and absent', () => {
    expect(findCondition([ready], 'Ready')).toBe(ready)
    expect(findCondition([ready], 'Other')).toBeUndefined()
    expect(isConditionTrue([ready], 'Ready')).toBe(true)
    expect(isConditionTrue([{ ...ready, status: 'Unknown' }], 'Ready')).toBe(false)
    expect(isConditionTrue(undefined, 'Ready')).toBe(false)
  })
})
