/** Passwords derived from a master password, by the algorithm of Master Password. */
import { createHmac, scryptSync } from 'node:crypto'
import { textBytes } from '../../template/text-bytes.ts'

const scope = 'com.lyndir.masterpassword'

/** Classes of characters, one for each character of the password. */
const shapes: Readonly<Record<string, string>> = {
  maximum: 'anoxxxxxxxxxxxxxxxxx axxxxxxxxxxxxxxxxxno',
  long:
    'CvcvnoCvcvCvcv CvcvCvcvnoCvcv CvcvCvcvCvcvno CvccnoCvcvCvcv CvccCvcvnoCvcv CvccCvcvCvcvno CvcvnoCvccCvcv ' +
    'CvcvCvccnoCvcv CvcvCvccCvcvno CvcvnoCvcvCvcc CvcvCvcvnoCvcc CvcvCvcvCvccno CvccnoCvccCvcv CvccCvccnoCvcv ' +
    'CvccCvccCvcvno CvcvnoCvccCvcc CvcvCvccnoCvcc CvcvCvccCvccno CvccnoCvcvCvcc CvccCvcvnoCvcc CvccCvcvCvccno',
  medium: 'CvcnoCvc CvcCvcno',
  short: 'Cvcn',
  basic: 'aaanaaan aannaaan aaannaaa',
  pin: 'nnnn',
}

const classes: Readonly<Record<string, string>> = {
  V: 'AEIOU',
  C: 'BCDFGHJKLMNPQRSTVWXYZ',
  v: 'aeiou',
  c: 'bcdfghjklmnpqrstvwxyz',
  A: 'AEIOUBCDFGHJKLMNPQRSTVWXYZ',
  a: 'AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz',
  n: '0123456789',
  o: "@&%?,=[]_:-+*$#!'^~;()/.",
  x: 'AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz0123456789!@#$%^&*()',
}

function sized(text: string): Buffer {
  const bytes = textBytes(text)
  return Buffer.concat([uint32(bytes.length), bytes])
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

export function derivePassword(counter: number, type: string, password: string, user: string, site: string): string {
  const known = Object.hasOwn(shapes, type) ? shapes[type]!.split(' ') : undefined
  if (!known) return `cannot find password template ${type}`
  const salt = Buffer.concat([Buffer.from(scope), sized(user)])
  const key = scryptSync(textBytes(password), salt, 64, { N: 32_768, r: 8, p: 2, maxmem: 128 * 1024 * 1024 })
  const seed = createHmac('sha256', key)
    .update(Buffer.concat([Buffer.from(scope), sized(site), uint32(counter)]))
    .digest()
  const shape = known[seed[0]! % known.length]!
  return Array.from(shape, (letter, index) => {
    const characters = classes[letter]!
    return characters[seed[index + 1]! % characters.length]!
  }).join('')
}
