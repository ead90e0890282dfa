import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../kube/json.ts'
import { Cursor } from './cursor.ts'
import { createInternPool } from './intern.ts'

const parse = (text: string): Json => JSON.parse(text) as Json

describe('the intern pool', () => {
  it('preserves values', () => {
    const pool = createInternPool({ entries: 16, characters: 200 })
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        const text = JSON.stringify(value)
        expect(pool.value(parse(text))).toEqual(parse(text))
      }),
      { numRuns: 1000 },
    )
  })

  it('returns the same reference for equal values once each of their levels is known, and freezes them', () => {
    const text = '{"a":[{"b":"a string that is long enough"},1,null,true],"c":{}}'
    const pool = createInternPool()
    // Strings, the innermost object, the array, the whole: one is learnt at a time.
    const values = Array.from({ length: 6 }, () => pool.value(parse(text)) as JsonObject)
    expect(values[5]).toBe(values[4])
    for (const value of values) {
      expect(Object.isFrozen(value)).toBe(true)
      expect(Object.isFrozen(value['a'])).toBe(true)
      expect(Object.isFrozen((value['a'] as readonly Json[])[0])).toBe(true)
    }
  })

  it('shares parts of values that differ', () => {
    const pool = createInternPool()
    const make = (name: string): JsonObject =>
      pool.value(parse(`{"name":"${name}","probe":{"path":"/healthz","port":8080}}`)) as JsonObject
    make('a')
    const b = make('b')
    const c = make('c')
    expect(b).not.toBe(c)
    expect(b['probe']).toBe(c['probe'])
  })

  it.each([
    ['{"x":0}', '{"x":-0}'],
    ['{"x":1}', '{"x":"1"}'],
    ['{"x":null}', '{"x":{}}'],
    ['{"x":[]}', '{"x":{}}'],
    ['{"x":{"0":"a"}}', '{"x":["a"]}'],
    ['{"x":{"__proto__":null}}', '{"x":{}}'],
    ['{"x":{"a":1}}', '{"x":{"a":1,"b":2}}'],
    ['[[[[["a"]]]]]', '[[[[["b"]]]]]'],
    ['{"toString":1}', '{"constructor":1}'],
  ])('distinguishes %s from %s', (one, other) => {
    const pool = createInternPool()
    for (let round = 0; round < 3; round++) {
      for (const text of [one, other]) {
        const value = pool.value(parse(text))
        expect(JSON.stringify(value)).toBe(JSON.stringify(parse(text)))
        expect(Object.is((value as JsonObject)['x'], -0)).toBe(text.includes('-0'))
      }
    }
  })

  it('drops unused values, and keeps used ones', () => {
    const pool = createInternPool({ entries: 1024 })
    const hot = '{"hot":"asked for again and again"}'
    const cold = '{"cold":"asked for once"}'
    for (let round = 0; round < 3; round++) pool.value(parse(cold))
    const first = pool.value(parse(cold))
    for (let round = 0; round < 3; round++) pool.value(parse(hot))
    const kept = pool.value(parse(hot))
    const asked: Json[] = []
    for (let index = 0; index < 20_000; index++) {
      pool.value(parse(`{"index":"number ${index % 5000}"}`))
      if (index % 100 === 0) asked.push(pool.value(parse(hot)))
    }
    expect(asked.every((value) => value === kept)).toBe(true)
    expect(pool.value(parse(cold))).not.toBe(first)
    expect(pool.stats().nodes.held).toBeLessThanOrEqual(2 * 2048)
  })

  it('finds a known string in text', () => {
    const pool = createInternPool()
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }).filter((text) => JSON.stringify(text) === `"${text}"`),
        (text) => {
          const cursor = new Cursor()
          cursor.load(`"${text}"`, 0, text.length + 2)
          pool.string(text)
          const { misses } = pool.stats().strings
          expect(pool.stringAt(cursor, 0, text.length + 1)).toBe(text)
          expect(pool.stats().strings.misses).toBe(misses)
        },
      ),
    )
  })

  it('is bounded', () => {
    const pool = createInternPool({ characters: 10_000 })
    for (let index = 0; index < 1000; index++) pool.string(`${index}${'x'.repeat(1000)}`)
    expect(pool.stats().strings.held).toBeLessThan(50)
  })

  it('freezes values that are nested too deep for the pool', () => {
    let value = createInternPool().value(parse(`${'['.repeat(5000)}1${']'.repeat(5000)}`))
    for (let depth = 0; depth < 5000; depth++) {
      expect(Object.isFrozen(value)).toBe(true)
      value = (value as readonly Json[])[0]!
    }
    expect(value).toBe(1)
  })
})
