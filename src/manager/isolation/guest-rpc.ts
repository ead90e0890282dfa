/** The manager's side of a guest's requests during a reconcile: reads, and calls to the outside. */
import { managerErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { isJsonObject, type JsonObject, parseJson, stringifyJson } from '../../kube/json.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { KubeObject } from '../../kube/object.ts'
import { type LiveCommandOptions, type HttpCall, type Live, originOf } from '../../operator/live.ts'
import type { Situation } from '../../operator/reconcile.ts'
import type { ViewSelection } from '../../operator/view/view.ts'
import type { Limits } from './launch/limits.ts'
import { type Answer, encodeError } from './protocol/protocol.ts'
import { amount, wireObjectName, wireRecord, wireResourceOf, wireText, texts, wrong } from './protocol/wire.ts'

/**
 * Answers a read from the view of the reconcile: so it is recorded, and undeclared reads are refused. The rights are
 * the same as at any other level.
 */
export function answerRead(
  asked: string,
  situationOf: (id: number) => Situation<KubeObject> | undefined,
  { messageBytes }: Pick<Limits, 'messageBytes'>,
  onGiven: (id: number, bytes: number) => void = () => undefined,
): string {
  try {
    if (asked.length > messageBytes) wrong('a question')
    const request = wireRecord(parseJson(asked), 'a question')
    const id = amount(request['id'], 'an id')
    const situation = situationOf(id)
    if (!situation) throw new MusterError(managerErrors.GuestMisbehaved, 'No reconcile waits for this answer any more.')
    const value = read(request, situation)
    onGiven(id, value.length)
    return value === '' ? '{}' : `{"value":${value}}`
  } catch (error) {
    return stringifyJson({ error: encodeError(error) } satisfies Answer)
  }
}

/** As JSON; empty for a missing object. */
function read(request: JsonObject, { view, controller }: Situation<KubeObject>): string {
  const asked = wireResourceOf(request['resource'])
  const name = formatResource(asked)
  const resource: Resource = controller.inputs.find((input) => formatResource(input) === name) ?? asked
  switch (request['what']) {
    case 'get': {
      const object = view.get(resource, wireObjectName(request['name']))
      return object ? stringifyJson(object) : ''
    }
    case 'list':
      return stringifyJson(view.list(resource, selectionOf(request['selection'])))
    case 'owned': {
      const owner = { metadata: { uid: wireText(request['uid'], 'a uid') } } as unknown as KubeObject
      return stringifyJson(view.ownedBy(resource, owner))
    }
    case 'serves':
      return String(view.serves(resource))
    default:
      return wrong('a question')
  }
}

function selectionOf(received: unknown): ViewSelection {
  const { namespace, labels } = wireRecord(received, 'a selection')
  if (labels !== undefined && typeof labels !== 'string' && !isJsonObject(labels)) wrong('labels')
  return {
    ...(namespace !== undefined && { namespace: wireText(namespace, 'a namespace') }),
    ...(labels !== undefined && { labels }),
  }
}

/** The manager makes the call, so it must not reach an origin that the guest may not. */
export async function answerCall(message: JsonObject, live: Live, outside: readonly string[]): Promise<Answer> {
  try {
    switch (message['what']) {
      case 'exec': {
        const { pod, command, options } = message
        const given = options === undefined ? undefined : (wireRecord(options, 'options') as LiveCommandOptions)
        return { value: await live.exec(wireObjectName(pod), texts(command, 'a command'), given) }
      }
      case 'http': {
        const call = httpCallOf(message['http'])
        const origin = originOf(call.url)
        if (!outside.includes(origin))
          throw new MusterError(managerErrors.OutsideRefused, `A call to ${origin} is not allowed.`)
        // A redirect is a call as well: the application must not lead beyond the operator's rights.
        const { status, headers, body } = await live.http({ ...call, redirectTo: outside })
        return { value: { status, headers, body } }
      }
      default:
        return wrong('a call')
    }
  } catch (error) {
    return { error: encodeError(error) }
  }
}

const methods: ReadonlySet<unknown> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] satisfies HttpCall['method'][])

/** Copies known members only: a guest must not set others, such as the allowed redirects. */
function httpCallOf(received: unknown): HttpCall {
  const { method, url, headers, body, timeoutMs, retries } = wireRecord(received, 'a call')
  if (method !== undefined && !methods.has(method)) wrong('a method')
  return {
    url: wireText(url, 'an address'),
    ...(method !== undefined && { method: method as NonNullable<HttpCall['method']> }),
    ...(headers !== undefined && { headers: textsByName(headers) }),
    ...(body !== undefined && { body }),
    ...(timeoutMs !== undefined && { timeoutMs: amount(timeoutMs, 'a time') }),
    ...(retries !== undefined && { retries: amount(retries, 'a count') }),
  }
}

function textsByName(received: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(wireRecord(received, 'headers'))
  return Object.fromEntries(entries.map(([name, value]) => [name, wireText(value, 'a header')]))
}
