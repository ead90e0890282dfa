import { describe, expect, it } from 'vitest'
import { base64Problem } from './go-base64.ts'

describe('base64 as in Go', () => {
  it.each(['', 'YQ==', 'YWI=', 'YWJj', 'YQ==\n', 'Y\nQ=\r\n='])('decodes %j', (text) => {
    expect(base64Problem(text)).toBeUndefined()
  })

  it.each([
    ['*', 0],
    ['YQ', 0],
    ['Y Q==', 1],
    ['YWI=c', 4],
    ['_-==', 0],
    ['YQ=', 3],
    ['YWJjYQ', 4],
  ])('reports the position of the error in %j', (text, at) => {
    expect(base64Problem(text)).toBe(at)
  })
})
