/**
 * A certificate for this machine: self-signed, for loopback names only, made anew at every start. Whoever has it (it
 * goes into the kubeconfig) knows that it talks to this very process, and to no other that came to listen there.
 *
 * X.509 is DER: a tag, a length and a content, all the way down. The few pieces needed are written here; node:crypto
 * makes the key and the signature.
 */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'

/** Both in PEM. */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

/** Clocks of one machine agree, but suspended ones wake up confused. */
const hourMs = 3_600_000

/** `from` and `until` are moments in milliseconds since the epoch. */
export function makeLoopbackCertificate(from: number, until: number): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = sequence(set(sequence(oid(2, 5, 4, 3), utf8('muster'))))
  const algorithm = sequence(oid(1, 2, 840, 10045, 4, 3, 2))
  const body = sequence(
    explicit(0, integer(Buffer.from([2]))),
    // A serial number is positive: its top bit stays clear.
    integer(Buffer.concat([Buffer.from([0x40]), randomBytes(15)])),
    algorithm,
    name,
    sequence(time(from - hourMs), time(until)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    explicit(3, sequence(isAuthority, usage, serverPurpose, loopbackNames)),
  )
  const base64 = sequence(body, algorithm, bits(sign('sha256', body, privateKey))).toString('base64')
  const lines = base64.match(/.{1,64}/g)!.join('\n')
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  }
}

function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content])
  const bytes = length > 0xff ? [0x82, length >> 8, length & 0xff] : [0x81, length]
  return Buffer.concat([Buffer.from([tag, ...bytes]), content])
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts))
}

function set(...parts: readonly Buffer[]): Buffer {
  return tagged(0x31, Buffer.concat(parts))
}

function integer(bytes: Buffer): Buffer {
  return tagged(0x02, bytes)
}

function bits(bytes: Buffer, unused = 0): Buffer {
  return tagged(0x03, Buffer.concat([Buffer.from([unused]), bytes]))
}

function utf8(text: string): Buffer {
  return tagged(0x0c, Buffer.from(text))
}

function explicit(number: number, content: Buffer): Buffer {
  return tagged(0xa0 | number, content)
}

/** Numbers in base 128, the top bit of all but the last byte set. */
function oid(first: number, second: number, ...rest: readonly number[]): Buffer {
  const bytes = rest.flatMap((number) => {
    const digits = [number & 0x7f]
    for (let left = number >>> 7; left > 0; left >>>= 7) digits.unshift((left & 0x7f) | 0x80)
    return digits
  })
  return tagged(0x06, Buffer.from([first * 40 + second, ...bytes]))
}

/** Two digits for the year until 2049, four after: RFC 5280 asks for exactly that. */
function time(ms: number): Buffer {
  const date = new Date(ms)
  const text = date.toISOString().replaceAll(/[-:T]|\.\d+/g, '')
  return date.getUTCFullYear() < 2050 ? tagged(0x17, Buffer.from(text.slice(2))) : tagged(0x18, Buffer.from(text))
}

function extension(type: Buffer, critical: boolean, value: Buffer): Buffer {
  return sequence(type, ...(critical ? [tagged(0x01, Buffer.from([0xff]))] : []), tagged(0x04, value))
}

/** It vouches for itself, so it is its own authority: clients are given it as the one they trust. */
const isAuthority = extension(oid(2, 5, 29, 19), true, sequence(tagged(0x01, Buffer.from([0xff]))))
/** Signing handshakes, and signing certificates (its own). */
const usage = extension(oid(2, 5, 29, 15), true, bits(Buffer.from([0x84]), 2))
const serverPurpose = extension(oid(2, 5, 29, 37), false, sequence(oid(1, 3, 6, 1, 5, 5, 7, 3, 1)))
const loopbackNames = extension(
  oid(2, 5, 29, 17),
  false,
  sequence(
    tagged(0x82, Buffer.from('localhost')),
    tagged(0x87, Buffer.from([127, 0, 0, 1])),
    tagged(0x87, Buffer.from([...Array.from({ length: 15 }, () => 0), 1])),
  ),
)
