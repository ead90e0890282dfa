import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { virtualClock } from '../../clock/virtual-clock.ts'
import { createApiServer } from '../server/api-server.ts'
import { createTokenIssuer, type TokenIssuer } from './token-issuer.ts'

const issuer = 'https://issuer.example'
const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' })
}

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })

describe.each([
  ['an EC key', ec, 'ES256'],
  ['an RSA key', rsa, 'RS256'],
] as const)('an issuer with %s', (_what, { privateKey, publicKey }, algorithm) => {
  const made: TokenIssuer = createTokenIssuer({ issuer, key: pemOf(privateKey) })
  const token = made.sign({ sub: 'somebody', iss: 'https://elsewhere.example' })
  const [head = '', body = '', signature = ''] = token.split('.')

  it('opens its own tokens, repeatedly', () => {
    expect(made.open(token)).toEqual({ sub: 'somebody', iss: issuer })
    expect(made.open(token)).toEqual({ sub: 'somebody', iss: issuer })
    expect(made.algorithm()).toBe(algorithm)
  })

  it('rejects a modified token', () => {
    expect(made.open(`${head}.${encode({ sub: 'root', iss: issuer })}.${signature}`)).toBeUndefined()
    expect(made.open(`${head}.${body}.${signature.slice(0, -4)}AAAA`)).toBeUndefined()
    expect(made.open(`${head}.${body}.`)).toBeUndefined()
    expect(made.open(`${head}.${body}`)).toBeUndefined()
    expect(made.open('')).toBeUndefined()
    expect(made.open('..')).toBeUndefined()
  })

  it('rejects a header with another algorithm', () => {
    expect(made.open(`${encode({ alg: 'none' })}.${body}.`)).toBeUndefined()
    // The classic attack: the public key as the secret of a symmetric algorithm.
    const signed = `${encode({ alg: 'HS256' })}.${body}`
    const mac = createHmac('sha256', publicKey.export({ type: 'spki', format: 'pem' }))
      .update(signed)
      .digest('base64url')
    expect(made.open(`${signed}.${mac}`)).toBeUndefined()
    const critical = `${encode({ alg: algorithm, crit: ['exp'], exp: 1 })}.${body}`
    const good = sign('sha256', Buffer.from(critical), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString(
      'base64url',
    )
    expect(made.open(`${critical}.${good}`)).toBeUndefined()
  })

  it('rejects a token of another key, or of another issuer with the same key', () => {
    const other = createTokenIssuer({ issuer })
    expect(made.open(other.sign({ sub: 'somebody' }))).toBeUndefined()
    const namesake = createTokenIssuer({ issuer: 'https://other.example', key: pemOf(privateKey) })
    expect(made.open(namesake.sign({ sub: 'somebody' }))).toBeUndefined()
  })

  it('publishes its public key only', () => {
    const shown = JSON.stringify(made.keySet())
    expect(shown).toContain(`"alg":"${algorithm}"`)
    expect(shown).not.toContain('"d":')
  })
})

describe('a server', () => {
  it.each([
    ['is empty', ''],
    ['is empty', '\n'],
    ['holds no private key in PEM', 'a secret that is none'],
    ['holds no private key in PEM', ec.publicKey.export({ type: 'spki', format: 'pem' })],
    ['holds a key that is neither RSA', pemOf(generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey)],
    ['holds a key that is neither RSA', pemOf(generateKeyPairSync('ed25519').privateKey)],
  ])('does not start with a signing key that %s', (why, signingKey) => {
    const start = (): unknown => createApiServer({ clock: virtualClock(), access: { signingKey } })
    expect(start).toThrow(`the signing key ${why}`)
    expect(start).not.toThrow('a secret')
  })
})
