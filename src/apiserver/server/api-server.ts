/**
 * The embedded API server: a Kubernetes API as a function from request to answer.
 *
 * It is a library first: no socket, no clock of its own, and files only where it is given a folder.
 * `inProcessTransport(server)` makes it a cluster for a client in the same process, `listener.ts` one for everybody on
 * this machine.
 *
 * One server holds any number of **logical clusters**, each with its own objects, CRDs, revisions and rules of access.
 * The one at `/` is always there; others are at `/clusters/<name>`, and come into being when somebody asks for them.
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
import type { Recall } from '../../kube/recall.ts'
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
  /** Changes kept of each resource, for watches to resume from. @default 1000 */
  readonly history?: number | undefined
  /** Bytes that the kept changes of all resources take together, about. @default 64 MiB */
  readonly historyBytes?: number | undefined
  /** Events that the reader of a watch may be behind before the watch is ended. @default 10_000 */
  readonly watchBuffer?: number | undefined
  /** The same in bytes, about. @default 64 MiB */
  readonly watchBufferBytes?: number | undefined
  /** How often a watch that wants bookmarks is told where it stands. @default 60_000, about as real servers do */
  readonly bookmarkMs?: number | undefined
  /** Who may ask, and how they show it. @default whoever calls in this process is the administrator */
  readonly access?: ServerAccessOptions | undefined
  /**
   * Whether pods act for service accounts, as on a cluster that runs controllers: every namespace has `default`, and
   * pods get its token. @default false
   */
  readonly serviceAccounts?: boolean | undefined
  /** What pods are told to trust, in PEM, with `serviceAccounts`. @default nothing */
  readonly rootCa?: string | undefined
  /** How webhooks are asked. @default over HTTPS, services by their endpoints */
  readonly webhooks?: WebhookCaller | undefined
  /** Deletes what has lost its owners. Off for what is only a part of a cluster: a must-gather. @default true */
  readonly collectGarbage?: boolean | undefined
  /** Shared with servers that are much the same, such as forks of one cluster. @default none */
  readonly recall?: Recall | undefined
  /** What makes workloads live, in each cluster: `simulatedWorkloads()`. @default nothing does */
  readonly workloads?: Workloads | undefined
}

/** Starts what makes the workloads of a cluster live. */
export type Workloads = (state: ClusterState) => { stop(): void }

export interface ApiServer extends Handler {
  /**
   * `peer` is what a listener knows of the client; a request without one comes from this process. `readBody` reads a body
   * that is still on the wire: it is called at most once, and only for a request that has been authorized.
   */
  handle(request: TransportRequest, peer?: Peer, readBody?: ReadBody): Promise<TransportResponse>
  /** Loads what only writes need, where that is not loaded yet: the first write would else wait for it. */
  prepareWrites(): Promise<void>
  /** A logical cluster by its name, made if it is not there yet. The empty name is the one at `/`. */
  cluster(name: string): Handler
  /** Fills a logical cluster with what a must-gather directory holds. See gather.ts. */
  importGather(folder: string, options?: ImportOptions & { readonly cluster?: string | undefined }): Promise<Imported>
  /** Fills a logical cluster with these objects, as they are: definitions first. */
  importObjects(
    objects: readonly UntypedObject[],
    options?: { readonly cluster?: string | undefined },
  ): Promise<Omit<Imported, 'skipped'>>
  /** Writes a logical cluster as a must-gather directory; returns the number of objects. */
  exportGather(folder: string, options?: ExportOptions & { readonly cluster?: string | undefined }): Promise<number>
  /** The names of all logical clusters. */
  clusters(): readonly string[]
  /** Removes a logical cluster with all it holds. The one at `/` stays. */
  removeCluster(name: string): void
  /** Forgets all history: watches that resume, and lists that continue, must start over. */
  compact(): void
  /** Ends all watches, as a server does that restarts. */
  endWatches(): void
}

/** Raises a Refusal for a body that is too large, or for which there is no room. */
export type ReadBody = () => Promise<Uint8Array>

/** What a listener needs of a server. */
export type Answering = Pick<ApiServer, 'handle' | 'endWatches'>

export interface DurableApiServer extends ApiServer {
  /** Bytes of an unfinished write, which a crash left behind and which were cut off. */
  readonly tornBytes: number
  /** Waits for what is under way, and leaves the folder to others. */
  close(): Promise<void>
}

export interface DurableApiServerOptions extends ApiServerOptions {
  /** Where it is, or what has been found there. */
  readonly folder: string | JournalFolder
}

/** Everything in memory: it ends with its process. */
export function createApiServer(options: ApiServerOptions): ApiServer {
  return createServer(options, writePath).server
}

/** Keeps everything in a folder: what a client was told is there after a crash, too. */
export async function openApiServer(options: DurableApiServerOptions): Promise<DurableApiServer> {
  return await openServer(options, writePath)
}
