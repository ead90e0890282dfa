import { describe, expect, it } from 'vitest'
import { isLatest } from './image-name.ts'

describe('an image', () => {
  it.each(['nginx', 'nginx:latest', 'library/nginx', 'host:5000/nginx', '[::1]:5000/a/b', 'a__b/c--d', 'Host/nginx'])(
    '%s is the newest there is',
    (image) => expect(isLatest(image)).toBe(true),
  )

  it.each([
    'nginx:1',
    'host:5000/nginx:v1',
    `nginx@sha256:${'a'.repeat(64)}`,
    'NGINX',
    'a b',
    '',
    'c'.repeat(64),
    'nginx:',
  ])('%s is a certain one, or none', (image) => expect(isLatest(image)).toBe(false))

  it('is read in no time, however it is written', () => {
    expect(isLatest(`${'a-'.repeat(50_000)}!`)).toBe(false)
    expect(isLatest(`${'a.'.repeat(50_000)}!`)).toBe(false)
  })
})
