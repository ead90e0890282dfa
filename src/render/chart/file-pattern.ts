/**
 * The patterns of `.Files.Glob`: `*` and `?` stop at a slash, `**` does not, `{a,b}` are alternatives, `[a-z]` and `[!a-z]` are
 * classes, a backslash escapes. Matching takes linear time: patterns are regular expressions of RE2.
 */
import { RE2JS } from 're2js'

/** Undefined if the pattern is malformed. */
export function parseFilePattern(pattern: string): ((path: string) => boolean) | undefined {
  const source = translate(Array.from(pattern))
  if (source === undefined) return undefined
  const compiled = RE2JS.compile(source, RE2JS.DOTALL)
  return (path) => compiled.matches(path)
}

function translate(characters: readonly string[]): string | undefined {
  const parts: string[] = []
  let depth = 0
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at]!
    switch (character) {
      case '*':
        if (characters[at + 1] !== '*') parts.push('[^/]*')
        else {
          while (characters[at + 1] === '*') at++
          parts.push('.*')
        }
        break
      case '?':
        parts.push('[^/]')
        break
      case '{':
        depth++
        parts.push('(?:')
        break
      case '}':
        if (depth === 0) return undefined
        depth--
        parts.push(')')
        break
      case ',':
        parts.push(depth > 0 ? '|' : ',')
        break
      case '[': {
        const end = characters.indexOf(']', at + 2)
        if (end < 0) return undefined
        parts.push(classOf(characters.slice(at + 1, end)))
        at = end
        break
      }
      default:
        if (character === '\\') at++
        if (characters[at] === undefined) return undefined
        parts.push(RE2JS.quote(characters[at]!))
    }
  }
  return depth === 0 ? parts.join('') : undefined
}

function classOf(characters: readonly string[]): string {
  const isNegated = characters[0] === '!'
  const members = isNegated ? characters.slice(1) : characters
  const isRange = members.length === 3 && members[1] === '-'
  const escaped = (one: string): string => `\\x{${one.codePointAt(0)!.toString(16)}}`
  const inner = isRange ? `${escaped(members[0]!)}-${escaped(members[2]!)}` : members.map(escaped).join('')
  return `[${isNegated ? '^' : ''}${inner}]`
}
