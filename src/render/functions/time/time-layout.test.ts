import { expect, it } from 'vitest'
import { parseLayout } from './time-layout.ts'

it('a run of spaces in the layout matches any other run', () => {
  expect(parseLayout('on  2006', 'on    2024')).toMatchObject({ year: 2024 })
  expect(() => parseLayout('on  2006', 'on2024')).toThrow('cannot parse')
})
