/**
 * The embedded API server: a Kubernetes API as a function from request to response.
 *
 * It is a library first: it opens no socket, has no clock of its own, and writes files only when it is given a folder.
 * `inProcessTransport(server)` connects a client in the same process, `http/listener.ts` clients on the same machine.
 *
 * One server holds any number of **logical clusters**, each with its own objects, CRDs, revisions and RBAC.
 * The default one, at `/`, always exists; others are at `/clusters/<name>` and are created by their first request.
 */
import type { Handler } from '../../transport/transport.ts'
import type { TransportRequest, TransportResponse } from '../../transport/transport.ts'
import type { Clock } from '../../clock/clock.ts'
import type { Random } from '../../clock/random.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { ServerAccessOptions } from '../access/access.ts'
import type { Peer } from '../access/authenticate.ts'
import type { ExportOptions, Imported, ImportOptions } from '../must-gather/must-gather.ts'
import type { JournalFolder } from '../storage/journal/folder.ts'
import { createServer, openServer } from './server.ts'
import type { ClusterState } from '../cluster/state.ts'
import type { WebhookCaller } from '../webhook/webhook-caller.ts'
import { writePath } from './write-path.ts'

export interface ApiServerOptions {
  readonly clock: Clock
  /** For generated names, uids and the length of watches. @default the machine's */
  readonly random?: Random | undefined
  /** New uids. @default version 4 UUIDs, out of `random` */
  readonly ids?: (() => string) | undefined
  /** Number of changes kept per resource, from which watches can resume. @default 1000 */
  readonly history?: number | undefined
  /** Approximate total size of the kept changes, in bytes. @default 64 MiB */
  readonly historyBytes?: number | undefined
  /** Number of unread events after which a slow watch is ended. @default 10_000 */
  readonly watchBuffer?: number | undefined
  /** The same limit in bytes, approximately. @default 64 MiB */
  readonly watchBufferBytes?: number | undefined
  /** Interval of bookmarks, for watches that allow them. @default 60_000, about as in kube-apiserver */
  readonly bookmarkMs?: number | undefined
  /** Authentication and authorization. @default in-process callers are administrators */
  readonly access?: ServerAccessOptions | undefined
  /**
   * Whether Pods run as service accounts, as on a cluster with kube-controller-manager: every namespace gets the
   * service account `default`, and Pods get its token. @default false
   */
  readonly serviceAccounts?: boolean | undefined
  /** The CA bundle that Pods get with their token, in PEM; used with `serviceAccounts`. @default none */
  readonly rootCa?: string | undefined
  /**
   * Whether the controllers of kube-controller-manager run: garbage collection, deletion of namespaces, aggregated roles,
   * quotas. Without them the server is what envtest starts, a kube-apiserver alone. @default true
   */
  readonly controllerManager?: boolean | undefined
  /** Admission plugins that do not run, by their names in kube-apiserver. @default ServiceAccount, unless `serviceAccounts` */
  readonly disableAdmissionPlugins?: readonly string[] | undefined
  /** The range of Service addresses, IPv4, as a network: `10.96.0.0/12`. @default "10.0.0.0/16" */
  readonly serviceRange?: string | undefined
  /** Calls webhooks. @default over HTTPS, services by their endpoints */
  readonly webhooks?: WebhookCaller | undefined
  /** Whether garbage collection runs. Turn it off for a partial cluster, such as a must-gather. @default true */
  readonly collectGarbage?: boolean | undefined
  /** Runs workloads in each logical cluster: `simulatedWorkloads()`. @default none, Pods stay pending */
  readonly workloads?: Workloads | undefined
}

/** Starts the controllers and nodes that run the workloads of a cluster. */
export type Workloads = (state: ClusterState) => { stop(): void }

export interface ApiServer extends Handler {
  /**
   * `peer` is what the listener knows about the client; a request without it is in-process. `readBody` reads a body
   * that is still on the wire: it is called at most once, and only after the request has been authorized.
   */
  handle(request: TransportRequest, peer?: Peer, readBody?: ReadBody): Promise<TransportResponse>
  /** Loads the write path if it is not loaded yet, so that the first write need not wait for it. */
  prepareWrites(): Promise<void>
  /** A logical cluster by name; created if it does not exist. The empty name is the default cluster, at `/`. */
  cluster(name: string): Handler
  /** Imports a must-gather directory into a logical cluster. See must-gather.ts. */
  importGather(folder: string, options?: ImportOptions & { readonly cluster?: string | undefined }): Promise<Imported>
  /** Imports objects into a logical cluster unchanged, CRDs first. */
  importObjects(
    objects: readonly UntypedObject[],
    options?: { readonly cluster?: string | undefined },
  ): Promise<Omit<Imported, 'skipped'>>
  /** Exports a logical cluster as a must-gather directory; returns the number of objects. */
  exportGather(folder: string, options?: ExportOptions & { readonly cluster?: string | undefined }): Promise<number>
  /** The names of all logical clusters. */
  clusters(): readonly string[]
  /** Removes a logical cluster and its objects. The default cluster cannot be removed. */
  removeCluster(name: string): void
  /** Drops all history, like a compaction of etcd: resuming watches and paginated lists must start over. */
  compact(): void
  /** Ends all watches, as a restarting server does. */
  endWatches(): void
}

/** Throws a StatusError if the body is too large or the body budget is used up. */
export type ReadBody = () => Promise<Uint8Array>

/** The part of a server that a listener needs. */
export type ServedApi = Pick<ApiServer, 'handle' | 'endWatches'>

export interface DurableApiServer extends ApiServer {
  /** Size of an incomplete write that a crash left at the end of the journal and that was cut off, in bytes. */
  readonly tornBytes: number
  /** Waits for pending writes, and unlocks the folder. */
  close(): Promise<void>
}

export interface DurableApiServerOptions extends ApiServerOptions {
  /** The data folder: its path, or an already opened one. */
  readonly folder: string | JournalFolder
}

/** A server that keeps everything in memory. */
export function createApiServer(options: ApiServerOptions): ApiServer {
  return createServer(options, writePath).server
}

/** A server that keeps a journal in a folder: every acknowledged write survives a crash. */
export async function openApiServer(options: DurableApiServerOptions): Promise<DurableApiServer> {
  return await openServer(options, writePath)
}
