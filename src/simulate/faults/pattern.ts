/**
 * Generates strings that match a regular expression, for the usual patterns of schemas: literals, classes, groups,
 * alternatives, repetitions. Other syntax is not supported; so each string is checked against the pattern.
 */
import { patternOf } from '../../kube/structural/pattern.ts'

/** The number of variants: each takes other alternatives and characters, and repeats more. */
const variants = 6

/** A few strings, the shortest first; none for an unsupported pattern. */
export function textsMatching(pattern: string): readonly string[] {
  const made = Array.from({ length: variants }, (_, variant) => textOf(pattern, variant))
  const matches = patternOf(pattern)
  return [...new Set(made)].filter((text) => text !== undefined).filter((text) => matches(text))
}

function textOf(pattern: string, variant: number): string | undefined {
  let at = 0
  const peek = (): string | undefined => pattern[at]

  const branches = (): string => {
    const all = [sequence()]
    while (peek() === '|') {
      at++
      all.push(sequence())
    }
    return all[variant % all.length]!
  }
  const sequence = (): string => {
    let text = ''
    for (let next = peek(); next !== undefined && next !== '|' && next !== ')'; next = peek()) {
      const start = at
      const one = atom()
      const after = at
      const count = repetition()
      text += one
      // A repeated part is parsed again: it yields the same string each time.
      for (let more = 1; more < count; more++) text += one
      if (count === 0) text = text.slice(0, text.length - one.length)
      if (at === start || after === start) throw new RangeError(pattern)
    }
    return text
  }
  const atom = (): string => {
    const next = pattern[at++]!
    if (next === '^' || next === '$') return ''
    if (next === '.') return 'ab1'[variant % 3]!
    if (next === '\\') return escaped()
    if (next === '[') return oneOf(characters())
    if (next !== '(') return next
    at += /^(?:\?:|\?P?<\w+>)/.exec(pattern.slice(at))?.[0].length ?? 0
    const inner = branches()
    if (pattern[at++] !== ')') throw new RangeError(pattern)
    return inner
  }
  const repetition = (): number => {
    const [found, sign, least = '', most] = /^(?:([*+?])|\{(\d+)(?:,(\d*))?\})/.exec(pattern.slice(at)) ?? []
    if (found === undefined) return 1
    at += found.length
    if (peek() === '?') at++
    const from = sign === undefined ? Number(least) : sign === '+' ? 1 : 0
    const upTo = sign === '?' ? 1 : sign !== undefined || most === '' ? Infinity : Number(most ?? least)
    return Math.min(from + variant, upTo)
  }
  const oneOf = (from: string): string => from[variant % from.length]!
  const escaped = (): string => {
    const next = pattern[at++]!
    return /[bAz]/.test(next) ? '' : oneOf(meant(next))
  }
  /** The meaning of an escape: a class, or the character itself. */
  const meant = (next: string | undefined): string => {
    if (next === undefined || (/\w/.test(next) && !Object.hasOwn(classes, next))) throw new RangeError(pattern)
    return classes[next] ?? next
  }
  const characters = (): string => {
    const isNegated = peek() === '^'
    if (isNegated) at++
    let all = ''
    for (let isFirst = true; isFirst || peek() !== ']'; isFirst = false) {
      const from = pattern[at++]
      if (from === undefined) throw new RangeError(pattern)
      if (from === '\\') {
        all += meant(pattern[at++])
      } else if (peek() === '-' && pattern[at + 1] !== ']' && pattern[at + 1] !== undefined) {
        const to = pattern[at + 1]!
        at += 2
        for (let code = from.charCodeAt(0); code <= to.charCodeAt(0); code++) all += String.fromCharCode(code)
      } else all += from
    }
    at++
    return isNegated ? ['a', 'b', '1', '_'].filter((one) => !all.includes(one)).join('') || 'x' : all
  }

  try {
    const text = branches()
    return at === pattern.length ? text : undefined
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

const classes: Readonly<Record<string, string>> = { d: '0123456789', w: 'ab1_', s: ' ' }
