import { describe, expect, it } from 'vitest'
import { registryLogin } from './registry-login.ts'

const auth = Buffer.from('me:wo:rd').toString('base64')

describe('the login of a registry', () => {
  it('is found by host, also if its key is a URL', () => {
    for (const key of ['registry.example:5000', 'https://registry.example:5000/v1/', 'Registry.Example:5000/team'])
      expect(registryLogin(JSON.stringify({ auths: { other: {}, [key]: { auth } } }), 'registry.example:5000')).toEqual(
        {
          username: 'me',
          password: 'wo:rd',
        },
      )
    const plain = { auths: { a: { username: 'u', password: 'p', auth } } }
    expect(registryLogin(JSON.stringify(plain), 'a')).toEqual({ username: 'u', password: 'p' })
  })

  it('is absent for another host, and in a text that is no such file', () => {
    const texts = [
      '',
      'no JSON',
      '[]',
      '{"auths":[]}',
      '{"auths":{"a":1}}',
      '{"auths":{"a":{"auth":"!"}}}',
      '{"auths":{"b":{}}}',
    ]
    for (const text of texts) expect(registryLogin(text, 'a')).toBeUndefined()
    expect(registryLogin('{"auths":{}}', '__proto__')).toBeUndefined()
  })
})
