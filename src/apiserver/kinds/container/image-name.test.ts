import { describe, expect, it } from 'vitest'
import { isLatest } from './image-name.ts'

describe('an image reference', () => {
  it.each(['nginx', 'nginx:latest', 'library/nginx', 'host:5000/nginx', '[::1]:5000/a/b', 'a__b/c--d', 'Host/nginx'])(
    '%s means the tag latest',
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
  ])('%s does not mean latest', (image) => expect(isLatest(image)).toBe(false))

  it('is parsed in linear time', () => {
    expect(isLatest(`${'a-'.repeat(50_000)}!`)).toBe(false)
    expect(isLatest(`${'a.'.repeat(50_000)}!`)).toBe(false)
  })
})
