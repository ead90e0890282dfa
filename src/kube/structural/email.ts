/**
 * The format `email`: an address as in a mail header, with or without a display name (`A <a@b.c>`). Parsed from left to
 * right, each character once or twice: linear time for hostile input.
 */

const atom = /[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~\u{80}-\u{10ffff}]/u

export function isEmail(text: string): boolean {
  const start = skip(text, 0, isBlank)
  const plain = addressEnd(text, start)
  if (plain !== undefined && skip(text, plain, isBlank) === text.length) return true
  const open = skip(text, phraseEnd(text, start), isBlank)
  if (text[open] !== '<') return false
  const close = addressEnd(text, open + 1)
  return close !== undefined && text[close] === '>' && skip(text, close + 1, isBlank) === text.length
}

const isBlank = (character: string): boolean => character === ' ' || character === '\t'
const isAtom = (character: string): boolean => atom.test(character)

/** The end of the run of such characters. */
function skip(text: string, from: number, isOne: (character: string) => boolean): number {
  let at = from
  // Half of a surrogate pair is beyond ASCII, as the pair is.
  while (at < text.length && isOne(text[at]!)) at++
  return at
}

/** `a.b@example.com`, `"a b"@[127.0.0.1]`. */
function addressEnd(text: string, from: number): number | undefined {
  const local = quotedEnd(text, from) ?? dottedEnd(text, from)
  if (local === undefined || text[local] !== '@') return undefined
  const domain = local + 1
  if (text[domain] !== '[') return dottedEnd(text, domain)
  const close = skip(text, domain + 1, (character) => character !== '[' && character !== ']')
  return text[close] === ']' ? close + 1 : undefined
}

function dottedEnd(text: string, from: number): number | undefined {
  let at = from
  for (;;) {
    const end = skip(text, at, isAtom)
    if (end === at) return undefined
    if (text[end] !== '.') return end
    at = end + 1
  }
}

function quotedEnd(text: string, from: number): number | undefined {
  if (text[from] !== '"') return undefined
  let at = from + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at < text.length ? at + 1 : undefined
}

/** The words of a display name; may be empty. */
function phraseEnd(text: string, from: number): number {
  let end = from
  let at = from
  for (;;) {
    const atomEnd = skip(text, at, isAtom)
    const word = quotedEnd(text, at) ?? (atomEnd === at ? undefined : atomEnd)
    if (word === undefined) return end
    end = word
    at = skip(text, word, (character) => isBlank(character) || character === '.')
    if (at === word) return end
  }
}
