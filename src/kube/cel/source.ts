/** The text of an expression, and how a mistake in it is shown: place, message, the line, a mark below it. */

export interface Issue {
  /** An index into the text. */
  readonly at: number
  readonly message: string
}

/** After so many the server's parser gives up; it shows no more of any kind. */
export const mostIssues = 100

/** In the order of their places, each with the line that it is in. */
export function describeIssues(text: string, issues: readonly Issue[]): readonly string[] {
  const shown = issues
    .slice(0, mostIssues)
    .map((issue, index) => ({ issue, index }))
    .toSorted((a, b) => a.issue.at - b.issue.at || a.index - b.index)
    .map(({ issue }) => describeIssue(text, issue))
  const more = issues.length - mostIssues
  return more > 0 ? [...shown, `${more} more errors were truncated`] : shown
}

/** A mistake that is nowhere in particular. */
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
  // Wide characters get wide marks, so that the last one stands below its character.
  const isWide = (character: string | undefined): boolean => character !== undefined && character > '\u{7f}'
  const dots = characters.slice(0, column).map((character) => (isWide(character) ? '\u{ff0e}' : '.'))
  return `${head}\n | ${snippet}\n | ${dots.join('')}${isWide(characters[column]) ? '\u{ff3e}' : '^'}`
}
