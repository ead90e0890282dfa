import v8 from 'node:v8'
import vm from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addedBytes, audit, changedBytes, entryBytes } from './memory.ts'

const json = fc.jsonValue({ maxDepth: 4 })

describe('memory', () => {
  it('costs nothing where all is shared', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(addedBytes(value, value)).toBe(0)
        expect(changedBytes(value, value)).toBe(0)
      }),
    )
  })

  it('of a change is given back when the change is undone', () => {
    fc.assert(
      fc.property(json, json, (before, after) => {
        expect(changedBytes(before, after) + changedBytes(after, before)).toBe(0)
      }),
    )
  })

  it('counts the part that is not shared', () => {
    const shared = { image: 'registry.example.com/app', ports: [80, 443] }
    const base = { name: 'a', spec: shared }
    // An object of two members and a string of up to eight characters.
    expect(addedBytes(base, { name: 'b', spec: shared })).toBe(24 + 2 * 8 + 16 + 8)
    expect(addedBytes(undefined, base)).toBeGreaterThan(addedBytes(base, { name: 'b', spec: shared }))
  })

  it('counts a string once, in however many places of an object it stands', () => {
    const time = '2026-03-30T17:09:02Z'
    expect(addedBytes(undefined, [time, time, time])).toBe(32 + 16 + 3 * 8 + 16 + 24)
  })

  it('of an audit counts what is shared once', () => {
    const shared = Object.freeze({ a: 'shared' })
    const one = { name: 'one', shared }
    const both = audit([one, { name: 'two', shared }])
    expect(both).toMatchObject({ objects: 2, nodes: 3, strings: 3 })
    expect(both.bytes - audit([one]).bytes).toBe(entryBytes + 24 + 2 * 8 + 16 + 8)
  })

  it('is close to what the engine says', () => {
    v8.setFlagsFromString('--expose-gc')
    const collect = vm.runInNewContext('gc') as () => void
    const make = (index: number): string =>
      JSON.stringify({
        metadata: {
          name: `object number ${index}`,
          labels: { app: `application ${index}`, tier: `tier of its own ${index}` },
        },
        spec: {
          replicas: index,
          ratio: index + 0.5,
          args: [`--first-argument=${index}`, `--second=${index}`],
          nested: { list: [{ a: index }, { a: null }] },
        },
      })
    const texts = Array.from({ length: 2000 }, (_, index) => make(index))
    collect()
    const before = v8.getHeapStatistics().used_heap_size
    const objects = texts.map((text) => Object.freeze(JSON.parse(text) as object))
    collect()
    const used = v8.getHeapStatistics().used_heap_size - before
    const estimate = audit(objects).bytes - objects.length * entryBytes
    expect(estimate / used).toBeGreaterThan(0.8)
    expect(estimate / used).toBeLessThan(1.2)
  })

  it('is counted in values nested ever so deep, as far as the stack allows', () => {
    const deep = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`) as unknown
    expect(addedBytes(undefined, deep)).toBeGreaterThan(0)
    expect(audit([deep]).nodes).toBe(20_000)
  })
})
