/**
 * Names of call sites, by which generated values are stored. A place in a file is named by the text of its line, so that it is
 * found again when lines move.
 */
import { createHash } from 'node:crypto'
import type { CallPlace, CallSite, CallStep } from '../template/services.ts'

/** The name of text that `tpl` executes. */
const tplFile = 'gotpl'

/** `randAlphaNum 0123456789abcdef templates/a.yaml 0123456789abcdef+3 < … #0`. */
export function siteKey(site: CallSite): string {
  return keyOf(site, site.path.map(stepText), site.count)
}

/**
 * The name that earlier versions gave to this site, without the count: they did not know `tpl`, `template` and the elements of a
 * `range`, and counted calls instead.
 */
export function earlierFamily(site: CallSite): string {
  const path = includesOf(site).map((place) => {
    if (place.file !== tplFile) return stepText(place)
    return place.line === 1 ? `${tplFile} ${digest('')}+${place.column}` : positionText(place)
  })
  return `${prefixOf(site)} ${path.join(' < ')}`
}

/** What earlier versions counted calls by. */
export function earlierPosition(site: CallSite): string {
  return includesOf(site).map(positionText).join(' < ')
}

function includesOf({ path }: CallSite): readonly CallPlace[] {
  return path.filter((step): step is CallPlace => step.via === 'call' || step.via === 'include')
}

function keyOf(site: CallSite, path: readonly string[], count: number): string {
  return `${prefixOf(site)} ${path.join(' < ')} #${count}`
}

function prefixOf(site: CallSite): string {
  return `${site.function} ${site.arguments.slice(0, 16)}`
}

function positionText({ file, line, column }: CallPlace): string {
  return `${file}:${line}:${column}`
}

/** `file:line:column` with the text of the line instead of its number; equal lines are counted. */
export function stepText(step: CallStep): string {
  if (step.via === 'range') return `each ${step.element}`
  const { digests } = linesOf(step.text)
  const own = digests[step.line - 1]
  if (own === undefined) return positionText(step)
  const before = digests.slice(0, step.line - 1).filter((other) => other === own).length
  return `${step.file} ${own}${before > 0 ? `/${before}` : ''}+${step.column}`
}

/** Whether the line of a stored step is gone from the text. */
export function isGone(stored: string, { file, text }: CallPlace): boolean {
  const [, ofFile, line, before = '0'] = /^(.*) ([0-9a-f]{16})(?:\/(\d+))?\+\d+$/.exec(stored) ?? []
  if (ofFile !== file) return false
  return linesOf(text).digests.filter((other) => other === line).length <= Number(before)
}

/** What stands before the call on the line of its file, such as the key of a YAML member: `LENGTH:DIGEST`. */
export function labelOf({ path }: CallSite): string {
  const root = path.findLast((step) => step.via !== 'range')!
  const line = root.text.split('\n')[root.line - 1] ?? ''
  const label = Buffer.from(line).subarray(0, root.column).toString().trimStart()
  return `${label.length}:${digest(label).slice(0, 8)}`
}

/** Whether there is a line with this label. */
export function hasLabel(label: string, { path }: CallSite): boolean {
  const [length = '', hash] = label.split(':')
  const root = path.findLast((step) => step.via !== 'range')!
  return linesOf(root.text).texts.some((line) => digest(line.slice(0, Number(length))).slice(0, 8) === hash)
}

interface TextLines {
  readonly texts: readonly string[]
  readonly digests: readonly string[]
}

/** By text; the oldest go first. */
const cache = new Map<string, TextLines>()
const mostCached = 100

function linesOf(text: string): TextLines {
  const known = cache.get(text)
  if (known) return known
  const texts = text.split('\n').map((line) => line.trim())
  const lines = { texts, digests: texts.map(digest) }
  cache.set(text, lines)
  if (cache.size > mostCached) cache.delete(cache.keys().next().value!)
  return lines
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
