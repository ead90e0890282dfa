/** The verbs of a client: each is a path, a body and a way to read the response; `requester.ts` has the common part. */
import type { Clock } from '../clock/clock.ts'
import { type Random, systemRandom } from '../clock/random.ts'
import { systemClock } from '../clock/system-clock.ts'
import { clientErrors } from './errors.ts'
import { isMusterError, MusterError } from '../kube/muster-error.ts'
import { isJsonObject, type Json, stringifyJson } from '../kube/json.ts'
import { formatResource, type Resource } from '../kube/kind.ts'
import type { KubeList, KubeObject } from '../kube/object.ts'
import { whereabouts } from './api-error.ts'
import { jsonIn, readJson, readLineBatches } from './body.ts'
import type {
  Client,
  DeleteOptions,
  FieldValidation,
  ListOptions,
  ObjectRef,
  PatchOptions,
  RawRequest,
  RequestOptions,
  WatchEvent,
  WatchOptions,
  WholeListOptions,
  WriteOptions,
} from './client.ts'
import { createDiscovery } from './discovery.ts'
import { execProtocols, runCommand } from './exec.ts'
import { createFlowControl, type FlowControl, type FlowLimits } from './flow-control.ts'
import { readList, readMetadata, readMetadataList, readPages, readTable } from './list.ts'
import { mediaType, patchMediaType } from './media-type.ts'
import { collectionPath, listPath, objectPath, type Query, watchPath, withQuery } from './paths.ts'
import { createRequester } from './requester.ts'
import { defaultRetryPolicy, isRepeatable, type RetryPolicy } from './retry.ts'
import type { Transport, TransportResponse } from '../transport/transport.ts'
import type { ServerWarning } from './warning.ts'
import { decodeWatchEvent } from './watch-event.ts'

export interface ClientOptions {
  readonly transport: Transport
  /** @default the machine's */
  readonly clock?: Clock | undefined
  /** @default the machine's */
  readonly random?: Random | undefined
  /** Rate limit of this client, or a limiter shared by all clients of one identity. @default false: left to the server */
  readonly flow?: FlowControl | FlowLimits | false | undefined
  readonly retry?: Partial<RetryPolicy> | undefined
  /** Time-out of requests without one. @default 30_000 */
  readonly timeoutMs?: number | undefined
  /** Page size of lists without a limit. @default 500 */
  readonly pageSize?: number | undefined
  /** @default "muster" */
  readonly userAgent?: string | undefined
  /** Field manager of writes without one; by default the server derives it from the user agent. */
  readonly fieldManager?: string | undefined
  /** `fieldValidation` of writes without one. @default the server's, `Warn` */
  readonly fieldValidation?: FieldValidation | undefined
  /** Called with the warnings of the server, of successful responses too. */
  readonly onWarning?: ((warning: ServerWarning, request: Pick<RawRequest, 'method' | 'path'>) => void) | undefined
}

const pods: Resource = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true }
const serviceAccounts: Resource = { ...pods, kind: 'ServiceAccount', plural: 'serviceaccounts' }

export function createClient(options: ClientOptions): Client {
  const { transport, clock = systemClock, random = systemRandom, pageSize = 500 } = options
  const requester = createRequester({
    transport,
    clock,
    random,
    flow: flowOf(options.flow, clock),
    retry: { ...defaultRetryPolicy, ...options.retry },
    timeoutMs: options.timeoutMs ?? 30_000,
    userAgent: options.userAgent ?? 'muster',
    onWarning: options.onWarning,
  })
  const discovery = createDiscovery({ request: (raw) => requester.request(raw), clock })

  const request: Client['request'] = async (raw) => {
    try {
      return await requester.request(raw)
    } catch (error) {
      if (isMusterError(error, clientErrors.KindNotServed)) discovery.suspect()
      throw error
    }
  }
  /** A complete body needs no waiting. */
  const jsonOf = ({ json, whole, body }: TransportResponse, raw: RawRequest): Json | Promise<Json> =>
    json ?? (whole ? jsonIn(whole, whereabouts(raw)) : readJson(body, whereabouts(raw)))

  const ask = async (raw: RawRequest): Promise<Json> => jsonOf(await request(raw), raw)

  /** A response that must be an object; its type is the one that the caller claims. */
  const askObject = async <T>(raw: RawRequest): Promise<T> => {
    const answer = await jsonOf(await request(raw), raw)
    if (!isJsonObject(answer))
      throw new MusterError(clientErrors.UnexpectedAnswer, `${whereabouts(raw)}: no object came.`)
    return answer as T
  }

  const write = <T>(
    method: 'POST' | 'PUT' | 'PATCH',
    path: string,
    body: unknown,
    writing: WriteOptions & { readonly query?: Query; readonly contentType?: string; readonly repeatable: boolean },
  ): Promise<T> =>
    askObject<T>({
      method,
      path: withQuery(path, {
        dryRun: writing.dryRun ? 'All' : undefined,
        fieldManager: writing.fieldManager ?? options.fieldManager,
        fieldValidation: writing.fieldValidation ?? options.fieldValidation,
        ...writing.query,
      }),
      headers: { 'content-type': writing.contentType ?? mediaType.json, ...impersonating(writing) },
      body: stringifyJson(body),
      repeatable: writing.repeatable,
      ...limitsOf(writing),
    })

  const patch = async <T extends KubeObject>(
    resource: Resource,
    ref: ObjectRef,
    body: unknown,
    patching: PatchOptions,
  ): Promise<T> =>
    await write<T>('PATCH', objectPath(resource, ref, patching.subresource), body, {
      ...patching,
      contentType: patchMediaType[patching.type],
      query: { force: patching.type === 'apply' ? patching.force : undefined },
      repeatable: isRepeatable({ verb: 'patch', dryRun: patching.dryRun, type: patching.type, patch: body }),
    })

  const page = async <T extends KubeObject>(
    resource: Resource,
    listing: ListOptions,
    accept: string,
    read: (resource: Resource, answer: Json) => KubeList<T>,
  ): Promise<KubeList<T>> => {
    const path = listPath(resource, { ...listing, limit: listing.limit ?? pageSize })
    const headers = { accept, ...impersonating(listing) }
    return read(resource, await ask({ method: 'GET', path, headers, ...limitsOf(listing) }))
  }

  const client: Client = {
    discovery,
    transport,
    request,

    get: async (resource, ref, getting = {}) => {
      const path = objectPath(resource, ref, getting.subresource)
      const { resourceVersion } = getting
      const headers = impersonating(getting)
      return await askObject({
        method: 'GET',
        path: withQuery(path, { resourceVersion }),
        headers,
        ...limitsOf(getting),
      })
    },
    listPage: async <T extends KubeObject>(resource: Resource, listing: ListOptions = {}) =>
      await page<T>(resource, listing, mediaType.json, readList),
    list: async <T extends KubeObject>(resource: Resource, listing: WholeListOptions = {}) =>
      await readPages(resource, listing, (one) => page<T>(resource, one, mediaType.json, readList)),
    watch: (resource, watching = {}) => watched(request, resource, watching),

    create: async (resource, object, writing = {}) => {
      const { name = '', namespace } = object.metadata
      // Only subresources are created under a name in the path.
      const path = writing.subresource
        ? objectPath(resource, { name, namespace }, writing.subresource)
        : collectionPath(resource, namespace)
      const repeatable = isRepeatable({ verb: 'create', dryRun: writing.dryRun })
      return await write('POST', path, object, { ...writing, repeatable })
    },
    update: async (resource, object, writing = {}) => {
      const path = objectPath(resource, refOf(object), writing.subresource)
      const repeatable = isRepeatable({ verb: 'update', dryRun: writing.dryRun, object })
      return await write('PUT', path, object, { ...writing, repeatable })
    },
    patch,
    apply: async (resource, object, { createOnly, ...applying }) =>
      await patch(resource, refOf(object), createOnly ? withoutPredecessor(object) : object, {
        ...applying,
        type: 'apply',
      }),
    delete: async (resource, ref, deleting = {}) =>
      await askObject({
        method: 'DELETE',
        path: objectPath(resource, ref),
        headers: impersonating(deleting),
        ...deleteBody(deleting),
        repeatable: isRepeatable({ verb: 'delete', ...deleting }),
        ...limitsOf(deleting),
      }),
    deleteCollection: async (resource, deleting = {}) => {
      const { namespace, labelSelector, fieldSelector } = deleting
      const path = withQuery(collectionPath(resource, namespace), {
        labelSelector: labelSelector || undefined,
        fieldSelector: fieldSelector || undefined,
      })
      const repeatable = isRepeatable({ verb: 'deleteCollection', dryRun: deleting.dryRun })
      await ask({ method: 'DELETE', path, ...deleteBody(deleting), repeatable, ...limitsOf(deleting) })
    },

    getScale: async (resource, ref, getting = {}) =>
      await client.get(resource, ref, { ...getting, subresource: 'scale' }),
    setScale: async (resource, ref, replicas, writing = {}) =>
      await patch(resource, ref, { spec: { replicas } }, { ...writing, type: 'merge', subresource: 'scale' }),
    evict: async (pod, evicting = {}) => {
      const { dryRun, signal, timeoutMs, ...rest } = evicting
      const eviction = {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name: pod.name, namespace: pod.namespace },
        deleteOptions: deleteOptions(rest),
      }
      const repeatable = isRepeatable({ verb: 'create', dryRun })
      await write('POST', objectPath(pods, pod, 'eviction'), eviction, { dryRun, signal, timeoutMs, repeatable })
    },
    createToken: async (serviceAccount, asking = {}) => {
      const { audiences, expirationSeconds } = asking
      const path = objectPath(serviceAccounts, serviceAccount, 'token')
      const tokenRequest = {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { audiences, expirationSeconds },
      }
      const answer = await write<{ readonly status?: Json }>('POST', path, tokenRequest, {
        ...limitsOf(asking),
        repeatable: false,
      })
      const { token, expirationTimestamp } = isJsonObject(answer.status) ? answer.status : {}
      if (typeof token !== 'string' || typeof expirationTimestamp !== 'string') {
        throw new MusterError(clientErrors.UnexpectedAnswer, `POST ${path}: the answer holds no token.`)
      }
      return { token, expirationTimestamp }
    },

    getMetadata: async (resource, ref, getting = {}) => {
      const path = withQuery(objectPath(resource, ref, getting.subresource), {
        resourceVersion: getting.resourceVersion,
      })
      const headers = { accept: mediaType.metadata }
      return readMetadata(resource, await ask({ method: 'GET', path, headers, ...limitsOf(getting) }))
    },
    listMetadata: async (resource, listing = {}) =>
      await readPages(resource, listing, (one) => page(resource, one, mediaType.metadataList, readMetadataList)),
    table: async (resource, { name, ...listing } = {}) => {
      const path =
        name === undefined
          ? listPath(resource, { ...listing, limit: listing.limit ?? pageSize })
          : objectPath(resource, { name, namespace: listing.namespace })
      const headers = { accept: mediaType.table }
      return readTable(resource, await ask({ method: 'GET', path, headers, ...limitsOf(listing) }))
    },

    async *logs(pod, { signal, timeoutMs, ...query } = {}) {
      const path = withQuery(objectPath(pods, pod, 'log'), query)
      const headers = { accept: '*/*' }
      const { body } = await request({ method: 'GET', path, headers, streaming: true, signal, timeoutMs })
      yield* body
    },
    exec: async (pod, command, executing = {}) => {
      const { stdin, tty = false, container } = executing
      const path = withQuery(objectPath(pods, pod, 'exec'), {
        command,
        container,
        stdin: stdin !== undefined,
        stdout: true,
        // A terminal has only one output.
        stderr: !tty,
        tty,
      })
      const raw: RawRequest = { method: 'GET', path, repeatable: false, ...limitsOf(executing) }
      const stream = await requester.connect(raw, execProtocols)
      return await runCommand(stream, executing, clock, `exec in pod ${pod.namespace}/${pod.name}`)
    },

    stats: () => requester.stats(),
    close: async () => await transport.close(),
  }
  return client
}

/** At module level: objects referenced by generators inside each client would survive minor garbage collections. */
async function* watched<T extends KubeObject>(
  request: Client['request'],
  resource: Resource,
  watching: WatchOptions,
): AsyncGenerator<WatchEvent<T>> {
  const raw: RawRequest = { method: 'GET', path: watchPath(resource, watching), streaming: true }
  const { body } = await request({ ...raw, ...limitsOf(watching) })
  const what = `watch of ${formatResource(resource)}`
  for await (const lines of readLineBatches(body, { what })) {
    for (const line of lines) yield decodeWatchEvent(line, what)
  }
}

function flowOf(flow: ClientOptions['flow'], clock: Clock): FlowControl | undefined {
  if (!flow) return undefined
  return 'take' in flow ? flow : createFlowControl(flow, clock)
}

function limitsOf({ signal, timeoutMs }: RequestOptions): RequestOptions {
  return { signal, timeoutMs }
}

function impersonating({ impersonate }: Pick<WriteOptions, 'impersonate'>): Readonly<Record<string, string>> {
  // Header values are bytes.
  return impersonate === undefined ? {} : { 'impersonate-user': Buffer.from(impersonate, 'utf8').toString('latin1') }
}

function refOf(object: KubeObject): ObjectRef {
  return { name: object.metadata.name ?? '', namespace: object.metadata.namespace }
}

function deleteOptions(deleting: DeleteOptions): Readonly<Record<string, unknown>> {
  return {
    dryRun: deleting.dryRun ? ['All'] : undefined,
    gracePeriodSeconds: deleting.gracePeriodSeconds,
    propagationPolicy: deleting.propagation,
    preconditions: deleting.preconditions,
  }
}

/**
 * Server-side apply has no option for "create only". A resource version that no object can have does the same: the API
 * server ignores it when it creates the object, and answers 409 Conflict when the object exists.
 */
function withoutPredecessor<T extends KubeObject>(object: T): T {
  return { ...object, metadata: { ...object.metadata, resourceVersion: '1' } }
}

function deleteBody(deleting: DeleteOptions): Pick<RawRequest, 'body'> {
  const chosen = deleteOptions(deleting)
  if (Object.values(chosen).every((value) => value === undefined)) return {}
  return { body: stringifyJson({ apiVersion: 'v1', kind: 'DeleteOptions', ...chosen }) }
}
