/**
 * Random malicious values: objects that match a schema with absurd content, and objects that do not match.
 * Deterministic for a seed.
 */
import type { Random } from '../src/clock/random.ts'
import { isJsonObject, type Json, type JsonObject } from '../src/kube/json.ts'
import { type Definitions, resolveSchema, type Schema } from '../src/kube/schema.ts'

export interface Chance {
  pick<T>(items: readonly T[]): T
  /** An integer below the bound. */
  below(limit: number): number
  /** True with this probability. */
  in(share: number): boolean
}

export function chanceOf(random: Random): Chance {
  const below = (limit: number): number => Math.floor(random.next() * limit)
  return { below, pick: (items) => items[below(items.length)]!, in: (share) => random.next() < share }
}

/** Keys with a special meaning in JavaScript, or in joined paths. */
export const hostileKeys: readonly string[] = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'valueOf',
  '',
  '.',
  '..',
  'a/b',
  '~1',
  '0',
  '-1',
  'length',
  '$patch',
  '$setElementOrder/containers',
  '$deleteFromPrimitiveList/finalizers',
  '$retainKeys',
  'k:{"a":1}',
  'f:spec',
  '\u{0}',
  '\u{d800}',
  'ключ',
  'x'.repeat(300),
]

export const hostileTexts: readonly string[] = [
  ...hostileKeys,
  ' ',
  'a',
  'web',
  'UPPER',
  'a\nb',
  '<script>',
  '%s%n',
  '${jndi:x}',
  '../../etc/passwd',
  '*',
  '-',
  '{{.x}}',
  '$(A)',
  '1',
  '-1',
  '80',
  '99999999999999999999',
  '0x10',
  '1e9',
  '1e999999999',
  '1e-999999999',
  '9'.repeat(400),
  '100%',
  '-5%',
  '1Gi',
  '100m',
  'NaN',
  'Infinity',
  'true',
  'null',
  '0.0.0.0',
  '256.1.1.1',
  '10.0.0.0/8',
  '10.0.0.1/99',
  '::1',
  '::ffff:1.2.3.4',
  'fe80::1%eth0',
  'https://127.0.0.1:1/x?y#z',
  'https://[',
  'http://user:pass@example.com',
  'ftp://x',
  '0001-01-01T00:00:00Z',
  '2024-02-30T25:61:61Z',
  '9999-12-31T23:59:59.999999999Z',
  '2024-01-01T00:00:00.000000Z',
  '* * * * *',
  '@every 0s',
  '99 99 99 99 99',
  '*/0 * * * *',
  'TZ=Nowhere * * * * *',
  '(a+)+$',
  '[',
  '(?P<x>a)\\1',
  'a{1000}{1000}',
  'YQ==',
  '!not base64!',
  '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----',
  'self.x == oldSelf.y',
  '[1,2,3].all(x, [1,2,3].all(y, [1,2,3].all(z, x + y + z > 0)))',
  '('.repeat(300),
  'example.com/name',
  'v1',
  'apps/v1',
  'Deployment',
  'In',
  'Exists',
  'ClusterIP',
  'ExternalName',
  'LoadBalancer',
  'None',
  'Headless',
  'TCP',
  'Always',
  'RollingUpdate',
  'Recreate',
  'kubernetes.io/tls',
  'kubernetes.io/service-account-token',
  'kubernetes.io/dockerconfigjson',
  'eyJhbGciOiJub25lIn0.e30.',
]

const hostileNumbers: readonly (number | bigint)[] = [
  0,
  1,
  -1,
  2,
  80,
  255,
  65_536,
  2_147_483_647,
  -2_147_483_648,
  2_147_483_648,
  9_007_199_254_740_993n,
  9_223_372_036_854_775_807n,
  -9_223_372_036_854_775_808n,
  123_456_789_012_345_678_901_234_567_890n,
  1.5,
  -0,
  1e308,
  5e-324,
]

/** Strings that a decoder accepts for formats beyond text. */
const fittingTexts: ReadonlyMap<string, readonly string[]> = new Map([
  ['byte', ['YQ==', '', 'AAEC', 'eyJhdXRocyI6IHt9fQ==', '////']],
  [
    'date-time',
    ['0001-01-01T00:00:00Z', '2024-01-01T00:00:00Z', '9999-12-31T23:59:59.999999999Z', '2024-01-01T00:00:00+14:00'],
  ],
])

const quantities = [
  '0',
  '1',
  '-1',
  '100m',
  '1Gi',
  '1e9',
  '1e-999',
  '1e99',
  '1e999999999',
  '1e-2147483648',
  '9'.repeat(400),
  '.5',
  '12345678901234567890Ei',
]

function isQuantity(declared: Schema | undefined): boolean {
  return declared?.$ref?.endsWith('.Quantity') ?? false
}

/** Any JSON at all. */
export function anyJson(chance: Chance, depth = 3): Json {
  switch (chance.below(depth > 0 ? 9 : 7)) {
    case 0:
      return null
    case 1:
      return chance.in(0.5)
    case 2:
    case 3:
      return chance.pick(hostileNumbers)
    case 7:
      return Array.from({ length: chance.below(4) }, () => anyJson(chance, depth - 1))
    case 8:
      return membersOf(Array.from({ length: chance.below(4) }, () => [anyKey(chance), anyJson(chance, depth - 1)]))
    default:
      return chance.pick(hostileTexts)
  }
}

function anyKey(chance: Chance): string {
  return chance.in(0.5)
    ? chance.pick(hostileKeys)
    : chance.pick(['a', 'b', 'name', 'spec', 'metadata', 'example.com/x'])
}

/** Own members, whatever their names. */
function membersOf(entries: readonly (readonly [string, Json])[]): JsonObject {
  return Object.fromEntries(entries)
}

export interface Misfit {
  readonly definitions: Definitions
  /** The fraction of values that do not match their schema. */
  readonly wrong: number
  /** The fraction of members that are present. */
  readonly full: number
}

/** A value for a schema: of the right type, except for the given fraction, with random content. */
export function valueFor(chance: Chance, declared: Schema | undefined, how: Misfit, depth = 7): Json {
  if (chance.in(how.wrong)) return anyJson(chance, 2)
  const schema = resolveSchema(declared, how.definitions)
  if (schema['x-kubernetes-int-or-string'] || schema.format === 'int-or-string') {
    return chance.in(0.5) ? chance.pick(hostileTexts) : chance.pick([0, 1, -1, 80, 70_000])
  }
  switch (schema.type) {
    case 'boolean':
      return chance.in(0.5)
    case 'integer':
    case 'number':
      return integer(chance)
    case 'string': {
      const fitting = fittingTexts.get(schema.format ?? '') ?? (isQuantity(declared) ? quantities : hostileTexts)
      return chance.pick(chance.in(0.97) ? fitting : hostileTexts)
    }
    case 'array': {
      if (depth <= 0) return []
      return Array.from({ length: chance.below(3) }, () => valueFor(chance, schema.items, how, depth - 1))
    }
    default:
      return depth <= 0 ? {} : objectFor(chance, schema, how, depth)
  }
}

/** Mostly one that fits 32 bits: the decoder rejects others. */
function integer(chance: Chance): number | bigint {
  return chance.in(0.9)
    ? chance.pick([0, 1, -1, 2, 3, 30, 80, 255, 65_536, 2_147_483_647, -2_147_483_648])
    : chance.pick(hostileNumbers)
}

function objectFor(chance: Chance, schema: Schema, how: Misfit, depth: number): JsonObject {
  const { properties, additionalProperties } = schema
  if (properties) {
    const some = Object.entries(properties).filter(([name]) =>
      chance.in(schema.required?.includes(name) ? 0.9 : how.full),
    )
    const known = some.map(([name, own]) => [name, valueFor(chance, own, how, depth - 1)] as const)
    const strange = chance.in(how.wrong) ? [[anyKey(chance), anyJson(chance, 2)] as const] : []
    return membersOf([...known, ...strange])
  }
  if (typeof additionalProperties === 'object') {
    const keys = Array.from({ length: chance.below(3) }, () => anyKey(chance))
    return membersOf(keys.map((key) => [key, valueFor(chance, additionalProperties, how, depth - 1)]))
  }
  return chance.in(0.5) ? {} : membersOf([[anyKey(chance), anyJson(chance, 2)]])
}

/** The value with a few parts replaced. */
export function mutated(chance: Chance, value: Json, changes: number): Json {
  let result = value
  for (let count = 0; count < changes; count++) result = mutatedOnce(chance, result)
  return result
}

function mutatedOnce(chance: Chance, value: Json): Json {
  if (typeof value === 'object' ? value === null || chance.in(0.08) : chance.in(0.3)) return anyJson(chance, 2)
  // Of the right type and otherwise invalid: this passes the decoder.
  if (typeof value === 'string') return chance.pick(hostileTexts)
  if (typeof value === 'boolean') return !value
  if (typeof value !== 'object') return integer(chance)
  if (Array.isArray(value)) {
    const items = value as readonly Json[]
    if (items.length === 0) return [anyJson(chance, 2)]
    const at = chance.below(items.length)
    if (chance.in(0.15)) return [...items, ...items]
    return chance.in(0.15) ? items.toSpliced(at, 1) : items.with(at, mutatedOnce(chance, items[at]!))
  }
  if (!isJsonObject(value)) return value
  const keys = Object.keys(value)
  if (keys.length === 0 || chance.in(0.1)) return membersOf([...entriesOf(value), [anyKey(chance), anyJson(chance, 2)]])
  const key = chance.pick(keys)
  if (chance.in(0.1)) return membersOf(entriesOf(value).filter(([name]) => name !== key))
  return membersOf(
    entriesOf(value).map(([name, member]) => [name, name === key ? mutatedOnce(chance, member) : member]),
  )
}

function entriesOf(value: JsonObject): readonly (readonly [string, Json])[] {
  return Object.entries(value).map(([name, member]) => [name, member ?? null])
}
