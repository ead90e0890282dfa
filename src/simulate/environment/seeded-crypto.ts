/**
 * Deterministic keys and random values. While a test runs, `node:crypto`, `crypto.subtle` and `Math.random` draw from a
 * generator with the test's seed: bytes, UUIDs, keys, and key pairs (RSA, EC, Ed25519, X25519). That makes certificates
 * deterministic, too: Ed25519 and RSA (PKCS #1) signatures are, and ECDSA ones are computed by `fixed-signature.ts`.
 * RSA-PSS and encryption stay random: mask them.
 *
 * Tests run concurrently in one process: each has its own generator, and other code has none.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import {
  checkPrimeSync,
  createECDH,
  createHash,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  createSign,
  type Encoding,
  generateKeyPair,
  KeyObject,
  sign,
  type webcrypto,
} from 'node:crypto'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { promisify } from 'node:util'
import { fixedSignature, type SignatureEncoding } from './fixed-signature.ts'
import { inverse } from './inverse.ts'

/** The random source of one test or process. */
export interface SeedSource {
  readonly seed: number
  block: number
  rest: Buffer
}

const running = new AsyncLocalStorage<SeedSource>()

/** Runs it with a seeded random source. */
export async function withSeed<T>(seed: number, run: () => Promise<T>): Promise<T> {
  return await openSeed(seed)(run)
}

/** For several runs in sequence that share one random stream. */
export function openSeed(seed: number): <T>(run: () => Promise<T>) => Promise<T> {
  const source = openSource(seed)
  return async (run) => await withSeeds(() => running.run(source, run))
}

export function openSource(seed: number): SeedSource {
  return { seed, block: 0, rest: Buffer.alloc(0) }
}

/** Runs it with this source, if seeds are installed. */
export function withSource<T>(source: SeedSource, work: () => T): T {
  return running.run(source, work)
}

/** Installs the replacements; returns how to remove them. */
export function installSeeds(): () => void {
  install()
  return uninstall
}

/** Installs the replacements once for many runs. */
export async function withSeeds<T>(run: () => Promise<T>): Promise<T> {
  install()
  try {
    return await run()
  } finally {
    uninstall()
  }
}

/** The next bytes of the stream. */
function take(source: SeedSource, size: number): Buffer {
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
let replaced: { readonly of: Members; readonly members: Members }[] = []

function install(): void {
  if (users++ > 0) return
  const nodeCrypto = createRequire(import.meta.url)('node:crypto') as Members & { readonly webcrypto: unknown }
  replace(nodeCrypto, seededCrypto)
  replace(globalThis.crypto as unknown as Members, seededWebCrypto)
  replace(globalThis.crypto.subtle as unknown as Members, seededSubtle)
  replace(Math as unknown as Members, seededMath)
  syncBuiltinESMExports()
}

function uninstall(): void {
  if (--users > 0) return
  for (const { of, members } of replaced) Object.assign(of, members)
  replaced = []
  syncBuiltinESMExports()
}

/** Outside of a test the originals are called. */
function replace(
  target: Members,
  seeded: Readonly<Record<string, (source: SeedSource, ...rest: never[]) => unknown>>,
): void {
  const members: Members = {}
  for (const [name, own] of Object.entries(seeded)) {
    const before = target[name]!
    members[name] = before
    target[name] = function (this: unknown, ...parameters: readonly unknown[]): unknown {
      const source = running.getStore()
      if (source) return (own as (source: SeedSource, ...rest: readonly unknown[]) => unknown)(source, ...parameters)
      return Reflect.apply(before, this, parameters)
    }
    // `promisify(generateKeyPair)` resolves to both keys.
    if (name === 'generateKeyPair') Object.assign(target[name], { [promisify.custom]: pairLater })
  }
  replaced.push({ of: target, members })
}

function answered<T>(value: T, callback: unknown): T | undefined {
  if (typeof callback !== 'function') return value
  queueMicrotask(() => (callback as Callback)(null, value))
  return undefined
}

const seededCrypto = {
  randomBytes: (source: SeedSource, size: number, callback?: unknown) => answered(take(source, size), callback),
  randomUUID: (source: SeedSource) => uuid(source),
  randomInt: (source: SeedSource, ...rest: readonly unknown[]) => {
    const callback = rest.find((each) => typeof each === 'function')
    const [first, second] = rest.filter((each) => typeof each === 'number')
    const [low, high] = second === undefined ? [0, first!] : [first!, second]
    return answered(low + Math.floor(fraction(source) * (high - low)), callback)
  },
  randomFillSync: (source: SeedSource, target: ArrayBufferView, offset = 0, size?: number) =>
    fill(source, target, offset, size),
  randomFill: (source: SeedSource, target: ArrayBufferView, ...rest: readonly unknown[]) => {
    const [offset, size] = rest.filter((each) => typeof each === 'number')
    answered(fill(source, target, offset, size), rest.at(-1))
  },
  generateKeySync: (source: SeedSource, type: string, options: SecretOptions) => secretKey(source, type, options),
  generateKey: (source: SeedSource, type: string, options: SecretOptions, callback: unknown) =>
    answered(secretKey(source, type, options), callback),
  generateKeyPairSync: (source: SeedSource, type: string, options: KeyOptions = {}) => keyPair(source, type, options),
  generateKeyPair: (source: SeedSource, type: string, ...rest: readonly unknown[]) => {
    const callback = rest.at(-1) as Callback
    const { publicKey, privateKey } = keyPair(source, type, (rest.length > 1 ? rest[0] : {}) as KeyOptions)
    queueMicrotask(() => callback(null, publicKey, privateKey))
  },
  sign: (
    _: SeedSource,
    hash: string | null | undefined,
    data: ArrayBufferView,
    key: SigningKey,
    callback?: unknown,
  ) => {
    const signature = signatureBy(hash ?? 'sha256', [bytesIn(data)], key)
    if (signature) return answered(signature, callback)
    const plain = original.sign as Plain
    return typeof callback === 'function' ? plain(hash, data, key, callback) : plain(hash, data, key)
  },
  createSign: (_: SeedSource, hash: string, options?: object) => {
    const signer = original.createSign(hash, options)
    const [update, finish] = [signer.update.bind(signer) as Plain, signer.sign.bind(signer) as Plain]
    const parts: Uint8Array[] = []
    return Object.assign(signer, {
      update(data: string | ArrayBufferView, encoding?: Encoding) {
        parts.push(typeof data === 'string' ? Buffer.from(data, encoding as BufferEncoding) : bytesIn(data))
        update(data, encoding)
        return signer
      },
      sign(key: SigningKey, encoding?: BufferEncoding) {
        const signature = signatureBy(hash, parts, key)
        return signature ? (encoding ? signature.toString(encoding) : signature) : finish(key, encoding)
      },
    })
  },
}

/** The originals. */
const original = {
  sign,
  createSign,
  generateKeyPair: promisify(generateKeyPair) as Plain,
  signSubtly: globalThis.crypto.subtle.sign.bind(globalThis.crypto.subtle),
}

function pairLater(type: string, options: KeyOptions = {}): unknown {
  const source = running.getStore()
  return source ? Promise.resolve(keyPair(source, type, options)) : original.generateKeyPair(type, options)
}

type SigningKey = KeyObject | { readonly key?: unknown; readonly dsaEncoding?: SignatureEncoding }

/** Undefined: the signature is deterministic anyway, or cannot be made so. */
function signatureBy(hash: string, parts: readonly Uint8Array[], key: SigningKey): Buffer | undefined {
  const { key: inner = key, dsaEncoding = 'der' } = key as Exclude<SigningKey, KeyObject>
  const own = inner instanceof KeyObject ? inner : createPrivateKey(key as Parameters<typeof createPrivateKey>[0])
  return fixedSignature(hash, Buffer.concat(parts), own, dsaEncoding)
}

function bytesIn({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength).slice()
}

const seededWebCrypto = {
  getRandomValues: (source: SeedSource, target: ArrayBufferView) => fill(source, target),
  randomUUID: (source: SeedSource) => uuid(source),
}

/** The key material of non-extractable keys that were generated here. */
const keyMaterials = new WeakMap<object, KeyObject>()

const seededSubtle = {
  generateKey: async (
    source: SeedSource,
    asked: string | (webcrypto.Algorithm & { readonly namedCurve?: string; readonly modulusLength?: number }),
    extractable: boolean,
    usages: readonly webcrypto.KeyUsage[],
  ) => {
    const algorithm = typeof asked === 'string' ? { name: asked } : asked
    const { subtle } = globalThis.crypto
    const type = pairTypes[algorithm.name.toUpperCase()]
    if (type === undefined) {
      const { length = 256 } = algorithm as { readonly length?: number }
      return await subtle.importKey('raw', new Uint8Array(take(source, length / 8)), algorithm, extractable, [
        ...usages,
      ])
    }
    const privateKey = privateKeyOf(source, type, algorithm)
    const inside = privateKey.export({ type: 'pkcs8', format: 'der' })
    const outside = createPublicKey(privateKey).export({ type: 'spki', format: 'der' })
    const ofPublic = usages.filter((usage) => publicUsages.has(usage))
    const ofPrivate = usages.filter((usage) => !publicUsages.has(usage))
    const pair = {
      privateKey: await subtle.importKey('pkcs8', inside, algorithm, extractable, ofPrivate),
      publicKey: await subtle.importKey('spki', outside, algorithm, true, ofPublic),
    }
    keyMaterials.set(pair.privateKey, privateKey)
    return pair
  },
  sign: async (
    _: SeedSource,
    algorithm: string | (webcrypto.Algorithm & { readonly hash?: string | webcrypto.Algorithm }),
    key: webcrypto.CryptoKey,
    data: ArrayBuffer | ArrayBufferView,
  ) => {
    const { name, hash = '' } = typeof algorithm === 'string' ? { name: algorithm } : algorithm
    const own = keyMaterials.get(key) ?? (key.extractable ? KeyObject.from(key) : undefined)
    if (name.toUpperCase() === 'ECDSA' && own && key.usages.includes('sign')) {
      const digest = (typeof hash === 'string' ? hash : hash.name).replace('-', '')
      const bytes = ArrayBuffer.isView(data) ? bytesIn(data) : new Uint8Array(data)
      const signature = fixedSignature(digest, bytes, own, 'ieee-p1363')
      if (signature) return new Uint8Array(signature).buffer
    }
    return await original.signSubtly(algorithm, key, data as never)
  },
}

const publicUsages: ReadonlySet<webcrypto.KeyUsage> = new Set(['verify', 'encrypt', 'wrapKey'])

const pairTypes: Readonly<Record<string, string>> = {
  'RSASSA-PKCS1-V1_5': 'rsa',
  'RSA-PSS': 'rsa',
  'RSA-OAEP': 'rsa',
  ECDSA: 'ec',
  ECDH: 'ec',
  ED25519: 'ed25519',
  X25519: 'x25519',
}

const seededMath = { random: (source: SeedSource) => fraction(source) }

function fraction(source: SeedSource): number {
  return take(source, 6).readUIntBE(0, 6) / 2 ** 48
}

function uuid(source: SeedSource): string {
  const bytes = take(source, 16)
  bytes[6] = (bytes[6]! & 0x0f) | 0x40
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

function fill<T extends ArrayBufferView>(source: SeedSource, target: T, offset = 0, size?: number): T {
  const bytes = new Uint8Array(target.buffer, target.byteOffset, target.byteLength)
  bytes.set(take(source, size ?? bytes.length - offset), offset)
  return target
}

interface SecretOptions {
  /** In bits. */
  readonly length: number
}

function secretKey(source: SeedSource, type: string, { length }: SecretOptions): KeyObject {
  if (type !== 'hmac' && type !== 'aes') throw new Error(`There is no seeded key of type ${type}.`)
  return createSecretKey(take(source, length / 8))
}

interface KeyOptions {
  readonly modulusLength?: number
  readonly namedCurve?: string
  readonly publicKeyEncoding?: Parameters<KeyObject['export']>[0]
  readonly privateKeyEncoding?: Parameters<KeyObject['export']>[0]
}

function keyPair(
  source: SeedSource,
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

/** PKCS #8 prefixes of a 32-byte private key. */
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

function privateKeyOf(
  source: SeedSource,
  type: string,
  { modulusLength = 2048, namedCurve = '' }: KeyOptions,
): KeyObject {
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

function ellipticKey(source: SeedSource, { crv, name, bytes }: (typeof curves)[string]): KeyObject {
  const exchange = createECDH(name)
  const d = take(source, bytes)
  // Keeps it below the order of the curve, and above zero.
  d[0] = d[0]! & 0x7f
  d[bytes - 1] = d[bytes - 1]! | 1
  exchange.setPrivateKey(d)
  const point = exchange.getPublicKey()
  const part = (from: number): string => point.subarray(from, from + bytes).toString('base64url')
  const key = { kty: 'EC', crv, d: d.toString('base64url'), x: part(1), y: part(1 + bytes) }
  return createPrivateKey({ key, format: 'jwk' })
}

function rsaKey(source: SeedSource, bits: number): KeyObject {
  const e = 65_537n
  const p = prime(source, bits / 2, e)
  const q = prime(source, bits / 2, e)
  const d = inverse(e, (p - 1n) * (q - 1n))
  const numbers = { n: p * q, e, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: inverse(q, p) }
  const parts = Object.entries(numbers).map(([name, value]) => [name, base64url(value)] as const)
  return createPrivateKey({ key: { kty: 'RSA', ...Object.fromEntries(parts) }, format: 'jwk' })
}

function prime(source: SeedSource, bits: number, e: bigint): bigint {
  const bytes = take(source, bits / 8)
  // Sets the two top bits, so that the product has the full length; odd.
  bytes[0] = bytes[0]! | 0xc0
  let candidate = BigInt(`0x${bytes.toString('hex')}`) | 1n
  while (candidate % e === 1n || !checkPrimeSync(candidate)) candidate += 2n
  return candidate
}

function base64url(value: bigint): string {
  const hex = value.toString(16)
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex').toString('base64url')
}
