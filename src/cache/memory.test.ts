import { spawnSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addedBytes, audit, changedBytes, entryBytes } from './memory.ts'

const json = fc.jsonValue({ maxDepth: 4 })

describe('the memory estimate', () => {
  it('is zero for shared objects', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(addedBytes(value, value)).toBe(0)
        expect(changedBytes(value, value)).toBe(0)
      }),
    )
  })

  it('of a change is reverted with the change', () => {
    fc.assert(
      fc.property(json, json, (before, after) => {
        expect(changedBytes(before, after) + changedBytes(after, before)).toBe(0)
      }),
    )
  })

  it('counts the unshared part', () => {
    const shared = { image: 'registry.example.com/app', ports: [80, 443] }
    const base = { name: 'a', spec: shared }
    // An object of two members and a string of up to eight characters.
    expect(addedBytes(base, { name: 'b', spec: shared })).toBe(24 + 2 * 8 + 16 + 8)
    expect(addedBytes(undefined, base)).toBeGreaterThan(addedBytes(base, { name: 'b', spec: shared }))
  })

  it('counts a string once for each object', () => {
    const time = '2026-03-30T17:09:02Z'
    expect(addedBytes(undefined, [time, time, time])).toBe(32 + 16 + 3 * 8 + 16 + 24)
  })

  it('of an audit counts shared parts once', () => {
    const shared = Object.freeze({ a: 'shared' })
    const one = { name: 'one', shared }
    const both = audit([one, { name: 'two', shared }])
    expect(both).toMatchObject({ objects: 2, nodes: 3, strings: 3 })
    expect(both.bytes - audit([one]).bytes).toBe(entryBytes + 24 + 2 * 8 + 16 + 8)
  })

  it('is close to the heap size', () => {
    // In a process of its own: other tests share this one's heap.
    const program = `
      import v8 from 'node:v8'
      import { audit, entryBytes } from ${JSON.stringify(new URL('memory.ts', import.meta.url).href)}
      const texts = Array.from({ length: 2000 }, (_, i) => JSON.stringify({
        metadata: { name: 'object number ' + i, labels: { app: 'application ' + i, tier: 'tier of its own ' + i } },
        spec: { replicas: i, ratio: i + 0.5, args: ['--first-argument=' + i, '--second=' + i], nested: { list: [{ a: i }, { a: null }] } },
      }))
      gc()
      const before = v8.getHeapStatistics().used_heap_size
      const objects = texts.map((text) => Object.freeze(JSON.parse(text)))
      gc()
      const used = v8.getHeapStatistics().used_heap_size - before
      console.log((audit(objects).bytes - objects.length * entryBytes) / used)`
    const flags = ['--expose-gc', '--input-type=module', '--eval', program]
    const ratio = Number(spawnSync(process.execPath, flags, { encoding: 'utf8' }).stdout)
    expect(ratio).toBeGreaterThan(0.75)
    expect(ratio).toBeLessThan(1.25)
  })

  it('covers deeply nested values, as far as the stack allows', () => {
    const deep = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`) as unknown
    expect(addedBytes(undefined, deep)).toBeGreaterThan(0)
    expect(audit([deep]).nodes).toBe(20_000)
  })
})
