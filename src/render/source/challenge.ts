/** The header `WWW-Authenticate`: which credentials a server asks for. */

interface Challenge {
  /** In lower case: `bearer`, `basic`. */
  readonly scheme: string
  /** Names in lower case. */
  readonly parameters: Readonly<Record<string, string>>
}

/** `Bearer realm="https://auth/token",service="registry", Basic realm="x"`. */
export function parseChallenge(header: string): readonly Challenge[] {
  const challenges: { scheme: string; parameters: Record<string, string> }[] = []
  let at = 0
  const skip = (pattern: RegExp): void => {
    while (at < header.length && pattern.test(header[at]!)) at++
  }
  const word = (): string => {
    const start = at
    while (at < header.length && /[^\s,="]/.test(header[at]!)) at++
    return header.slice(start, at)
  }
  const value = (): string => {
    if (header[at] !== '"') return word()
    const parts: string[] = []
    for (at++; at < header.length && header[at] !== '"'; at++) {
      if (header[at] === '\\') at++
      parts.push(header[at] ?? '')
    }
    at++
    return parts.join('')
  }
  while (at < header.length) {
    skip(/[\s,]/)
    const name = word()
    if (name === '') {
      at++
      continue
    }
    skip(/\s/)
    if (header[at] === '=') {
      at++
      skip(/\s/)
      const given = value()
      const current = challenges.at(-1)
      if (current) current.parameters[name.toLowerCase()] = given
    } else challenges.push({ scheme: name.toLowerCase(), parameters: {} })
  }
  return challenges
}
