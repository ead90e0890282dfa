/** A part of the terminal that is redrawn in place. Lines are cut to its width. */
import type { WriteStream } from 'node:tty'

interface Screen {
  draw(lines: readonly string[]): void
  /** Keeps what is drawn; the next frame is drawn below. */
  leave(): void
}

export function openScreen(stream: Pick<WriteStream, 'write' | 'columns' | 'rows'>): Screen {
  let drawn = 0
  return {
    draw(lines) {
      const width = Math.max(stream.columns ?? 80, 20) - 1
      // The cursor cannot return above the top of the terminal.
      const shown = lines.slice(0, Math.max((stream.rows ?? 24) - 1, 1)).map((line) => cut(line, width))
      const back = drawn > 0 ? `\u001b[${drawn}A\r\u001b[0J` : ''
      stream.write(`${back}${shown.map((line) => `${line}\n`).join('')}`)
      drawn = shown.length
    },
    leave: () => void (drawn = 0),
  }
}

function cut(line: string, width: number): string {
  return line.length <= width ? line : `${line.slice(0, width - 1)}…`
}
