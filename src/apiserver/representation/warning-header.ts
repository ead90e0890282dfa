/**
 * The `Warning` headers of a response. Clients reject responses with large headers, so if all warnings together are too
 * long, each is truncated, and if that is not enough, the rest is omitted.
 */

/** Total length up to which nothing is truncated. */
const maxCharacters = 4096
/** Length of a truncated warning. */
const maxWarningLength = 256

export function warningHeaders(warnings: Iterable<string>): Readonly<Record<string, string>> {
  // Control characters are invalid in headers; like kube-apiserver, omits warnings that contain some.
  const texts = [...warnings].filter((text) => text !== '' && !/\p{Cc}/u.test(text) && text.isWellFormed())
  const sent = isShort(texts) ? texts : truncated(texts)
  return sent.length === 0 ? {} : { warning: sent.map((text) => `299 - ${quoted(text)}`).join(', ') }
}

function isShort(texts: readonly string[]): boolean {
  let total = 0
  for (const text of texts) if ((total += text.length) > maxCharacters) return false
  return true
}

function truncated(texts: readonly string[]): readonly string[] {
  const kept: string[] = []
  let total = 0
  for (const text of texts) {
    if (total >= maxCharacters) break
    // By code points, to keep surrogate pairs together.
    const cut = text.length > maxWarningLength ? Array.from(text).slice(0, maxWarningLength).join('') : text
    kept.push(cut)
    total += cut.length
  }
  return kept
}

function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`
}
