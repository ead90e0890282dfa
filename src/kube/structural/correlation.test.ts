import { describe, expect, it } from 'vitest'
import { isUnchanged, keyedItems } from './correlation.ts'
import { compileNode } from './node.ts'

const list = compileNode({
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['name', 'port'],
  items: {
    type: 'object',
    properties: { name: { type: 'string' }, port: { type: 'integer' }, value: { type: 'string' } },
  },
})

describe('old values', () => {
  it('of map lists are found by all their keys', () => {
    const items = keyedItems(list, [{ name: 'a', port: 1, value: 'x' }, { name: 'a', port: 2 }, { name: 'b' }])!
    expect(items.find({ name: 'a', port: 1 })).toMatchObject({ value: 'x' })
    expect(items.find({ name: 'a', port: '1' })).toBeUndefined()
    expect(items.find({ name: 'b' })).toBeUndefined()
  })

  it('are independent of the order of a map list', () => {
    const [one, two] = [
      { name: 'a', port: 1, value: 'x' },
      { name: 'b', port: 1 },
    ] as const
    expect(isUnchanged(list, [one, two], [two, one])).toBe(true)
    expect(isUnchanged(list, [one, two], [{ ...one, value: 'y' }, two])).toBe(false)
    expect(isUnchanged(list, [one], [one, two])).toBe(false)
  })

  it('are not compared where the schema does not describe a member', () => {
    const open = compileNode({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true })
    expect(isUnchanged(open, { a: 1 }, { a: 1 })).toBe(false)
    expect(isUnchanged(open, {}, {})).toBe(true)
  })
})
