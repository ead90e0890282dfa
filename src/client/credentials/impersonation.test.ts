import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { impersonationHeaders } from './impersonation.ts'

const keys = fc
  .array(fc.integer({ min: 0, max: 0xd7ff }), { minLength: 1 })
  .map((codes) => String.fromCodePoint(...codes))

describe('impersonationHeaders', () => {
  it('has no headers without impersonation', () => {
    expect(impersonationHeaders(undefined)).toEqual({})
  })

  it('keeps several groups and several values of one extra separate', () => {
    const headers = impersonationHeaders({
      user: 'jane',
      uid: 'u-1',
      groups: ['developers', 'admins, but not really'],
      extra: { scopes: ['view', 'edit'], none: [] },
    })
    expect(headers).toEqual({
      'impersonate-user': 'jane',
      'impersonate-uid': 'u-1',
      'impersonate-group': ['developers', 'admins, but not really'],
      'impersonate-extra-scopes': ['view', 'edit'],
    })
  })

  it('percent-encodes characters that are invalid in a header name', () => {
    const headers = impersonationHeaders({ user: 'jane', extra: { 'acme.com/50%': ['x'], grüße: ['y'] } })
    expect(Object.keys(headers)).toEqual([
      'impersonate-user',
      'impersonate-extra-acme.com%2f50%25',
      'impersonate-extra-gr%c3%bc%c3%9fe',
    ])
  })

  it('carries names that are invalid in a header', () => {
    const headers = impersonationHeaders({ user: 'jürgen', groups: ['開発'] })
    expect(Buffer.from(String(headers['impersonate-user']), 'latin1').toString('utf8')).toBe('jürgen')
    expect(Buffer.from(String(headers['impersonate-group']?.[0]), 'latin1').toString('utf8')).toBe('開発')
    expect(Object.values(headers).flat().join('')).toMatch(/^[\x20-\xFF]+$/)
  })

  it('joins the values of keys that differ in case only, as a server would', () => {
    const headers = impersonationHeaders({ user: 'jane', extra: { Team: ['a'], team: ['b'] } })
    expect(headers['impersonate-extra-team']).toEqual(['a', 'b'])
  })

  it('round-trips every key in lower case', () => {
    fc.assert(
      fc.property(keys, (key) => {
        const [, name = ''] = Object.keys(impersonationHeaders({ user: 'jane', extra: { [key]: ['x'] } }))
        expect(name).toMatch(/^impersonate-extra-[a-z0-9!#$%&'*+.^_`|~-]+$/)
        const asciiLower = key.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
        expect(decodeURIComponent(name.slice('impersonate-extra-'.length))).toBe(asciiLower)
      }),
    )
  })
})
