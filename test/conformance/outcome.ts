/**
 * What became of a write, short enough for tables of cases: the object without what every object has, or the refusal
 * with the fields it names. Nothing is stored by these writes, except what an update needs to begin with.
 */
import { isJsonObject, type Json, type JsonObject } from '../../src/kube/json.ts'
import { isJsonArray } from '../../src/kube/json-member.ts'
import { type Answer, at, type Server } from './server.ts'

/** Metadata that other suites look at. */
const usual = new Set([
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'managedFields',
  'generation',
  'resourceVersion',
])

export function outcomeOf(server: Server, { status, headers, body }: Answer): Json {
  // Every response about Endpoints carries a deprecation warning.
  const warning = headers['warning']?.replace(/(?:, )?299 - "v1 Endpoints is deprecated[^"]*"/, '')
  const warnings = warning ? { warnings: warning } : {}
  if (status >= 300) {
    const causes = (at(body, 'details', 'causes') ?? []) as unknown as readonly JsonObject[]
    const named = causes.map((cause) => `${cause['reason'] as string} ${cause['field'] as string}`)
    // Some messages continue with a diff, in a form that the API does not guarantee.
    const message = withoutAllocated((at(body, 'message') as string).split('\n', 1)[0]!)
    return server.maskedJson({ code: status, message, causes: named, ...warnings })
  }
  const { apiVersion: _apiVersion, kind: _kind, metadata, ...rest } = body as JsonObject
  const own = Object.entries(metadata as JsonObject).filter(([name]) => !usual.has(name))
  const object = { ...(own.length > 0 && { metadata: Object.fromEntries(own) }), ...rest }
  return server.maskedJson({ ...(withoutAllocated(object) as JsonObject), ...warnings })
}

/** Addresses and ports that the server picks are not the same twice. */
function withoutAllocated(value: Json, key = ''): Json {
  if (typeof value === 'string') return value.replaceAll(/\b10\.0\.\d+\.\d+\b(?!\/)/g, 'CLUSTER-IP')
  if (typeof value === 'number') return /nodePort$/i.test(key) ? 'NODE-PORT' : value
  if (isJsonArray(value)) return value.map((item) => withoutAllocated(item))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withoutAllocated(member!, name)]))
}

/** A create that is not carried out. The name is `a` unless the body has one. */
export async function tryCreate(server: Server, path: string, body: JsonObject): Promise<Json> {
  const named = { ...body, metadata: { name: 'a', ...(body['metadata'] as JsonObject | undefined) } }
  return outcomeOf(server, await server.call('POST', `${path}?dryRun=All`, { body: named }))
}

/** A change of `first` that is not carried out; `first` itself is created under a name of its own. */
export async function tryChange(server: Server, path: string, first: JsonObject, patch: JsonObject): Promise<Json> {
  const given = (first['metadata'] as JsonObject | undefined)?.['name'] as string | undefined
  const name = given ?? server.unique('object')
  const body = { ...first, metadata: { ...(first['metadata'] as JsonObject | undefined), name } }
  await server.must('POST', path, { body })
  const type = 'application/merge-patch+json'
  const answer = await server.call('PATCH', `${path}/${name}?dryRun=All`, { body: patch, type })
  // No controller runs that would remove a finalizer.
  await server.call('PATCH', `${path}/${name}`, { body: { metadata: { finalizers: null } }, type })
  await server.call('DELETE', `${path}/${name}`)
  return outcomeOf(server, answer)
}
