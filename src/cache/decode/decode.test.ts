import { inspect } from 'node:util'
import v8 from 'node:v8'
import vm from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Random, seededRandom } from '../../clock/random.ts'
import { clientErrors } from '../../client/errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import { type Json, type JsonObject, parseJson } from '../../kube/json.ts'
import { asJson, asObject } from '../../kube/json-object.ts'
import type { KubeObject } from '../../kube/object.ts'
import { createDecoder, type Decoder, type DecoderOptions } from './decode.ts'
import { createInternPool } from './intern.ts'

const form = { apiVersion: 'v1', kind: 'Thing' }

function decoder(options: Partial<DecoderOptions> = {}): Decoder {
  return createDecoder({ ...form, pool: createInternPool({ entries: 256 }), ...options })
}

function decode(text: string, guide?: KubeObject, using: Decoder = decoder()): JsonObject {
  return using.decode(text, 0, text.length, guide) as unknown as JsonObject
}

/** What decoding must give: the parser's result without managedFields, with apiVersion and kind. */
function expected(text: string, keepManagedFields = false): JsonObject {
  const object = parseJson(text) as Record<string, Json>
  const { metadata } = object
  if (!keepManagedFields && isObject(metadata)) delete (metadata as Record<string, Json>)['managedFields']
  for (const [key, value] of Object.entries(form)) if (!Object.hasOwn(object, key)) object[key] = value
  return object
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The first place where two values differ. Stricter than most matchers: -0, own __proto__, prototypes. */
function difference(a: unknown, b: unknown, path = '$'): string | undefined {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) {
    return Object.is(a, b) ? undefined : `${path}: ${inspect(a)} is not ${inspect(b)}`
  }
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return `${path}: other prototypes`
  const keys = Object.keys(a)
  if (keys.length !== Object.keys(b).length) return `${path}: other keys ${keys.join()} and ${Object.keys(b).join()}`
  for (const key of keys) {
    if (!Object.hasOwn(b, key)) return `${path}: no key ${key}`
    const found = difference((a as JsonObject)[key], (b as JsonObject)[key], `${path}.${key}`)
    if (found) return found
  }
  return undefined
}

/** The first node that can still be changed. */
function unfrozen(value: unknown, path = '$'): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (!Object.isFrozen(value)) return path
  for (const [key, inner] of Object.entries(value)) {
    const found = unfrozen(inner, `${path}.${key}`)
    if (found) return found
  }
  return undefined
}

/** The first node that equals its counterpart in the guide and yet is another. */
function unshared(value: unknown, guide: unknown, path = '$'): string | undefined {
  if (value === guide || typeof value !== 'object' || typeof guide !== 'object' || !value || !guide) return undefined
  if (difference(value, guide) === undefined) return path
  if (Array.isArray(value) !== Array.isArray(guide)) return undefined
  if (Array.isArray(value) && value.length !== (guide as unknown[]).length) return undefined
  for (const [key, inner] of Object.entries(value)) {
    if (!Object.hasOwn(guide, key)) continue
    const found = unshared(inner, (guide as JsonObject)[key], `${path}.${key}`)
    if (found) return found
  }
  return undefined
}

/** What comes of decoding: an object, or undefined if the text is refused as it should be. */
function attempt(work: () => JsonObject): JsonObject | undefined {
  try {
    return work()
  } catch (error) {
    if (error instanceof SyntaxError || isMusterError(error, clientErrors.ProtocolError)) return undefined
    throw error
  }
}

/** What the parser makes of a text; undefined if it is no object. */
function parsed(text: string): JsonObject | undefined {
  return attempt(() => parseJson(text) as JsonObject) && isObject(parseJson(text)) ? expected(text, true) : undefined
}

// ── odd but valid JSON text ────────────────────────────────────────────────────────────────────────────────────────

const keyText = fc.oneof(
  fc.constantFrom(
    'name',
    'labels',
    'a',
    'b',
    '__proto__',
    'constructor',
    '0',
    '10',
    'x"y',
    'a\\b',
    'ü',
    '日本',
    '\ud800',
    '',
  ),
  fc.string({ unit: 'binary', maxLength: 12 }),
)

const stringText = fc.oneof(
  fc.constantFrom(
    '',
    'True',
    '2026-03-30T17:09:02Z',
    'a\nb',
    'a\\nb',
    'a","b":"c',
    'tab\t',
    '😀',
    '\udc00',
    'ключ',
    '\u2028',
  ),
  fc.string({ unit: 'binary', maxLength: 40 }),
)

/** Numbers by their spelling: what a number is, its text decides. */
const numberText = fc.oneof(
  fc.constantFrom(
    '0',
    '-0',
    '1e3',
    '1E+3',
    '1.0',
    '0.5',
    '-1.5e-7',
    '9007199254740991',
    '9007199254740993',
    '1e400',
    '-0.0',
  ),
  fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }).map(String),
  fc.integer().map(String),
)

/** A value together with its spelling: strings are marked, numbers stay text until they are written. */
type Draft = string | readonly Draft[] | { readonly number: string } | { readonly word: string } | Members
interface Members {
  readonly members: readonly (readonly [string, Draft])[]
}

const draft: fc.Arbitrary<Draft> = fc.letrec<{ value: Draft }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    stringText,
    numberText.map((number) => ({ number })),
    fc.constantFrom('true', 'false', 'null').map((word) => ({ word })),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.array(fc.tuple(keyText, tie('value')), { maxLength: 6 }).map((members) => ({ members })),
  ),
})).value

const objectDraft = fc
  .array(fc.tuple(fc.oneof(keyText, fc.constantFrom('spec', 'status', 'data', 'kind', 'apiVersion')), draft), {
    maxLength: 6,
  })
  .chain((members) =>
    fc
      .array(fc.tuple(fc.oneof(keyText, fc.constantFrom('uid', 'managedFields', 'resourceVersion')), draft), {
        maxLength: 6,
      })
      .map((metadata): Members => ({ members: [...members, ['metadata', { members: metadata }]] })),
  )

/** Writes a draft; with `random`, in one of the many ways that mean the same. */
function write(value: Draft, random?: Random): string {
  const space = (): string =>
    random && random.next() < 0.2 ? (['', ' ', '\n', '\t', '\r\n  '][Math.floor(random.next() * 5)] ?? '') : ''
  if (typeof value === 'string') return writeString(value, random)
  if ('number' in value) return value.number
  if ('word' in value) return value.word
  if ('members' in value) {
    const members = value.members.map(
      ([key, inner]) => `${space()}${writeString(key, random)}${space()}:${space()}${write(inner, random)}${space()}`,
    )
    return `{${members.join(',') || space()}}`
  }
  return `[${value.map((inner) => `${space()}${write(inner, random)}${space()}`).join(',') || space()}]`
}

function writeString(text: string, random?: Random): string {
  const plain = JSON.stringify(text)
  if (!random || random.next() < 0.8) return plain
  const units = Array.from({ length: text.length }, (_, index) => text.charCodeAt(index))
  return `"${units.map((unit) => (random.next() < 0.5 && unit >= 0x20 && unit !== 0x22 && unit !== 0x5c ? String.fromCharCode(unit) : `\\u${unit.toString(16).padStart(4, '0')}`)).join('')}"`
}

/** A draft with some changes: values replaced, members added, removed and moved. */
function mutate(value: Draft, random: Random, rate = 0.15): Draft {
  const chance = (share: number): boolean => random.next() < share
  if (chance(rate))
    return ['changed', { number: String(Math.floor(random.next() * 100)) }, { word: 'null' }, [], { members: [] }][
      Math.floor(random.next() * 5)
    ]!
  if (Array.isArray(value)) {
    const items = (value as readonly Draft[]).filter(() => !chance(rate / 2)).map((item) => mutate(item, random, rate))
    return chance(rate) ? [...items.slice(0, 1), 'added', ...items.slice(1)] : items
  }
  if (typeof value !== 'object' || !('members' in value)) return value
  let members = value.members
    .filter(() => !chance(rate / 2))
    .map(([key, inner]) => [key, mutate(inner, random, rate)] as const)
  if (chance(rate)) members = [...members, ['added', 'x']]
  if (chance(rate)) members = members.toReversed()
  return { members }
}

/** The same for a whole object, which stays one. */
function mutateObject({ members }: Members, random: Random): Members {
  const changed = members.map(([key, value]) => [key, mutate(value, random)] as const)
  return { members: random.next() < 0.2 ? [...changed.slice(1), ['added', 'x']] : changed }
}

const seed = fc.integer({ min: 0, max: 2 ** 31 })

describe('differential decoding', () => {
  it('equals JSON.parse, for any text and any hint', () => {
    fc.assert(
      fc.property(objectDraft, objectDraft, seed, fc.boolean(), (own, other, dice, isRelated) => {
        const random = seededRandom(dice)
        const text = write(isRelated ? mutateObject(own, random) : own, random)
        const using = decoder()
        const guide = decode(write(isRelated ? own : other), undefined, using) as unknown as KubeObject
        const result = decode(text, guide, using)
        expect(difference(result, expected(text))).toBeUndefined()
        expect(unfrozen(result)).toBeUndefined()
        expect(difference(guide, expected(write(isRelated ? own : other)))).toBeUndefined()
      }),
      { numRuns: 500 },
    )
  })

  it('returns the hint itself if the text has no differences, however it is written', () => {
    fc.assert(
      fc.property(objectDraft, seed, (own, dice) => {
        const using = decoder()
        const guide = decode(write(own), undefined, using)
        expect(decode(write(own, seededRandom(dice)), guide as unknown as KubeObject, using)).toBe(guide)
      }),
      { numRuns: 500 },
    )
  })

  it('shares every unchanged node with the hint', () => {
    fc.assert(
      fc.property(objectDraft, seed, (own, dice) => {
        const using = decoder()
        const guide = decode(write(own), undefined, using)
        const result = decode(write(mutateObject(own, seededRandom(dice))), guide as unknown as KubeObject, using)
        expect(unshared(result, guide)).toBeUndefined()
      }),
      { numRuns: 500 },
    )
  })

  it('accepts and rejects the same input as JSON.parse', () => {
    fc.assert(
      fc.property(
        objectDraft,
        seed,
        fc.constantFrom('cut', 'drop', 'put', 'swap'),
        fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
        (own, dice, damage, unit) => {
          const random = seededRandom(dice)
          const good = write(own, random.next() < 0.5 ? random : undefined)
          const at = Math.floor(random.next() * good.length)
          const piece =
            random.next() < 0.7
              ? (['"', '\\', '{', '}', '[', ']', ',', ':', '0', '-', 'e', '.', ' ', '\n', '\u0000'][
                  Math.floor(random.next() * 15)
                ] ?? unit)
              : unit
          const text = {
            cut: good.slice(0, at),
            drop: good.slice(0, at) + good.slice(at + 1),
            put: good.slice(0, at) + piece + good.slice(at),
            swap: good.slice(0, at) + piece + good.slice(at + 1),
          }[damage]
          const using = decoder({ keepManagedFields: true })
          const guide = decode(write(own), undefined, using) as unknown as KubeObject
          const wanted = parsed(text)
          expect(
            difference(
              attempt(() => decode(text, guide, using)),
              wanted,
            ),
          ).toBeUndefined()
          expect(
            difference(
              attempt(() => decode(text, undefined, using)),
              wanted,
            ),
          ).toBeUndefined()
        },
      ),
      { numRuns: 1500 },
    )
  })

  it.each([
    ['{"a":"x\ny"}', '{"a":"x\\ny"}'],
    ['{"a","b":"c":1}', '{"a\\",\\"b\\":\\"c":1}'],
    ['{"a":"b","c":"d"} x', '{"a":"b","c":"d"}'],
    ['{"a":01}', '{"a":1}'],
    ['{"a":[1,]}', '{"a":[1]}'],
    ['{"a":1,}', '{"a":1}'],
    ['{"a":tru}', '{"a":true}'],
    ['{"a":"\\x"}', '{"a":"x"}'],
    ['[]', '{}'],
    ['', '{}'],
    ['null', '{}'],
    ['{"a":1}\u0000', '{"a":1}'],
  ])('rejects %j even if it matches the hint', (text, similar) => {
    const using = decoder()
    const guide = decode(similar, undefined, using) as unknown as KubeObject
    expect(() => decode(text, guide, using)).toThrow('no proper JSON object')
  })

  it('treats __proto__ like any other key', () => {
    const text = '{"spec":{"__proto__":{"polluted":true}},"__proto__":{"x":1}}'
    const using = decoder()
    const first = decode(text, undefined, using)
    const second = decode(text.replace('1', '2'), first as unknown as KubeObject, using)
    expect(difference(second, expected(text.replace('1', '2')))).toBeUndefined()
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })

  it('decodes any depth', () => {
    const deep = (depth: number, inner: string): string =>
      `{"spec":${'{"a":['.repeat(depth)}${inner}${']}'.repeat(depth)}}`
    const using = decoder()
    const guide = decode(deep(5000, '1'), undefined, using)
    let value: unknown = decode(deep(5000, '2'), guide as unknown as KubeObject, using)['spec']
    for (let depth = 0; depth < 5000; depth++) {
      expect(Object.isFrozen(value)).toBe(true)
      value = (value as { a: unknown[] }).a[0]
    }
    expect(value).toBe(2)
  })

  it('decodes any depth with projected fields, too', () => {
    const text = `{"spec":{"a":${'['.repeat(20_000)}${']'.repeat(20_000)},"b":1}}`
    expect(Object.keys(decode(text, undefined, decoder({ detail: ['spec.a.x'] }))['spec'] as JsonObject)).toEqual(['a'])
  })

  it('keeps integers beyond 2^53', () => {
    const object = decode('{"spec":{"big":9007199254740993,"safe":9007199254740991,"float":1.5}}')
    expect(object['spec']).toEqual({ big: 9007199254740993n, safe: 9007199254740991, float: 1.5 })
  })

  it('reports the position of an error, but not the text', () => {
    expect(() => decode('{"data":{"password":"hunter2')).toThrow(/ends too early/)
    expect(() => decode('{"data":{"password":hunter2}}')).not.toThrow(/hunter2/)
    expect(() => decode('{"data":{"password":hunter2}}')).toThrow(
      expect.not.objectContaining({ cause: expect.anything() as unknown }),
    )
  })

  it('decodes a range of a text', () => {
    const text = 'garbage{"a":"b"}garbage'
    expect(decoder().decode(text, 7, 16)).toEqual({ ...form, a: 'b' })
  })

  it('returns objects of lists and of watches with the same shape', () => {
    const using = decoder()
    const listed = decode('{"metadata":{"name":"a"},"spec":{}}', undefined, using)
    const watched = decode(
      '{"kind":"Thing","apiVersion":"v1","metadata":{"name":"a"},"spec":{}}',
      listed as unknown as KubeObject,
      using,
    )
    expect(watched).toBe(listed)
    expect(Object.keys(listed)).toEqual(['apiVersion', 'kind', 'metadata', 'spec'])
  })

  it('shares unchanged items of an array with insertions', () => {
    const item = (name: string): string => `{"name":"${name}","value":{"of":"${name}"}}`
    const text = (...names: readonly string[]): string => `{"spec":{"env":[${names.map(item).join()}]}}`
    const items = (object: JsonObject): readonly Json[] => (object['spec'] as { env: Json[] }).env
    const using = decoder()
    const before = decode(text('a', 'b', 'c', 'd'), undefined, using)
    const added = items(decode(text('a', 'new', 'b', 'c', 'd'), before as unknown as KubeObject, using))
    expect([added[0], added[2], added[3], added[4]].map((each, index) => each === items(before)[index])).toEqual([
      true,
      true,
      true,
      true,
    ])
    const removed = items(decode(text('b', 'd'), before as unknown as KubeObject, using))
    expect(removed[0]).toBe(items(before)[1])
    expect(removed[1]).toBe(items(before)[3])
  })

  it('does not retain the text that strings came from', () => {
    v8.setFlagsFromString('--expose-gc')
    const collect = vm.runInNewContext('gc') as () => void
    const using = decoder()
    const padding = 'x'.repeat(200_000)
    const kept: JsonObject[] = []
    collect()
    const before = v8.getHeapStatistics().used_heap_size
    for (let index = 0; index < 200; index++) {
      const text = `{"metadata":{"managedFields":["${padding}${index}"],"name":"an object with a long name ${index}","uid":"${index}"},"data":{"a long key of its own ${index}":"a long value of its own ${index}"}}`
      kept.push(decode(text, kept.at(-1) as unknown as KubeObject, using))
    }
    collect()
    // 200 texts of 200 KB each would be 40 MB.
    expect(v8.getHeapStatistics().used_heap_size - before).toBeLessThan(8_000_000)
    expect(kept).toHaveLength(200)
  })
})

describe('adopting an object that is parsed already', () => {
  /** As a response: the parser's result. */
  const adopt = (text: string, guide: JsonObject | undefined, using: Decoder): JsonObject =>
    asJson(using.adopt(asObject(parseJson(text) as JsonObject), guide && asObject(guide)))

  it('equals decoding its text, whatever the guide, and leaves it alone', () => {
    fc.assert(
      fc.property(objectDraft, objectDraft, seed, fc.boolean(), (own, other, dice, isRelated) => {
        const random = seededRandom(dice)
        const text = write(isRelated ? mutateObject(own, random) : own, random)
        const using = decoder()
        const guide = decode(write(isRelated ? own : other), undefined, using)
        const response = parseJson(text) as JsonObject
        const result = asJson(using.adopt(asObject(response), asObject(guide)))
        expect(difference(result, expected(text))).toBeUndefined()
        expect(unfrozen(result)).toBeUndefined()
        expect(difference(response, parseJson(text))).toBeUndefined()
        expect(Object.isFrozen(response)).toBe(false)
        expect(difference(adopt(text, undefined, decoder()), expected(text))).toBeUndefined()
      }),
      { numRuns: 500 },
    )
  })

  it('takes every node that has not changed from the guide, and all of it if nothing has', () => {
    fc.assert(
      fc.property(objectDraft, seed, (own, dice) => {
        const using = decoder()
        const guide = decode(write(own), undefined, using)
        expect(adopt(write(own), guide, using)).toBe(guide)
        const result = adopt(write(mutateObject(own, seededRandom(dice))), guide, using)
        expect(unshared(result, guide)).toBeUndefined()
      }),
      { numRuns: 500 },
    )
  })

  it('keeps the same part as decoding', () => {
    const pod =
      '{"kind":"Pod","apiVersion":"v9","metadata":{"name":"a","managedFields":[{"a":[1]}]},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"},{"name":"d"}]}}'
    for (const options of [
      {},
      { detail: 'metadata' },
      { detail: ['spec.containers.image'] },
      { keepManagedFields: true },
    ] as const) {
      expect(adopt(pod, undefined, decoder(options))).toEqual(decode(pod, undefined, decoder(options)))
    }
  })

  it('is a guide for the next object, and survives nesting of any depth', () => {
    const using = decoder()
    const first = adopt('{"metadata":{"name":"web-1","namespace":"a"},"spec":{"x":[1,2]}}', undefined, using)
    const second = adopt(
      '{"metadata":{"name":"web-2","namespace":"a"},"spec":{"x":[1,2]}}',
      asJson(using.hint('a', 'web-2')),
      using,
    )
    expect(second['spec']).toBe(first['spec'])
    const deep = `{"metadata":{},"spec":${'['.repeat(5000)}${']'.repeat(5000)}}`
    expect(unfrozen(adopt(deep, undefined, using)['metadata'])).toBeUndefined()
  })
})

describe('decoding many objects of a kind', () => {
  /** A family of objects: one template in which some strings differ, now and then something else. */
  const familyMember = (random: Random, index: number): string => {
    const oneOf = (...choices: readonly string[]): string => choices[Math.floor(random.next() * choices.length)]!
    const labels = oneOf(
      '"labels":{"app":"a","team":"x"},',
      '"labels":{"app":"a","team":"x"},',
      '"labels":{"app":"b"},',
      '',
    )
    const managed = `"managedFields":[{"manager":"m","time":"${oneOf('t1', 't2', 'a\\"b')}","fieldsV1":{"f:${oneOf('x', 'y')}":{}}}]`
    const condition = (type: string): string =>
      random.next() < 0.7
        ? `{"type":"${type}","status":"True","lastProbeTime":null,"at":"${index}"}`
        : `{"type":"${type}","status":"False","lastProbeTime":null,"at":"${index}","reason":"${oneOf('Bad', 'Worse')}"}`
    const extra = oneOf(
      '',
      '',
      '',
      ',"extra":{"x":-0}',
      ',"extra":{"x":0}',
      ',"extra":{"x":[1,{"ü":"ü"}]}',
      `,"twice":"a","twice":"${index}"`,
    )
    const conditions = [condition('Ready'), condition('Live'), ...(random.next() < 0.2 ? [condition('More')] : [])]
    return (
      `{"kind":"Thing","apiVersion":"v1","metadata":{"name":"n${index}",${labels}"uid":"${index % 7}",${managed}},` +
      `"spec":{"containers":[{"name":"main","image":"i","env":[{"name":"A","value":"${oneOf('1', '1', '2')}"},{"name":"B","value":"b"}],"mount":"m-${index}"}],"node":"${oneOf('n1', 'n2')}","count":${oneOf('1', '1', '2', 'null')}${extra}},` +
      `"status":{"phase":"Running","conditions":[${conditions.join()}]}}`
    )
  }

  it('learns templates and returns the exact objects', () => {
    fc.assert(
      fc.property(
        seed,
        fc.constantFrom<DecoderOptions['detail']>('full', [
          'spec.node',
          'status.conditions.type',
          'spec.containers.env',
        ]),
        (dice, detail) => {
          const random = seededRandom(dice)
          const using = decoder({ detail })
          const seen: JsonObject[] = []
          for (let index = 0; index < 60; index++) {
            const text = familyMember(random, index)
            const guide =
              seen.length > 0 && random.next() < 0.9
                ? seen[Math.floor(seen.length - 1 - random.next() * Math.min(seen.length, 3))]
                : undefined
            const result = decode(text, guide as unknown as KubeObject | undefined, using)
            expect(difference(result, project(expected(text), detail))).toBeUndefined()
            expect(unfrozen(result)).toBeUndefined()
            expect(detail === 'full' ? unshared(result, guide) : undefined).toBeUndefined()
            expect(decode(text, result as unknown as KubeObject, using)).toBe(result)
            seen.push(result)
          }
        },
      ),
      { numRuns: 40 },
    )
  })

  it('handles a list that is empty once', () => {
    const using = decoder()
    let guide: KubeObject | undefined
    for (let index = 0; index < 20; index++) {
      for (const items of [[], [`i${index}`]]) {
        const text = JSON.stringify({
          ...form,
          metadata: { name: 'n', uid: `u${index % 2}` },
          spec: { items, size: 1 },
        })
        const object = decode(text, guide, using)
        expect(object['spec']).toEqual({ items, size: 1 })
        guide = object as unknown as KubeObject
      }
    }
  })

  it('rejects damaged text of a known template, and continues', () => {
    fc.assert(
      fc.property(seed, (dice) => {
        const random = seededRandom(dice)
        const using = decoder({ keepManagedFields: true })
        let guide: KubeObject | undefined
        for (let index = 0; index < 60; index++) {
          const text = familyMember(random, index)
          const at = Math.floor(random.next() * text.length)
          const damaged =
            text.slice(0, at) + ['"', '}', ',', '\n', '0', ''][Math.floor(random.next() * 6)]! + text.slice(at + 1)
          expect(
            difference(
              attempt(() => decode(damaged, guide, using)),
              parsed(damaged),
            ),
          ).toBeUndefined()
          guide = decode(text, guide, using) as unknown as KubeObject
          expect(difference(guide, expected(text, true))).toBeUndefined()
        }
      }),
      { numRuns: 40 },
    )
  })

  it('is not slowed down by objects that match a template only at first', () => {
    const nested = (depth: number, tail: string): string =>
      depth === 0 ? '{}' : `{"a":${nested(depth - 1, tail)},"b":"${depth}"${tail}}`
    const text = (index: number, tail: string): string =>
      `{"metadata":{"uid":"${index}","labels":{"a":"b"}},"spec":${nested(50, tail.replaceAll('#', String(index)))}}`
    const using = decoder()
    let guide: KubeObject | undefined
    for (let index = 0; index < 10; index++)
      guide = decode(text(index, ',"c":"#"'), guide, using) as unknown as KubeObject
    // Tried again at each of 50 levels, this would take 2^50 steps.
    for (let index = 0; index < 10; index++) {
      const odd = text(index, index % 2 ? ',"d":"#","e":1' : ',"f":"#"')
      guide = decode(odd, guide, using) as unknown as KubeObject
      expect(difference(guide, expected(odd))).toBeUndefined()
    }
  })
})

/** Keeps what a projection keeps, the plain way. */
function project(object: JsonObject, detail: DecoderOptions['detail']): JsonObject {
  if (detail === undefined || detail === 'full') return object
  const { apiVersion, kind, metadata } = object
  const paths = detail === 'metadata' ? [] : detail.map((path) => path.split('.'))
  const rest = keep(
    Object.fromEntries(Object.entries(object).filter(([key]) => !['apiVersion', 'kind', 'metadata'].includes(key))),
    paths,
  )
  const identity = detail === 'metadata' ? form : { apiVersion, kind }
  return { ...identity, ...('metadata' in object ? { metadata } : {}), ...(rest as JsonObject) }
}

function keep(value: Json, paths: readonly (readonly string[])[]): Json {
  if (Array.isArray(value)) return value.map((item: Json) => keep(item, paths))
  if (!isObject(value)) return value
  const kept = Object.entries(value).flatMap(([key, inner]) => {
    const below = paths.filter(([first]) => first === key).map(([, ...rest]) => rest)
    if (below.length === 0) return []
    return [[key, below.some((path) => path.length === 0) ? inner! : keep(inner!, below)] as const]
  })
  return Object.fromEntries(kept)
}

describe('a decode hint', () => {
  const named = (namespace: string, name: string, uid: string): string =>
    `{"metadata":{"name":"${name}","namespace":"${namespace}","uid":"${uid}"}}`

  it('is the latest object whose name differs in its last part only, or else the latest of all', () => {
    const using = decoder()
    expect(using.hint('a', 'web-7d4f-x1')).toBeUndefined()
    const web = decode(named('a', 'web-7d4f-x1', '1'), undefined, using)
    const elsewhere = decode(named('b', 'web-7d4f-x1', '2'), undefined, using)
    const api = decode(named('a', 'api-55aa-y1', '3'), undefined, using)
    expect(using.hint('a', 'web-7d4f-x2')).toBe(web)
    expect(using.hint('b', 'web-7d4f-x2')).toBe(elsewhere)
    expect(using.hint('a', 'api-55aa-y2')).toBe(api)
    expect(using.hint('a', 'new-1234-z1')).toBe(api)
  })

  it('is kept for a bounded number of name prefixes', () => {
    const using = decoder()
    const first = decode(named('a', 'web-1', '1'), undefined, using)
    expect(using.hint('a', 'web-2')).toBe(first)
    for (let index = 0; index < 2000; index++) decode(named('a', `family${index}-1`, `${index}`), undefined, using)
    expect(using.hint('a', 'web-2')).not.toBe(first)
  })
})

describe('projecting fields', () => {
  const pod =
    '{"kind":"Pod","apiVersion":"v9","metadata":{"name":"a","managedFields":[{"a":["]"]}],"labels":{"x":"y"}},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"},{"name":"d"}]},"status":{"phase":"Running"}}'

  it('keeps the requested paths, through arrays', () => {
    const object = decode(pod, undefined, decoder({ detail: ['spec.containers.image', 'status'] }))
    expect(object).toEqual({
      apiVersion: 'v9',
      kind: 'Pod',
      metadata: { name: 'a', labels: { x: 'y' } },
      spec: { containers: [{ image: 'i' }, {}] },
      status: { phase: 'Running' },
    })
  })

  it('keeps a whole member, even if further paths select parts of it', () => {
    for (const detail of [
      ['spec', 'spec.nodeName'],
      ['spec.nodeName', 'spec'],
    ]) {
      const { spec } = decode(pod, undefined, decoder({ detail })) as { readonly spec?: JsonObject }
      expect(Object.keys(spec ?? {})).toEqual(['nodeName', 'containers'])
    }
  })

  it('equals the parsed object without the other fields, for any hint', () => {
    const paths = fc.array(
      fc
        .array(
          keyText.filter((key) => !key.includes('.')),
          { minLength: 1, maxLength: 3 },
        )
        .map((path) => path.join('.')),
      { minLength: 1, maxLength: 4 },
    )
    fc.assert(
      fc.property(objectDraft, seed, paths, (own, dice, detail) => {
        fc.pre(!detail.some((path) => path.split('.')[0] === 'metadata'))
        const text = write(mutateObject(own, seededRandom(dice)))
        const using = decoder({ detail })
        const guide = decode(write(own), undefined, using) as unknown as KubeObject
        expect(difference(decode(text, guide, using), project(expected(text), detail))).toBeUndefined()
      }),
      { numRuns: 500 },
    )
  })

  it('gives partial metadata the kind of the resource', () => {
    const partial = pod.replace(
      '"kind":"Pod","apiVersion":"v9"',
      '"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1"',
    )
    const object = decode(partial, undefined, decoder({ detail: 'metadata' }))
    expect(object).toEqual({ ...form, metadata: { name: 'a', labels: { x: 'y' } } })
  })

  it('keeps managedFields on request', () => {
    const object = decode(pod, undefined, decoder({ keepManagedFields: true }))
    expect((object['metadata'] as JsonObject)['managedFields']).toEqual([{ a: [']'] }])
  })

  it('keeps fields called managedFields elsewhere', () => {
    const text = '{"metadata":{"name":"a","annotations":{"managedFields":"x"}},"data":{"managedFields":"y"}}'
    expect(decode(text)).toEqual({ ...form, ...(parseJson(text) as JsonObject) })
  })
})
