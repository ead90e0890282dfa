import {
  createPrivateKey,
  createSign,
  generateKeyPair,
  generateKeyPairSync,
  generateKeySync,
  randomBytes,
  randomFill,
  randomInt,
  randomUUID,
  sign,
  verify,
} from 'node:crypto'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { fixedSignature } from './fixed-signature.ts'
import { openSeed, withSeed } from './seeded-crypto.ts'

const draw = async (): Promise<string> => {
  const { privateKey } = generateKeyPairSync('ed25519', {
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
  await Promise.resolve()
  const values = crypto.getRandomValues(new Uint8Array(4))
  const filled = await promisify<Buffer, Buffer>(randomFill)(Buffer.alloc(4))
  const pair = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })
  return [
    filled.toString('hex'),
    pair.privateKey.export({ type: 'pkcs8', format: 'pem' }),
    pair.publicKey.export({ type: 'spki', format: 'pem' }),
    generateKeySync('aes', { length: 128 }).export().toString('hex'),
    randomBytes(8).toString('hex'),
    randomUUID(),
    randomInt(1000),
    Math.random(),
    values.join('.'),
    privateKey,
  ].join()
}

describe('seeded randomness', () => {
  it('is the same for the same seed, concurrently with others, and differs for another', async () => {
    const [a, b, c] = await Promise.all([withSeed(7, draw), withSeed(7, draw), withSeed(8, draw)])
    expect(a).toBe(b)
    expect(a).not.toBe(c)
  })

  it.each([
    ['rsa', { modulusLength: 2048 }],
    ['ec', { namedCurve: 'P-256' }],
    ['ec', { namedCurve: 'P-384' }],
    ['ed25519', {}],
  ] as const)('creates %s keys that work', async (type, options) => {
    const pair = () => Promise.resolve(generateKeyPairSync(type as 'rsa', options as { modulusLength: number }))
    const { privateKey, publicKey } = await withSeed(1, pair)
    const again = await withSeed(1, pair)
    const pem = { type: 'spki', format: 'pem' } as const
    expect(again.publicKey.export(pem)).toBe(publicKey.export(pem))
    const hash = type === 'ed25519' ? null : 'sha256'
    expect(verify(hash, Buffer.from('x'), publicKey, sign(hash, Buffer.from('x'), privateKey))).toBe(true)
    // What is signed is the same, too, in every way that there is to sign.
    const signed = async (): Promise<readonly Buffer[]> => [
      sign(hash, Buffer.from('x'), privateKey),
      sign(hash, Buffer.from('x'), privateKey.export({ type: 'pkcs8', format: 'pem' })),
      await promisify<string | null, Buffer, typeof privateKey, Buffer>(sign)(hash, Buffer.from('x'), privateKey),
      ...(hash === null ? [] : [createSign(hash).update('x').sign(privateKey)]),
    ]
    const [one, other] = [await withSeed(2, signed), await withSeed(3, signed)]
    expect(other).toEqual(one)
    for (const signature of one) {
      expect(signature).toEqual(one[0])
      expect(verify(hash, Buffer.from('x'), publicKey, signature)).toBe(true)
    }
  })

  it.each([
    [
      { name: 'ECDSA', namedCurve: 'P-384' },
      { name: 'ECDSA', hash: 'SHA-384' },
    ],
    [{ name: 'Ed25519' }, { name: 'Ed25519' }],
    [
      { name: 'RSASSA-PKCS1-v1_5', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' },
      { name: 'RSASSA-PKCS1-v1_5' },
    ],
  ])('covers keys and signatures of Web Crypto: %j', async (algorithm, how) => {
    const { subtle } = crypto
    const data = Buffer.from('x')
    const make = async (): Promise<string> => {
      const pair = await subtle.generateKey(algorithm, false, ['sign', 'verify'])
      const { publicKey, privateKey } = pair as { readonly publicKey: CryptoKey; readonly privateKey: CryptoKey }
      const signature = await subtle.sign(how, privateKey, data)
      expect(await subtle.verify(how, publicKey, signature, data)).toBe(true)
      return `${Buffer.from(await subtle.exportKey('spki', publicKey)).toString('hex')} ${Buffer.from(signature).toString('hex')}`
    }
    const [one, again, other] = [await withSeed(1, make), await withSeed(1, make), await withSeed(2, make)]
    expect(again).toBe(one)
    expect(other).not.toBe(one)
  })

  it('does not repeat itself within a test', async () => {
    const seeded = openSeed(4)
    const drawn = async (): Promise<string> => await seeded(() => Promise.resolve(randomUUID()))
    expect(await drawn()).not.toBe(await drawn())
  })

  it('ends with the test: outside nothing is seeded', async () => {
    await withSeed(1, draw)
    expect(randomBytes(16).equals(randomBytes(16))).toBe(false)
    const inside = await withSeed(1, () => Promise.resolve(randomBytes(8).toString('hex')))
    expect(randomBytes(8).toString('hex')).not.toBe(inside)
  })
})

/** RFC 6979, A.2.5 and A.2.6: the message is "sample". */
describe('a deterministic signature', () => {
  it.each([
    {
      crv: 'P-256',
      hash: 'sha256',
      d: 'C9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721',
      x: '60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6',
      y: '7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299',
      r: 'EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716',
      s: 'F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8',
    },
    {
      crv: 'P-384',
      hash: 'sha384',
      d: '6B9D3DAD2E1B8C1C05B19875B6659F4DE23C3B667BF297BA9AA47740787137D896D5724E4C70A825F872C9EA60D2EDF5',
      x: 'EC3A4E415B4E19A4568618029F427FA5DA9A8BC4AE92E02E06AAE5286B300C64DEF8F0EA9055866064A254515480BC13',
      y: '8015D9B72D7D57244EA8EF9AC0C621896708A59367F9DFB9F54CA84B3F1C9DB1288B231C3AE0D4FE7344FD2533264720',
      r: '94EDBB92A5ECB8AAD4736E56C691916B3F88140666CE9FA73D64C4EA95AD133C81A648152E44ACF96E36DD1E80FABE46',
      s: '99EF4AEB15F178CEA1FE40DB2603138F130E740A19624526203B6351D0A3A94FA329C145786E679E7B82C71A38628AC8',
    },
  ])('equals that of the standard, for $crv', ({ crv, hash, d, x, y, r, s }) => {
    const part = (hex: string): string => Buffer.from(hex, 'hex').toString('base64url')
    const key = createPrivateKey({ format: 'jwk', key: { kty: 'EC', crv, d: part(d), x: part(x), y: part(y) } })
    const signature = fixedSignature(hash, Buffer.from('sample'), key, 'ieee-p1363')
    expect(signature?.toString('hex').toUpperCase()).toBe(r + s)
  })
})
