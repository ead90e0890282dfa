/**
 * The blocks of a PEM text, found as Go finds them: an END line, and the last BEGIN line before it. Text between blocks, and
 * blocks whose two lines name different types, are skipped. Each character is read a bounded number of times.
 */
interface PemBlock {
  readonly type: string
  /** From the first dash to the last. */
  readonly text: string
}

const begin = '-----BEGIN '
const end = '\n-----END '
const dashes = '-----'

export function* pemBlocks(text: string): Generator<PemBlock> {
  let from = 0
  for (let at = text.indexOf(end); at >= 0; at = text.indexOf(end, from)) {
    const start = lastBegin(text, from, at)
    from = at + end.length
    if (start === undefined || (start > 0 && text[start - 1] !== '\n')) continue
    const [line = ''] = text.slice(start + begin.length, at + 1).split('\n', 1)
    if (!line.trimEnd().endsWith(dashes)) continue
    const type = line.trimEnd().slice(0, -dashes.length)
    if (!text.startsWith(type + dashes, from)) continue
    from += type.length + dashes.length
    // After the END line's dashes the line is blank.
    const next = text.indexOf('\n', from)
    if (text.slice(from, next < 0 ? undefined : next).trim() !== '') continue
    yield { type, text: text.slice(start, from) }
  }
}

/** Between the previous END line and this one: text that no other block reads. */
function lastBegin(text: string, from: number, to: number): number | undefined {
  const found = text.slice(from, to).lastIndexOf(begin)
  return found < 0 ? undefined : from + found
}
