import { describe, expect, it } from 'vitest'
import { isLoopback, isLoopbackHostHeader } from './loopback.ts'

describe('loopback', () => {
  it.each(['localhost', 'LocalHost', '127.0.0.1', '127.1.2.3', '::1'])('is %s', (host) => {
    expect(isLoopback(host)).toBe(true)
  })

  it.each([
    '127.evil.com',
    '127.0.0.1.evil.com',
    '127.0.0.1evil.com',
    '127.0.0.evil',
    '127.0.0.1.',
    '127.0.0.01',
    '127.',
    '127.1',
    'localhost.evil.com',
    'evil-localhost',
    '::1.evil.com',
    '10.127.0.0',
    '[::1]',
    '',
  ])('is not "%s"', (host) => {
    expect(isLoopback(host)).toBe(false)
  })

  it('is recognised in a Host header, with and without a port', () => {
    const local = ['localhost', 'localhost:8080', '127.0.0.1:1', '[::1]', '[::1]:8080']
    expect(local.filter((header) => !isLoopbackHostHeader(header))).toEqual([])
    const others = [
      '127.evil.com',
      '127.evil.com:8080',
      'evil.com:127.0.0.1',
      'localhost:80:80',
      'localhost:',
      '[127.0.0.1.evil.com]',
      '[::1',
      '::1',
      'localhost@evil.com',
      'evil.com#localhost',
      '',
    ]
    expect(others.filter(isLoopbackHostHeader)).toEqual([])
  })
})
