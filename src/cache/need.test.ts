import { type Arbitrary, array, assert, boolean, constantFrom, option, property, record, uniqueArray } from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../kube/object.ts'
import { parseFields, parseLabels } from '../kube/selector.ts'
import { coverNeeds, coverServes, type Detail, filterFor, inScope, type Need } from './need.ts'

const namespaces = constantFrom('a', 'b', 'c')
const scopeOf = (namespace: string | undefined, labels: string, fields: string): Need['scopes'][number] => ({
  namespace,
  labels: parseLabels(labels),
  fields: parseFields(fields),
})
const selectors = constantFrom('', 'app=x', 'app=y', 'app in (x,y)', 'app', '!app', 'tier=z', 'app=x,tier=z', 'app!=x')
const fields = constantFrom('', 'metadata.name=one', 'status.phase=Running', 'status.phase!=Failed')
const details = constantFrom<Detail>('full', 'metadata', ['spec.nodeName'], ['spec', 'status.phase'])

const need: Arbitrary<Need> = record({
  scopes: record({
    where: option(uniqueArray(namespaces, { minLength: 1 }), { nil: undefined }),
    selectors,
    fields,
  }).map((wish) => (wish.where ?? [undefined]).map((namespace) => scopeOf(namespace, wish.selectors, wish.fields))),
  detail: details,
  managedFields: boolean(),
})

const object = record({
  namespace: namespaces,
  name: constantFrom('one', 'two'),
  app: constantFrom('x', 'y', ''),
  tier: constantFrom('z', ''),
  phase: constantFrom('Running', 'Failed'),
}).map(({ namespace, name, app, tier, phase }) => {
  const labels = { ...(app ? { app } : {}), ...(tier ? { tier } : {}) }
  return { apiVersion: 'v1', kind: 'Pod', metadata: { namespace, name, labels }, status: { phase } } as KubeObject
})

describe('the cover of needs', () => {
  it('serves each of them', () => {
    assert(
      property(array(need, { minLength: 1, maxLength: 4 }), (needs) => {
        const cover = coverNeeds(needs)
        for (const one of needs) expect(coverServes(cover, one)).toBe(true)
      }),
    )
  })

  it('lets through every object that somebody asked for, and each filter shows exactly its own', () => {
    assert(
      property(array(need, { minLength: 1, maxLength: 4 }), object, (needs, candidate) => {
        const cover = coverNeeds(needs)
        const isWatched = cover.scopes.some((scope) => inScope(scope, candidate))
        for (const one of needs) {
          const isAsked = one.scopes.some((scope) => inScope(scope, candidate))
          expect(isWatched && filterFor(one, cover)(candidate)).toBe(isAsked)
        }
      }),
    )
  })

  it('never watches a namespace twice', () => {
    assert(
      property(array(need, { minLength: 1, maxLength: 4 }), (needs) => {
        const watched = coverNeeds(needs).scopes.map(({ namespace }) => namespace)
        expect(new Set(watched).size).toBe(watched.length)
        expect(watched.includes(undefined) && watched.length > 1).toBe(false)
      }),
    )
  })

  it('keeps metadata alone only while nobody needs more', () => {
    const lean: Need = {
      scopes: [scopeOf(undefined, '', 'status.phase=Running')],
      detail: 'metadata',
      managedFields: false,
    }
    expect(coverNeeds([lean]).detail).toBe('metadata')
    // Once the server no longer filters by phase, the phase must be here to filter by.
    const wide: Need = { ...lean, scopes: [scopeOf(undefined, '', '')] }
    expect(coverNeeds([lean, wide]).detail).toEqual(['status.phase'])
    expect(coverNeeds([lean, { ...wide, detail: ['spec'] }]).detail).toEqual(['spec', 'status.phase'])
    expect(coverNeeds([lean, { ...wide, detail: 'full' }]).detail).toBe('full')
  })
})
