/** Paths of fields as kustomize writes them: `spec/template`, `spec.template`, `metadata.annotations.[a.b/c]`. */

/** Parts between delimiters; a backslash before a delimiter makes it a part of the name. */
export function splitPath(path: string, delimiter: string): readonly string[] {
  const parts = path.split(delimiter)
  if (parts.length > 1 && parts[0] === '') parts.shift()
  const result: string[] = []
  for (const part of parts) {
    const last = result.at(-1)
    if (last?.endsWith('\\')) result[result.length - 1] = last.slice(0, -1) + delimiter + part
    else result.push(part)
  }
  return result
}

/** Like {@link splitPath}, but delimiters within brackets do not count, and brackets around a name are dropped. */
export function splitFieldPath(path: string): readonly string[] {
  const result: string[] = []
  const parts = splitPath(path, '.')
  for (let at = 0; at < parts.length; at++) {
    const part = parts[at]!
    if (!part.startsWith('[') || part.endsWith(']')) {
      result.push(part)
      continue
    }
    const bracketed = [part]
    while (at < parts.length - 1 && !bracketed.at(-1)!.endsWith(']')) bracketed.push(parts[++at]!)
    const whole = bracketed.join('.')
    result.push(whole.includes('=') ? whole : trimBrackets(whole))
  }
  return result
}

function trimBrackets(text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && isBracket(text[start])) start++
  while (end > start && isBracket(text[end - 1])) end--
  return text.slice(start, end)
}

function isBracket(character: string | undefined): boolean {
  return character === '[' || character === ']'
}
