import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseJson } from '../../kube/json.ts'
import { peekUnselected, scanIdentity, scanList, scanState, scanWatchFrame } from './frames.ts'

const json = fc.jsonValue({ stringUnit: 'binary', maxDepth: 3 })
const object = fc.dictionary(fc.string({ unit: 'binary' }), json)

/** Writes an object with its members in a given order. */
function inOrder(members: Readonly<Record<string, unknown>>, order: readonly string[], space = ''): string {
  return `${space}{${order.map((key) => `${space}"${key}"${space}:${space}${JSON.stringify(members[key])}`).join(',')}${space}}${space}`
}

const shuffled = (...keys: readonly string[]): fc.Arbitrary<readonly string[]> =>
  fc.shuffledSubarray([...keys], { minLength: keys.length })

describe('watch lines', () => {
  it('yield type and object, in any order and spacing', () => {
    const members = fc.record({ type: fc.constantFrom('ADDED', 'MODIFIED', 'BOOKMARK', 'LATER'), object, more: json })
    fc.assert(
      fc.property(
        members,
        shuffled('type', 'object', 'more'),
        fc.constantFrom('', ' ', '\t'),
        (event, order, space) => {
          const line = inOrder(event, order, space)
          const frame = scanWatchFrame(line)
          // The usual frame ends with its object; that nothing else follows shows when that is decoded.
          if (order.join() === 'type,object,more' && space === '') return
          expect(frame.type).toBe(event.type)
          expect(JSON.parse(line.slice(frame.start, frame.end))).toEqual(JSON.parse(JSON.stringify(event.object)))
        },
      ),
    )
  })

  it('in the usual form are split without parsing the object', () => {
    expect(scanWatchFrame('{"type":"ADDED","object":{"a":1}}')).toEqual({ type: 'ADDED', start: 25, end: 32 })
    expect(scanWatchFrame('{"type":"ADDED","object":{not JSON}}')).toMatchObject({ type: 'ADDED' })
  })

  it.each([
    '',
    '{}',
    '[]',
    'null',
    '{"type":"ADDED"}',
    '{"type":"ADDED","object":null}',
    '{"type":"ADDED","object":[{}]}',
    '{"object":{}}',
    '{"type":1,"object":{}}',
    '{"type":"ADDED","object":{}',
    '<html>',
    '{"object":{},"type":"ADDED"} x',
  ])('are rejected: %j', (line) => {
    expect(() => scanWatchFrame(line)).toThrow(expect.objectContaining({ name: 'ProtocolError' }))
  })
})

describe('pages of a list', () => {
  it('yield their items and continuation, in any order', () => {
    const page = fc.record({
      kind: fc.constant('ThingList'),
      apiVersion: fc.constant('v1'),
      metadata: fc.record({ resourceVersion: fc.string(), continue: fc.string(), remainingItemCount: fc.nat() }),
      items: fc.array(object, { maxLength: 5 }),
    })
    fc.assert(
      fc.property(
        page,
        shuffled('kind', 'apiVersion', 'metadata', 'items'),
        fc.constantFrom('', ' ', '\n'),
        (list, order, space) => {
          const text = inOrder(list, order, space)
          const found = scanList(text)
          expect(found).toMatchObject({
            kind: 'ThingList',
            apiVersion: 'v1',
            resourceVersion: list.metadata.resourceVersion,
          })
          expect(found.continue).toBe(list.metadata.continue || undefined)
          expect(found.items.map(({ start, end }) => JSON.parse(text.slice(start, end)) as unknown)).toEqual(
            JSON.parse(JSON.stringify(list.items)),
          )
        },
      ),
    )
  })

  it('may be empty, with null for items', () => {
    expect(scanList('{"items":null}')).toEqual({
      items: [],
      resourceVersion: '',
      continue: undefined,
      kind: undefined,
      apiVersion: undefined,
    })
    expect(scanList('{"items":[],"metadata":{"resourceVersion":"7"}}').resourceVersion).toBe('7')
  })

  it.each(['{"kind":"Status"}', '{"items":{}}', '{"items":[{}', '{"items":[{},]}', '{"items":[]} x', '[]', ''])(
    'are rejected: %j',
    (text) => {
      expect(() => scanList(text)).toThrow(expect.objectContaining({ name: 'ProtocolError' }))
    },
  )
})

describe('identity', () => {
  it('is read from metadata, wherever it is', () => {
    const metadata = fc.record({
      name: fc.string({ unit: 'binary' }),
      namespace: fc.string({ unit: 'binary' }),
      uid: fc.string(),
      resourceVersion: fc.string(),
      labels: object,
      managedFields: json,
    })
    fc.assert(
      fc.property(
        metadata,
        shuffled('name', 'namespace', 'uid', 'resourceVersion', 'labels', 'managedFields'),
        fc.boolean(),
        (meta, order, isFirst) => {
          const inner = `"metadata":${inOrder(meta, order)}`
          const rest = '"spec":{"metadata":{"name":"other"}}'
          const text = `{${isFirst ? `${inner},${rest}` : `${rest},${inner}`}}`
          const { name, namespace, uid, resourceVersion } = meta
          expect(scanIdentity(`__${text}__`, 2, 2 + text.length)).toEqual({ name, namespace })
          expect(scanState(`__${text}__`, 2, 2 + text.length)).toEqual({ name, namespace, uid, resourceVersion })
          const { managedFields: _, ...glimpsed } = meta
          const glimpse = peekUnselected(`__${text}__`, 2, 2 + text.length, () => false)
          expect(glimpse?.metadata).toEqual(parseJson(JSON.stringify(glimpsed)))
        },
      ),
    )
  })

  it('of a cluster-scoped object has no namespace', () => {
    expect(scanIdentity('{"metadata":{"name":"a"}}', 0, 25)).toEqual({ name: 'a', namespace: undefined })
  })

  it.each(['{}', '{"metadata":{}}', '{"metadata":{"name":7}}', '{"metadata":"x"}'])('is missing from %j', (text) => {
    const refusal = expect.objectContaining({ name: 'ProtocolError' })
    expect(() => scanIdentity(text, 0, text.length)).toThrow(refusal)
    expect(() => scanState(text, 0, text.length)).toThrow(refusal)
    expect(() => peekUnselected(text, 0, text.length, () => false)).toThrow(refusal)
  })

  it('is all that is read of an unselected object', () => {
    const text = '{"metadata":{"name":"a","labels":{"app":"x"}},"spec":{}}'
    const glimpse = (app: string): unknown =>
      peekUnselected(text, 0, text.length, ({ metadata }) => metadata.labels?.['app'] === app)
    expect(glimpse('x')).toBeUndefined()
    expect(glimpse('y')).toMatchObject({ metadata: { name: 'a', labels: { app: 'x' } } })
  })
})
