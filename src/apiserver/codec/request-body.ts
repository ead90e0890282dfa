/** Reads request bodies in JSON, YAML or protobuf. */
import { kubeErrors } from '../../kube/errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import { isJsonObject, type Json, parseJson } from '../../kube/json.ts'
import { isJsonArray } from '../../kube/json-member.ts'
import { bodyProblem } from '../../transport/body-bounds.ts'
import { badRequest, tooLarge, unsupportedMediaType } from '../errors/status-error.ts'

/** As in kube-apiserver. */
export const maxBodyBytes: number = 3 * 1024 * 1024

const protobuf = 'application/vnd.kubernetes.protobuf'
const readable = ['application/json', 'application/yaml', protobuf]

/** The media type of a request, without parameters; JSON if there is none. */
export function contentType(headers: Readonly<Record<string, string | readonly string[]>>): string {
  const header = headers['content-type']
  const text = typeof header === 'string' ? header : (header?.[0] ?? '')
  return text.split(';', 1)[0]!.trim().toLowerCase() || 'application/json'
}

/** Decodes a body of JSON, YAML or, for built-in kinds, protobuf. */
export async function readBody(body: string | Uint8Array | undefined, type: string): Promise<Json> {
  if (type === 'application/json') return readJsonBody(body)
  // kube-apiserver converts YAML to JSON with sorted keys, which determines the first reported error.
  if (type === 'application/yaml') return sorted(await readYamlBody(body))
  const value = type === protobuf ? await readProtobufBody(body) : undefined
  if (value === undefined) throw unsupportedMediaType(readable.filter((one) => one !== type))
  return value
}

function sorted(value: Json): Json {
  if (isJsonArray(value)) return value.map(sorted)
  if (!isJsonObject(value)) return value
  const names = Object.keys(value).toSorted()
  return Object.fromEntries(names.map((name) => [name, sorted(value[name] ?? null)]))
}

/** Undefined for a custom kind, which has no protobuf encoding. */
async function readProtobufBody(body: string | Uint8Array | undefined): Promise<Json | undefined> {
  const bytes = typeof body === 'string' ? Buffer.from(body) : (body ?? new Uint8Array())
  if (bytes.byteLength > maxBodyBytes) throw tooLarge(maxBodyBytes)
  const { decodeProtobuf } = await import('../../kube/protobuf/decode.ts')
  try {
    const value = decodeProtobuf(bytes)
    if (value) checkDepth(value)
    return value
  } catch (error) {
    if (isMusterError(error, kubeErrors.InvalidProtobuf))
      throw badRequest(`the object provided is unrecognized: ${error.message}`)
    throw error
  }
}

export function readJsonBody(body: string | Uint8Array | undefined): Json {
  const text = readText(body)
  let value: Json
  try {
    value = parseJson(text)
  } catch {
    // The parser's message would quote the body.
    throw badRequest('the body of the request is no valid JSON')
  }
  checkDepth(value)
  return value
}

/** Synchronous if the body is JSON. */
export function readYamlBody(body: string | Uint8Array | undefined): Json | Promise<Json> {
  const text = readText(body)
  return /^\s*\{/.test(text) ? readJsonBody(text) : yamlIn(text)
}

async function yamlIn(text: string): Promise<Json> {
  const { readYamlDocuments } = await import('../../kube/yaml/yaml.ts')
  try {
    // Only the first document counts.
    const [value = null] = readYamlDocuments(text, { keepsEnd: true })
    checkDepth(value)
    return value
  } catch (error) {
    if (isMusterError(error, kubeErrors.InvalidYaml)) throw badRequest(`error decoding YAML: ${error.message}`)
    throw error
  }
}

function readText(body: string | Uint8Array | undefined): string {
  if (body === undefined) return ''
  const size = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength
  if (size > maxBodyBytes) throw tooLarge(maxBodyBytes)
  if (typeof body === 'string') return body
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    throw badRequest('the body of the request is not UTF-8')
  }
}

/** Rejects values that are nested too deeply, and numbers out of range. */
export function checkDepth(value: Json | undefined): void {
  const problem = bodyProblem(value)
  if (problem !== undefined) throw badRequest(problem)
}
