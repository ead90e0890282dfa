/**
 * Keys and random values that are the same in every run of a test. While a test runs, whatever its operator asks `node:crypto`
 * or `Math.random` for comes from a generator with the test's seed: bytes, UUIDs, and key pairs (RSA, EC, Ed25519, X25519).
 * With them, certificates that are signed with RSA or Ed25519 are fixed, too; an ECDSA signature has a random part of its own,
 * for which there are masks.
 *
 * Tests run side by side in one process: each sees its own generator, and nobody else sees any.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { checkPrimeSync, createECDH, createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { createRequire, syncBuiltinESMExports } from 'node:module'

interface Source {
  readonly seed: number
  block: number
  rest: Buffer
}

const running = new AsyncLocalStorage<Source>()

/** Runs it with chance that repeats itself. */
export async function withSeed<T>(seed: number, run: () => Promise<T>): Promise<T> {
  return await withSeeds(() => running.run({ seed, block: 0, rest: Buffer.alloc(0) }, run))
}

/** Around many of those: what has to be put in place for each is put there once. */
export async function withSeeds<T>(run: () => Promise<T>): Promise<T> {
  install()
  try {
    return await run()
  } finally {
    uninstall()
  }
}

/** The next bytes of a stream that follows from the seed alone. */
function take(source: Source, size: number): Buffer {
  while (source.rest.length < size) {
    const block = createHash('sha512')
      .update(`muster ${source.seed} ${source.block++}`)
      .digest()
    source.rest = Buffer.concat([source.rest, block])
  }
  const bytes = source.rest.subarray(0, size)
  source.rest = source.rest.subarray(size)
  return Buffer.from(bytes)
}

type Callback = (error: Error | null, ...results: readonly unknown[]) => void
type Plain = (...parameters: readonly unknown[]) => unknown
type Members = Record<string, Plain>

let users = 0
let original: { readonly of: Members; readonly members: Members }[] = []

function install(): void {
  if (users++ > 0) return
  const nodeCrypto = createRequire(import.meta.url)('node:crypto') as Members & { readonly webcrypto: unknown }
  replace(nodeCrypto, seededCrypto)
  replace(globalThis.crypto as unknown as Members, seededWebCrypto)
  replace(Math as unknown as Members, seededMath)
  syncBuiltinESMExports()
}

function uninstall(): void {
  if (--users > 0) return
  for (const { of, members } of original) Object.assign(of, members)
  original = []
  syncBuiltinESMExports()
}

/** Outside of a test they do what they always did. */
function replace(
  target: Members,
  seeded: Readonly<Record<string, (source: Source, ...rest: never[]) => unknown>>,
): void {
  const members: Members = {}
  for (const [name, own] of Object.entries(seeded)) {
    const before = target[name]!
    members[name] = before
    target[name] = function (this: unknown, ...parameters: readonly unknown[]): unknown {
      const source = running.getStore()
      if (source) return (own as (source: Source, ...rest: readonly unknown[]) => unknown)(source, ...parameters)
      return Reflect.apply(before, this, parameters)
    }
  }
  original.push({ of: target, members })
}

function answered<T>(value: T, callback: unknown): T | undefined {
  if (typeof callback !== 'function') return value
  queueMicrotask(() => (callback as Callback)(null, value))
  return undefined
}

const seededCrypto = {
  randomBytes: (source: Source, size: number, callback?: unknown) => answered(take(source, size), callback),
  randomUUID: (source: Source) => uuid(source),
  randomInt: (source: Source, ...rest: readonly unknown[]) => {
    const callback = rest.find((each) => typeof each === 'function')
    const [first, second] = rest.filter((each) => typeof each === 'number')
    const [low, high] = second === undefined ? [0, first!] : [first!, second]
    return answered(low + Math.floor(fraction(source) * (high - low)), callback)
  },
  randomFillSync: (source: Source, target: ArrayBufferView, offset = 0, size?: number) =>
    fill(source, target, offset, size),
  generateKeyPairSync: (source: Source, type: string, options: KeyOptions = {}) => keyPair(source, type, options),
  generateKeyPair: (source: Source, type: string, ...rest: readonly unknown[]) => {
    const callback = rest.at(-1) as Callback
    const { publicKey, privateKey } = keyPair(source, type, (rest.length > 1 ? rest[0] : {}) as KeyOptions)
    queueMicrotask(() => callback(null, publicKey, privateKey))
  },
}

const seededWebCrypto = {
  getRandomValues: (source: Source, target: ArrayBufferView) => fill(source, target),
  randomUUID: (source: Source) => uuid(source),
}

const seededMath = { random: (source: Source) => fraction(source) }

function fraction(source: Source): number {
  return take(source, 6).readUIntBE(0, 6) / 2 ** 48
}

function uuid(source: Source): string {
  const bytes = take(source, 16)
  bytes[6] = (bytes[6]! & 0x0f) | 0x40
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

function fill<T extends ArrayBufferView>(source: Source, target: T, offset = 0, size?: number): T {
  const bytes = new Uint8Array(target.buffer, target.byteOffset, target.byteLength)
  bytes.set(take(source, size ?? bytes.length - offset), offset)
  return target
}

interface KeyOptions {
  readonly modulusLength?: number
  readonly namedCurve?: string
  readonly publicKeyEncoding?: Parameters<KeyObject['export']>[0]
  readonly privateKeyEncoding?: Parameters<KeyObject['export']>[0]
}

function keyPair(
  source: Source,
  type: string,
  options: KeyOptions,
): { readonly publicKey: unknown; readonly privateKey: unknown } {
  const privateKey = privateKeyOf(source, type, options)
  const publicKey = createPublicKey(privateKey)
  const { publicKeyEncoding, privateKeyEncoding } = options
  return {
    publicKey: publicKeyEncoding ? publicKey.export(publicKeyEncoding as never) : publicKey,
    privateKey: privateKeyEncoding ? privateKey.export(privateKeyEncoding as never) : privateKey,
  }
}

/** In front of 32 bytes they make a private key: PKCS #8. */
const okpPrefixes: Readonly<Record<string, string>> = {
  ed25519: '302e020100300506032b657004220420',
  x25519: '302e020100300506032b656e04220420',
}

const curves: Readonly<Record<string, { readonly crv: string; readonly name: string; readonly bytes: number }>> = {
  'P-256': { crv: 'P-256', name: 'prime256v1', bytes: 32 },
  prime256v1: { crv: 'P-256', name: 'prime256v1', bytes: 32 },
  'P-384': { crv: 'P-384', name: 'secp384r1', bytes: 48 },
  secp384r1: { crv: 'P-384', name: 'secp384r1', bytes: 48 },
}

function privateKeyOf(source: Source, type: string, { modulusLength = 2048, namedCurve = '' }: KeyOptions): KeyObject {
  const prefix = okpPrefixes[type]
  if (prefix !== undefined) {
    const key = Buffer.concat([Buffer.from(prefix, 'hex'), take(source, 32)])
    return createPrivateKey({ key, format: 'der', type: 'pkcs8' })
  }
  const curve = curves[namedCurve]
  if (type === 'ec' && curve) return ellipticKey(source, curve)
  if (type === 'rsa') return rsaKey(source, modulusLength)
  throw new Error(`There is no seeded key pair of type ${type} ${namedCurve}.`)
}

function ellipticKey(source: Source, { crv, name, bytes }: (typeof curves)[string]): KeyObject {
  const exchange = createECDH(name)
  const d = take(source, bytes)
  // Below the order of the curve, and above zero.
  d[0] = d[0]! & 0x7f
  d[bytes - 1] = d[bytes - 1]! | 1
  exchange.setPrivateKey(d)
  const point = exchange.getPublicKey()
  const part = (from: number): string => point.subarray(from, from + bytes).toString('base64url')
  const key = { kty: 'EC', crv, d: d.toString('base64url'), x: part(1), y: part(1 + bytes) }
  return createPrivateKey({ key, format: 'jwk' })
}

function rsaKey(source: Source, bits: number): KeyObject {
  const e = 65_537n
  const p = prime(source, bits / 2, e)
  const q = prime(source, bits / 2, e)
  const d = inverse(e, (p - 1n) * (q - 1n))
  const numbers = { n: p * q, e, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: inverse(q, p) }
  const parts = Object.entries(numbers).map(([name, value]) => [name, base64url(value)] as const)
  return createPrivateKey({ key: { kty: 'RSA', ...Object.fromEntries(parts) }, format: 'jwk' })
}

function prime(source: Source, bits: number, e: bigint): bigint {
  const bytes = take(source, bits / 8)
  // Two bits at the top, so that the product is as long as it should be; odd.
  bytes[0] = bytes[0]! | 0xc0
  let candidate = BigInt(`0x${bytes.toString('hex')}`) | 1n
  while (candidate % e === 1n || !checkPrimeSync(candidate)) candidate += 2n
  return candidate
}

function inverse(value: bigint, modulus: bigint): bigint {
  let [r, next] = [modulus, value % modulus]
  let [x, y] = [0n, 1n]
  while (next !== 0n) {
    const quotient = r / next
    ;[r, next] = [next, r - quotient * next]
    ;[x, y] = [y, x - quotient * y]
  }
  return ((x % modulus) + modulus) % modulus
}

function base64url(value: bigint): string {
  const hex = value.toString(16)
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex').toString('base64url')
}
