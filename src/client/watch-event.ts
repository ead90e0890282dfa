/** One line of a watch, parsed as an event. */
import { clientErrors } from './errors.ts'
import { MusterError } from '../kube/muster-error.ts'
import { isJsonObject, parseJson } from '../kube/json.ts'
import { asObject, asStatus } from '../kube/json-object.ts'
import type { KubeObject, Named, UntypedObject } from '../kube/object.ts'
import type { WatchEvent } from './client.ts'

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
  const { type, object: received } = event
  const object: KubeObject = asObject(received)
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type, object: object as Named<T> }
    case 'BOOKMARK':
      return { type, object }
    case 'ERROR':
      return { type, object: asStatus(received) }
    default: {
      const message = `${what}: an event has the unknown type ${JSON.stringify(type)}.`
      throw new MusterError(clientErrors.ProtocolError, message)
    }
  }
}
