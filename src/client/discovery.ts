/**
 * Discovery: which resources a server serves, fetched on first use and cached.
 *
 * The core group is one document (`/api`), all others a second one (`/apis`); from servers without aggregated discovery each
 * group version is fetched separately, when one of its kinds is requested. A missing kind causes a new fetch, since a CRD may
 * have been added; but at most one every few seconds, so that a thousand lookups of a missing CRD cost the server one request.
 * An unchanged document costs a 304.
 */
import type { Clock } from '../clock/clock.ts'
import { clientErrors } from './errors.ts'
import { isMusterError, MusterError } from '../kube/muster-error.ts'
import { formatApiVersion, type GroupVersion, type GroupVersionKind } from '../kube/kind.ts'
import { readJson } from './body.ts'
import type { DiscoveredResource, Discovery, RawRequest } from './client.ts'
import { Deadline } from './deadline.ts'
import { readResourceList, readRoot, type RootDocument } from './discovery-document.ts'
import { mediaType } from './media-type.ts'
import type { TransportResponse } from '../transport/transport.ts'

interface DiscoveryOptions {
  readonly request: (request: RawRequest) => Promise<TransportResponse>
  readonly clock: Clock
}

interface CachedDiscovery extends Discovery {
  /** The server responded 404 to a path that discovery listed: the cache may be out of date. */
  suspect(): void
}

/** A document as last fetched. */
interface Held<T> {
  readonly value: T
  readonly fetchedAt: number
  readonly etag: string | undefined
  /** Must be fetched again before use. */
  readonly isForgotten: boolean
}

/** A document with at most one fetch at a time; concurrent callers share its result. */
interface Source<T> {
  /** The cached document; fetched if there is none. */
  get(): Promise<T>
  /** The document, fetched again unless that was done just now. */
  renew(): Promise<T>
  forget(olderThanMs: number): void
}

type Root = '/api' | '/apis'

/** Minimum interval between fetches caused by a missing kind. */
const restMs = 5_000

/** Parsed documents by their bytes: an in-process server sends the same bytes to every client. */
const readRoots = new WeakMap<Uint8Array, RootDocument>()

export function createDiscovery({ request, clock }: DiscoveryOptions): CachedDiscovery {
  /** A clock that was set back says nothing about the age: the document counts as old, or a new CRD would not be seen for hours. */
  const ageOf = ({ fetchedAt }: Pick<Held<unknown>, 'fetchedAt'>): number =>
    clock.now() < fetchedAt ? Number.POSITIVE_INFINITY : clock.now() - fetchedAt
  function source<T>(
    fetch: (held: Held<T> | undefined) => Promise<Omit<Held<T>, 'fetchedAt' | 'isForgotten'>>,
  ): Source<T> {
    let held: Held<T> | undefined
    let pending: Promise<T> | undefined
    let epoch = 0
    const fetchAnew = (): Promise<T> => {
      if (pending) return pending
      const begunIn = epoch
      const fetching = fetch(held)
        .then((fetched) => {
          // If the cache was dropped meanwhile, the result is valid only for callers that asked before.
          if (epoch === begunIn) held = { ...fetched, fetchedAt: clock.now(), isForgotten: false }
          return fetched.value
        })
        .finally(() => {
          if (pending === fetching) pending = undefined
        })
      pending = fetching
      return fetching
    }
    return {
      get: () => (held && !held.isForgotten ? Promise.resolve(held.value) : fetchAnew()),
      renew: () => {
        const isFresh = held && !held.isForgotten && ageOf(held) < restMs
        return held && isFresh ? Promise.resolve(held.value) : fetchAnew()
      },
      forget: (olderThanMs) => {
        const age = held ? ageOf(held) : 0
        if (age < olderThanMs) return
        epoch++
        pending = undefined
        if (held) held = { ...held, isForgotten: true }
      },
    }
  }

  const rootSource = (path: Root): Source<RootDocument> =>
    source(async (held) => {
      const conditional = held?.etag === undefined ? undefined : { 'if-none-match': held.etag }
      const headers = { accept: mediaType.discovery, ...conditional }
      const response = await request({ method: 'GET', path, headers })
      if (response.status === 304 && held) return { value: held.value, etag: held.etag }
      const value =
        (response.whole && readRoots.get(response.whole)) ?? readRoot(await readJson(response.body, `GET ${path}`))
      if (!value)
        throw new MusterError(clientErrors.UnexpectedAnswer, `GET ${path}: the response is not a list of API groups.`)
      if (response.whole) readRoots.set(response.whole, value)
      return { value: held ? keepingDown(held.value, value) : value, etag: response.headers['etag'] }
    })

  const versionSource = (at: GroupVersion): Source<readonly DiscoveredResource[]> =>
    source(async () => {
      const path = at.group === '' ? `/api/${at.version}` : `/apis/${at.group}/${at.version}`
      try {
        const { body } = await request({ method: 'GET', path })
        return { value: readResourceList(at, await readJson(body, `GET ${path}`)), etag: undefined }
      } catch (error) {
        if (isMusterError(error, clientErrors.NotFound, clientErrors.KindNotServed))
          return { value: [], etag: undefined }
        throw error
      }
    })

  const roots: Readonly<Record<Root, Source<RootDocument>>> = {
    '/api': rootSource('/api'),
    '/apis': rootSource('/apis'),
  }
  /** For servers without aggregated discovery: one document per requested group version. */
  const versions = new Map<string, Source<readonly DiscoveredResource[]>>()
  const versionOf = (at: GroupVersion): Source<readonly DiscoveredResource[]> => {
    const key = formatApiVersion(at)
    const known = versions.get(key) ?? versionSource(at)
    versions.set(key, known)
    return known
  }

  const find = async (kind: GroupVersionKind): Promise<DiscoveredResource | undefined> => {
    const root = roots[kind.group === '' ? '/api' : '/apis']
    const document = await root.get()
    if (document.form === 'grouped') {
      const list = versionOf(kind)
      return pick(await list.get(), kind) ?? pick(await list.renew(), kind)
    }
    const known = pick(document.resources, kind)
    if (known) return known
    const renewed = await root.renew()
    // The server was upgraded or downgraded in between; the next lookup detects the form.
    if (renewed.form === 'grouped') return pick(await versionOf(kind).get(), kind)
    const found = pick(renewed.resources, kind)
    const apiVersion = formatApiVersion(kind)
    if (!found && renewed.down.has(apiVersion)) {
      throw new MusterError(clientErrors.ServiceUnavailable, `${kind.kind}: the server behind ${apiVersion} is down.`)
    }
    return found
  }

  const everything = async (root: Root): Promise<readonly DiscoveredResource[]> => {
    const document = await roots[root].get()
    if (document.form === 'aggregated') return document.resources
    // One aggregated server that is down must not hide the others.
    const lists = document.versions.map((at) =>
      versionOf(at)
        .get()
        .catch(() => []),
    )
    return (await Promise.all(lists)).flat()
  }

  /** Fetches are shared, so they continue after one caller aborts. */
  const forCaller = async <T>(
    what: string,
    work: () => Promise<T>,
    limits: Parameters<Discovery['resources']>[0],
  ): Promise<T> => {
    const timeoutMs = limits?.timeoutMs ?? Number.POSITIVE_INFINITY
    const deadline = new Deadline({ clock, timeoutMs, signal: limits?.signal, what })
    try {
      deadline.signal.throwIfAborted()
      return await deadline.race(work())
    } finally {
      deadline.release()
    }
  }

  const forget = (olderThanMs: number): void => {
    for (const one of [...Object.values(roots), ...versions.values()]) one.forget(olderThanMs)
  }

  return {
    resourceFor: (kind, limits) => forCaller(`discovery of ${kind.kind}`, () => find(kind), limits),
    resources: (limits) =>
      forCaller('discovery', async () => (await Promise.all([everything('/api'), everything('/apis')])).flat(), limits),
    invalidate: () => forget(0),
    suspect: () => forget(restMs),
  }
}

function pick(resources: readonly DiscoveredResource[], kind: GroupVersionKind): DiscoveredResource | undefined {
  return resources.find((one) => one.kind === kind.kind && one.group === kind.group && one.version === kind.version)
}

/** An aggregated server that is down disappears from the document; its resources of before still belong to it. */
function keepingDown(before: RootDocument, now: RootDocument): RootDocument {
  if (before.form !== 'aggregated' || now.form !== 'aggregated' || now.down.size === 0) return now
  const listed = new Set(now.resources.map(formatApiVersion))
  const kept = before.resources.filter((one) => {
    const apiVersion = formatApiVersion(one)
    return now.down.has(apiVersion) && !listed.has(apiVersion)
  })
  return kept.length === 0 ? now : { ...now, resources: [...now.resources, ...kept] }
}
