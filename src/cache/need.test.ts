import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../kube/object.ts'
import { parseFields, parseLabels } from '../kube/selector.ts'
import { coverNeeds, coverServes, type Detail, filterFor, inScope, type Need } from './need.ts'

const namespaces = fc.constantFrom('a', 'b', 'c')
const scopeOf = (namespace: string | undefined, labels: string, fields: string): Need['scopes'][number] => ({
  namespace,
  labels: parseLabels(labels),
  fields: parseFields(fields),
})
const selectors = fc.constantFrom(
  '',
  'app=x',
  'app=y',
  'app in (x,y)',
  'app',
  '!app',
  'tier=z',
  'app=x,tier=z',
  'app!=x',
)
const fields = fc.constantFrom('', 'metadata.name=one', 'status.phase=Running', 'status.phase!=Failed')
const details = fc.constantFrom<Detail>('full', 'metadata', ['spec.nodeName'], ['spec', 'status.phase'])

const need: fc.Arbitrary<Need> = fc.record({
  scopes: fc
    .record({ where: fc.option(fc.uniqueArray(namespaces, { minLength: 1 }), { nil: undefined }), selectors, fields })
    .map((wish) => (wish.where ?? [undefined]).map((namespace) => scopeOf(namespace, wish.selectors, wish.fields))),
  detail: details,
  managedFields: fc.boolean(),
})

const object = fc
  .record({
    namespace: namespaces,
    name: fc.constantFrom('one', 'two'),
    app: fc.constantFrom('x', 'y', ''),
    tier: fc.constantFrom('z', ''),
    phase: fc.constantFrom('Running', 'Failed'),
  })
  .map(({ namespace, name, app, tier, phase }) => {
    const labels = { ...(app ? { app } : {}), ...(tier ? { tier } : {}) }
    return { apiVersion: 'v1', kind: 'Pod', metadata: { namespace, name, labels }, status: { phase } } as KubeObject
  })

describe('the cover of needs', () => {
  it('serves each of them', () => {
    fc.assert(
      fc.property(fc.array(need, { minLength: 1, maxLength: 4 }), (needs) => {
        const cover = coverNeeds(needs)
        for (const one of needs) expect(coverServes(cover, one)).toBe(true)
      }),
    )
  })

  it('lets through every object that somebody asked for, and each filter shows exactly its own', () => {
    fc.assert(
      fc.property(fc.array(need, { minLength: 1, maxLength: 4 }), object, (needs, candidate) => {
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
    fc.assert(
      fc.property(fc.array(need, { minLength: 1, maxLength: 4 }), (needs) => {
        const watched = coverNeeds(needs).scopes.map(({ namespace }) => namespace)
        expect(new Set(watched).size).toBe(watched.length)
        if (watched.includes(undefined)) expect(watched).toHaveLength(1)
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
