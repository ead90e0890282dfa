/**
 * Removes secrets from foreign text (the output of a plugin, the response of an identity provider) before it becomes part of a
 * message. Known secrets are found by value, unknown ones by their form, rather too many than too few.
 */

const mask = '[redacted]'

/** How much a message quotes. */
const longest = 1_000

const patterns: readonly RegExp[] = [
  /-----BEGIN [^-]+-----[\s\S]*?(?:-----END [^-]+-----|$)/g,
  /\beyJ[\w-]+(?:\.[\w-]*)*/g,
]

/** What announces a secret, and the secret. A lookbehind would read the blanks in between again at each of them. */
const announced: readonly { readonly by: RegExp; readonly secret: RegExp }[] = [
  { by: /\b(?:bearer|basic)\s+/gi, secret: /[^\s"',;]+/y },
  {
    by: /(?:token|secret|password|passwd|credential|authorization|api[-_]?key|private[-_]?key)["']?\s*[:=]\s*["']?/gi,
    secret: /[^\s"',;}]+/y,
  },
]

function withoutAnnounced(text: string, { by, secret }: (typeof announced)[number]): string {
  let masked = ''
  let at = 0
  for (const { 0: words, index } of text.matchAll(by)) {
    const from = index + words.length
    // Within the secret before it.
    if (from < at) continue
    secret.lastIndex = from
    if (!secret.test(text)) continue
    masked += text.slice(at, from) + mask
    at = secret.lastIndex
  }
  return masked + text.slice(at)
}

/** A run of token characters; `/` is left out, or every long path would be one. */
const run = /[A-Za-z0-9+_=~-]{24,}/g

function looksOpaque(word: string): boolean {
  return word.length >= 40 || (/\d/.test(word) && /[A-Za-z]/.test(word))
}

/** `text` on one line, without escape sequences, shortened, and without `secrets` or anything that looks like one. */
export function redact(text: string, secrets: readonly string[] = []): string {
  let clean = text
  // Longest first: a secret that contains another must not leave a rest.
  for (const secret of secrets.filter((known) => known.length > 3).toSorted((a, b) => b.length - a.length)) {
    clean = clean.replaceAll(secret, mask)
  }
  for (const pattern of patterns) clean = clean.replace(pattern, mask)
  for (const one of announced) clean = withoutAnnounced(clean, one)
  clean = clean.replace(run, (word) => (looksOpaque(word) ? mask : word))
  clean = printable(clean)
  return clean.length > longest ? `… ${clean.slice(-longest)}` : clean
}

/**
 * Sequences that steer a terminal: strings such as a window's title up to their end, then control sequences such as colours,
 * then the short ones. Node's own `stripVTControlCharacters` takes the square of the time.
 */
const escapeSequence =
  // oxlint-disable-next-line no-control-regex -- these are what is to be found
  /\u001B[\]PX^_][^\u0007\u001B\u009C]*(?:\u0007|\u001B\\|\u009C)|(?:\u001B\[|\u009B)[0-?]*[ -/]*[@-~]|\u001B[ -/]*[0-~]/g

/** `text` on one line and without anything that could steer a terminal. */
export function printable(text: string): string {
  return text
    .replaceAll(escapeSequence, '')
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()
}
