import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Attributes } from './identity.ts'
import { describeRules, missingRules, type PolicyRule, ruleAllows } from './policy-rule.ts'

const some = (...values: readonly string[]): fc.Arbitrary<readonly string[]> =>
  fc.subarray([...values], { minLength: 1 })

const resourceRules: fc.Arbitrary<PolicyRule> = fc.record(
  {
    verbs: some('get', 'list', 'create', '*'),
    apiGroups: some('', 'apps', '*'),
    resources: some('pods', 'pods/log', 'secrets', '*/log', '*'),
    resourceNames: some('a', 'b'),
  },
  { requiredKeys: ['verbs', 'apiGroups', 'resources'] },
)
const pathRules: fc.Arbitrary<PolicyRule> = fc.record({
  verbs: some('get', 'post', '*'),
  nonResourceURLs: some('/healthz', '/healthz/*', '/api*', '*'),
})
const rules = fc.oneof(resourceRules, pathRules)

const requests: fc.Arbitrary<Attributes> = fc.oneof(
  fc.record({
    verb: fc.constantFrom('get', 'list', 'create', 'watch'),
    group: fc.constantFrom('', 'apps', 'batch'),
    version: fc.constant('v1'),
    resource: fc.constantFrom('pods', 'secrets', 'nodes'),
    subresource: fc.constantFrom(undefined, 'log', 'status'),
    name: fc.constantFrom(undefined, 'a', 'b', 'c'),
  }),
  fc.record({ verb: fc.constantFrom('get', 'post'), path: fc.constantFrom('/healthz', '/healthz/x', '/api/v1', '/') }),
)

describe('a rule', () => {
  it('that covers another one allows everything that the other allows', () => {
    fc.assert(
      fc.property(fc.array(rules, { maxLength: 4 }), rules, requests, (owned, wanted, asked) => {
        if (missingRules(owned, [wanted]).length > 0 || !ruleAllows(wanted, asked)) return
        expect(owned.some((rule) => ruleAllows(rule, asked))).toBe(true)
      }),
      { numRuns: 2000 },
    )
  })

  it('covers itself', () => {
    fc.assert(fc.property(rules, (rule) => missingRules([rule], [rule]).length === 0))
  })

  it('that is not covered is reported in parts, none of which is covered', () => {
    fc.assert(
      fc.property(fc.array(rules, { maxLength: 3 }), rules, (owned, wanted) => {
        const missing = missingRules(owned, [wanted])
        expect(missingRules(owned, missing)).toEqual(missing)
        expect(describeRules(missing).length).toBeLessThanOrEqual(missing.length)
      }),
    )
  })

  it('for a resource does not cover its subresources, and one for a name does not cover all names', () => {
    const [pods, named] = [
      { verbs: ['*'], apiGroups: [''], resources: ['pods'] },
      { verbs: ['*'], apiGroups: [''], resources: ['pods'], resourceNames: ['a'] },
    ]
    const asked = { verb: 'get', group: '', version: 'v1', resource: 'pods' }
    expect(ruleAllows(pods, { ...asked, subresource: 'log' })).toBe(false)
    expect(ruleAllows(named, asked)).toBe(false)
    expect(ruleAllows(named, { ...asked, name: 'a' })).toBe(true)
    expect(missingRules([named], [pods])).not.toEqual([])
    expect(missingRules([pods], [named])).toEqual([])
  })
})
