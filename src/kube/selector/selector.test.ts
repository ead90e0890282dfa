import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { kubeErrors } from '../errors.ts'
import { isMusterError } from '../muster-error.ts'
import type { KubeObject } from '../object.ts'
import {
  coverFields,
  coverLabels,
  everyField,
  everything,
  type FieldSelector,
  formatFields,
  formatLabels,
  impliesFields,
  impliesLabels,
  labelSelector,
  type LabelSelector,
  labelsOf,
  matchFields,
  matchLabels,
  nothing,
  parseFields,
  parseLabels,
} from './selector.ts'

const invalidSelector: unknown = expect.toSatisfy((error) => isMusterError(error, kubeErrors.InvalidSelector))

describe('label selectors as text', () => {
  it.each([
    ['', ''],
    [' \t\r\n', ''],
    ['a=b', 'a=b'],
    ['a==b', 'a==b'],
    ['a != b', 'a!=b'],
    ['a', 'a'],
    ['! a', '!a'],
    ['a>1,b<2', 'a>1,b<2'],
    ['a in (y, x,y)', 'a in (x,y)'],
    ['a notin(x)', 'a notin (x)'],
    ['x=1,!legacy,app in (web)', 'app in (web),!legacy,x=1'],
    ['a=', 'a='],
    ['a=,b', 'a=,b'],
    ['a in ()', 'a in ()'],
    ['a in (,x)', 'a in (,x)'],
    ['a in (x,,y)', 'a in (,x,y)'],
    ['in in (notin)', 'in in (notin)'],
    ['notin=in', 'notin=in'],
    ['example.com/a_B.c=v', 'example.com/a_B.c=v'],
    ['a=1,a!=2', 'a=1,a!=2'],
  ])('%o is formatted as %o', (text, canonical) => {
    expect(formatLabels(parseLabels(text))).toBe(canonical)
  })

  it.each([
    ',',
    'a,',
    ',a',
    'a,,b',
    'a=b=c',
    'a b',
    '!a=b',
    '!!a',
    'a!b',
    'a in x',
    'a in (x',
    'a in (x y)',
    'a in',
    'in(x)',
    '=b',
    'a=>b',
    'a>',
    'a>b',
    'a<-1',
    'a>9223372036854775808',
    'a=-b',
    `a=${'x'.repeat(64)}`,
    '/a',
    'a/b/c',
    'é=b',
  ])('%o is rejected', (text) => {
    expect(() => parseLabels(text)).toThrow(invalidSelector)
  })

  it('reports the expected and the actual token with its position', () => {
    expect(() => parseLabels('a in x')).toThrow('expected "(" but found "x" in the label selector "a in x".')
    expect(() => parseLabels('a,')).toThrow('expected a key but found the end in the label selector "a,".')
  })
})

describe('label selectors as objects', () => {
  it('an absent one selects nothing, an empty one everything', () => {
    expect(labelsOf(undefined)).toBe(nothing)
    expect(labelsOf(null)).toBe(nothing)
    expect(labelsOf({})).toEqual(everything)
    expect(labelsOf({ matchLabels: {}, matchExpressions: [] })).toEqual(everything)
  })

  it('combine labels and expressions into one list', () => {
    const selector = labelsOf({
      matchLabels: { tier: 'a', app: 'web' },
      matchExpressions: [
        { key: 'zone', operator: 'In', values: ['y', 'x'] },
        { key: 'old', operator: 'DoesNotExist' },
        { key: 'env', operator: 'Exists', values: [] },
        { key: 'app', operator: 'NotIn', values: ['z'] },
      ],
    })
    expect(formatLabels(selector)).toBe('app=web,app notin (z),env,!old,tier=a,zone in (x,y)')
  })

  it.each([
    { matchExpressions: [{ key: 'a', operator: 'In' }] },
    { matchExpressions: [{ key: 'a', operator: 'NotIn', values: [] }] },
    { matchExpressions: [{ key: 'a', operator: 'Exists', values: ['x'] }] },
    { matchExpressions: [{ key: 'a', operator: 'Gt', values: ['1'] }] },
    { matchExpressions: [{ key: 'a', operator: 'toString', values: ['1'] }] },
    { matchExpressions: [{ key: '-a', operator: 'Exists' }] },
    { matchLabels: { a: 'b c' } },
    { matchLabels: { 'a b': 'c' } },
  ])('%j is rejected', (spec) => {
    expect(() => labelsOf(spec)).toThrow(invalidSelector)
  })

  it('both forms are accepted', () => {
    expect(labelSelector({ matchLabels: { a: 'b' } })).toEqual(labelSelector('a=b'))
  })
})

describe('matching labels', () => {
  it.each([
    ['a=b', { a: 'b' }, true],
    ['a=b', { a: 'c' }, false],
    ['a=b', {}, false],
    ['a=', { a: '' }, true],
    ['a!=b', { a: 'c' }, true],
    ['a!=b', { a: 'b' }, false],
    ['a!=b', {}, true],
    ['a in (b,c)', { a: 'c' }, true],
    ['a notin (b,c)', { a: 'c' }, false],
    ['a notin (b,c)', {}, true],
    ['a', { a: '' }, true],
    ['a', {}, false],
    ['!a', { a: '' }, false],
    ['!a', {}, true],
    ['a>1', { a: '2' }, true],
    ['a>1', { a: '1' }, false],
    ['a>1', { a: 'x' }, false],
    ['a>1', {}, false],
    ['a<10', { a: '9' }, true],
    ['a<10', { a: '-9' }, true],
    ['a>9007199254740992', { a: '9007199254740993' }, true],
    ['a,!b', { a: '1', b: '1' }, false],
    ['toString', {}, false],
  ])('%s over %j is %s', (selector, labels, matches) => {
    expect(matchLabels(parseLabels(selector), labels)).toBe(matches)
  })

  it('an object without labels matches requirements of absence, and the empty selector', () => {
    expect(matchLabels(everything, undefined)).toBe(true)
    expect(matchLabels(parseLabels('!a'), undefined)).toBe(true)
    expect(matchLabels(parseLabels('a'), undefined)).toBe(false)
    expect(matchLabels(nothing, undefined)).toBe(false)
    expect(matchLabels(nothing, { nothing: 'x' })).toBe(false)
  })
})

/** Few keys and values, so that selectors meet each other and the labels often. */
const keys = fc.constantFrom('a', 'b')
const values = fc.constantFrom('', '1', '2', '3', 'x')
const labels = fc.dictionary(keys, values)
const labelRequirement = fc.oneof(
  fc.record({
    key: keys,
    operator: fc.constantFrom('=' as const, '==' as const, '!=' as const),
    values: fc.tuple(values),
  }),
  fc.record({
    key: keys,
    operator: fc.constantFrom('in' as const, 'notin' as const),
    values: fc.uniqueArray(values, { minLength: 1, maxLength: 3 }).map((list) => list.toSorted()),
  }),
  fc.record({ key: keys, operator: fc.constantFrom('exists' as const, '!' as const), values: fc.constant([]) }),
  fc.record({
    key: keys,
    operator: fc.constantFrom('>' as const, '<' as const),
    values: fc.tuple(fc.constantFrom('0', '1', '2', '3')),
  }),
)
const labelSelectors: fc.Arbitrary<LabelSelector> = fc
  .array(labelRequirement, { maxLength: 4 })
  .map((list) => list.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)))

/** Every state that two labels can be in, as far as the selectors above can tell. */
const states: readonly Readonly<Record<string, string>>[] = [undefined, '', '1', '2', '3', 'x', 'other', '4', '-1']
  .flatMap((a, _index, all) => all.map((b) => ({ a, b })))
  .map((state) => Object.fromEntries(Object.entries(state).filter(([, value]) => value !== undefined)) as never)

describe('the algebra of label selectors', () => {
  it('text round-trips', () => {
    fc.assert(
      fc.property(labelSelectors, (selector) => {
        expect(parseLabels(formatLabels(selector))).toEqual(selector)
      }),
    )
  })

  it('a cover selects everything that either of its parts selects', () => {
    fc.assert(
      fc.property(labelSelectors, labelSelectors, labels, (a, b, object) => {
        const cover = coverLabels(a, b)
        expect((matchLabels(a, object) || matchLabels(b, object)) && !matchLabels(cover, object)).toBe(false)
        expect(parseLabels(formatLabels(cover))).toEqual(cover)
      }),
      { numRuns: 2000 },
    )
  })

  it('is implied by both of its parts, and does not depend on their order', () => {
    fc.assert(
      fc.property(labelSelectors, labelSelectors, (a, b) => {
        const cover = coverLabels(a, b)
        expect(impliesLabels(a, cover) && impliesLabels(b, cover)).toBe(true)
        const other = coverLabels(b, a)
        for (const state of states) expect(matchLabels(other, state)).toBe(matchLabels(cover, state))
      }),
      { numRuns: 500 },
    )
  })

  it('implication is sound, reflexive and transitive', () => {
    fc.assert(
      fc.property(labelSelectors, labelSelectors, labelSelectors, (a, b, c) => {
        expect(impliesLabels(a, a)).toBe(true)
        const counterexample = states.find((state) => matchLabels(a, state) && !matchLabels(b, state))
        expect(impliesLabels(a, b) && counterexample !== undefined).toBe(false)
        expect(impliesLabels(a, b) && impliesLabels(b, c) && !impliesLabels(a, c)).toBe(false)
      }),
      { numRuns: 2000 },
    )
  })

  it('implication is complete where no numbers are compared', () => {
    const exact = labelSelectors.filter((selector) => selector.every(({ operator }) => !'<>'.includes(operator)))
    fc.assert(
      fc.property(exact, exact, (a, b) => {
        const implied = states.every((state) => !matchLabels(a, state) || matchLabels(b, state))
        expect(impliesLabels(a, b)).toBe(implied)
      }),
      { numRuns: 2000 },
    )
  })

  it.each([
    ['a=1', 'a=2', 'a in (1,2)'],
    ['a in (1,2)', 'a in (2,3)', 'a in (1,2,3)'],
    ['a=1,b=1', 'a=1,b=2', 'a=1,b in (1,2)'],
    ['a=1', 'a', 'a'],
    ['a=1', 'a>5', 'a'],
    ['a=1', 'b=1', ''],
    ['a=1', '!a', ''],
    ['!a', '!a,b', '!a'],
    ['a!=1,a!=2', 'a notin (2,3)', 'a!=2'],
    ['a=1', 'a!=2', 'a!=2'],
    ['a=1,b', 'a!=2,a,b=1', 'a,a!=2,b'],
    ['a>5', 'a>3', 'a>3'],
    ['a>5,b', 'a>3,b=1', 'a>3,b'],
    ['a>5,a!=7', 'a>3,a!=7,a<9', 'a>3,a!=7'],
    ['a<5,b=1', 'a<9', 'a<9'],
    ['a<5,b', 'a<9,b=1', 'a<9,b'],
    ['a>1,b', 'a<9,b=1', 'a,b'],
    ['', 'a=1', ''],
    ['a,!a', 'a=1', 'a=1'],
    ['a=1,a=2', 'b=1', 'b=1'],
  ])('%o and %o are covered by %o', (a, b, cover) => {
    expect(formatLabels(coverLabels(parseLabels(a), parseLabels(b)))).toBe(cover)
  })

  it.each([
    ['a=3', 'a<3', false],
    ['a=3', 'a<4', true],
    ['a=3', 'a>3', false],
    ['a=3', 'a>2', true],
    ['a=x', 'a>2', false],
    ['a>3', 'a>3', true],
    ['a>4', 'a>3', true],
    ['a>2', 'a>3', false],
    ['a>3', 'a!=3', true],
    ['a<3', 'a!=4', true],
    ['a<3', 'a', true],
    ['a in (1,5),a>3', 'a=5', true],
    ['a<3,a>5', 'a', true],
  ])('that %s implies %s is %s', (a, b, implied) => {
    expect(impliesLabels(parseLabels(a), parseLabels(b))).toBe(implied)
  })

  it('nothing is the neutral element, everything absorbs', () => {
    const selector = parseLabels('a=1')
    expect(coverLabels(nothing, selector)).toBe(selector)
    expect(coverLabels(selector, nothing)).toBe(selector)
    expect(coverLabels(selector, everything)).toBe(everything)
    expect(impliesLabels(nothing, selector)).toBe(true)
    expect(impliesLabels(selector, nothing)).toBe(false)
    expect(impliesLabels(selector, everything)).toBe(true)
    expect(impliesLabels(everything, selector)).toBe(false)
  })
})

const pod = (rest: object = {}, name = 'web'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'ns' },
  ...rest,
})

describe('field selectors', () => {
  it.each([
    ['', ''],
    [',', ''],
    ['a=b', 'a=b'],
    ['a==b', 'a=b'],
    ['b!=c,a=b', 'a=b,b!=c'],
    ['a=', 'a='],
    [String.raw`a=x\,y\=z\\`, String.raw`a=x\,y\=z\\`],
  ])('%o is formatted as %o', (text, canonical) => {
    expect(formatFields(parseFields(text))).toBe(canonical)
  })

  it.each(['a', '=b', 'a=b=c', String.raw`a=\b`, 'a=b\\', 'a,b=c', '!a'])('%o is rejected', (text) => {
    expect(() => parseFields(text)).toThrow(invalidSelector)
  })

  it('unescapes values', () => {
    expect(parseFields(String.raw`a=x\,y\=z\\`)).toEqual([{ path: 'a', operator: '=', value: 'x,y=z\\' }])
  })

  it.each([
    ['metadata.name=web', pod(), true],
    ['metadata.name!=web', pod(), false],
    ['metadata.namespace=ns,metadata.name=web', pod(), true],
    ['status.phase=Running', pod({ status: { phase: 'Running' } }), true],
    ['status.phase!=Running', pod(), true],
    ['spec.nodeName=', pod(), true],
    ['spec.nodeName=', pod({ spec: { nodeName: 'n' } }), false],
    ['spec.replicas=3', pod({ spec: { replicas: 3 } }), true],
    ['spec.serial=9007199254740993', pod({ spec: { serial: 9007199254740993n } }), true],
    ['spec.paused=false', pod({ spec: { paused: false } }), true],
    ['spec=', pod({ spec: { a: 1 } }), true],
    ['spec.toString=', pod({ spec: {} }), true],
    ['spec.length=1', pod({ spec: [1] }), false],
  ])('%o over an object', (selector, object, matches) => {
    expect(matchFields(parseFields(selector), object)).toBe(matches)
  })

  it.each([
    ['spec.unschedulable=false', { ...pod(), kind: 'Node' }],
    ['spec.hostNetwork=false', pod()],
    ['spec.host=n', pod({ spec: { nodeName: 'n' } })],
    ['status.replicas=0', { ...pod(), apiVersion: 'apps/v1', kind: 'ReplicaSet' }],
    ['status.successful=2', { ...pod({ status: { succeeded: 2 } }), apiVersion: 'batch/v1', kind: 'Job' }],
    ['status.successful=0', { ...pod(), apiVersion: 'batch/v1', kind: 'Job' }],
    ['name=web', { ...pod(), kind: 'Namespace' }],
    ['source=kubelet', { ...pod({ source: { component: 'kubelet' } }), kind: 'Event' }],
    ['source=sched', { ...pod({ reportingComponent: 'sched' }), kind: 'Event' }],
  ])('%o follows the server where it does not use the path itself', (selector, object) => {
    expect(matchFields(parseFields(selector), object)).toBe(true)
  })
})

const paths = fc.constantFrom('p', 'q')
const fieldValues = fc.constantFrom('', 'x', 'y', ',', '=\\')
const fieldSelectors: fc.Arbitrary<FieldSelector> = fc.array(
  fc.record({ path: paths, operator: fc.constantFrom('=' as const, '!=' as const), value: fieldValues }),
  { maxLength: 4 },
)
const fieldStates: readonly KubeObject[] = ['', 'x', 'y', ',', '=\\', 'other'].flatMap((p, _index, all) =>
  all.map((q) => pod({ p, q })),
)

describe('the algebra of field selectors', () => {
  it('text round-trips with the same meaning', () => {
    fc.assert(
      fc.property(fieldSelectors, (selector) => {
        const again = parseFields(formatFields(selector))
        expect(impliesFields(again, selector) && impliesFields(selector, again)).toBe(true)
        for (const state of fieldStates) expect(matchFields(again, state)).toBe(matchFields(selector, state))
      }),
    )
  })

  it('a cover selects everything that either of its parts selects, and is implied by both', () => {
    fc.assert(
      fc.property(fieldSelectors, fieldSelectors, (a, b) => {
        const cover = coverFields(a, b)
        expect(impliesFields(a, cover) && impliesFields(b, cover)).toBe(true)
        const missed = fieldStates.filter(
          (state) => (matchFields(a, state) || matchFields(b, state)) && !matchFields(cover, state),
        )
        expect(missed).toEqual([])
      }),
      { numRuns: 1000 },
    )
  })

  it('implication is sound and complete', () => {
    fc.assert(
      fc.property(fieldSelectors, fieldSelectors, (a, b) => {
        const implied = fieldStates.every((state) => !matchFields(a, state) || matchFields(b, state))
        expect(impliesFields(a, b)).toBe(implied)
      }),
      { numRuns: 1000 },
    )
  })

  it.each([
    ['p=x', 'p=y', ''],
    ['p=x,q=y', 'p=x', 'p=x'],
    ['p=x,q=y', 'p=x,q=z', 'p=x'],
    ['p=x', 'p!=y', 'p!=y'],
    ['p!=x,p!=y', 'p!=y,p!=z', 'p!=y'],
    ['p=x,p=y', 'q=z', 'q=z'],
    ['q=x,p=x,r=x', 'q=x,r=y,p=x', 'p=x,q=x'],
    ['p!=y,p!=x,q=x', 'p!=x,p!=y,q=y', 'p!=x,p!=y'],
  ])('%o and %o are covered by %o', (a, b, cover) => {
    expect(formatFields(coverFields(parseFields(a), parseFields(b)))).toBe(cover)
  })

  it('every field absorbs', () => {
    expect(coverFields(everyField, parseFields('p=x'))).toBe(everyField)
  })
})
