/** Regular expressions: RE2, in linear time. */
import { RE2JS, RE2JSException } from 're2js'
import { type FunctionTable, goFunction, type GoFunction } from '../template/function-type.ts'
import { GoError } from '../template/go-error.ts'
import { nilList, stringList } from '../template/values.ts'

/** Compiled expressions by their text; the oldest go first. */
const cache = new Map<string, RE2JS>()
const mostCached = 500

/** @throws GoError */
function compile(pattern: string): RE2JS {
  const known = cache.get(pattern)
  if (known) return known
  const compiled = compiledNow(pattern)
  cache.set(pattern, compiled)
  if (cache.size > mostCached) cache.delete(cache.keys().next().value!)
  return compiled
}

function compiledNow(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern)
  } catch (error) {
    // Go quotes the wrong part, even if it is empty.
    if (error instanceof RE2JSException) throw new GoError(error.message.replace(/(?<=end of expression)$/, ': ``'))
    throw error
  }
}

/** `regexp.MustCompile` fails in other words than `regexp.Compile`. */
function mustCompile(pattern: string): RE2JS {
  try {
    return compile(pattern)
  } catch (error) {
    if (!(error instanceof GoError)) throw error
    // oxlint-disable-next-line no-control-regex -- text with these cannot stand in back quotes
    const quoted = /[`\x7f\0-\x08\x0a-\x1f]/.test(pattern) ? JSON.stringify(pattern) : `\`${pattern}\``
    throw new GoError(`regexp: Compile(${quoted}): ${error.message}`)
  }
}

type Compile = (pattern: string) => RE2JS

/** Each function twice: with and without `must`. */
function both(name: string, make: (compile: Compile) => GoFunction): (readonly [string, GoFunction])[] {
  return [
    [name, make(mustCompile)],
    [`must${name[0]!.toUpperCase()}${name.slice(1)}`, make(compile)],
  ]
}

export const regexFunctions: FunctionTable = new Map<string, GoFunction>([
  ['regexMatch', goFunction('string string', ([pattern, text]: [string, string]) => matches(pattern, text))],
  [
    'mustRegexMatch',
    goFunction('string string', ([pattern, text]: [string, string]) => compile(pattern).matcher(text).find()),
  ],
  ...both('regexFind', (make) =>
    goFunction('string string', ([pattern, text]: [string, string]) => {
      const matcher = make(pattern).matcher(text)
      return matcher.find() ? (matcher.group() ?? '') : ''
    }),
  ),
  ...both('regexFindAll', (make) =>
    goFunction('string string int', ([pattern, text, most]: [string, string, bigint], { budget }) => {
      const found = spans(make(pattern), text, Number(most), (steps) => budget.step(steps))
      return found.length === 0 ? nilList('[]string') : stringList(found.map(([start, end]) => text.slice(start, end)))
    }),
  ),
  ...both('regexReplaceAll', (make) =>
    goFunction('string string string', ([pattern, text, by]: [string, string, string], { budget }) => {
      const compiled = make(pattern)
      return replaceAll(compiled, text, expansion(compiled, by), (steps) => budget.step(steps))
    }),
  ),
  ...both('regexReplaceAllLiteral', (make) =>
    goFunction('string string string', ([pattern, text, by]: [string, string, string], { budget }) =>
      replaceAll(
        make(pattern),
        text,
        () => by,
        (steps) => budget.step(steps),
      ),
    ),
  ),
  ...both('regexSplit', (make) =>
    goFunction('string string int', ([pattern, text, most]: [string, string, bigint], { budget }) =>
      split(make(pattern), text, Number(most), pattern, (steps) => budget.step(steps)),
    ),
  ),
  [
    'regexQuoteMeta',
    goFunction('string', ([text]: [string]) => text.replaceAll(/[\\.+*?()|[\]{}^$]/g, String.raw`\$&`)),
  ],
])

function matches(pattern: string, text: string): boolean {
  try {
    return compile(pattern).matcher(text).find()
  } catch (error) {
    if (error instanceof GoError) return false
    throw error
  }
}

type Span = readonly [start: number, end: number, groups: readonly (string | null)[]]

/** All matches; an empty one right after another match does not count. */
function spans(compiled: RE2JS, text: string, most: number, spend: (steps: number) => void): Span[] {
  const found: Span[] = []
  if (most === 0) return found
  const matcher = compiled.matcher(text)
  let at = 0
  let last = -1
  const limit = most < 0 ? Infinity : most
  while (at <= text.length && found.length < limit && matcher.find(at)) {
    spend(1)
    const [start, end] = [matcher.start(), matcher.end()]
    if (start === end && start === last) {
      at = start + characterLength(text, start)
      continue
    }
    const groups = Array.from({ length: matcher.groupCount() + 1 }, (_, index) => matcher.group(index))
    found.push([start, end, groups])
    last = end
    at = end > start ? end : end + characterLength(text, end)
  }
  return found
}

function characterLength(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
}

type Replacement = (groups: readonly (string | null)[]) => string

function replaceAll(compiled: RE2JS, text: string, by: Replacement, spend: (steps: number) => void): string {
  const parts: string[] = []
  let at = 0
  for (const [start, end, groups] of spans(compiled, text, -1, spend)) {
    parts.push(text.slice(at, start), by(groups))
    at = end
  }
  parts.push(text.slice(at))
  return parts.join('')
}

/** `$1`, `${name}` and `$$` in a replacement. */
function expansion(compiled: RE2JS, template: string): Replacement {
  if (!template.includes('$')) return () => template
  const names = compiled.namedGroups()
  return (groups) =>
    template.replaceAll(/\$(?:\$|(\w+)|\{(\w+)\})/g, (whole, plain?: string, braced?: string) => {
      if (whole === '$$') return '$'
      const name = plain ?? braced ?? ''
      const index = /^\d+$/.test(name) ? Number(name) : names[name]
      return index === undefined ? '' : (groups[index] ?? '')
    })
}

function split(compiled: RE2JS, text: string, most: number, pattern: string, spend: (steps: number) => void): string[] {
  if (most === 0) return nilList('[]string') as string[]
  if (pattern !== '' && text === '') return stringList([''])
  const parts: string[] = []
  let [begin, finish] = [0, 0]
  for (const [start, end] of spans(compiled, text, most, spend)) {
    if (most > 0 && parts.length === most - 1) break
    finish = start
    if (end !== 0) parts.push(text.slice(begin, finish))
    begin = end
  }
  if (finish !== text.length) parts.push(text.slice(begin))
  return stringList(parts)
}
