/**
 * The `Warning` header of an answer. It must stay small, or clients refuse the whole answer: what together is too long
 * is cut, each text for itself, and when even that is too long the rest is left out.
 */

/** Characters of all texts together that need no cutting. */
const mostCharacters = 4096
/** Of each text, where they are cut. */
const mostOfOne = 256

export function warningHeaders(warnings: Iterable<string>): Readonly<Record<string, string>> {
  // Control characters have no place in a header; a text that holds some is not told, as on a real server.
  const texts = [...warnings].filter((text) => text !== '' && !/\p{Cc}/u.test(text) && text.isWellFormed())
  const told = isShort(texts) ? texts : shortened(texts)
  return told.length === 0 ? {} : { warning: told.map((text) => `299 - ${quoted(text)}`).join(', ') }
}

function isShort(texts: readonly string[]): boolean {
  let total = 0
  for (const text of texts) if ((total += text.length) > mostCharacters) return false
  return true
}

function shortened(texts: readonly string[]): readonly string[] {
  const told: string[] = []
  let total = 0
  for (const text of texts) {
    if (total >= mostCharacters) break
    // By characters, not by halves of them.
    const cut = text.length > mostOfOne ? Array.from(text).slice(0, mostOfOne).join('') : text
    told.push(cut)
    total += cut.length
  }
  return told
}

function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`
}
