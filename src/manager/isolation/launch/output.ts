/**
 * Output of a guest: logged line by line, rate limited. A guest that prints more has to wait.
 *
 * Secrets are masked before lines are cut. A stream delivers chunks of any size, and a value may span two of them: so
 * an incomplete line waits for its end, and lines that may begin a value of several lines wait for the rest.
 */
import type { Readable } from 'node:stream'
import type { Clock } from '../../../clock/clock.ts'
import { cutText } from '../../../kube/text/hidden-text.ts'
import type { GuestEvents } from './guest-handle.ts'

const mostPerWindow = 64 * 1024
const windowMs = 1000
/** The minimum charge for a line. */
const leastPerPiece = 256
/** The rest of a longer line is dropped. */
const longestLine = mostPerWindow

interface RelayOptions extends Pick<GuestEvents, 'onPrinted' | 'secrets'> {
  readonly clock: Clock
}

export function relayOutput(stream: Readable, { clock, onPrinted, secrets }: RelayOptions): void {
  let left = mostPerWindow
  let held = ''
  let isDropping = false

  const emit = (text: string): void => {
    if (text === '') return
    if (left > 0) onPrinted(cutText(text, left, (whole) => secrets.hide(whole)))
    left -= Math.max(text.length, leastPerPiece)
    if (left > 0 || stream.isPaused()) return
    stream.pause()
    clock.after(windowMs, () => {
      left = mostPerWindow
      stream.resume()
    })
  }

  stream.setEncoding('utf8').on('data', (piece: string) => {
    const end = piece.indexOf('\n')
    if (isDropping && end < 0) return
    held += isDropping ? piece.slice(end) : piece
    isDropping = false
    const whole = held.lastIndexOf('\n') + 1
    const ready = held.slice(0, whole)
    const rest = held.slice(whole)
    const until = ready.length - beginningOfValue(ready, secrets.ofSeveralLines())
    isDropping = rest.length > longestLine
    held = ready.slice(until) + rest
    emit(ready.slice(0, until))
    if (!isDropping) return
    emit(held)
    held = ''
  })
  stream.on('end', () => emit(held))
}

/** How many characters at the end of a text may begin a value whose further lines are still to come. */
function beginningOfValue(text: string, values: readonly string[]): number {
  const lengths = values.map((value) => {
    const end = value.trimEnd()
    for (let lines = end.lastIndexOf('\n'); lines >= 0; lines = lines === 0 ? -1 : end.lastIndexOf('\n', lines - 1)) {
      if (text.endsWith(end.slice(0, lines + 1))) return lines + 1
    }
    return 0
  })
  return Math.max(0, ...lengths)
}
