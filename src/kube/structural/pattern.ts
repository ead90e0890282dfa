/**
 * Patterns of schemas. The API server uses RE2: no backtracking, other classes, inline flags. A JavaScript regular expression is
 * several times faster, so it is used where it certainly has the same meaning and its number of steps is known and small (few
 * repetitions, none of an alternative, short text); all others use an RE2 engine.
 */
import { compilePattern } from '../cel/library/regex.ts'

type Matcher = (text: string) => boolean

/** JavaScript is used if it certainly needs no more steps than this. */
const mostSteps = 20_000

/** Whether a text contains a match. */
export function patternOf(pattern: string): Matcher {
  const fast = equivalentExpression(pattern)
  const matchSlowly: Matcher = (text) => compilePattern(pattern).matcher(text).find()
  if (!fast) return matchSlowly
  return (text) => (fast.stepsOf(text.length) <= mostSteps ? fast.expression.test(text) : matchSlowly(text))
}

/** The error of RE2 for a pattern; undefined if it is valid. */
export function patternProblem(pattern: string): string | undefined {
  if (equivalentExpression(pattern)) return undefined
  try {
    compilePattern(pattern)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : pattern
  }
}

/** Enough for a list of words. */
const mostWays = 200

/** One token of the common subset of both engines. */
const piece =
  /\\[dwDW]|\\[.\\+*?()|[\]{}^$/-]|\[\^?(?:\\[dw.\\+*?()|[\]{}^$/-]|[^\\[\]&~^-]|(?:(?<=[a-zA-Z0-9])(?=-[a-zA-Z0-9])|(?=-\])|(?<=\[\^?))-)+\]|\(\?:|\((?!\?)|[)|^$.]|[*+?]\??|\{\d{1,3}(?:,\d{0,3})?\}|[\w \-:/,;=@#%&!~"'<>]/uy

/** A JavaScript expression, and its maximum number of steps for a text length. */
interface BoundedExpression {
  readonly expression: RegExp
  stepsOf(length: number): number
}

/** The equivalent JavaScript expression; undefined if that is not certain. */
export function equivalentExpression(pattern: string): BoundedExpression | undefined {
  let source = ''
  let repetitions = 0
  // Anchored at the start, two repetitions cost the square of the text length; unanchored, its cube.
  const isAnchored = pattern.startsWith('^') && !pattern.includes('|')
  const most = isAnchored ? 2 : 1
  // The choices (repetitions, options, branches) in each open group: repeating those causes exponential backtracking.
  const groups = [0]
  let closed = 0
  // Alternatives that may all have to be tried: each option doubles them, a group has as many as branches.
  let ways = 1
  const branches = [1]
  for (piece.lastIndex = 0; piece.lastIndex < pattern.length;) {
    const token = piece.exec(pattern)?.[0]
    if (token === undefined) return undefined
    if (/^[*+{]/.test(token)) {
      if (closed > 0 || ++repetitions > most) return undefined
    }
    if (/^[*+{?|]/.test(token)) groups[groups.length - 1]!++
    if (token.startsWith('?')) ways *= 2
    if (token === '|') branches[branches.length - 1]!++
    closed = 0
    if (token.startsWith('(')) {
      groups.push(0)
      branches.push(1)
    }
    if (token === ')' && groups.length > 1) {
      closed = groups.pop()!
      groups[groups.length - 1]! += closed
      ways *= branches.pop()!
    }
    // A dot matches anything but a line feed, and JavaScript knows more line terminators; it also rejects needless escapes.
    source += token === '.' ? String.raw`[^\n]` : token === String.raw`\-` ? '-' : token
  }
  if (ways > mostWays) return undefined
  try {
    const expression = new RegExp(source, 'u')
    const power = Math.max(1, repetitions + (isAnchored ? 0 : 1))
    return { expression, stepsOf: (length) => ways * length ** power }
  } catch {
    return undefined
  }
}
