/**
 * A client of one API server: the verbs of Kubernetes on any resource, typed by the caller.
 *
 * Every method takes a resource (see {@link Discovery}), never a kind alone: what the server serves is the server's
 * to say. Every failure is a MusterError; one that the server reported is an `ApiError` with its Status.
 */
import type { Json } from '../kube/json.ts'
import type { GroupVersionKind, Resource, TypedResource } from '../kube/kind.ts'
import type { KubeList, KubeObject, ObjectMeta, Status, UntypedObject } from '../kube/object.ts'
import type { FlowSnapshot } from './flow-control.ts'
import type { Method, Transport, TransportResponse } from '../transport/transport.ts'

/** Where an object is. `namespace` is left out for cluster-scoped resources and for lists over all namespaces. */
export interface ObjectRef {
  readonly name: string
  readonly namespace?: string | undefined
}

export interface RequestOptions {
  /** Ends the request at once, wherever it is: waiting for its turn, for a retry, for the answer, in a stream. */
  readonly signal?: AbortSignal | undefined
  /**
   * The longest the whole request may take: retries, waiting for flow control and reading the answer included.
   * For streams (watch, logs, exec) it limits the time until they are open. @default 30_000
   */
  readonly timeoutMs?: number | undefined
}

export interface GetOptions extends RequestOptions {
  readonly resourceVersion?: string | undefined
  readonly subresource?: string | undefined
}

export interface ListOptions extends RequestOptions {
  readonly namespace?: string | undefined
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
  readonly resourceVersion?: string | undefined
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan' | undefined
  /** Objects a page; 0 asks for all of them at once. @default 500 */
  readonly limit?: number | undefined
  readonly continue?: string | undefined
}

export type WholeListOptions = Omit<ListOptions, 'continue'>

export interface WatchOptions extends RequestOptions {
  readonly namespace?: string | undefined
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
  readonly resourceVersion?: string | undefined
  /** Servers take it with `sendInitialEvents` alone, and ask for it there. @default "NotOlderThan" there */
  readonly resourceVersionMatch?: 'NotOlderThan' | undefined
  readonly allowBookmarks?: boolean | undefined
  /** The objects there are come first, as a stream; a bookmark marks their end. */
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
}

export type PatchType = 'json' | 'merge' | 'strategic' | 'apply'

export interface PatchOptions extends WriteOptions {
  readonly type: PatchType
  /** Takes over fields of other managers; `apply` only. */
  readonly force?: boolean | undefined
}

export interface DeleteOptions extends RequestOptions {
  readonly dryRun?: boolean | undefined
  readonly gracePeriodSeconds?: number | undefined
  readonly propagation?: 'Foreground' | 'Background' | 'Orphan' | undefined
  /** The delete fails with `Conflict` unless the object still is this one. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string } | undefined
}

export type WatchEvent<T extends KubeObject = UntypedObject> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  | { readonly type: 'BOOKMARK'; readonly object: Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'> }
  | { readonly type: 'ERROR'; readonly object: Status }

/** Metadata of an object; `kind` and `apiVersion` are those of the object itself. */
export interface MetadataObject extends KubeObject {
  readonly metadata: ObjectMeta
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

/** One request below the verbs: the path is built, everything else (flow control, retries, errors) is done. */
export interface RawRequest extends RequestOptions {
  readonly method: Method
  readonly path: string
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: string | Uint8Array | undefined
  /**
   * The answer is handed over as it arrives (watch, logs), and only its head is timed. Otherwise `body` is there
   * whole when `request` returns: an answer cut off half-way has been asked for again.
   */
  readonly streaming?: boolean | undefined
  /** Asking twice does no more than asking once, see `retry.ts`. @default true for GET, false for all others */
  readonly repeatable?: boolean | undefined
  /** False: the caller has a loop of its own and wants to hear of each failure. @default true */
  readonly retry?: boolean | undefined
}

export interface Discovery {
  /**
   * The resource of a kind; asks the server when it is not known yet. `undefined`: the server does not serve it.
   * A kind whose server is down fails with `ServiceUnavailable`: nobody can tell.
   */
  resourceFor(kind: GroupVersionKind, options?: RequestOptions): Promise<Resource | undefined>
  /** Every resource served, group by group, the preferred version of each first. Groups that are down are left out. */
  resources(options?: RequestOptions): Promise<readonly DiscoveredResource[]>
  /** Forgets what is known: a CRD came or went. */
  invalidate(): void
}

export interface DiscoveredResource extends Resource {
  readonly singular: string
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly verbs: readonly string[]
  /** `status`, `scale`, `log` …: what follows the name in the URL. */
  readonly subresources: readonly string[]
}

/** What a client has done since it was made; for metrics. */
export interface ClientStats {
  /** Requests sent, each retry counted. */
  readonly requests: number
  readonly retries: number
  /** Time spent waiting before retries, `Retry-After` included. */
  readonly retryWaitMs: number
  /** The bucket that this client takes from; others of the same identity may take from it too. */
  readonly flow?: FlowSnapshot | undefined
}

export interface Client {
  readonly discovery: Discovery
  readonly transport: Transport

  get<T extends KubeObject = UntypedObject>(
    resource: TypedResource<T>,
    ref: ObjectRef,
    options?: GetOptions,
  ): Promise<T>
  /** One page. `metadata.continue` of the answer asks for the next. */
  listPage<T extends KubeObject = UntypedObject>(
    resource: TypedResource<T>,
    options?: ListOptions,
  ): Promise<KubeList<T>>
  /**
   * All objects, page by page; `timeoutMs` holds for each page. A continue token that expires half-way restarts the
   * list once, without pages.
   */
  list<T extends KubeObject = UntypedObject>(
    resource: TypedResource<T>,
    options?: WholeListOptions,
  ): Promise<KubeList<T>>
  /** The server's events until it ends the watch; `ERROR` is one of them. Starts when iterated, leaves on `break`. */
  watch<T extends KubeObject = UntypedObject>(
    resource: TypedResource<T>,
    options?: WatchOptions,
  ): AsyncIterable<WatchEvent<T>>

  /** What comes back has, beside what was sent, the metadata that the server gave it. */
  create<T extends KubeObject>(resource: Resource, object: T, options?: WriteOptions): Promise<T & KubeObject>
  update<T extends KubeObject>(resource: Resource, object: T, options?: WriteOptions): Promise<T & KubeObject>
  patch<T extends KubeObject = UntypedObject>(
    resource: TypedResource<T>,
    ref: ObjectRef,
    patch: unknown,
    options: PatchOptions,
  ): Promise<T>
  /** Server-side apply: what `object` holds becomes this manager's. */
  apply<T extends KubeObject>(
    resource: Resource,
    object: T,
    options: Omit<PatchOptions, 'type'> & { readonly fieldManager: string },
  ): Promise<T & KubeObject>
  delete<T extends KubeObject = UntypedObject>(
    resource: Resource,
    ref: ObjectRef,
    options?: DeleteOptions,
  ): Promise<T | Status>
  deleteCollection(
    resource: Resource,
    options?: Pick<ListOptions, 'namespace' | 'labelSelector' | 'fieldSelector'> & DeleteOptions,
  ): Promise<void>

  getScale(resource: Resource, ref: ObjectRef, options?: GetOptions): Promise<Scale>
  setScale(resource: Resource, ref: ObjectRef, replicas: number, options?: WriteOptions): Promise<Scale>
  /** Deletes a Pod as its disruption budgets allow; `TooManyRequests` when they do not. */
  evict(pod: ObjectRef, options?: DeleteOptions): Promise<void>
  createToken(
    serviceAccount: ObjectRef,
    options?: TokenRequestOptions,
  ): Promise<{ readonly token: string; readonly expirationTimestamp: string }>

  getMetadata(resource: Resource, ref: ObjectRef, options?: GetOptions): Promise<MetadataObject>
  listMetadata(resource: Resource, options?: WholeListOptions): Promise<KubeList<MetadataObject>>
  table(resource: Resource, options?: ListOptions & { readonly name?: string }): Promise<Table>

  logs(pod: ObjectRef, options?: LogOptions): AsyncIterable<Uint8Array>
  /** Runs a command to its end. A command that fails is a result; one that could not be run is `ExecFailed`. */
  exec(pod: ObjectRef, command: readonly string[], options?: ExecOptions): Promise<ExecResult>

  /**
   * What the verbs are made of. Throws a MusterError for every answer that is not 2xx, but for a 304 to a request
   * with `if-none-match`.
   */
  request(request: RawRequest): Promise<TransportResponse>
  stats(): ClientStats
  close(): Promise<void>
}
