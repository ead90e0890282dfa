/**
 * A small API server for tests of the watch engine that misbehaves on request: it knows the true state (objects,
 * versions, history) and lies, stalls and fails. One resource, in process, with the given clock.
 */
import type { Clock } from '../src/clock/clock.ts'
import type { Handler } from '../src/transport/transport.ts'
import type { TransportRequest, TransportResponse } from '../src/transport/transport.ts'
import { isReleased } from '../src/kube/meta/deletion.ts'
import { clientErrors } from '../src/client/errors.ts'
import { transportErrors } from '../src/transport/errors.ts'
import { MusterError } from '../src/kube/muster-error.ts'
import type { ObjectMeta } from '../src/kube/object.ts'

export interface Thing {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
  readonly data?: Readonly<Record<string, string>>
}

interface HistoryEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly version: number
  readonly object: Thing
  /** The state before it. */
  readonly previous: Thing | undefined
}

/** The behaviour of the next requests. Return undefined for a correct response. */
export type Fault = (request: {
  readonly path: string
  readonly isWatch: boolean
  readonly query: URLSearchParams
}) => FaultAnswer | undefined

export type FaultAnswer =
  | { readonly kind: 'status'; readonly code: number; readonly reason: string; readonly retryAfter?: number }
  | { readonly kind: 'refuse' }
  | { readonly kind: 'never' }
  | { readonly kind: 'slow'; readonly ms: number }
  /** A list response truncated in the middle. */
  | { readonly kind: 'half' }

export interface OpenWatch {
  /** Sends raw text. */
  raw(text: string): void
  /** Ends the stream regularly. */
  end(): void
  /** Breaks the connection, in the middle of an event if `midObject`. */
  cut(midObject?: boolean): void
  /** Keeps the stream open without sending anything. */
  mute(): void
  /** Delays sending until the returned function is called. */
  delay(): () => void
  readonly startedAt: string
}

export interface HostileServer extends Handler {
  fault: Fault | undefined
  put(name: string, data?: Readonly<Record<string, string>>, metadata?: Partial<ObjectMeta>): Thing
  remove(name: string, namespace?: string): void
  get(name: string, namespace?: string): Thing | undefined
  readonly objects: readonly Thing[]
  readonly watches: readonly OpenWatch[]
  readonly requests: { lists: number; watches: number; writes: number }
  readonly version: number
  /** Compacts the history: watches from before get 410. */
  compact(): void
  /** The current state, to restore later. */
  snapshot(): () => void
  /** Sends a bookmark to every open watch. */
  bookmark(): void
  /** When false, responds with 400 to streaming lists. */
  streamsLists: boolean
  /** Called before the response of a write is sent, after the write took effect. */
  beforeAnswer: (() => Promise<void> | void) | undefined
}

export interface HostileServerOptions {
  readonly clock: Clock
  readonly bookmarkMs?: number
}

export function hostileServer({ clock, bookmarkMs = 60_000 }: HostileServerOptions): HostileServer {
  let objects = new Map<string, Thing>()
  let history: HistoryEvent[] = []
  let version = 1000
  let compacted = 0
  let lives = 0
  const open = new Set<Watch>()
  const requests = { lists: 0, watches: 0, writes: 0 }

  interface Watch extends OpenWatch {
    event(event: HistoryEvent): void
  }

  const record = (type: HistoryEvent['type'], object: Thing, previous: Thing | undefined): void => {
    const event = { type, version, object, previous }
    history.push(event)
    for (const watch of open) watch.event(event)
  }

  const store = (object: Thing): Thing => {
    const key = `${object.metadata.namespace}/${object.metadata.name}`
    const previous = objects.get(key)
    version++
    const metadata = {
      ...object.metadata,
      uid: previous?.metadata.uid ?? `uid-${++lives}`,
      creationTimestamp: '2026-01-01T00:00:00Z',
      resourceVersion: String(version),
      managedFields: [{ manager: 'test', operation: 'Update' as const, fieldsV1: { 'f:data': {} } }],
    }
    const next = { ...object, metadata }
    objects.set(key, next)
    record(previous ? 'MODIFIED' : 'ADDED', next, previous)
    return next
  }

  const server: HostileServer = {
    fault: undefined,
    streamsLists: true,
    beforeAnswer: undefined,
    requests,
    put(name, data = {}, metadata = {}) {
      return store({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default', ...metadata }, data })
    },
    remove(name, namespace = 'default') {
      const key = `${namespace}/${name}`
      const object = objects.get(key)
      if (!object) return
      objects.delete(key)
      version++
      record('DELETED', withVersion(object, version), object)
    },
    get: (name, namespace = 'default') => objects.get(`${namespace}/${name}`),
    get objects() {
      return [...objects.values()]
    },
    get watches() {
      return [...open]
    },
    get version() {
      return version
    },
    compact() {
      compacted = version
      history = []
    },
    snapshot() {
      const then = { objects: new Map(objects), history: [...history], version, compacted }
      return () => {
        objects = new Map(then.objects)
        history = [...then.history]
        ;({ version, compacted } = then)
        for (const watch of open) watch.cut()
      }
    },
    bookmark() {
      for (const watch of open) watch.raw(bookmarkLine(version))
    },
    handle: (request) => answer(request),
  }

  const answer = async (request: TransportRequest): Promise<TransportResponse> => {
    const url = new URL(request.path, 'http://server')
    const query = url.searchParams
    const isWatch = query.get('watch') === 'true' || query.get('watch') === '1'
    if (request.method !== 'GET') return await write(request, url)
    if (isWatch) requests.watches++
    else requests.lists++
    const fault = server.fault?.({ path: request.path, isWatch, query })
    if (fault?.kind === 'refuse') throw new MusterError(clientErrors.Unreachable, 'server:443 refuses connections.')
    if (fault?.kind === 'never') return await never(request.signal)
    if (fault?.kind === 'slow') await clock.sleep(fault.ms, request.signal)
    if (fault?.kind === 'status') return failure(fault.code, fault.reason, fault.retryAfter)
    const selected = {
      namespace: /\/namespaces\/([^/]+)\//.exec(url.pathname)?.[1],
      labels: query.get('labelSelector'),
      name: /^metadata\.name=(.*)$/.exec(query.get('fieldSelector') ?? '')?.[1],
    }
    if (isWatch) return startWatch(request, query, selected)
    return list(query, fault?.kind === 'half', selected)
  }

  const write = async (request: TransportRequest, url: URL): Promise<TransportResponse> => {
    requests.writes++
    const [, namespace = 'default', name] = /\/namespaces\/([^/]+)\/[^/]+(?:\/([^/]+))?$/.exec(url.pathname) ?? []
    if (request.method === 'DELETE') {
      const object = objects.get(`${namespace}/${name}`)
      if (!object) return failure(404, 'NotFound')
      if ((object.metadata.finalizers ?? []).length > 0) {
        const marked = store({ ...object, metadata: { ...object.metadata, deletionTimestamp: '2026-01-02T00:00:00Z' } })
        await server.beforeAnswer?.()
        return json(200, marked)
      }
      server.remove(name!, namespace)
      await server.beforeAnswer?.()
      return json(200, { kind: 'Status', apiVersion: 'v1', status: 'Success', details: { uid: object.metadata.uid } })
    }
    const body = JSON.parse(String(request.body)) as Partial<Thing>
    const key = `${namespace}/${name ?? body.metadata?.name}`
    const live = objects.get(key)
    const metadata = { ...live?.metadata, ...body.metadata, name: name ?? body.metadata?.name ?? '', namespace }
    const wanted: Thing = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { ...live?.data, ...body.data } }
    // As a real server does: a removed object is returned at its previous version.
    if (isReleased(wanted)) server.remove(metadata.name, namespace)
    const next = isReleased(wanted) ? wanted : store(wanted)
    await server.beforeAnswer?.()
    return json(request.method === 'POST' ? 201 : 200, next)
  }

  interface Selection {
    readonly namespace: string | undefined
    readonly labels: string | null
    readonly name: string | undefined
  }

  const isSelected = (object: Thing, { namespace, labels, name }: Selection): boolean => {
    if (namespace !== undefined && object.metadata.namespace !== namespace) return false
    if (name !== undefined && object.metadata.name !== name) return false
    if (!labels) return true
    const [, key = '', , set] = /^(\S+?)(=| in \()([^)]*)\)?$/.exec(labels) ?? []
    return (set ?? '').split(',').includes(object.metadata.labels?.[key] ?? '')
  }

  const list = (query: URLSearchParams, isHalf: boolean, selection: Selection): TransportResponse => {
    const limit = Number(query.get('limit') ?? Infinity) || Infinity
    const [from = 0, at = version] = (query.get('continue') ?? '').split('@').filter(Boolean).map(Number)
    if (at < compacted) return failure(410, 'Expired')
    const items = [...objects.values()].filter((object) => isSelected(object, selection)).toSorted(byName)
    const page = items.slice(from, from + limit)
    const more = from + limit < items.length
    const text = JSON.stringify({
      kind: 'ConfigMapList',
      apiVersion: 'v1',
      metadata: { resourceVersion: String(at), ...(more ? { continue: `${from + limit}@${at}` } : {}) },
      items: page.map(({ apiVersion: _a, kind: _k, ...rest }) => rest),
    })
    return respond(200, once(isHalf ? text.slice(0, Math.floor(text.length / 2)) : text, isHalf))
  }

  const startWatch = (request: TransportRequest, query: URLSearchParams, selection: Selection): TransportResponse => {
    const wantsInitial = query.get('sendInitialEvents') === 'true'
    if (wantsInitial && !server.streamsLists) return failure(422, 'Invalid')
    const startedAt = query.get('resourceVersion') ?? ''
    const from = Number(startedAt || version)
    if (!wantsInitial && from < compacted) return respond(200, once(errorLine(410, 'Expired'), false))

    const stream = textStream()
    let isMuted = false
    const finish = (): void => {
      open.delete(watch)
      bookmarks.cancel()
      timeout.cancel()
    }
    let delayed: string[] | undefined
    const send = (text: string): void => {
      if (delayed) delayed.push(text)
      else if (!isMuted) stream.push(text)
    }
    const watch: Watch = {
      startedAt,
      raw: send,
      event(event) {
        // A server cannot know versions that it has not reached: a watch from the future is silent until then.
        if (event.version <= from) return
        const is = event.type !== 'DELETED' && isSelected(event.object, selection)
        const was = event.previous !== undefined && isSelected(event.previous, selection)
        if (is) send(eventLine(was ? 'MODIFIED' : 'ADDED', event.object))
        // An object that leaves a selection is reported as deleted in its old state, at the version of the change.
        else if (was) send(eventLine('DELETED', withVersion(event.previous, event.version)))
      },
      end() {
        finish()
        stream.end()
      },
      cut(midObject = false) {
        finish()
        if (midObject) stream.push(eventLine('MODIFIED', [...objects.values()][0] ?? emptyThing).slice(0, 60))
        stream.fail(new MusterError(transportErrors.ConnectionLost, 'the connection was cut.'))
      },
      mute() {
        isMuted = true
      },
      delay() {
        delayed = []
        return () => {
          const texts = delayed ?? []
          delayed = undefined
          for (const text of texts) send(text)
        }
      },
    }
    const beat = (): void => {
      if (version >= from) send(bookmarkLine(version))
      bookmarks = clock.after(bookmarkMs, beat)
    }
    let bookmarks = clock.after(bookmarkMs, beat)
    const timeout = clock.after(Number(query.get('timeoutSeconds') ?? 3600) * 1000, () => watch.end())
    request.signal?.addEventListener('abort', () => {
      finish()
      stream.fail(request.signal!.reason as Error)
    })
    if (wantsInitial) {
      for (const object of objects.values()) if (isSelected(object, selection)) send(eventLine('ADDED', object))
      send(bookmarkLine(version, { 'k8s.io/initial-events-end': 'true' }))
    } else for (const event of history) watch.event(event)
    open.add(watch)
    return respond(200, stream.body)
  }

  return server
}

const emptyThing: Thing = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } }

function withVersion(object: Thing, version: number): Thing {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } }
}

function byName(a: Thing, b: Thing): number {
  return `${a.metadata.namespace}/${a.metadata.name}` < `${b.metadata.namespace}/${b.metadata.name}` ? -1 : 1
}

export function eventLine(type: string, object: unknown): string {
  return `${JSON.stringify({ type, object })}\n`
}

function bookmarkLine(version: number, annotations?: Readonly<Record<string, string>>): string {
  const metadata = {
    resourceVersion: String(version),
    creationTimestamp: null,
    ...(annotations ? { annotations } : {}),
  }
  return eventLine('BOOKMARK', { kind: 'ConfigMap', apiVersion: 'v1', metadata })
}

export function errorLine(code: number, reason: string): string {
  return eventLine('ERROR', { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, code, message: reason })
}

function respond(
  status: number,
  body: AsyncIterable<Uint8Array>,
  headers: Readonly<Record<string, string>> = {},
): TransportResponse {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body }
}

function json(status: number, value: unknown): TransportResponse {
  return respond(status, once(JSON.stringify(value), false))
}

function failure(code: number, reason: string, retryAfter?: number): TransportResponse {
  const status = {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    reason,
    code,
    message: `the server says ${reason}`,
  }
  const headers: Readonly<Record<string, string>> =
    retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }
  return respond(code, once(JSON.stringify(status), false), headers)
}

async function* once(text: string, isCut: boolean): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
  if (isCut) throw new MusterError(transportErrors.ConnectionLost, 'the connection was cut.')
}

function never(signal: AbortSignal | undefined): Promise<TransportResponse> {
  return new Promise((_, reject) =>
    signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
  )
}

interface TextStream {
  push(text: string): void
  end(): void
  fail(error: Error): void
  readonly body: AsyncIterable<Uint8Array>
}

/** Text written on one side, bytes read on the other. */
function textStream(): TextStream {
  const chunks: Uint8Array[] = []
  let ended: { readonly error?: Error } | undefined
  let wake = (): void => undefined
  const stir = (): void => wake()
  async function* pull(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const chunk = chunks.shift()
      if (chunk) yield chunk
      else if (ended) {
        if (ended.error) throw ended.error
        return
      } else await new Promise<void>((resolve) => (wake = resolve))
    }
  }
  return {
    push(text) {
      if (!ended) chunks.push(Buffer.from(text))
      stir()
    },
    end() {
      ended ??= {}
      stir()
    },
    fail(error) {
      ended ??= { error }
      stir()
    },
    body: pull(),
  }
}
