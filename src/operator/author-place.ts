/**
 * Where in an author's files an error comes from: the first frame of its stack, or of its cause's, that is neither Node's nor
 * this package's. The message of an error says what is wrong; the place says where to correct it.
 */
import { fileURLToPath } from 'node:url'

/** `src/` of a checkout, or the folder of the installed package. */
const ownFolder = fileURLToPath(new URL('..', import.meta.url))

/** `/app/src/operator.ts:12:5`; undefined when no author code is on the stack. */
export function placeInAuthorCode(error: Error): string | undefined {
  const { stack, cause } = error
  const frame = typeof stack === 'string' ? stack.split('\n').find(isAuthorFrame) : undefined
  if (frame !== undefined) return placeOf(frame)
  return cause instanceof Error ? placeInAuthorCode(cause) : undefined
}

function isAuthorFrame(line: string): boolean {
  return (
    line.startsWith('    at ') &&
    line.includes('/') &&
    !line.includes('node:') &&
    !line.includes('/node_modules/') &&
    (!line.includes(ownFolder) || line.includes('.test.ts:') || line.includes('.test.ts?'))
  )
}

/** Of `    at check (file:///app/src/operator.ts:12:5)`. */
function placeOf(frame: string): string {
  const place = frame.slice(Math.max(frame.lastIndexOf('('), frame.lastIndexOf(' ')) + 1).replace(/\)$/, '')
  return withoutQuery(place.replace(/^file:\/\//, ''))
}

/** A module that is loaded again has a query: `operator.ts?2:12:5`. */
function withoutQuery(place: string): string {
  const start = place.indexOf('?')
  const end = place.indexOf(':', start)
  return start < 0 || end < 0 ? place : place.slice(0, start) + place.slice(end)
}
