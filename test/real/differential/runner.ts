/**
 * Sends a sequence to both servers and compares every answer. It stops at the first difference: from there on the two
 * are in different states, and nothing that follows would say anything.
 */
import { isJsonObject, type Json, type JsonObject, parseJson, stringifyJson } from '../../../src/kube/json.ts'
import { isJsonArray } from '../../../src/kube/json-member.ts'
import { applyMergePatch } from '../../../src/kube/patch/merge-patch.ts'
import { type Answer, sameAnswer } from './compare.ts'
import { embeddedSide, type Side } from './servers.ts'
import type { Sequence, Step, Verb } from './step.ts'

export interface Difference {
  readonly sequence: Sequence
  /** Where the two parted. */
  readonly index: number
  readonly embedded: Answer
  readonly real: Answer
}

export interface Bench {
  readonly real: Side
  /** CRDs, for every new embedded server; the real one has them. */
  readonly definitions: readonly JsonObject[]
}

/** What a client remembers of one server. */
interface Memory {
  readonly side: Side
  readonly versions: Map<string, string>
  readonly stale: Map<string, string>
  readonly uids: Map<string, string>
  readonly continues: Map<string, string>
  readonly lists: Map<string, string>
  start: string
}

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

export async function runSequence(bench: Bench, sequence: Sequence): Promise<Difference | undefined> {
  const embedded = embeddedSide()
  const sides = { embedded: memoryOf(embedded), real: memoryOf(bench.real) }
  const namespace = {
    method: 'POST' as const,
    path: '/api/v1/namespaces',
    body: { metadata: { name: sequence.namespace } },
  }
  try {
    for (const body of bench.definitions) await ask(sides.embedded, { method: 'POST', path: crds, body })
    for (const memory of Object.values(sides)) {
      const { body } = await ask(memory, namespace)
      memory.start = versionIn(body)
    }
    for (const [index, step] of sequence.steps.entries()) {
      const real = await ask(sides.real, step)
      // Nothing to compare with, and nothing happened.
      if (real.status === 0) continue
      embedded.setTime(Date.parse(real.date))
      const own = await ask(sides.embedded, step)
      if (!sameAnswer(own, real)) return { sequence, index, embedded: own, real }
    }
    return undefined
  } finally {
    embedded.close()
    await cleanUp(sides.real, sequence)
  }
}

function memoryOf(side: Side): Memory {
  return {
    side,
    versions: new Map(),
    stale: new Map(),
    uids: new Map(),
    continues: new Map(),
    lists: new Map(),
    start: '',
  }
}

/** Cluster-wide leftovers go; the namespace goes with the server. */
async function cleanUp(memory: Memory, { namespace, steps }: Sequence): Promise<void> {
  const collections = new Set(
    steps.filter(({ path }) => !path.includes('/namespaces/')).map(({ path }) => collectionIn(path)),
  )
  for (const path of collections) {
    if (path === '/api/v1/namespaces') continue
    const query = { labelSelector: `run=${namespace}` }
    const { body } = await ask(memory, { method: 'GET', path, query })
    const items = isJsonObject(body) && isJsonArray(body['items']) ? (body['items'] as readonly JsonObject[]) : []
    for (const item of items) {
      const one = `${path}/${(item['metadata'] as JsonObject)['name'] as string}`
      const finalizers = { metadata: { finalizers: null } }
      await ask(memory, { method: 'PATCH', path: one, type: 'application/merge-patch+json', body: finalizers })
      await ask(memory, { method: 'DELETE', path: one })
    }
  }
}

async function ask(memory: Memory, step: Step): Promise<Answer> {
  const target = objectPath(step.path)
  const resolve = (text: string): string =>
    text
      .replaceAll('{{version}}', memory.versions.get(target) ?? '1')
      .replaceAll('{{stale}}', memory.stale.get(target) ?? '1')
      .replaceAll('{{uid}}', memory.uids.get(target) ?? '00000000-0000-0000-0000-000000000000')
      .replaceAll('{{continue}}', memory.continues.get(step.path) ?? '')
      .replaceAll('{{list}}', memory.lists.get(step.path) ?? memory.start)
      .replaceAll('{{start}}', memory.start)
  const body = step.onto ? await ontoLive(memory, step) : step.body
  const text = body === undefined ? undefined : resolve(typeof body === 'string' ? body : stringifyJson(body))
  const query = Object.entries(step.query ?? {}).map(([name, value]): [string, string] => [name, resolve(value)])
  const question = query.length > 0 ? `?${new URLSearchParams(query).toString()}` : ''
  const stop = new AbortController()
  const patience = setTimeout(() => stop.abort(new Error(`no answer to ${step.method} ${step.path}`)), 30_000)
  try {
    const reply = await memory.side.send({
      method: step.method,
      path: step.path + question,
      headers: headersOf(step, text !== undefined),
      body: text,
      signal: stop.signal,
    })
    const answered =
      step.until === undefined ? await readAll(reply.body) : await readEvents(reply.body, step.until, stop)
    const isJson = reply.headers['content-type']?.includes('json') && step.until === undefined
    const answer: Answer = {
      status: reply.status,
      contentType: reply.headers['content-type'] ?? '',
      warning: reply.headers['warning'] ?? '',
      date: reply.headers['date'] ?? '',
      body:
        step.until === undefined ? (isJson && answered !== '' ? parseJson(answered) : answered) : parseJson(answered),
    }
    remember(memory, step, answer.body)
    return answer
  } finally {
    clearTimeout(patience)
  }
}

function headersOf(step: Step, hasBody: boolean): Readonly<Record<string, string>> {
  return {
    accept: step.accept ?? 'application/json',
    authorization: 'Bearer admin-token',
    'user-agent': 'differential/1.0',
    ...(hasBody && { 'content-type': step.type ?? 'application/json' }),
  }
}

/** What is there, changed by the body. */
async function ontoLive(memory: Memory, { path, body }: Step): Promise<Json> {
  const { status, body: live } = await ask(memory, { method: 'GET' satisfies Verb, path })
  const base = status === 200 && isJsonObject(live) ? live : {}
  return applyMergePatch(base, body ?? {})
}

async function readAll(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** The events of a watch, as a list, up to the first about `name`. */
async function readEvents(body: AsyncIterable<Uint8Array>, name: string, stop: AbortController): Promise<string> {
  const lines: string[] = []
  let rest = ''
  const decoder = new TextDecoder()
  try {
    for await (const chunk of body) {
      rest += decoder.decode(chunk, { stream: true })
      for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n')) {
        lines.push(rest.slice(0, end))
        rest = rest.slice(end + 1)
        if (!lines.at(-1)!.includes(`"name":"${name}"`)) continue
        stop.abort(new Error('seen'))
        return `[${lines.join(',')}]`
      }
    }
  } catch (error) {
    if (!stop.signal.aborted) throw error
  }
  if (rest.trim() !== '') lines.push(rest)
  return `[${lines.join(',')}]`
}

function remember(memory: Memory, { path, method }: Step, body: Json): void {
  if (!isJsonObject(body) || !isJsonObject(body['metadata'])) return
  const { metadata } = body
  const { resourceVersion, uid, name, continue: token } = metadata
  if (isJsonArray(body['items'])) {
    if (typeof token === 'string') memory.continues.set(path, token)
    if (typeof resourceVersion === 'string') memory.lists.set(path, resourceVersion)
    return
  }
  if (typeof name !== 'string' || typeof resourceVersion !== 'string' || typeof uid !== 'string') return
  const target = method === 'POST' ? `${path}/${name}` : objectPath(path)
  memory.versions.set(target, resourceVersion)
  if (!memory.stale.has(target)) memory.stale.set(target, resourceVersion)
  memory.uids.set(target, uid)
}

function versionIn(body: Json): string {
  const metadata = isJsonObject(body) ? body['metadata'] : undefined
  const version = isJsonObject(metadata) ? metadata['resourceVersion'] : undefined
  if (typeof version !== 'string') throw new Error(`no namespace: ${stringifyJson(body)}`)
  return version
}

const subresource = /\/(?:status|scale|binding|eviction|approval|ephemeralcontainers|resize|nothing)$/

function objectPath(path: string): string {
  return path.replace(subresource, '')
}

/** `/api/v1/persistentvolumes/a/status`: without the object. */
function collectionIn(path: string): string {
  return path
    .split('/')
    .slice(0, path.startsWith('/api/') ? 4 : 5)
    .join('/')
}
