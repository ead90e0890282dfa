import { describe, expect, it } from 'vitest'
import { duplicateValue, formatCause, invalidValue, tooLongValue, tooManyValues, unsupportedValue } from './cause.ts'

describe('causes', () => {
  it('show the value, and leave it out where there is none to show', () => {
    expect(formatCause(invalidValue('a', 'x', 'no'))).toBe('a: Invalid value: "x": no')
    expect(formatCause(invalidValue('a', undefined, 'no'))).toBe('a: Invalid value: no')
    expect(formatCause(duplicateValue('a', { k: 1 }))).toBe('a: Duplicate value: {"k":1}')
  })

  it('speak of one byte and of several', () => {
    expect([tooLongValue('a', 1), tooLongValue('a', 2)].map(({ message }) => message)).toEqual([
      'Too long: may not be more than 1 byte',
      'Too long: may not be more than 2 bytes',
    ])
    expect(tooManyValues('a', 3, 1).message).toBe('Too many: 3: must have at most 1 item')
  })

  it('list what would be supported', () => {
    expect(unsupportedValue('a', 5, ['1', '2']).message).toBe('Unsupported value: 5: supported values: "1", "2"')
  })
})
