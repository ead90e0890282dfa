import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { configMaps, deployments, namespaces } from '../../../test/embedded.ts'
import { managerErrors } from '../errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import { ConfigMap, Node } from '../../kube/kinds.ts'
import type { ObjectName } from '../../operator/view/view.ts'
import { checkApart, type NameMap, nameMap, type NameRule } from './name-map.ts'
import { capture, fill, formatName, parsePattern } from './name-pattern.ts'

const map = (...rules: readonly NameRule[]): NameMap => nameMap({ name: 'a', rules })
const refusal = (make: () => unknown): string => {
  try {
    make()
  } catch (error) {
    if (isMusterError(error, managerErrors.InvalidNameMap)) return error.message
    throw error
  }
  return 'accepted'
}

const letters = fc.constantFrom('a', 'b', 'ab')
const end = fc.option(letters, { nil: '', freq: 1 })
const part = fc.oneof(
  letters,
  fc.tuple(end, end).map(([before, after]) => `${before}*${after}`),
)
const rule: fc.Arbitrary<NameRule> = fc
  .tuple(part, part, part, part, fc.constantFrom({}, {}, { kinds: [configMaps] }))
  .filter(
    ([ns, name, ns2, name2]) => ns.includes('*') === ns2.includes('*') && name.includes('*') === name2.includes('*'),
  )
  .map(([ns, name, ns2, name2, kinds]) =>
    Object.assign({ operator: `${ns}/${name}`, cluster: `${ns2}/${name2}` }, kinds),
  )
const rules = fc.array(rule, { minLength: 1, maxLength: 4 })
const text = fc.stringMatching(/^[ab]{1,3}$/)
const name: fc.Arbitrary<ObjectName> = fc.record({ namespace: text, name: text })
const resource = fc.constantFrom(configMaps, deployments)

/** The map of rules that are in order; undefined of others. */
function accepted(given: readonly NameRule[]): NameMap | undefined {
  try {
    return map(...given)
  } catch {
    return undefined
  }
}

describe('a name map', () => {
  it('is invertible', () => {
    let tried = 0
    fc.assert(
      fc.property(rules, resource, fc.array(name, { minLength: 20, maxLength: 20 }), (given, kind, names) => {
        const made = accepted(given)
        if (!made) return
        for (const one of names) {
          const stored = made.toCluster(kind, one)
          const seen = made.toOperator(kind, one)
          expect([stored ? made.toOperator(kind, stored) : one, seen ? made.toCluster(kind, seen) : one]).toEqual([
            one,
            one,
          ])
          tried += Number(stored !== undefined || seen !== undefined)
        }
      }),
      { numRuns: 500 },
    )
    expect(tried).toBeGreaterThan(100)
  })

  it('is rejected when two names map to one, with both names', () => {
    let refused = 0
    fc.assert(
      fc.property(rules, (given) => {
        const message = refusal(() => map(...given))
        const found = /rules (\d) and (\d): "(.+)" and "(.+)" would both be "(.+)" in the cluster/.exec(message)
        if (!found) return
        refused++
        const [, first, second, one, two, stored] = found
        for (const [index, seen] of [
          [first, one],
          [second, two],
        ] as const) {
          const { operator, cluster } = given[Number(index) - 1]!
          const [namespace, of = ''] = seen!.split('/')
          const captured = capture(parsePattern(operator)!, { namespace, name: of })
          expect(formatName(fill(parsePattern(cluster)!, captured!))).toBe(stored)
        }
      }),
      { numRuns: 300 },
    )
    expect(refused).toBeGreaterThan(20)
  })

  it('uses the first matching rule, which hides later ones', () => {
    const made = map(
      { operator: 'auth/oauth-openshift', cluster: 'hosted/oauth' },
      { operator: 'auth/*', cluster: 'hosted/auth-*' },
    )
    expect(made.toCluster(configMaps, { namespace: 'auth', name: 'oauth-openshift' })).toEqual({
      namespace: 'hosted',
      name: 'oauth',
    })
    expect(made.toOperator(configMaps, { namespace: 'hosted', name: 'auth-oauth-openshift' })).toBeUndefined()
    expect(made.toOperator(configMaps, { namespace: 'hosted', name: 'auth-x' })).toEqual({
      namespace: 'auth',
      name: 'x',
    })
  })

  it('knows the namespaces to watch, and no more', () => {
    const made = map({ operator: 'a/*', cluster: 'h/a-*' }, { operator: 'b/*', cluster: 'h2/*' })
    expect(made.namespacesFor(configMaps, undefined)).toEqual(['h', 'h2'])
    expect(made.namespacesFor(configMaps, ['a', 'c'])).toEqual(['h'])
    const wide = map({ operator: '*/*', cluster: 'h-*/*' })
    expect(wide.namespacesFor(configMaps, undefined)).toBeUndefined()
    expect(wide.namespacesFor(configMaps, ['x'])).toEqual(['h-x'])
  })

  it('reports invalid rules', () => {
    expect(refusal(() => map({ operator: 'a/*', cluster: 'b' }))).toBe(
      'Name map a, rule 1: "a/*" and "b" must have the same parts, and a * in the same of them.',
    )
    expect(refusal(() => map({ operator: 'a/**', cluster: 'b/*' }))).toContain('"a/**" is no name')
    expect(refusal(() => map({ operator: 'a/b/c', cluster: 'b/*' }))).toContain('"a/b/c" is no name')
    expect(refusal(() => map({ operator: 'a/*', cluster: 'h/*' }, { operator: 'b/*', cluster: 'h/*' }))).toBe(
      'Name map a, rules 1 and 2: "a/x" and "b/x" would both be "h/x" in the cluster.',
    )
    expect(refusal(() => nameMap({ name: 'a', rules: [], shared: [ConfigMap] }))).toContain('only kinds without')
  })

  it('keeps shared kinds unchanged, and maps cluster-scoped kinds by rules of one part', () => {
    const made = nameMap({ name: 'a', rules: [{ operator: '*', cluster: 'a-*' }], shared: [Node] })
    expect(made.toCluster(Node, { name: 'n' })).toEqual({ name: 'n' })
    expect(made.toCluster(namespaces, { name: 'n' })).toEqual({ name: 'a-n' })
    expect(made.toCluster(configMaps, { namespace: 'n', name: 'n' })).toBeUndefined()
  })

  it('must not overlap with another one', () => {
    const of = (host: string, cluster: string): NameMap =>
      nameMap({ name: host, rules: [{ operator: 'a/*', cluster }] })
    expect(refusal(() => checkApart([of('one', 'h-one/*'), of('two', 'h-two/*'), of('three', 'h/three-*')]))).toBe(
      'accepted',
    )
    expect(refusal(() => checkApart([of('one', 'h/*'), of('two', 'h/two-*')]))).toBe(
      'Name maps one and two: "a/two-x" and "a/x" would both be "h/two-x" in the cluster.',
    )
  })
})
