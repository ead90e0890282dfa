import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatPointer, parsePointer } from './json-pointer.ts'

describe('a JSON pointer', () => {
  it('names the whole document when it is empty', () => {
    expect(parsePointer('')).toEqual([])
  })

  it('may contain empty keys, slashes and tildes', () => {
    expect(parsePointer('/')).toEqual([''])
    expect(parsePointer('/metadata/annotations/example.com~1owner')).toEqual([
      'metadata',
      'annotations',
      'example.com/owner',
    ])
    expect(parsePointer('/~01/~10')).toEqual(['~1', '/0'])
  })

  it('starts with a slash', () => {
    expect(() => parsePointer('spec/replicas')).toThrow(expect.objectContaining({ name: 'InvalidPatch' }))
  })

  it('round-trips its keys', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: fc.constantFrom('a', '0', '1', '~', '/', '-') })), (keys) => {
        expect(parsePointer(formatPointer(keys))).toEqual(keys)
      }),
    )
  })
})
