/**
 * Property names as identifiers. Names that are not valid identifiers (`foo.bar`, `x-y`) or are reserved words are written
 * with escapes: `foo__dot__bar`, `x__dash__y`, `__namespace__`.
 */

export const reservedWords: ReadonlySet<string> = new Set(
  (
    'true false null in as break const continue else for function if import let loop package namespace return var void ' +
    'while'
  ).split(' '),
)

const marks: ReadonlyMap<string, string> = new Map([
  ['__', '__underscores__'],
  ['.', '__dot__'],
  ['-', '__dash__'],
  ['/', '__slash__'],
])

/** undefined: it cannot be written. */
export function escapeName(name: string): string | undefined {
  if (reservedWords.has(name)) return `__${name}__`
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !name.includes('__')) return name
  if (!/^[A-Za-z_.\-/][A-Za-z0-9_.\-/]*$/.test(name)) return undefined
  return name.replaceAll(/__|[-./]/g, (mark) => marks.get(mark)!)
}

const unescaped: ReadonlyMap<string, string> = new Map(Array.from(marks, ([mark, word]) => [word, mark]))

/** undefined: it is not an escaped name. */
export function unescapeName(escaped: string): string | undefined {
  let isFine = true
  const name = escaped.replaceAll(/__[^_]+__/g, (part) => {
    const mark = unescaped.get(part)
    if (mark !== undefined) return mark
    const word = part.slice(2, -2)
    if (!reservedWords.has(word) || part !== escaped) isFine = false
    return word
  })
  return isFine ? name : undefined
}
