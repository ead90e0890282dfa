/**
 * A text without some characters at its end: `trimEnd('/a//', '/')` is `/a`. The expression `/\/+$/` starts at each slash of
 * the text, reads to the end of the run, and takes the square of the text's length.
 */
export function trimEnd(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text[end - 1]!)) end--
  return text.slice(0, end)
}
