/**
 * A strict reader of tar archives: regular files and folders, in the formats that chart tools write (v7, ustar, GNU long names,
 * pax). Anything else refuses the archive whole: links, devices, paths that leave the archive, names that occur twice.
 */
import { MusterError } from '../../kube/muster-error.ts'
import { renderErrors } from '../errors.ts'

interface TarFile {
  /** With slashes, relative, without `.` and `..`. */
  readonly path: string
  readonly data: Uint8Array
}

interface TarLimits {
  readonly files: number
}

const block = 512

/** What a pax or GNU header says about the following entry. */
interface Override {
  path?: string
  size?: number
}

/** @throws InvalidArchive */
export function readTar(bytes: Uint8Array, place: string, limits: TarLimits): readonly TarFile[] {
  const files = new Map<string, TarFile>()
  let override: Override = {}
  let at = 0
  while (at + block <= bytes.length) {
    const header = bytes.subarray(at, at + block)
    if (header.every((byte) => byte === 0)) break
    checkSum(header, place)
    const size = override.size ?? readNumber(header.subarray(124, 136), place)
    const [start, end] = [at + block, at + block + size]
    if (end > bytes.length) throw refused(place, 'it is cut off')
    const data = bytes.subarray(start, end)
    at = start + Math.ceil(size / block) * block
    const type = String.fromCharCode(header[156]!)
    if (type === 'x' || type === 'L') {
      if (type === 'x') readPax(data, place, override)
      else override.path = textOf(data)
      continue
    }
    const name = override.path ?? nameOf(header)
    override = {}
    // A global pax header; git writes one.
    if (type === 'g') continue
    if (type === '5' || ((type === '0' || type === '\0') && name.endsWith('/'))) continue
    if (type !== '0' && type !== '\0' && type !== '7') throw refused(place, `"${shown(name)}" is ${kindOf(type)}`)
    const path = safePath(name, place)
    if (files.has(path)) throw refused(place, `"${shown(path)}" occurs twice`)
    if (files.size >= limits.files) throw refused(place, `it has more than ${limits.files} files`)
    files.set(path, { path, data })
  }
  return [...files.values()]
}

function kindOf(type: string): string {
  const kinds: Readonly<Record<string, string>> = {
    '1': 'a hard link',
    '2': 'a symbolic link',
    '3': 'a character device',
    '4': 'a block device',
    '6': 'a named pipe',
    S: 'a sparse file',
    K: 'a link with a long name',
  }
  return kinds[type] ?? `an entry of the unknown type ${JSON.stringify(type)}`
}

/** Whether it begins as a tar archive does; an archive without entries counts. */
export function isTar(bytes: Uint8Array): boolean {
  if (bytes.length < block) return false
  const header = bytes.subarray(0, block)
  if (header.every((byte) => byte === 0)) return true
  const stored = textOf(header.subarray(148, 156)).trim()
  return /^[0-7]+$/.test(stored) && Number.parseInt(stored, 8) === sumOf(header)
}

function sumOf(header: Uint8Array): number {
  let sum = 0
  for (let at = 0; at < block; at++) sum += at >= 148 && at < 156 ? 0x20 : header[at]!
  return sum
}

function checkSum(header: Uint8Array, place: string): void {
  if (sumOf(header) !== readNumber(header.subarray(148, 156), place))
    throw refused(place, 'it is no tar archive, or it is damaged')
}

/** Octal text, or big-endian binary with the first bit set. */
function readNumber(field: Uint8Array, place: string): number {
  if (field[0]! & 0x80) {
    let value = BigInt(field[0]! & 0x7f)
    for (const byte of field.subarray(1)) value = value * 256n + BigInt(byte)
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw refused(place, 'the size of a file is absurd')
    return Number(value)
  }
  const text = textOf(field).trim()
  if (!/^[0-7]*$/.test(text)) throw refused(place, 'it is no tar archive, or it is damaged')
  return text === '' ? 0 : Number.parseInt(text, 8)
}

function nameOf(header: Uint8Array): string {
  const name = textOf(header.subarray(0, 100))
  const isUstar = textOf(header.subarray(257, 263)).startsWith('ustar') && header[262] === 0
  const prefix = isUstar ? textOf(header.subarray(345, 500)) : ''
  return prefix === '' ? name : `${prefix}/${name}`
}

/** Records of the form `LENGTH KEY=VALUE\n`. */
function readPax(data: Uint8Array, place: string, override: Override): void {
  for (let at = 0; at < data.length;) {
    const blank = data.indexOf(0x20, at)
    const length = blank < 0 ? Number.NaN : Number(textOf(data.subarray(at, blank)))
    if (!Number.isSafeInteger(length) || length < blank - at + 3 || at + length > data.length) {
      throw refused(place, 'a header of it is damaged')
    }
    const record = textOf(data.subarray(blank + 1, at + length - 1))
    at += length
    const equals = record.indexOf('=')
    const [key, value] = [record.slice(0, equals), record.slice(equals + 1)]
    if (key === 'path') override.path = value
    if (key === 'size') {
      if (!/^\d{1,15}$/.test(value)) throw refused(place, 'a header of it is damaged')
      override.size = Number(value)
    }
    if (key.startsWith('GNU.sparse')) throw refused(place, 'it has sparse files')
  }
}

function textOf(bytes: Uint8Array): string {
  const end = bytes.indexOf(0)
  return new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end))
}

/** Archives made on Windows use backslashes. @throws InvalidArchive */
export function safePath(name: string, place: string): string {
  const path = name.replaceAll('\\', '/')
  if (path.startsWith('/') || /^[a-zA-Z]:/.test(path)) throw refused(place, `"${shown(name)}" is an absolute path`)
  const parts = path.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.includes('..')) throw refused(place, `"${shown(name)}" leads out of the archive`)
  if (parts.length === 0 || path.includes('\0')) throw refused(place, `"${shown(name)}" is no name of a file`)
  return parts.join('/')
}

/** Names come from outside: shortened, without control characters. */
function shown(name: string): string {
  return name.slice(0, 100).replaceAll(/\p{Cc}/gu, '?')
}

export function refused(place: string, problem: string, cause?: unknown): MusterError {
  return new MusterError(renderErrors.InvalidArchive, `${place}: ${problem}.`, { cause })
}
