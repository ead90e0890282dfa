/** Hashes, passwords and encryption. */
import { createCipheriv, createDecipheriv, createHash } from 'node:crypto'
import { type CallContext, type FunctionTable, goFunction, type GoFunction } from '../template/function-type.ts'
import { GoError, runtimeError } from '../template/go-error.ts'
import { bytesText, textBytes } from '../template/text-bytes.ts'
import type { GoInteger } from '../template/values.ts'
import { decodeBase64 } from './encoding/base-encodings.ts'
import { bcryptHash, mostPasswordBytes } from './secrets/bcrypt.ts'
import { certificateFunctions } from './secrets/certificates.ts'
import { derivePassword } from './secrets/derive-password.ts'

function hash(algorithm: string): GoFunction {
  return goFunction('string', ([text]: [string]) => createHash(algorithm).update(textBytes(text)).digest('hex'))
}

const bcryptCost = 10

export const cryptoFunctions: FunctionTable = new Map<string, GoFunction>([
  ['sha1sum', hash('sha1')],
  ['sha256sum', hash('sha256')],
  ['sha512sum', hash('sha512')],
  ['adler32sum', goFunction('string', ([text]: [string]) => String(adler32(textBytes(text))))],
  ['bcrypt', goFunction('string', ([password]: [string], context) => bcrypt('bcrypt', [password], password, context))],
  [
    'htpasswd',
    goFunction('string string', ([user, password]: [string, string], context) => {
      if (user.includes(':')) return `invalid username: ${user}`
      return `${user}:${bcrypt('htpasswd', [user, password], password, context)}`
    }),
  ],
  [
    'derivePassword',
    goFunction(
      'uint32 string string string string',
      ([counter, type, password, user, site]: [GoInteger, string, string, string, string], { budget }) => {
        budget.step(deriveSteps)
        return derivePassword(Number(counter.value), type, password, user, site)
      },
    ),
  ],
  [
    'encryptAES',
    goFunction('string string', ([password, text]: [string, string], { services }) => {
      if (text === '') return ''
      return services.generate('encryptAES', [password, text], () => encrypt(password, text, services.randomBytes(16)))
    }),
  ],
  ['decryptAES', goFunction('string string', ([password, text]: [string, string]) => decrypt(password, text))],
  ...certificateFunctions,
])

function adler32(bytes: Uint8Array): number {
  let [a, b] = [1, 0]
  for (const byte of bytes) {
    a = (a + byte) % 65_521
    b = (b + a) % 65_521
  }
  return b * 65_536 + a
}

/** Steps of the budget, by the time that they take. */
const bcryptSteps = 100_000
const deriveSteps = 100_000

function bcrypt(name: string, args: readonly string[], password: string, { services, budget }: CallContext): string {
  const bytes = textBytes(password)
  if (bytes.length > mostPasswordBytes) {
    return 'failed to encrypt string with bcrypt: bcrypt: password length exceeds 72 bytes'
  }
  return services.generate(name, args, () => {
    budget.step(bcryptSteps)
    return bcryptHash(bytes, services.randomBytes(16), bcryptCost)
  })
}

function aesKey(password: string): Buffer {
  const key = Buffer.alloc(32)
  textBytes(password).copy(key)
  return key
}

function encrypt(password: string, text: string, vector: Uint8Array): string {
  const cipher = createCipheriv('aes-256-cbc', aesKey(password), vector)
  return Buffer.concat([vector, cipher.update(textBytes(text)), cipher.final()]).toString('base64')
}

const blockSize = 16

function decrypt(password: string, text: string): string {
  if (text === '') return ''
  const bytes = decodeBase64(text)
  if (bytes.length < blockSize) {
    throw runtimeError(`slice bounds out of range [:${blockSize}] with capacity ${Math.ceil(bytes.length / 3) * 3}`)
  }
  const body = bytes.subarray(blockSize)
  if (body.length % blockSize !== 0) throw new GoError('crypto/cipher: input not full blocks')
  if (body.length === 0) throw runtimeError('index out of range [-1]')
  const decipher = createDecipheriv('aes-256-cbc', aesKey(password), bytes.subarray(0, blockSize)).setAutoPadding(false)
  const plain = Buffer.concat([decipher.update(body), decipher.final()])
  const end = plain.length - plain.at(-1)!
  if (end < 0) throw runtimeError(`slice bounds out of range [:${end}]`)
  return bytesText(plain.subarray(0, end))
}
