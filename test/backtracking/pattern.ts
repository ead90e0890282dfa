/**
 * A regular expression as a tree, as far as the backtracking analysis needs it. Atoms keep their source: the engine
 * itself decides whether an atom matches a character.
 */

export type Pattern =
  | { readonly type: 'atom'; readonly source: string }
  | { readonly type: 'sequence'; readonly parts: readonly Pattern[] }
  | { readonly type: 'choice'; readonly options: readonly Pattern[] }
  | { readonly type: 'repeat'; readonly body: Pattern; readonly least: number; readonly most: number }
  | { readonly type: 'look'; readonly body: Pattern; readonly isBehind: boolean }
  | { readonly type: 'start' }
  | { readonly type: 'end' }
  | { readonly type: 'boundary' }
  | { readonly type: 'line' }
  | { readonly type: 'reference' }

/** With the flag `v`, classes may be nested. */
const nestedClass = /\[(?:\\[^]|\[(?:\\[^]|[^\]\\])*\]|[^[\]\\])*\]/uy

const token =
  /\\p\{[^}]*\}|\\P\{[^}]*\}|\\u\{[^}]*\}|\\u[\da-fA-F]{4}|\\x[\da-fA-F]{2}|\\k<[^>]*>|\\[^]|\[(?:\\[^]|[^\]\\])*\]|\((?:\?(?:<?[=!]|:|<[^>]*>))?|[)|^$]|(?:[*+?]|\{\d+(?:,\d*)?\})\??|[^]/uy

export function parsePattern(source: string, flags: string): Pattern {
  const tokens: string[] = []
  for (let at = 0; at < source.length; at += tokens.at(-1)!.length) {
    nestedClass.lastIndex = token.lastIndex = at
    const match = (flags.includes('v') && nestedClass.exec(source)) || token.exec(source)
    tokens.push(match![0])
  }
  let next = 0

  function choice(): Pattern {
    const options = [sequence()]
    while (tokens[next] === '|') {
      next++
      options.push(sequence())
    }
    return options.length === 1 ? options[0]! : { type: 'choice', options }
  }

  function sequence(): Pattern {
    const parts: Pattern[] = []
    while (next < tokens.length && tokens[next] !== '|' && tokens[next] !== ')') parts.push(repeated(single()))
    return { type: 'sequence', parts }
  }

  function repeated(body: Pattern): Pattern {
    const quantifier = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??$/.exec(tokens[next] ?? '')
    if (!quantifier) return body
    next++
    const [, sign, least = '0', comma, most] = quantifier
    if (sign === '*') return { type: 'repeat', body, least: 0, most: Infinity }
    if (sign === '+') return { type: 'repeat', body, least: 1, most: Infinity }
    if (sign === '?') return { type: 'repeat', body, least: 0, most: 1 }
    const upper = comma === '' ? Number(least) : most === '' ? Infinity : Number(most)
    return { type: 'repeat', body, least: Number(least), most: upper }
  }

  function single(): Pattern {
    const text = tokens[next++]!
    if (text.startsWith('(')) {
      const body = choice()
      if (tokens[next++] !== ')') throw new Error(`unclosed group in /${source}/`)
      return /^\(\?<?[=!]/.test(text) ? { type: 'look', body, isBehind: text.startsWith('(?<') } : body
    }
    // With the flag `m` both are conditions in the middle of a text.
    if (text === '^') return flags.includes('m') ? { type: 'line' } : { type: 'start' }
    if (text === '$') return flags.includes('m') ? { type: 'boundary' } : { type: 'end' }
    if (/^\\[bB]$/.test(text)) return { type: 'boundary' }
    if (/^\\(?:[1-9]|k<)/.test(text)) return { type: 'reference' }
    return { type: 'atom', source: text }
  }

  const all = choice()
  if (next < tokens.length) throw new Error(`cannot read /${source}/ from ${tokens.slice(next).join('')}`)
  return all
}
