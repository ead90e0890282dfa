/**
 * Ten thousand invalid configurations. Each is a valid one with one known mistake: the error must name the full path of the
 * mistake, whatever else it says.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { managerErrors } from '../errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import { isJsonObject, type Json } from '../../kube/json.ts'
import { isJsonArray } from '../../kube/json-member.ts'
import { checkDnsLabel } from '../../kube/meta/name.ts'
import type { JSONSchemaProps } from '../../kube/types/apiextensions/v1.ts'
import { defineConfig } from '../../operator/config.ts'
import { defineController } from '../../operator/controller.ts'
import { integer, list, object, oneOf, string } from '../../operator/kind/field.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import { defineOperator } from '../../operator/operator.ts'
import { readConfiguration } from './configuration.ts'
import type { Layer } from './layer.ts'
import { flagLayer } from './override.ts'
import { valueAt } from './problem.ts'
import { configurationSchema, memberOf } from './schema.ts'

const operator = defineOperator({
  name: 'cache',
  controllers: [defineController({ for: ConfigMap })],
  config: defineConfig({
    size: integer({ minimum: 1, maximum: 9, default: 3 }),
    mode: oneOf(['strict', 'lenient'], { default: 'strict' }),
    zones: list(string({ minLength: 1 }), { sharedBy: 'value', default: [] }),
    peers: list(object({ host: string(), port: integer({ minimum: 1, default: 80 }) }), { default: [] }),
    owner: string(),
    pin: string({ format: 'password', default: '' }),
    logins: list(object({ pin: string({ format: 'password' }) }), { default: [] }),
  }),
})

/** In order, and with something in every list and map, so that what is below them can be spoilt. */
const good = {
  clusters: { edge: { secret: 'fleet/edge' } },
  placement: {
    management: 'edge',
    hosted: {
      a: { cluster: 'edge', rules: [{ operator: 'x/*', cluster: 'hosted-a/*', kinds: ['things.a.b/v1'] }], shared: [] },
    },
  },
  leaderElection: { leaderElect: true, retryPeriod: '1s' },
  metrics: { port: 1 },
  operators: {
    cache: {
      from: './cache.ts',
      gates: { burst: 3 },
      outside: ['https://a.example.com'],
      namespaces: ['one'],
      clusters: ['edge', 'a'],
      config: { owner: 'us', zones: ['north', 'south'], peers: [{ host: 'a' }], logins: [{ pin: 'x' }] },
    },
    tool: { program: { command: './tool', args: ['-v'], env: { A: 'b' }, controllers: ['one'], timeout: '5s' } },
  },
} satisfies Json

interface Bad {
  /** Of what is wrong. Empty: the whole. */
  readonly path: readonly string[]
  readonly layer: Layer
}

const made = (path: readonly string[], value: Json): Bad => ({ path, layer: { source: 'made', value } })
/** The good one, with this at a path. */
const spoilt = (path: readonly string[], value: Json, named = path): Bad => made(named, withAt(good, path, value))

interface Place {
  readonly path: readonly string[]
  readonly schema: JSONSchemaProps
}

/** Everywhere that the schema knows, and the good one has something below maps and lists. */
function placesIn(schema: JSONSchemaProps, value: Json | undefined, path: readonly string[] = []): readonly Place[] {
  const given = isJsonObject(value) || isJsonArray(value) ? Object.keys(value) : []
  const below = [...new Set([...Object.keys(schema.properties ?? {}), ...given])].flatMap((name) => {
    const member = memberOf(schema, name)
    return member ? placesIn(member, valueAt(value, [name]), [...path, name]) : []
  })
  return [{ path, schema }, ...below]
}

const ofType: Readonly<Record<string, fc.Arbitrary<Json>>> = {
  string: fc.oneof(fc.string(), fc.constantFrom('true', '1', '__proto__')),
  integer: fc.integer(),
  number: fc.double({ noNaN: true, noDefaultInfinity: true, noInteger: true }),
  boolean: fc.boolean(),
  array: fc.constantFrom<Json>([], ['x'], [[]], [{ a: 1 }], ['__proto__']),
  object: fc.constantFrom<Json>({}, { a: 1 }, { constructor: 'x' }),
}

/** What comes close to what is wanted, and is not it. */
const nearMisses = [
  ['5', '5 s', '-1s', '1d', '5sec', '1s ', '1e3s', '.5s', '1,5s', '5S', '1w', '١s', '1234567s', '1h30'],
  ['256M', '1Ti', '0Mi', '-1Gi', '1.5Gi', '256', '1gi', '1 Gi', '01Mi', '1Mi\n'],
  ['a/b/c', 'a/', '/b', 'A/b', 'a b/c', 'a/-b', 'a', 'ftp://a', 'https://', 'http//a', 'https://a b'],
  ['-a', 'a-', 'a_b', 'Edge', 'é', 'a'.repeat(64), 'x'.repeat(5000), '', ' ', 'a#b c'],
].flat()

/** Values that a place cannot have. */
function wrongValues({
  type,
  enum: words,
  minimum,
  maximum,
  ...schema
}: JSONSchemaProps): readonly fc.Arbitrary<Json>[] {
  if (type === undefined) return []
  const isFit = (name: string): boolean => name === type || (name === 'integer' && type === 'number')
  const found = Object.entries(ofType).flatMap(([name, values]) => (isFit(name) ? [] : [values]))
  if (type === 'string') {
    const { pattern, minLength = 0, maxLength = Infinity } = schema
    const isWrong = (text: string): boolean => {
      if (words) return !words.includes(text)
      if (pattern !== undefined && !new RegExp(pattern, 'u').test(text)) return true
      return text.length < minLength || text.length > maxLength
    }
    const texts = nearMisses.filter(isWrong)
    if (texts.length > 0) found.push(fc.constantFrom(...texts))
    if (words || pattern !== undefined) found.push(fc.string().filter(isWrong))
    if (words) found.push(fc.constantFrom(...words).map((word) => `${JSON.stringify(word).slice(1, -2)}x`))
  }
  const [below, above] = [Math.ceil(minimum ?? 0) - 1, Math.floor(maximum ?? 0) + 1]
  if (minimum !== undefined) found.push(fc.constant(below), fc.integer({ min: -1e9, max: below }))
  if (maximum !== undefined) found.push(fc.constant(above), fc.integer({ min: above, max: 1e9 }))
  return found
}

const anyKey = fc.oneof(
  fc.string({ minLength: 1 }),
  fc.constantFrom('__proto__', 'constructor', 'toString', 'hasOwnProperty', 'a.b', 'a[0]', 'é', '0'),
)

/** Unknown keys, and known keys with a typing mistake. */
function unknownKeys({ path, schema }: Place): readonly fc.Arbitrary<Bad>[] {
  const known = Object.keys(schema.properties ?? {})
  if (known.length === 0 || schema.additionalProperties) return []
  const slips = known.flatMap((name) => [name.slice(1), `${name}s`, name.toUpperCase(), ` ${name}`])
  const key = fc.oneof(anyKey, fc.constantFrom(...slips)).filter((name) => name !== '' && !known.includes(name))
  const value = fc.oneof(fc.jsonValue({ maxDepth: 1 }) as fc.Arbitrary<Json>, fc.constant(null))
  const isFlat = path.every((step) => !/^\d+$/.test(step))
  return [
    fc.tuple(key, value).map(([name, what]) => spoilt([...path, name], what)),
    // By a flag: those know no lists, and read a dot as one.
    ...(isFlat
      ? [
          key
            .filter((name) => !/[.=]/.test(name))
            .map((name) => ({
              path: [...path, name],
              layer: flagLayer([`${[...path, name].join('.')}=1`], [operator]),
            })),
        ]
      : []),
  ]
}

/** What must be there, taken away. */
function missing({ path, schema }: Place): readonly fc.Arbitrary<Bad>[] {
  const value = valueAt(good, path)
  return (schema.required ?? []).flatMap((name) =>
    isJsonObject(value) && Object.hasOwn(value, name)
      ? [fc.constant(spoilt(path, without(value, name), [...path, name]))]
      : [],
  )
}

const label = fc.stringMatching(/^[a-z][a-z0-9]{0,10}$/)
const ms = fc.integer({ min: 1, max: 900_000 })
const nothing = fc.constantFrom('0', '0s', '0ms', '0h0m', '0.0s')

/** What is in order alone, and not together. */
const contradictions: readonly fc.Arbitrary<Bad>[] = [
  ...(['leaderElection', 'sharding'] as const).flatMap((name) => [
    fc.tuple(fc.integer({ min: 1, max: 10 }), fc.nat(10)).map(([lease, more]) => {
      const times = { leaseDuration: `${lease}s`, renewDeadline: `${lease + more}s`, retryPeriod: '1ms' }
      return spoilt([name], times, [name, 'renewDeadline'])
    }),
    fc.tuple(fc.integer({ min: 20, max: 60 }), fc.integer({ min: 1, max: 999 })).map(([whole, part]) => {
      return spoilt([name], { leaseDuration: `${whole}s${part}ms` }, [name, 'leaseDuration'])
    }),
    nothing.map((text) => spoilt([name, 'retryPeriod'], text)),
    fc.integer({ min: 9, max: 1000 }).map((seconds) => spoilt([name, 'retryPeriod'], `${seconds}s`)),
  ]),
  fc.constant(spoilt(['sharding', 'enabled'], true)),
  fc.constant(spoilt(['webhooks'], { url: 'https://a', service: 'a/b' }, ['webhooks', 'url'])),
  // Clusters that are not configured, or are configured twice, or have no connection.
  fc
    .tuple(fc.constantFrom('configuration', 'management', 'userWorkload'), label)
    .filter(([, name]) => !['edge', 'local'].includes(name))
    .map(([role, name]) => spoilt(['placement', role], name)),
  fc
    .tuple(fc.constantFrom('cluster', 'userWorkload'), label)
    .filter(([, name]) => !['edge', 'local'].includes(name))
    .map(([what, name]) => spoilt(['placement', 'hosted', 'a', what], name)),
  fc
    .tuple(fc.nat(1), label)
    .filter(([, name]) => !['edge', 'local', 'a'].includes(name))
    .map(([at, name]) => spoilt(['operators', 'cache', 'clusters', String(at)], name)),
  fc.constantFrom('edge', 'local').map((name) => spoilt(['placement', 'hosted', name], {})),
  fc.constant(spoilt(['clusters', 'local'], { inCluster: true })),
  label.filter((name) => name !== 'a').map((name) => spoilt(['clusters', name], {})),
  label.filter((name) => name !== 'a').map((name) => spoilt(['clusters', name], { inCluster: true, context: 'x' })),
  fc
    .constantFrom(
      { operator: 'x/*', cluster: 'y/z' },
      { operator: '*', cluster: 'h' },
      { operator: 'x/y', cluster: '*' },
    )
    .map((rule) => spoilt(['placement', 'hosted', 'a', 'rules'], [rule])),
  // Of operators.
  fc.tuple(ms, ms).map(([most, more]) => {
    const gates = { debounce: `${most + more}ms`, debounceMax: `${most}ms` }
    return spoilt(['operators', 'cache', 'gates'], gates, ['operators', 'cache', 'gates', 'debounce'])
  }),
  nothing.map((text) => spoilt(['operators', 'cache', 'budgets', 'runTimeout'], text)),
  fc
    .constantFrom<readonly [string, Json]>(
      ['from', './a.ts'],
      ['isolation', 'worker'],
      ['namespaces', ['a']],
      ['config', { a: 1 }],
      ['outside', ['https://a']],
    )
    .map(([name, value]) => spoilt(['operators', 'tool', name], value)),
  nothing.map((text) => spoilt(['operators', 'tool', 'program', 'timeout'], text)),
  nothing.map((text) => spoilt(['operators', 'tool', 'program', 'resync'], text)),
  fc.constant(spoilt(['operators', 'tool', 'program', 'live'], true)),
  fc
    .integer({ min: 2, max: 1000 })
    .filter((places) => places !== 8)
    .map((places) => spoilt(['operators', 'tool', 'gates', 'concurrency'], places)),
  // The same twice, where each may be there once.
  fc.constantFrom('north', 'south').map((zone) => {
    const path = ['operators', 'cache', 'config', 'zones']
    return spoilt(path, ['north', 'south', zone], [...path, '2'])
  }),
]

/** Names that cannot be part of others. */
const names: readonly fc.Arbitrary<Bad>[] = [
  ...[['clusters'], ['placement', 'hosted'], ['operators']].map((path) => {
    const value: Json = path[0] === 'clusters' ? { inCluster: true } : {}
    const name = fc.oneof(anyKey, fc.constantFrom('-a', 'a-', 'A', 'a_b', 'a.b', 'a'.repeat(64)))
    return name.filter((text) => checkDnsLabel(text).length > 0).map((text) => spoilt([...path, text], value))
  }),
  fc
    .oneof(anyKey, fc.constantFrom('A-B', '1A', 'A B', 'A=B'))
    .filter((text) => !/^[A-Za-z_]\w*$/.test(text))
    .map((text) => spoilt(['operators', 'tool', 'program', 'env', text], 'x')),
]

const places = placesIn(configurationSchema([operator]).schema, good)
const everything = [
  ...places.flatMap((place) => [
    ...wrongValues(place.schema).map((values) => values.map((value) => spoilt(place.path, value))),
    ...unknownKeys(place),
    ...missing(place),
  ]),
  ...contradictions,
  ...names,
]

/** The problems in the error message, one by one. */
function problemsOf(...layers: readonly Layer[]): readonly string[] {
  try {
    readConfiguration(layers, [operator])
    return []
  } catch (error) {
    if (!isMusterError(error, managerErrors.InvalidConfiguration)) throw error
    const told = error.message.replace('The configuration is invalid:', '')
    return told.startsWith('\n- ') ? told.slice(3).split('\n- ') : [told.slice(1)]
  }
}

describe('bad configurations', () => {
  it('derive from a valid one', () => {
    expect(problemsOf({ source: 'made', value: good })).toEqual([])
    expect(places.length).toBeGreaterThan(150)
  })

  it(
    'are rejected, ten thousand of them, with the full path of the error, and never crash',
    { timeout: 60_000 },
    () => {
      let refused = 0
      fc.assert(
        fc.property(fc.oneof(...everything), ({ path, layer }) => {
          const place = path.join('.') || 'the whole'
          const told = problemsOf(layer)
          const isNamed = told.some((problem) => problem.startsWith(`${place} (`))
          if (!isNamed) throw new Error(`${place} is not named: ${told.join('; ') || 'it is accepted'}`)
          refused++
        }),
        { numRuns: 10_000 },
      )
      expect(refused).toBe(10_000)
    },
  )
})

function withAt(value: Json, [name, ...rest]: readonly string[], leaf: Json): Json {
  if (name === undefined) return leaf
  if (isJsonArray(value)) return value.map((item, at) => (String(at) === name ? withAt(item, rest, leaf) : item))
  const own = new Map(isJsonObject(value) ? Object.entries(value) : [])
  return Object.fromEntries(own.set(name, withAt(own.get(name) ?? {}, rest, leaf)))
}

function without(value: Json, name: string): Json {
  return Object.fromEntries(Object.entries(value as object).filter(([other]) => other !== name))
}
