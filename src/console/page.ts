/**
 * Serves the files of the console page to the browser. They are in `web/`: in a checkout as sources, with types stripped on
 * the fly; in a package as built. They are read on the first request and then cached.
 *
 * The page fetches its data itself, from `/report` beside it.
 */
import { existsSync, readFileSync } from 'node:fs'
import type { PageFile } from '../manager/observability/status-server.ts'

/** All files: every other path is a 404. */
const files: ReadonlyMap<string, string> = new Map([
  ['/', 'index.html'],
  ['/console.css', 'console.css'],
  ['/console.js', 'console.js'],
  ['/report-text.js', 'report-text.js'],
  ['/icon.svg', 'icon.svg'],
])

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
}

/** Content security policy: nothing from other origins, nothing inline, no framing, and no text can become markup. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const headers = { 'content-security-policy': policy, 'cross-origin-opener-policy': 'same-origin' }

/** For the option `page` of a status server. */
export function consolePage(): (path: string) => PageFile | undefined {
  const read = new Map<string, string>()
  return (path) => {
    const name = files.get(path)
    if (name === undefined) return undefined
    const body = read.get(name) ?? pageText(name)
    read.set(name, body)
    return { body, type: types[name.split('.').at(-1)!]!, headers }
  }
}

/** The file names, as `pageText` takes them. */
export const pageFiles: readonly string[] = [...files.values()]

/** A file as it is served. The build writes the same. */
export function pageText(name: string): string {
  const folder = ['../web/', '../../web/']
    .map((place) => new URL(place, import.meta.url))
    .find((url) => existsSync(url))!
  const file = new URL(name, folder)
  if (!name.endsWith('.js') || existsSync(file)) return readFileSync(file, 'utf8')
  return javaScriptOf(readFileSync(new URL(name.replace(/js$/, 'ts'), folder), 'utf8'))
}

function javaScriptOf(source: string): string {
  const { stripTypeScriptTypes } = process.getBuiltinModule('node:module')
  // Suppresses the warning that type stripping is experimental: users of the console cannot act on it.
  const warn = Object.getOwnPropertyDescriptor(process, 'emitWarning')!
  process.emitWarning = () => undefined
  try {
    return stripTypeScriptTypes(source).replaceAll(/(from '\.\/[\w-]+)\.ts'/g, "$1.js'")
  } finally {
    Object.defineProperty(process, 'emitWarning', warn)
  }
}
