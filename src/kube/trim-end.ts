/**
 * A text without one character at its end: `trimEnd('/a//', '/')` is `/a`. The expression `/\/+$/` starts at each slash of
 * the text, reads to the end of the run, and takes the square of the text's length.
 */
export function trimEnd(text: string, character: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === character) end--
  return text.slice(0, end)
}
