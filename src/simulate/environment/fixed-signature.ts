/**
 * Deterministic ECDSA, as in RFC 6979: the nonce is derived from the key and the message. Any verifier accepts such a
 * signature. Node has no option to request it from OpenSSL.
 */
import { createECDH, createHash, createHmac, type KeyObject } from 'node:crypto'
import { inverse } from './inverse.ts'

interface Curve {
  readonly name: string
  readonly bytes: number
  readonly order: bigint
}

const curves: Readonly<Record<string, Curve>> = {
  'P-256': {
    name: 'prime256v1',
    bytes: 32,
    order: 0xffffffff_00000000_ffffffff_ffffffff_bce6faad_a7179e84_f3b9cac2_fc632551n,
  },
  'P-384': {
    name: 'secp384r1',
    bytes: 48,
    order:
      0xffffffff_ffffffff_ffffffff_ffffffff_ffffffff_ffffffff_c7634d81_f4372ddf_581a0db2_48b0a77a_ecec196a_ccc52973n,
  },
}

/** `ieee-p1363`: both numbers concatenated. */
export type SignatureEncoding = 'der' | 'ieee-p1363'

/** Undefined for a key of another curve. */
export function fixedSignature(
  hash: string,
  data: Uint8Array,
  key: KeyObject,
  encoding: SignatureEncoding,
): Buffer | undefined {
  if (key.asymmetricKeyType !== 'ec') return undefined
  const { crv = '', d = '' } = key.export({ format: 'jwk' })
  const curve = curves[crv]
  if (!curve) return undefined
  const { bytes, order } = curve
  const secret = numberOf(Buffer.from(d, 'base64url'))
  const digest = createHash(hash).update(data).digest()
  // A digest longer than the curve is truncated.
  const message = numberOf(digest.subarray(0, bytes))
  for (const nonce of nonces(hash, curve, secret, message)) {
    const exchange = createECDH(curve.name)
    exchange.setPrivateKey(bytesOf(nonce, bytes))
    const r = numberOf(exchange.getPublicKey().subarray(1, 1 + bytes)) % order
    const s = (inverse(nonce, order) * (message + r * secret)) % order
    if (r === 0n || s === 0n) continue
    return encoding === 'der'
      ? der(0x30, Buffer.concat([derNumber(r), derNumber(s)]))
      : Buffer.concat([bytesOf(r, bytes), bytesOf(s, bytes)])
  }
  return undefined
}

/** Section 3.2. The first candidate almost always fits. */
function* nonces(hash: string, { bytes, order }: Curve, secret: bigint, message: bigint): Generator<bigint, void> {
  const mac = (key: Buffer, ...parts: readonly Uint8Array[]): Buffer =>
    createHmac(hash, key).update(Buffer.concat(parts)).digest()
  const seed = Buffer.concat([bytesOf(secret, bytes), bytesOf(message % order, bytes)])
  const size = createHash(hash).digest().length
  let value: Buffer = Buffer.alloc(size, 1)
  let key: Buffer = Buffer.alloc(size)
  for (const step of [0, 1]) {
    key = mac(key, value, Buffer.from([step]), seed)
    value = mac(key, value)
  }
  for (;;) {
    let drawn = Buffer.alloc(0)
    while (drawn.length < bytes) {
      value = mac(key, value)
      drawn = Buffer.concat([drawn, value])
    }
    const nonce = numberOf(drawn.subarray(0, bytes))
    if (nonce > 0n && nonce < order) yield nonce
    key = mac(key, value, Buffer.from([0]))
    value = mac(key, value)
  }
}

function numberOf(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
}

function bytesOf(value: bigint, size: number): Buffer {
  return Buffer.from(value.toString(16).padStart(size * 2, '0'), 'hex')
}

/** Both numbers of these curves fit a length of one byte. */
function der(tag: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([tag, content.length]), content])
}

/** A positive number: its top bit is clear. */
function derNumber(value: bigint): Buffer {
  const hex = value.toString(16)
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
  return der(0x02, bytes[0]! >= 0x80 ? Buffer.concat([Buffer.alloc(1), bytes]) : bytes)
}
