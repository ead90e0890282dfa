/** The text of an expression, and the display of an error in it: position, message, the line, a marker below it. */

export interface Issue {
  /** An index into the text. */
  readonly at: number
  readonly message: string
}

/** After this many the server's parser gives up; it shows no more errors of any kind. */
export const mostIssues = 100

/** In the order of their positions, each with its line. */
export function describeIssues(text: string, issues: readonly Issue[]): readonly string[] {
  const shown = issues
    .slice(0, mostIssues)
    .map((issue, index) => ({ issue, index }))
    .toSorted((a, b) => a.issue.at - b.issue.at || a.index - b.index)
    .map(({ issue }) => describeIssue(text, issue))
  const more = issues.length - mostIssues
  return more > 0 ? [...shown, `${more} more errors were truncated`] : shown
}

/** An error without a position. */
export const nowhere = -1

function describeIssue(text: string, { at, message }: Issue): string {
  if (at === nowhere) return `ERROR: <input>:-1:0: ${message}`
  const before = text.slice(0, at)
  const line = before.split('\n').length
  const lineStart = before.lastIndexOf('\n') + 1
  const lineEnd = text.indexOf('\n', at)
  const snippet = text.slice(lineStart, lineEnd < 0 ? undefined : lineEnd).replaceAll('\t', ' ')
  const characters = Array.from(snippet)
  const column = Array.from(text.slice(lineStart, at)).length
  const head = `ERROR: <input>:${line}:${column + 1}: ${message}`
  if (Buffer.byteLength(snippet) > 16_384) return head
  // Wide characters get wide markers, so that the last one is below its character.
  const isWide = (character: string | undefined): boolean => character !== undefined && character > '\u{7f}'
  const dots = characters.slice(0, column).map((character) => (isWide(character) ? '\u{ff0e}' : '.'))
  return `${head}\n | ${snippet}\n | ${dots.join('')}${isWide(characters[column]) ? '\u{ff3e}' : '^'}`
}
