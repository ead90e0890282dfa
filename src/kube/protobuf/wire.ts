/**
 * The protobuf wire format: a message is a sequence of fields, each a tag (number and wire type) and a value. A value is a
 * varint, eight or four fixed bytes, or a length and that many bytes: strings and inner messages.
 *
 * This file does not know the meaning of fields. Reading never goes past the end and never allocates more than the input has;
 * writing goes backwards, because a length precedes its content.
 */
import { kubeErrors } from '../errors.ts'
import { MusterError } from '../muster-error.ts'

type WireType = 0 | 1 | 2 | 5

export const varint = 0
export const fixed64 = 1
export const delimited = 2

/** Groups are obsolete, but hostile input may still nest them. */
const deepestGroup = 100

export function malformedProtobuf(why: string): MusterError {
  return new MusterError(kubeErrors.InvalidProtobuf, why)
}

/** A reader of a message. */
export class WireReader {
  readonly bytes: Uint8Array
  #at = 0
  /** The halves of the last number that was read. */
  #low = 0
  #high = 0

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }

  get done(): boolean {
    return this.#at >= this.bytes.length
  }

  /** The next field's number and wire type, as number × 8 + type. */
  tag(): number {
    this.#varint()
    const tag = this.#low
    if (this.#high !== 0 || tag >>> 3 === 0)
      throw malformedProtobuf(`proto: illegal tag ${tag >>> 3} (wire type ${tag & 7})`)
    return tag
  }

  int32(): number {
    this.#varint()
    return this.#low | 0
  }

  /** A bigint only if a number would not be exact. */
  int64(): number | bigint {
    this.#varint()
    const high = this.#high | 0
    const value = high * 0x1_0000_0000 + this.#low
    return Number.isSafeInteger(value) ? value : (BigInt(high) << 32n) | BigInt(this.#low)
  }

  bool(): boolean {
    this.#varint()
    return (this.#low | this.#high) !== 0
  }

  double(): number {
    const at = this.#take(8)
    return new DataView(this.bytes.buffer, this.bytes.byteOffset + at, 8).getFloat64(0, true)
  }

  /** A view of the next value, not a copy. */
  delimited(): Uint8Array {
    this.#varint()
    // A non-zero upper half is a length beyond memory, or a negative one.
    if (this.#high !== 0) throw malformedProtobuf('proto: negative length found during unmarshaling')
    const length = this.#low
    const at = this.#take(length)
    return this.bytes.subarray(at, at + length)
  }

  /** Skips an unknown value. */
  skip(tag: number, depth = 0): void {
    switch (tag & 7) {
      case 0:
        return this.#varint()
      case 1:
        return void this.#take(8)
      case 2:
        return void this.delimited()
      case 3: {
        if (depth > deepestGroup) throw malformedProtobuf('proto: groups are nested too deep')
        for (;;) {
          const inner = this.tag()
          if ((inner & 7) === 4) return
          this.skip(inner, depth + 1)
        }
      }
      case 5:
        return void this.#take(4)
      case 4:
        throw malformedProtobuf('proto: unexpected end of group')
      default:
        throw malformedProtobuf(`proto: illegal wireType ${tag & 7}`)
    }
  }

  #take(length: number): number {
    const at = this.#at
    if (length > this.bytes.length - at) throw malformedProtobuf('unexpected EOF')
    this.#at = at + length
    return at
  }

  #varint(): void {
    let [low, high] = [0, 0]
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.bytes[this.#at]
      if (byte === undefined) throw malformedProtobuf('unexpected EOF')
      this.#at++
      const bits = byte & 0x7f
      if (shift < 28) low |= bits << shift
      else if (shift === 28) {
        low |= bits << 28
        high = bits >>> 4
      } else high |= bits << (shift - 32)
      if (byte < 0x80) {
        this.#low = low >>> 0
        this.#high = high >>> 0
        return
      }
    }
    throw malformedProtobuf('proto: integer overflow')
  }
}

/** A buffer that is filled from the end. */
export class WireWriter {
  #bytes: Buffer = Buffer.allocUnsafe(512)
  #at = 512

  /** The number of bytes written: the difference of two is the length of what was written in between. */
  get length(): number {
    return this.#bytes.length - this.#at
  }

  finish(): Uint8Array {
    return this.#bytes.subarray(this.#at)
  }

  tag(number: number, type: WireType): void {
    this.varint(number * 8 + type)
  }

  varint(value: number | bigint): void {
    if (typeof value === 'bigint' || value < 0) return this.#longVarint(BigInt.asUintN(64, BigInt(value)))
    let size = 1
    for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) size++
    let at = this.#claim(size)
    let rest = value
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.#bytes[at++] = (rest % 128) | 128
    this.#bytes[at] = rest
  }

  double(value: number): void {
    const at = this.#claim(8)
    this.#bytes.writeDoubleLE(value, at)
  }

  text(value: string): void {
    const length = Buffer.byteLength(value)
    const at = this.#claim(length)
    this.#bytes.write(value, at, 'utf8')
    this.varint(length)
  }

  data(value: Uint8Array): void {
    this.prefix(value)
    this.varint(value.length)
  }

  /** Bytes without their length. */
  prefix(value: Uint8Array): void {
    const at = this.#claim(value.length)
    this.#bytes.set(value, at)
  }

  #longVarint(value: bigint): void {
    const bytes: number[] = []
    let rest = value
    for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128)
    bytes.push(Number(rest))
    this.prefix(Uint8Array.from(bytes))
  }

  /** Reserves that many bytes. May reallocate: call it before touching the buffer. */
  #claim(length: number): number {
    if (length > this.#at) {
      const written = this.finish()
      const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, written.length + length * 2))
      this.#at = larger.length - written.length
      larger.set(written, this.#at)
      this.#bytes = larger
    }
    return (this.#at -= length)
  }
}
