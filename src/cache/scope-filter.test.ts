import { array, assert, property } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anObject, aScope, scope } from '../../test/watch-scopes.ts'
import { inWatchScope } from './need.ts'
import { createScopeFilter } from './scope-filter.ts'

describe('a scope filter', () => {
  it('is the union of the scopes; the check by name and labels misses no object of it', () => {
    assert(
      property(array(aScope, { maxLength: 5 }), anObject, (scopes, object) => {
        const wanted = createScopeFilter(scopes, scope())
        expect(wanted.has(object)).toBe(scopes.some((one) => inWatchScope(one, object)))
        const { name, namespace, labels } = object.metadata
        const glimpse = { apiVersion: '', kind: '', metadata: { name, namespace, labels } }
        expect(!wanted.has(object) || wanted.mayHave(glimpse as typeof object)).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  it('by name needs only the name', () => {
    const { mayHave } = createScopeFilter(
      [scope({ namespace: 'a', fields: 'metadata.name=x' })],
      scope({ namespace: 'a' }),
    )
    const named = (name: string): boolean => mayHave({ apiVersion: '', kind: '', metadata: { name, namespace: 'a' } })
    expect([named('x'), named('y')]).toEqual([true, false])
  })
})
