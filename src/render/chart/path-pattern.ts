/**
 * Shell patterns for paths, as Go's `filepath.Match` reads them: `*` and `?` do not match a slash, `[a-z]` and `[^a-z]` are
 * classes, a backslash escapes. The whole path must match.
 */

type Part = { readonly star: true } | { readonly star: false; readonly matches: (character: string) => boolean }

type PathPattern = (path: string) => boolean

/** Undefined if the pattern is malformed. */
export function parsePathPattern(pattern: string): PathPattern | undefined {
  const parts: Part[] = []
  const characters = Array.from(pattern)
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at]!
    if (character === '*') parts.push({ star: true })
    else if (character === '?') parts.push({ star: false, matches: (one) => one !== '/' })
    else if (character === '[') {
      const parsed = parseClass(characters, at + 1)
      if (!parsed) return undefined
      parts.push({ star: false, matches: parsed.matches })
      at = parsed.end
    } else {
      if (character === '\\') at++
      const expected = characters[at]
      if (expected === undefined) return undefined
      parts.push({ star: false, matches: (one) => one === expected })
    }
  }
  return (path) => matchesParts(parts, Array.from(path))
}

function parseClass(
  characters: readonly string[],
  start: number,
): { readonly matches: (character: string) => boolean; readonly end: number } | undefined {
  let at = start
  const isNegated = characters[at] === '^'
  if (isNegated) at++
  const ranges: (readonly [number, number])[] = []
  const bound = (): number | undefined => {
    if (characters[at] === '-' || characters[at] === ']') return undefined
    if (characters[at] === '\\') at++
    return characters[at++]?.codePointAt(0)
  }
  while (characters[at] !== ']' || ranges.length === 0) {
    const low = bound()
    if (low === undefined) return undefined
    let high: number | undefined = low
    if (characters[at] === '-') {
      at++
      high = bound()
      if (high === undefined) return undefined
    }
    ranges.push([low, high])
  }
  const matches = (character: string): boolean => {
    const code = character.codePointAt(0) ?? 0
    return ranges.some(([low, high]) => code >= low && code <= high) !== isNegated
  }
  return { matches, end: at }
}

/** Goes back to the last star only: an earlier one cannot do better. */
function matchesParts(parts: readonly Part[], characters: readonly string[]): boolean {
  let [part, at] = [0, 0]
  let star: number | undefined
  let starAt = 0
  while (at < characters.length) {
    const current = parts[part]
    if (current?.star) {
      star = part++
      starAt = at
    } else if (current && !current.star && current.matches(characters[at]!)) {
      part++
      at++
    } else if (star !== undefined && characters[starAt] !== '/') {
      part = star + 1
      at = ++starAt
    } else return false
  }
  while (parts[part]?.star) part++
  return part === parts.length
}
