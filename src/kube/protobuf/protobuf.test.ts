import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { kubeErrors } from '../errors.ts'
import { isMusterError } from '../muster-error.ts'
import type { Json, JsonObject } from '../json.ts'
import { decodeProtobuf } from './decode.ts'
import { encodeProtobuf } from './encode.ts'
import { type ProtobufField, type Message, messageNamed, messageOfKind } from './table.ts'

const kinds: readonly (readonly [string, string])[] = [
  ['v1', 'Pod'],
  ['v1', 'ConfigMap'],
  ['v1', 'Secret'],
  ['v1', 'Event'],
  ['v1', 'Status'],
  ['apps/v1', 'Deployment'],
  ['batch/v1', 'CronJob'],
  ['policy/v1', 'PodDisruptionBudget'],
  ['policy/v1', 'Eviction'],
  ['autoscaling/v2', 'HorizontalPodAutoscaler'],
  ['authentication.k8s.io/v1', 'TokenRequest'],
  ['authorization.k8s.io/v1', 'SubjectAccessReview'],
  ['coordination.k8s.io/v1', 'Lease'],
  ['networking.k8s.io/v1', 'NetworkPolicy'],
  ['apiextensions.k8s.io/v1', 'CustomResourceDefinition'],
  ['resource.k8s.io/v1', 'ResourceClaim'],
]

describe('an object in protobuf', () => {
  it('round-trips', () => {
    for (const [apiVersion, kind] of kinds)
      fc.assert(
        fc.property(objectOf(apiVersion, kind), (object) => {
          const once = decodeProtobuf(encodeProtobuf(object)!)!
          // What Go shows although it is empty has been added: from then on nothing changes.
          expect(once).toMatchObject(object)
          expect(decodeProtobuf(encodeProtobuf(once)!)).toEqual(once)
        }),
        { numRuns: 15, seed: 20_260_101 },
      )
  })

  it('shows pointers to zero, and omits empty values where Go does', () => {
    const decoded = decodeProtobuf(
      encodeProtobuf({
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: '', generation: 0 },
        spec: { replicas: 0, minReadySeconds: 0, paused: false, template: { spec: { containers: [{ name: '' }] } } },
      })!,
    )
    expect(decoded).toEqual({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: {},
      spec: {
        replicas: 0,
        selector: null,
        strategy: {},
        template: { metadata: {}, spec: { containers: [{ name: '', resources: {} }] } },
      },
      status: {},
    })
  })

  it("keeps integers beyond 2^53, bytes, and JavaScript's special keys", () => {
    const config: JsonObject = {
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: { name: 'a', generation: 9_007_199_254_740_993n },
      data: JSON.parse('{"__proto__":"p","constructor":"c","":""}') as Record<string, string>,
      binaryData: { a: 'AP8=' },
    }
    const decoded = decodeProtobuf(encodeProtobuf(config)!)!
    expect(decoded).toEqual(config)
    expect(Object.keys(decoded['data'] as object)).toContain('__proto__')
    expect(({} as Record<string, unknown>)['p']).toBeUndefined()
  })

  it('is merged by member where an inner message occurs twice, as protobuf requires', () => {
    // metadata {name: "a"}, metadata {namespace: "b"}
    const bytes = envelope('v1', 'ConfigMap', [0x0a, 3, 0x0a, 1, 0x61, 0x0a, 3, 0x1a, 1, 0x62])
    expect(decodeProtobuf(bytes)).toMatchObject({ metadata: { name: 'a', namespace: 'b' } })
  })

  it('may contain unknown fields', () => {
    const bytes = envelope('v1', 'ConfigMap', [0xf8, 0x07, 1, 0xfa, 0x07, 1, 0, 0xfb, 0x07, 0x08, 1, 0xfc, 0x07])
    expect(decodeProtobuf(bytes)).toEqual({ kind: 'ConfigMap', apiVersion: 'v1', metadata: {} })
  })

  it('is undefined for kinds that are not built in, and cannot be encoded then', () => {
    expect(decodeProtobuf(envelope('example.com/v1', 'Thing', []))).toBeUndefined()
    expect(decodeProtobuf(envelope('v1', '__proto__', []))).toBeUndefined()
    expect(decodeProtobuf(envelope('constructor', 'Pod', []))).toBeUndefined()
    expect(encodeProtobuf({ apiVersion: 'example.com/v1', kind: 'Thing' })).toBeUndefined()
  })

  it('cannot be encoded with a member of another type', () => {
    expect(encodeProtobuf({ apiVersion: 'v1', kind: 'ConfigMap', data: { a: 1 } })).toBeUndefined()
    expect(encodeProtobuf({ apiVersion: 'v1', kind: 'ConfigMap', data: ['a'] })).toBeUndefined()
    expect(encodeProtobuf({ apiVersion: 'v1', kind: 'ConfigMap', metadata: 'a' })).toBeUndefined()
  })
})

describe('invalid bytes', () => {
  const refused = (bytes: Uint8Array): string => {
    try {
      decodeProtobuf(bytes)
      return ''
    } catch (error) {
      if (isMusterError(error, kubeErrors.InvalidProtobuf)) return error.message
      throw error
    }
  }

  it('are rejected with the message of the real server', () => {
    expect(refused(new Uint8Array())).toContain('empty data')
    expect(refused(Buffer.from('{}'))).toContain('expected prefix [107 56 115 0]')
    expect(refused(Buffer.from('k8s\0'))).toContain('empty body')
    expect(refused(Buffer.from('k8s\0\n\x10'))).toContain('unexpected EOF')
    expect(refused(envelope('v1', 'ConfigMap', [8, 1]))).toContain('proto: wrong wireType = 0 for field')
    expect(refused(envelope('v1', 'ConfigMap', [0, 0]))).toContain('proto: illegal tag 0')
    expect(refused(envelope('v1', 'ConfigMap', [0xfe, 0x07]))).toContain('proto: illegal wireType 6')
    expect(
      refused(
        envelope(
          'v1',
          'ConfigMap',
          Array.from({ length: 11 }, () => 0xff),
        ),
      ),
    ).toContain('integer overflow')
  })

  it('never allocate more than their length: a length beyond the end is rejected at once', () => {
    expect(refused(envelope('v1', 'ConfigMap', [0x0a, 0xff, 0xff, 0xff, 0xff, 0x07]))).toContain('unexpected EOF')
    expect(refused(envelope('v1', 'ConfigMap', [0x0a, ...Array.from({ length: 9 }, () => 0xff), 1]))).toContain(
      'negative',
    )
  })

  it('never exceed the stack, by messages or groups', () => {
    // A definition whose schema holds itself (not, field 28) a thousand times.
    let schema: Buffer = Buffer.alloc(0)
    for (let level = 0; level < 1000; level++) schema = tagged(28, schema)
    const within = [1, 4, 7, 2].reduce<Buffer>((inner, number) => tagged(number, inner), schema)
    expect(refused(envelope('apiextensions.k8s.io/v1', 'CustomResourceDefinition', within))).toContain('nested deeper')
    expect(
      refused(
        envelope(
          'v1',
          'ConfigMap',
          Array.from({ length: 100_000 }, () => 0x7b),
        ),
      ),
    ).toContain('too deep')
  })

  it('never grow without bound: a million empty messages are rejected', () => {
    const containers = Buffer.alloc(2_000_000, Buffer.from([0x12, 0]))
    expect(refused(envelope('v1', 'Pod', tagged(2, containers)))).toContain('more than')
  })

  it('truncated or modified anywhere, are rejected or decoded', () => {
    for (const [apiVersion, kind] of kinds) {
      const [object] = fc.sample(objectOf(apiVersion, kind), { numRuns: 1, seed: 7 })
      const bytes = Buffer.from(encodeProtobuf(object!)!)
      for (let end = 0; end < bytes.length; end += Math.max(1, Math.floor(bytes.length / 100)))
        refused(bytes.subarray(0, end))
      fc.assert(
        fc.property(
          fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), { minLength: 1, maxLength: 5 }),
          (changes) => {
            const changed = Buffer.from(bytes)
            for (const [at, value] of changes) changed[at] = value
            refused(changed)
          },
        ),
        { numRuns: 100, seed: 42 },
      )
    }
  })

  it('after a valid beginning are rejected or decoded', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.constantFrom(...kinds), (noise, [apiVersion, kind]) => {
        refused(envelope(apiVersion, kind, noise))
      }),
      { numRuns: 2000, seed: 1 },
    )
  })
})

function tagged(number: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes])
}

function varint(value: number): Buffer {
  return value < 128
    ? Buffer.of(value)
    : Buffer.concat([Buffer.of((value % 128) | 128), varint(Math.floor(value / 128))])
}

function envelope(apiVersion: string, kind: string, message: Iterable<number>): Uint8Array {
  const type = Buffer.concat([tagged(1, Buffer.from(apiVersion)), tagged(2, Buffer.from(kind))])
  return Buffer.concat([Buffer.from('k8s\0'), tagged(1, type), tagged(2, Uint8Array.from(message))])
}

/** Any object of a kind, to a few levels, with no member that Go would drop. */
function objectOf(apiVersion: string, kind: string): fc.Arbitrary<JsonObject> {
  return messageValue(messageOfKind(apiVersion, kind)!, 0).map((members) =>
    Object.assign({ kind, apiVersion }, members as JsonObject),
  )
}

const deepest = 5

function messageValue({ fields, unwrapped }: Message, depth: number): fc.Arbitrary<Json> {
  if (unwrapped) return fc.array(fc.string(), { minLength: 1, maxLength: 2 })
  const members = fields.map((field): fc.Arbitrary<JsonObject> => {
    if (field.name === '') return messageValue(messageNamed(field.type), depth) as fc.Arbitrary<JsonObject>
    const inner = field.scalar || field.special ? 0 : 1
    if (depth + inner > deepest) return fc.constant({})
    return fc
      .option(fieldValue(field, depth + inner), { nil: undefined, freq: 1 })
      .map((value) => (value === undefined ? {} : { [field.name]: value }))
  })
  return fc.tuple(...members).map((parts) => Object.assign({}, ...parts) as JsonObject)
}

function fieldValue(field: ProtobufField, depth: number): fc.Arbitrary<Json> {
  if (field.many === 'list') return fc.array(oneValue(field, depth, true), { minLength: 1, maxLength: 2 })
  if (field.many === 'map') return fc.dictionary(fc.string(), oneValue(field, depth, true), { minKeys: 1, maxKeys: 2 })
  return oneValue(field, depth, field.pointer || field.always)
}

/** What is empty shows only behind pointers, in lists and in maps. */
function oneValue(field: ProtobufField, depth: number, mayBeEmpty: boolean): fc.Arbitrary<Json> {
  const seconds = fc.integer({ min: 1, max: 4_000_000_000 })
  const time = seconds.map((second) => `${new Date(second * 1000).toISOString().slice(0, -5)}Z`)
  const json = fc.jsonValue().filter((value) => value !== null)
  switch (field.scalar ?? field.special) {
    case 'string':
      return fc.string({ unit: 'grapheme', minLength: mayBeEmpty ? 0 : 1 })
    case 'bytes':
      return fc.uint8Array({ minLength: 1 }).map((bytes) => Buffer.from(bytes).toString('base64'))
    case 'bool':
      return mayBeEmpty ? fc.boolean() : fc.constant(true)
    case 'int32':
      return fc.integer({ max: mayBeEmpty ? undefined : -1 } as fc.IntegerConstraints)
    case 'int64':
      return fc.bigInt({ min: mayBeEmpty ? -(2n ** 63n) : 1n, max: 2n ** 63n - 1n }).map(safeNumber)
    case 'double':
      return fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (value === 0 ? 1 : value))
    case 'quantity':
      return fc.nat().map((count) => `${count * 1000 + 1}m`)
    case 'intorstring':
      return fc.oneof(fc.integer(), fc.string())
    case 'time':
      return time
    case 'microtime':
      return fc
        .tuple(time, fc.nat(999_999))
        .map(([text, micros]) => text.replace('Z', `.${String(micros).padStart(6, '0')}Z`))
    case 'duration':
      return fc.constantFrom('1h30m0s', '0s', '-1.5s')
    case 'raw':
      return json
    case 'schemaorbool':
      return fc.boolean()
    case 'schemaorarray':
      return fc.constantFrom<Json>({ type: 'string' }, [{ type: 'string' }, {}])
    case 'schemaorstrings':
      return fc.constantFrom<Json>({ type: 'string' }, ['a', ''])
    default:
      return messageValue(messageNamed(field.type), depth)
  }
}

function safeNumber(value: bigint): number | bigint {
  return Number.isSafeInteger(Number(value)) ? Number(value) : value
}
