/**
 * bcrypt: a slow hash of passwords, built on the key schedule of Blowfish. The constants of Blowfish are the fraction of pi.
 */
import { trimEnd } from '../../../kube/text/trim-end.ts'

const rounds = 16
const boxWords = 4 * 256

/** The first words of the fraction of pi: 18 for the subkeys, then the four boxes. */
let constants: Uint32Array | undefined

function piWords(): Uint32Array {
  if (constants) return constants
  const count = rounds + 2 + boxWords
  const precision = BigInt(count * 32 + 64)
  const one = 1n << precision
  const arctan = (inverse: bigint): bigint => {
    let [term, sum, divisor, sign] = [one / inverse, 0n, 1n, 1n]
    while (term !== 0n) {
      sum += (sign * term) / divisor
      term /= inverse * inverse
      divisor += 2n
      sign = -sign
    }
    return sum
  }
  // Machin's formula.
  const pi = 4n * (4n * arctan(5n) - arctan(239n))
  const fraction = (pi - 3n * one) >> 64n
  const hex = fraction.toString(16).padStart(count * 8, '0')
  constants = Uint32Array.from({ length: count }, (_, index) =>
    Number.parseInt(hex.slice(index * 8, index * 8 + 8), 16),
  )
  return constants
}

interface Cipher {
  readonly keys: Uint32Array
  readonly boxes: Uint32Array
}

/** Encrypts a block of two words in place. */
function encrypt({ keys, boxes }: Cipher, block: Uint32Array, at: number): void {
  let left = block[at]!
  let right = block[at + 1]!
  for (let round = 0; round < rounds; round++) {
    left = (left ^ keys[round]!) >>> 0
    const mixed =
      (((((boxes[left >>> 24]! + boxes[256 + ((left >>> 16) & 255)]!) | 0) ^ boxes[512 + ((left >>> 8) & 255)]!) +
        boxes[768 + (left & 255)]!) |
        0) >>>
      0
    right = (right ^ mixed) >>> 0
    ;[left, right] = [right, left]
  }
  block[at] = (right ^ keys[rounds + 1]!) >>> 0
  block[at + 1] = (left ^ keys[rounds]!) >>> 0
}

/** Reads words cyclically from bytes. */
function* cyclicWords(bytes: Uint8Array): Generator<number, never> {
  for (let at = 0; ;) {
    let word = 0
    for (let count = 0; count < 4; count++) {
      word = ((word << 8) | bytes[at]!) >>> 0
      at = (at + 1) % bytes.length
    }
    yield word
  }
}

function expand(cipher: Cipher, key: Uint8Array, salt: Uint8Array | undefined): void {
  const { keys, boxes } = cipher
  const keyWords = cyclicWords(key)
  for (let index = 0; index < keys.length; index++) keys[index] = (keys[index]! ^ keyWords.next().value) >>> 0
  const saltWords = salt ? cyclicWords(salt) : undefined
  const block = new Uint32Array(2)
  for (const target of [keys, boxes]) {
    for (let index = 0; index < target.length; index += 2) {
      if (saltWords) {
        block[0] = (block[0]! ^ saltWords.next().value) >>> 0
        block[1] = (block[1]! ^ saltWords.next().value) >>> 0
      }
      encrypt(cipher, block, 0)
      target[index] = block[0]!
      target[index + 1] = block[1]!
    }
  }
}

const alphabet = './ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const standard = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

function encode(bytes: Uint8Array): string {
  const text = trimEnd(Buffer.from(bytes).toString('base64'), '=')
  return Array.from(text, (character) => alphabet[standard.indexOf(character)]!).join('')
}

/** More bytes are not hashed by anything: Go refuses them. */
export const mostPasswordBytes = 72

/** `$2a$10$…`. @param salt 16 bytes */
export function bcryptHash(password: Uint8Array, salt: Uint8Array, cost: number): string {
  const words = piWords()
  const cipher: Cipher = { keys: words.slice(0, rounds + 2), boxes: words.slice(rounds + 2) }
  const key = Buffer.concat([password, Buffer.from([0])])
  expand(cipher, key, salt)
  for (let count = 0; count < 2 ** cost; count++) {
    expand(cipher, key, undefined)
    expand(cipher, salt, undefined)
  }
  const text = Buffer.from('OrpheanBeholderScryDoubt')
  const blocks = Uint32Array.from({ length: 6 }, (_, index) => text.readUInt32BE(index * 4))
  for (let at = 0; at < blocks.length; at += 2) for (let count = 0; count < 64; count++) encrypt(cipher, blocks, at)
  const hash = Buffer.alloc(24)
  for (const [index, word] of blocks.entries()) hash.writeUInt32BE(word, index * 4)
  return `$2a$${String(cost).padStart(2, '0')}$${encode(salt)}${encode(hash.subarray(0, 23))}`
}
