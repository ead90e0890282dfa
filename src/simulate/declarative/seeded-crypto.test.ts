import { generateKeyPairSync, randomBytes, randomInt, randomUUID, sign, verify } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { withSeed } from './seeded-crypto.ts'

const draw = async (): Promise<string> => {
  const { privateKey } = generateKeyPairSync('ed25519', {
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
  await Promise.resolve()
  const values = crypto.getRandomValues(new Uint8Array(4))
  return [
    randomBytes(8).toString('hex'),
    randomUUID(),
    randomInt(1000),
    Math.random(),
    values.join('.'),
    privateKey,
  ].join()
}

describe('seeded chance', () => {
  it('is the same for the same seed, side by side with others, and another for another', async () => {
    const [a, b, c] = await Promise.all([withSeed(7, draw), withSeed(7, draw), withSeed(8, draw)])
    expect(a).toBe(b)
    expect(a).not.toBe(c)
  })

  it.each([
    ['rsa', { modulusLength: 2048 }],
    ['ec', { namedCurve: 'P-256' }],
    ['ec', { namedCurve: 'P-384' }],
    ['ed25519', {}],
  ] as const)('makes %s keys that work', async (type, options) => {
    const pair = () => Promise.resolve(generateKeyPairSync(type as 'rsa', options as { modulusLength: number }))
    const { privateKey, publicKey } = await withSeed(1, pair)
    const again = await withSeed(1, pair)
    const pem = { type: 'spki', format: 'pem' } as const
    expect(again.publicKey.export(pem)).toBe(publicKey.export(pem))
    const hash = type === 'ed25519' ? null : 'sha256'
    expect(verify(hash, Buffer.from('x'), publicKey, sign(hash, Buffer.from('x'), privateKey))).toBe(true)
  })

  it('is over when the test is: outside nothing is seeded', async () => {
    await withSeed(1, draw)
    expect(randomBytes(16).equals(randomBytes(16))).toBe(false)
    const inside = await withSeed(1, () => Promise.resolve(randomBytes(8).toString('hex')))
    expect(randomBytes(8).toString('hex')).not.toBe(inside)
  })
})
