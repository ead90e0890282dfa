import { describe, expect, it } from 'vitest'
import { duplicateValue, formatCause, invalidValue, tooLongValue, tooManyValues, unsupportedValue } from './cause.ts'

describe('causes', () => {
  it('contain the value, or omit it where there is none', () => {
    expect(formatCause(invalidValue('a', 'x', 'no'))).toBe('a: Invalid value: "x": no')
    expect(formatCause(invalidValue('a', undefined, 'no'))).toBe('a: Invalid value: no')
    expect(formatCause(duplicateValue('a', { k: 1 }))).toBe('a: Duplicate value: {"k":1}')
  })

  it('use singular and plural', () => {
    expect([tooLongValue('a', 1), tooLongValue('a', 2)].map(({ message }) => message)).toEqual([
      'Too long: may not be more than 1 byte',
      'Too long: may not be more than 2 bytes',
    ])
    expect(tooManyValues('a', 3, 1).message).toBe('Too many: 3: must have at most 1 item')
  })

  it('list the supported values', () => {
    expect(unsupportedValue('a', 5, ['1', '2']).message).toBe('Unsupported value: 5: supported values: "1", "2"')
  })
})
