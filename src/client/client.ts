/**
 * A client of one API server: the verbs of Kubernetes on any resource, typed by the caller.
 *
 * Every method takes a resource (see {@link Discovery}), never a kind alone: only the server knows which resources it serves.
 * Every failure is a MusterError; one that the server reported is an `ApiError` with its Status.
 */
import type { Json } from '../kube/json.ts'
import type { GroupVersionKind, Resource } from '../kube/kind.ts'
import type { TypedResource } from '../kube/typed-resource.ts'
import type { KubeList, KubeObject, Named, NamedMeta, Status, UntypedObject } from '../kube/object.ts'
import type { FlowSnapshot } from './flow-control.ts'
import type { Method, Transport, TransportResponse } from '../transport/transport.ts'

/** Namespace and name. `namespace` is omitted for cluster-scoped resources and for lists over all namespaces. */
export interface ObjectRef {
  readonly name: string
  readonly namespace?: string | undefined
}

export interface RequestOptions {
  /** Aborts the request at once, in any phase: waiting for flow control, for a retry, for the response, or in a stream. */
  readonly signal?: AbortSignal | undefined
  /**
   * Time-out of the whole request, including retries, flow control and reading the response.
   * For streams (watch, logs, exec) it limits the time until they are open. @default 30_000
   */
  readonly timeoutMs?: number | undefined
}

export interface GetOptions extends RequestOptions {
  readonly resourceVersion?: string | undefined
  readonly subresource?: string | undefined
  /** The user on whose behalf the request is made: the connection's account must be allowed to impersonate it. @default itself */
  readonly impersonate?: string | undefined
}

export interface ListOptions extends RequestOptions {
  readonly namespace?: string | undefined
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
  readonly resourceVersion?: string | undefined
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan' | undefined
  /** Objects per page; 0 requests all of them at once. @default 500 */
  readonly limit?: number | undefined
  readonly continue?: string | undefined
  /** The user on whose behalf the request is made: the connection's account must be allowed to impersonate it. @default itself */
  readonly impersonate?: string | undefined
}

export type WholeListOptions = Omit<ListOptions, 'continue'>

export interface WatchOptions extends RequestOptions {
  readonly namespace?: string | undefined
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
  readonly resourceVersion?: string | undefined
  /** Servers accept it only with `sendInitialEvents`, and require it there. @default "NotOlderThan" there */
  readonly resourceVersionMatch?: 'NotOlderThan' | undefined
  readonly allowBookmarks?: boolean | undefined
  /** The stream begins with the existing objects; a bookmark marks their end. */
  readonly sendInitialEvents?: boolean | undefined
  /** The server ends the watch after this time. */
  readonly timeoutSeconds?: number | undefined
}

export type FieldValidation = 'Strict' | 'Warn' | 'Ignore'

export interface WriteOptions extends RequestOptions {
  readonly dryRun?: boolean | undefined
  readonly fieldManager?: string | undefined
  readonly fieldValidation?: FieldValidation | undefined
  readonly subresource?: string | undefined
  /** The user on whose behalf the request is made: the connection's account must be allowed to impersonate it. @default itself */
  readonly impersonate?: string | undefined
}

export type PatchType = 'json' | 'merge' | 'strategic' | 'apply'

export interface PatchOptions extends WriteOptions {
  readonly type: PatchType
  /** Takes ownership of fields of other field managers; `apply` only. */
  readonly force?: boolean | undefined
}

export interface DeleteOptions extends RequestOptions {
  readonly dryRun?: boolean | undefined
  readonly gracePeriodSeconds?: number | undefined
  /** The user on whose behalf the request is made: the connection's account must be allowed to impersonate it. @default itself */
  readonly impersonate?: string | undefined
  readonly propagation?: 'Foreground' | 'Background' | 'Orphan' | undefined
  /** Preconditions: the delete fails with `Conflict` if the object is another one. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string } | undefined
}

export type WatchEvent<T extends KubeObject = UntypedObject> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: Named<T> }
  | { readonly type: 'BOOKMARK'; readonly object: Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'> }
  | { readonly type: 'ERROR'; readonly object: Status }

/** Metadata of an object; `kind` and `apiVersion` are those of the object itself. */
export interface MetadataObject extends KubeObject {
  readonly metadata: NamedMeta
}

interface ServerSideApplyOptions extends Omit<PatchOptions, 'type'> {
  readonly fieldManager: string
  /** Fails with `Conflict` if the object exists, even if it has none of the applied fields. @default false */
  readonly createOnly?: boolean | undefined
}

export interface Table {
  readonly columnDefinitions: readonly {
    readonly name: string
    readonly type: string
    readonly format?: string
    readonly description?: string
    readonly priority?: number
  }[]
  readonly rows: readonly { readonly cells: readonly Json[]; readonly object?: MetadataObject }[]
  readonly metadata: KubeList['metadata']
}

export interface Scale extends KubeObject {
  readonly spec: { readonly replicas?: number }
  readonly status?: { readonly replicas: number; readonly selector?: string }
}

export interface TokenRequestOptions extends RequestOptions {
  readonly audiences?: readonly string[] | undefined
  readonly expirationSeconds?: number | undefined
}

export interface LogOptions extends RequestOptions {
  readonly container?: string | undefined
  readonly follow?: boolean | undefined
  readonly previous?: boolean | undefined
  readonly timestamps?: boolean | undefined
  readonly sinceSeconds?: number | undefined
  readonly tailLines?: number | undefined
  readonly limitBytes?: number | undefined
}

export interface ExecOptions extends RequestOptions {
  readonly container?: string | undefined
  readonly stdin?: AsyncIterable<Uint8Array> | undefined
  readonly tty?: boolean | undefined
  readonly onStdout?: ((chunk: Uint8Array) => void) | undefined
  readonly onStderr?: ((chunk: Uint8Array) => void) | undefined
  /** The size of the terminal, whenever it changes; with `tty` only. */
  readonly sizes?: AsyncIterable<TerminalSize> | undefined
}

export interface TerminalSize {
  readonly columns: number
  readonly rows: number
}

export interface ExecResult {
  readonly exitCode: number
}

/** One request below the verbs: the caller builds the path; flow control, retries and errors are handled. */
export interface RawRequest extends RequestOptions {
  readonly method: Method
  readonly path: string
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: string | Uint8Array | undefined
  /**
   * The response is returned as it arrives (watch, logs), and only its head is timed. Otherwise `body` is complete when
   * `request` returns: a truncated response has been retried.
   */
  readonly streaming?: boolean | undefined
  /** The request is idempotent, see `retry.ts`. @default true for GET, false for all others */
  readonly repeatable?: boolean | undefined
  /** False: no retries; the caller has a loop of its own. @default true */
  readonly retry?: boolean | undefined
}

export interface Discovery {
  /**
   * The resource of a kind; sends a request if it is not known yet. `undefined`: the server does not serve it.
   * If the aggregated API server of the kind is down, fails with `ServiceUnavailable`: it is unknown whether it is served.
   */
  resourceFor(kind: GroupVersionKind, options?: RequestOptions): Promise<Resource | undefined>
  /** All resources by group, the preferred version first. Groups whose server is down are missing. */
  resources(options?: RequestOptions): Promise<readonly DiscoveredResource[]>
  /** Drops the cached discovery documents: a CRD was added or removed. */
  invalidate(): void
}

export interface DiscoveredResource extends Resource {
  readonly singular: string
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly verbs: readonly string[]
  /** `status`, `scale`, `log` …: the part of the URL after the name. */
  readonly subresources: readonly string[]
}

/** Counters of a client since its creation; for metrics. */
export interface ClientStats {
  /** Requests sent, including retries. */
  readonly requests: number
  readonly retries: number
  /** Time spent waiting before retries, `Retry-After` included. */
  readonly retryWaitMs: number
  /** This client's rate limiter; other clients of the same identity may share it. */
  readonly flow?: FlowSnapshot | undefined
}

export interface Client {
  readonly discovery: Discovery
  readonly transport: Transport

  get<T extends KubeObject = UntypedObject>(
    resource: TypedResource<T>,
    ref: ObjectRef,
    options?: GetOptions,
  ): Promise<Named<T>>
  /** One page. `metadata.continue` of the response requests the next one. */
  listPage<T extends KubeObject = UntypedObject>(
    resource: TypedResource<T>,
    options?: ListOptions,
  ): Promise<KubeList<Named<T>>>
  /**
   * All objects, page by page; `timeoutMs` applies to each page. A continue token that expires restarts the list once, without
   * pages.
   */
  list<T extends KubeObject = UntypedObject>(
    resource: TypedResource<T>,
    options?: WholeListOptions,
  ): Promise<KubeList<Named<T>>>
  /** The events of a watch until the server ends it, `ERROR` included. Starts when iterated, is closed by `break`. */
  watch<T extends KubeObject = UntypedObject>(
    resource: TypedResource<T>,
    options?: WatchOptions,
  ): AsyncIterable<WatchEvent<T>>

  /** The result has, in addition to the object sent, the metadata that the server added. */
  create<T extends KubeObject>(resource: Resource, object: T, options?: WriteOptions): Promise<Named<T>>
  update<T extends KubeObject>(resource: Resource, object: T, options?: WriteOptions): Promise<Named<T>>
  patch<T extends KubeObject = UntypedObject>(
    resource: TypedResource<T>,
    ref: ObjectRef,
    patch: unknown,
    options: PatchOptions,
  ): Promise<Named<T>>
  /** Server-side apply: the field manager becomes the owner of the fields in `object`. */
  apply<T extends KubeObject>(resource: Resource, object: T, options: ServerSideApplyOptions): Promise<Named<T>>
  delete<T extends KubeObject = UntypedObject>(
    resource: Resource,
    ref: ObjectRef,
    options?: DeleteOptions,
  ): Promise<Named<T> | Status>
  deleteCollection(
    resource: Resource,
    options?: Pick<ListOptions, 'namespace' | 'labelSelector' | 'fieldSelector'> & DeleteOptions,
  ): Promise<void>

  getScale(resource: Resource, ref: ObjectRef, options?: GetOptions): Promise<Scale>
  setScale(resource: Resource, ref: ObjectRef, replicas: number, options?: WriteOptions): Promise<Scale>
  /** Deletes a Pod if its disruption budgets allow it; otherwise fails with `TooManyRequests`. */
  evict(pod: ObjectRef, options?: DeleteOptions): Promise<void>
  createToken(
    serviceAccount: ObjectRef,
    options?: TokenRequestOptions,
  ): Promise<{ readonly token: string; readonly expirationTimestamp: string }>

  getMetadata(resource: Resource, ref: ObjectRef, options?: GetOptions): Promise<MetadataObject>
  listMetadata(resource: Resource, options?: WholeListOptions): Promise<KubeList<MetadataObject>>
  table(resource: Resource, options?: ListOptions & { readonly name?: string }): Promise<Table>

  logs(pod: ObjectRef, options?: LogOptions): AsyncIterable<Uint8Array>
  /** Runs a command to its end. A non-zero exit code is a result; a command that could not be started is `ExecFailed`. */
  exec(pod: ObjectRef, command: readonly string[], options?: ExecOptions): Promise<ExecResult>

  /**
   * The request below the verbs. Throws a MusterError for every response that is not 2xx, except a 304 to a request with
   * `if-none-match`.
   */
  request(request: RawRequest): Promise<TransportResponse>
  stats(): ClientStats
  close(): Promise<void>
}
