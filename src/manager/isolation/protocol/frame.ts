/** Messages on a pipe: a length of four bytes, and the text. */

const headBytes = 4

export function frame(text: string): Buffer {
  const size = Buffer.byteLength(text)
  const bytes = Buffer.allocUnsafe(headBytes + size)
  bytes.writeUInt32BE(size)
  bytes.write(text, headBytes)
  return bytes
}

/**
 * Assembles chunks into messages. A message longer than `mostBytes` is not read: `onTooLong` is called, and reading
 * stops.
 */
export function createFrameReader(
  onText: (text: string) => void,
  mostBytes: number = Infinity,
  onTooLong: (size: number) => void = () => undefined,
): (piece: Uint8Array) => void {
  let pieces: Buffer[] = []
  let held = 0
  let wanted = headBytes
  let isHead = true
  let isOver = false

  const take = (): Buffer => {
    const all = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
    const rest = all.subarray(wanted)
    pieces = rest.length > 0 ? [rest] : []
    held = rest.length
    return all.subarray(0, wanted)
  }

  return (piece) => {
    if (isOver) return
    // The caller may reuse its buffer.
    pieces.push(Buffer.from(piece))
    held += piece.length
    while (held >= wanted && !isOver) {
      const bytes = take()
      if (isHead) {
        wanted = bytes.readUInt32BE()
        isHead = false
        if (wanted <= mostBytes) continue
        isOver = true
        pieces = []
        onTooLong(wanted)
      } else {
        wanted = headBytes
        isHead = true
        onText(bytes.toString())
      }
    }
  }
}
