/** One line of a watch, parsed as an event. */
import { clientErrors } from './errors.ts'
import { MusterError } from '../kube/muster-error.ts'
import { isJsonObject, parseJson } from '../kube/json.ts'
import type { KubeObject, UntypedObject } from '../kube/object.ts'
import type { WatchEvent } from './client.ts'

const types: ReadonlySet<unknown> = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR'])

/** Fails with `ProtocolError` on anything that is not an event: an unreadable event must not be lost silently. */
export function decodeWatchEvent<T extends KubeObject = UntypedObject>(
  line: string,
  what = 'the watch',
): WatchEvent<T> {
  let event: unknown
  try {
    event = parseJson(line)
  } catch {
    // The parser's message would quote the line.
    throw new MusterError(clientErrors.ProtocolError, `${what}: a line of ${line.length} characters is no JSON.`)
  }
  if (!isJsonObject(event) || !isJsonObject(event['object'])) {
    throw new MusterError(clientErrors.ProtocolError, `${what}: a line is not a watch event.`)
  }
  if (!types.has(event['type'])) {
    throw new MusterError(
      clientErrors.ProtocolError,
      `${what}: an event has the unknown type ${JSON.stringify(event['type'])}.`,
    )
  }
  return event as unknown as WatchEvent<T>
}
