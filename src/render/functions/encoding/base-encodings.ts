/** base64 and base32 as Go decodes them, with its messages. */
import { base64Problem } from '../../../kube/go/go-base64.ts'
import { trimEnd } from '../../../kube/text/trim-end.ts'
import { GoError } from '../../template/go-error.ts'
import { textBytes } from '../../template/text-bytes.ts'

/** @throws GoError */
export function decodeBase64(text: string): Buffer {
  const bytes = textBytes(text).toString('latin1')
  const problem = base64Problem(bytes)
  if (problem !== undefined) throw new GoError(`illegal base64 data at input byte ${problem}`)
  return Buffer.from(bytes, 'base64')
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

export function encodeBase32(bytes: Uint8Array): string {
  let text = ''
  let [bits, count] = [0, 0]
  for (const byte of bytes) {
    bits = (bits << 8) | byte
    count += 8
    while (count >= 5) {
      count -= 5
      text += alphabet[(bits >>> count) & 31]!
    }
    bits &= (1 << count) - 1
  }
  if (count > 0) text += alphabet[(bits << (5 - count)) & 31]!
  return text.padEnd(Math.ceil(text.length / 8) * 8, '=')
}

/** Characters of a last group that has this many bytes: 1 to 4. */
const paddedLengths: ReadonlySet<number> = new Set([2, 4, 5, 7])

/** @throws GoError */
export function decodeBase32(text: string): Buffer {
  const characters = text.replaceAll(/[\r\n]/g, '')
  const bytes: number[] = []
  let at = 0
  while (at < characters.length) {
    const group = characters.slice(at, at + 8)
    const data = trimEnd(group, '=')
    const wrong = Array.from(data).findIndex((character) => !alphabet.includes(character))
    if (wrong >= 0) throw corrupt(at + wrong)
    if (group.length < 8) throw corrupt(data === group ? at : characters.length)
    if (data.length < 8 && !paddedLengths.has(data.length)) throw corrupt(at + data.length)
    if (data.length < 8 && at + 8 < characters.length) throw corrupt(at + 8)
    let bits = 0n
    for (const character of data.padEnd(8, 'A')) bits = (bits << 5n) | BigInt(alphabet.indexOf(character))
    const length = Math.floor((data.length * 5) / 8)
    for (let index = 0; index < length; index++) bytes.push(Number((bits >> BigInt(32 - index * 8)) & 255n))
    at += 8
  }
  return Buffer.from(bytes)
}

function corrupt(at: number): GoError {
  return new GoError(`illegal base32 data at input byte ${at}`)
}
