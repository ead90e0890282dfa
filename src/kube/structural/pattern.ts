/**
 * Patterns of schemas. An API server reads them as RE2: no backtracking, other classes, flags inside the pattern. A
 * JavaScript expression is several times faster, so it is used where it certainly means the same and the number of its
 * steps is known and small (few repetitions, none of what holds a choice, short text); all else goes to an engine that is RE2.
 */
import { compilePattern } from '../cel/regex.ts'

export type Matcher = (text: string) => boolean

/** JavaScript matches where the pattern allows and certainly needs no more steps than this. */
const mostSteps = 20_000

/** Whether a text contains what the pattern says. */
export function patternOf(pattern: string): Matcher {
  const fast = equivalentExpression(pattern)
  const matchSlowly: Matcher = (text) => compilePattern(pattern).matcher(text).find()
  if (!fast) return matchSlowly
  return (text) => (fast.stepsOf(text.length) <= mostSteps ? fast.expression.test(text) : matchSlowly(text))
}

/** What RE2 has against a pattern; undefined when nothing. */
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

/** One piece of the small language that both engines read alike. */
const piece =
  /\\[dwDW]|\\[.\\+*?()|[\]{}^$/-]|\[\^?(?:\\[dw.\\+*?()|[\]{}^$/-]|[^\\[\]&~^-]|(?:(?<=[a-zA-Z0-9])(?=-[a-zA-Z0-9])|(?=-\])|(?<=\[\^?))-)+\]|\(\?:|\((?!\?)|[)|^$.]|[*+?]\??|\{\d{1,3}(?:,\d{0,3})?\}|[\w \-:/,;=@#%&!~"'<>]/uy

/** An expression of JavaScript, and the number of steps that it takes at most for a text of a length. */
export interface BoundedExpression {
  readonly expression: RegExp
  stepsOf(length: number): number
}

/** The expression in JavaScript that means the same; undefined where that is not certain. */
export function equivalentExpression(pattern: string): BoundedExpression | undefined {
  let source = ''
  let repetitions = 0
  // From the start of the text alone two repetitions cost the square of its length; from everywhere, its cube.
  const isAnchored = pattern.startsWith('^') && !pattern.includes('|')
  const most = isAnchored ? 2 : 1
  // The choices (repetitions, options, branches) in each open group: repeating those is what makes it run away.
  const groups = [0]
  let closed = 0
  // Ways to match that may all have to be tried: each option doubles them, a group has as many as it has branches.
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
    // A dot is anything but a line feed, and JavaScript knows more line ends; it also wants no needless escape.
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
