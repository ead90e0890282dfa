/** A write request: its body, and the answer with its warnings. */
import type { TransportRequest, TransportResponse } from '../../transport/transport.ts'
import { type Json, parseJson, stringifyJson } from '../../kube/json.ts'
import type { ApiCall } from '../cluster/call.ts'
import {
  type KeyScan,
  type Noticed,
  noticedInYaml,
  scanJsonPatch,
  scanKeys,
  scanMergePatch,
} from '../codec/duplicate-keys.ts'
import { objectText } from '../codec/object-text.ts'
import { answer, dressObject, dressValue } from '../representation/representation.ts'
import { contentType, readBody } from '../codec/request-body.ts'
import type { StoredObject } from '../storage/storage.ts'
import { warningHeaders } from '../representation/warning-header.ts'
import { type WriteRequest, type Writing, writingOf } from './writing.ts'

export async function readRequest({ request }: ApiCall): Promise<Json> {
  const type = contentType(request.headers)
  const value = await readBody(request.body, type)
  if (type === 'application/yaml') yamlFindings.set(request, await noticedInYaml(textOfBody(request)))
  return value
}

/** Duplicate keys found in a YAML body, by a parser that is loaded on demand. */
const yamlFindings = new WeakMap<TransportRequest, Noticed | undefined>()

function textOfBody({ body = '' }: TransportRequest): string {
  return typeof body === 'string' ? body : Buffer.from(body).toString()
}

/** A write in progress. Its warnings are known when it is done, and become headers of the answer. */
interface WriteAnswering {
  readonly writing: Writing
  object(status: number, object: StoredObject): TransportResponse | Promise<TransportResponse>
  /** An answer that is not an object of the resource. */
  value(status: number, value: unknown): TransportResponse | Promise<TransportResponse>
  /** An answer in the representation that the client asked for. */
  shown(status: number, value: unknown): TransportResponse | Promise<TransportResponse>
}

const optionsKinds: Readonly<Record<string, WriteRequest['optionsKind']>> = {
  POST: 'CreateOptions',
  PUT: 'UpdateOptions',
  PATCH: 'PatchOptions',
}

export function startWriting({ request, route, query, user, dressing, warnings }: ApiCall): WriteAnswering {
  const userAgent = request.headers['user-agent']
  const writing = writingOf(route, {
    query,
    userAgent: typeof userAgent === 'string' ? userAgent : '',
    user,
    optionsKind: optionsKinds[request.method] ?? 'UpdateOptions',
    scan: () => scanOf(request),
    warn: (text) => void warnings.add(text),
  })
  const headers = (): Readonly<Record<string, string>> => warningHeaders(warnings)
  return {
    writing,
    object(status, object) {
      const answerWith = (shown: unknown): TransportResponse | Promise<TransportResponse> => {
        // The object is returned as stored, so that the journal and watches share the serialized text.
        if (shown === object) objectText(object)
        return answer(status, shown, dressing.syntax, headers())
      }
      const dressed = dressObject(object, dressing)
      return dressed instanceof Promise ? dressed.then(answerWith) : answerWith(dressed)
    },
    shown: (status, value) => answer(status, value, dressing.syntax, headers()),
    value: (status, value) => answer(status, dressValue(value, dressing), dressing.syntax, headers()),
  }
}

const nothingTwice: KeyScan = { duplicates: [], order: [] }

/** Protobuf has no duplicate keys; an apply patch reports its own. */
function scanOf(request: TransportRequest): KeyScan {
  const type = contentType(request.headers)
  if (type === 'application/yaml') return { ...nothingTwice, before: yamlFindings.get(request) }
  if (request.body === undefined || !type.endsWith('json')) return nothingTwice
  const text = textOfBody(request)
  const value = parseJson(text)
  if (type === 'application/json-patch+json') return scanJsonPatch(text, value)
  // If the parsed body serializes to the same text, the parser has dropped no duplicate key.
  if (stringifyJson(value) === text) return nothingTwice
  return type === 'application/json' ? scanKeys(text) : scanMergePatch(text)
}
