/**
 * DER, the encoding of certificates: every value is a tag, a length and a content. Functions encode the few types needed here;
 * `readDer` decodes foreign values.
 */
import { formatTime } from '../kube/units/duration.ts'

export function tagged(tag: number, content: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([tag, ...lengthOf(content.length)]), content])
}

/** One byte up to 127; beyond that, the number of length bytes, then those. */
function lengthOf(length: number): readonly number[] {
  if (length < 0x80) return [length]
  const bytes: number[] = []
  for (let left = length; left > 0; left = Math.floor(left / 256)) bytes.unshift(left % 256)
  return [0x80 | bytes.length, ...bytes]
}

export function sequence(...parts: readonly Uint8Array[]): Buffer {
  return tagged(0x30, Buffer.concat(parts))
}

export function set(...parts: readonly Uint8Array[]): Buffer {
  return tagged(0x31, Buffer.concat(parts))
}

/** Bytes of a number, big-endian; the top bit is its sign. */
export function derInteger(bytes: Uint8Array): Buffer {
  return tagged(0x02, bytes)
}

export function derBoolean(value: boolean): Buffer {
  return tagged(0x01, Buffer.from([value ? 0xff : 0]))
}

export function octets(bytes: Uint8Array): Buffer {
  return tagged(0x04, bytes)
}

/** `unused` bits at the end of the last byte are ignored. */
export function bits(bytes: Uint8Array, unused = 0): Buffer {
  return tagged(0x03, Buffer.concat([Buffer.from([unused]), bytes]))
}

export function utf8(text: string): Buffer {
  return tagged(0x0c, Buffer.from(text))
}

/** An explicitly tagged member. */
export function explicit(number: number, content: Uint8Array): Buffer {
  return tagged(0xa0 | number, content)
}

/** An implicitly tagged member. */
export function implicit(number: number, content: Uint8Array): Buffer {
  return tagged(0x80 | number, content)
}

/** `2.5.4.3`: numbers in base 128, the top bit of all but the last byte set. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  const bytes = rest.flatMap((number) => {
    const digits = [number & 0x7f]
    for (let left = number >>> 7; left > 0; left >>>= 7) digits.unshift((left & 0x7f) | 0x80)
    return digits
  })
  return tagged(0x06, Buffer.from([first * 40 + second, ...bytes]))
}

/** Two digits for the year until 2049, four after: required by RFC 5280. */
export function time(ms: number): Buffer {
  const text = formatTime(ms).replaceAll(/[-:T]/g, '')
  return text < '2050' ? tagged(0x17, Buffer.from(text.slice(2))) : tagged(0x18, Buffer.from(text))
}

interface DerValue {
  readonly tag: number
  readonly content: Buffer
  /** Tag, length and content as encoded. */
  readonly whole: Buffer
}

/** The sequence of values in these bytes; undefined if it is incomplete. */
export function readDer(bytes: Buffer): readonly DerValue[] | undefined {
  const values: DerValue[] = []
  for (let at = 0; at < bytes.length;) {
    const [tag, first] = [bytes[at], bytes[at + 1]]
    if (tag === undefined || first === undefined) return undefined
    const digits = first < 0x80 ? 0 : first & 0x7f
    // More than four length bytes exceed any certificate.
    if (digits > 4 || first === 0x80 || at + 2 + digits > bytes.length) return undefined
    const length = digits === 0 ? first : bytes.readUIntBE(at + 2, digits)
    const start = at + 2 + digits
    if (start + length > bytes.length) return undefined
    values.push({ tag, content: bytes.subarray(start, start + length), whole: bytes.subarray(at, start + length) })
    at = start + length
  }
  return values
}
