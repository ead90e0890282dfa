/** What a guest prints: passed on piece by piece, and no faster than anybody would read it. Who prints more has to wait. */
import type { Readable } from 'node:stream'
import type { Clock } from '../../clock/clock.ts'

const mostPerWindow = 64 * 1024
const windowMs = 1000
/** What a line costs whoever reads it, however short. */
const leastPerPiece = 256

export function relayOutput(stream: Readable, clock: Clock, onText: (text: string) => void): void {
  let left = mostPerWindow
  stream.setEncoding('utf8').on('data', (text: string) => {
    if (left > 0) onText(text.slice(0, left))
    left -= Math.max(text.length, leastPerPiece)
    if (left > 0) return
    stream.pause()
    clock.after(windowMs, () => {
      left = mostPerWindow
      stream.resume()
    })
  })
}
