/** Bytes in JSON, as Go decodes them: standard base64, padded, ignoring line breaks. */

/** The position of the first invalid byte; undefined if it is valid. */
export function base64Problem(text: string): number | undefined {
  // The usual case, without a loop.
  if (text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined
  let at = 0
  const isBreak = (): boolean => text[at] === '\n' || text[at] === '\r'
  for (;;) {
    let filled = 0
    while (filled < 4) {
      if (at === text.length) return filled === 0 ? undefined : at - filled
      const character = text[at++]!
      if (character === '\n' || character === '\r') continue
      if (/[A-Za-z0-9+/]/.test(character)) filled++
      else if (character !== '=' || filled < 2) return at - 1
      else {
        if (filled === 2) {
          while (isBreak()) at++
          if (at === text.length) return at
          if (text[at] !== '=') return at - 1
          at++
        }
        while (isBreak()) at++
        return at < text.length ? at : undefined
      }
    }
  }
}
