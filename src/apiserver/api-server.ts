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
import type { Clock } from '../clock/clock.ts'
import { type Random, systemRandom } from '../clock/random.ts'
import type { Handler } from '../client/in-process.ts'
import type { TransportRequest, TransportResponse } from '../client/transport.ts'
import { describeError, MusterError } from '../kube/errors.ts'
import { type AccessOptions, createAccess } from './access/access.ts'
import type { Peer } from './access/authenticate.ts'
import { gatherRoles } from './access/role-aggregation.ts'
import { keepQuotas } from './admission/quota-ledger.ts'
import { admissionPlugins } from './admission/plugins.ts'
import { createCatalog } from './catalog.ts'
import { dispatch } from './dispatch.ts'
import type { ExportOptions, Imported, ImportOptions } from './gather.ts'
import { keepHouse } from './housekeeping.ts'
import { type JournalFolder, openFolder } from './journal/folder.ts'
import type { Journal, Noted } from './journal/journal.ts'
import type { Entry } from './journal/recovery.ts'
import { dnsLabel } from './kinds/name-format.ts'
import { internal, Refusal } from './refusal.ts'
import { answerText, refuse } from './representation.ts'
import { seed } from './seed.ts'
import { keepServiceAccounts } from './service-accounts.ts'
import { type ClusterState, randomUuid } from './state.ts'
import { createStorage } from './storage.ts'
import { createWebhookCaller, type WebhookCaller } from './webhook-caller.ts'

export interface ApiServerOptions {
  readonly clock: Clock
  /** For generated names, uids and the length of watches. @default the machine's */
  readonly random?: Random | undefined
  /** New uids. @default version 4 UUIDs, out of `random` */
  readonly ids?: (() => string) | undefined
  /** Changes kept of each resource, for watches to resume from. @default 1000 */
  readonly history?: number | undefined
  /** Events that the reader of a watch may be behind before the watch is ended. @default 10_000 */
  readonly watchBuffer?: number | undefined
  /** Who may ask, and how they show it. @default whoever calls in this process is the administrator */
  readonly access?: AccessOptions | undefined
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
  /** What makes workloads live, in each cluster: `simulatedWorkloads()`. @default nothing does */
  readonly workloads?: Workloads | undefined
}

/** Starts what makes the workloads of a cluster live. */
export type Workloads = (state: ClusterState) => { stop(): void }

export interface ApiServer extends Handler {
  /** `peer` is what a listener knows of the client; a request without one comes from this process. */
  handle(request: TransportRequest, peer?: Peer): Promise<TransportResponse>
  /** A logical cluster by its name, made if it is not there yet. The empty name is the one at `/`. */
  cluster(name: string): Handler
  /** Fills a logical cluster with what a must-gather directory holds. See gather.ts. */
  importGather(folder: string, options?: ImportOptions & { readonly cluster?: string | undefined }): Promise<Imported>
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

/** What a listener needs of a server. */
export type Answering = Pick<ApiServer, 'handle' | 'endWatches'>

/** Everything in memory: it ends with its process. */
export function createApiServer(options: ApiServerOptions): ApiServer {
  return createServer(options, undefined).server
}

export interface DurableApiServer extends ApiServer {
  /** Bytes of an unfinished write, which a crash left behind and which were cut off. */
  readonly tornBytes: number
  /** Waits for what is under way, and leaves the folder to others. */
  close(): Promise<void>
}

/** Keeps everything in a folder: what a client was told is there after a crash, too. */
export async function openApiServer(
  options: ApiServerOptions & {
    /** Where it is, or what has been found there. */
    readonly folder: string | JournalFolder
  },
): Promise<DurableApiServer> {
  const isOurs = typeof options.folder === 'string'
  const { entries, tornBytes, start, release } = isOurs ? await openFolder(options.folder) : options.folder
  let journal: Journal | undefined
  const keeper: ServerKeeper = { append: (noted) => journal?.append(noted), durable: () => journal?.durable() }
  const { server, owner, restore, stop } = createServer(options, keeper)
  try {
    for (const entry of entries) restore(entry)
    journal = await start(owner)
    // What every cluster has from the start is a change like any other, when it is new.
    server.cluster('')
    await journal.durable()
    const running = journal
    return {
      ...server,
      tornBytes,
      async close() {
        stop()
        server.endWatches()
        await running.close()
        release()
      },
    }
  } catch (error) {
    stop()
    await journal?.close()
    // Who opened the folder may try again.
    if (isOurs) release()
    throw error
  }
}

type ServerKeeper = Pick<Journal, 'append' | 'durable'>

interface Created {
  readonly server: ApiServer
  readonly owner: { state(): readonly Entry[]; lost(changes: readonly Noted[]): void }
  readonly restore: (entry: Entry) => void
  /** Nothing lives in it any more. */
  readonly stop: () => void
}

function createServer(options: ApiServerOptions, keeper: ServerKeeper | undefined): Created {
  const { clock, random = systemRandom, ids = () => randomUuid(random), history, watchBuffer = 10_000 } = options
  const { serviceAccounts = false } = options
  const states = new Map<string, ClusterState>()
  const lively = new Map<string, ReturnType<Workloads>>()

  const stateOf = (name: string): ClusterState => {
    const known = states.get(name)
    if (known) return known
    const storage = createStorage({
      history,
      keeper: keeper && {
        keep: (table, change) => keeper.append({ cluster: name, table, change }),
        durable: () => keeper.durable(),
      },
    })
    const state: ClusterState = {
      storage,
      access: createAccess(storage, () => clock.now(), options.access),
      catalog: createCatalog(),
      clock,
      random,
      ids,
      watchBuffer,
      admission: admissionPlugins({ serviceAccounts }),
      webhooks: options.webhooks ?? createWebhookCaller({ storage, clock }),
    }
    states.set(name, state)
    keepHouse(state, { collectGarbage: options.collectGarbage ?? true })
    gatherRoles(state)
    keepQuotas(state)
    if (serviceAccounts) keepServiceAccounts(state, options.rootCa ?? '')
    return state
  }
  const readyState = (name: string): ClusterState => {
    const state = stateOf(name)
    // A cluster that has anything has its namespaces.
    if (state.storage.table('namespaces').size === 0) seed(state)
    if (options.workloads && !lively.has(name)) lively.set(name, options.workloads(state))
    return state
  }
  if (!keeper) readyState('')

  const server: ApiServer = {
    async handle(request, peer) {
      const found = clusterIn(request.path)
      if (!found) return await handle(readyState(''), request, peer)
      if (dnsLabel(found.name).length > 0) return answerText(404, '404 page not found\n')
      if (!states.has(found.name)) {
        // Nobody makes a cluster by asking for it who could not do everything in it.
        const refusal = refusalOf(() => stateOf('').access.admit({ ...request, path: `/clusters/${found.name}` }, peer))
        if (refusal) return await refuse(refusal)
      }
      return await handle(readyState(found.name), { ...request, path: found.path }, peer)
    },
    cluster(name) {
      const state = readyState(name)
      return { handle: async (request) => await handle(state, request) }
    },
    async importGather(folder, { cluster = '', ...how } = {}) {
      const { importGather } = await import('./gather.ts')
      const imported = await importGather(readyState(cluster), folder, how)
      await stateOf(cluster).storage.durable()
      return imported
    },
    async exportGather(folder, { cluster = '', ...how } = {}) {
      const { exportGather } = await import('./gather.ts')
      return await exportGather(readyState(cluster), folder, how)
    },
    clusters: () => [...states.keys()],
    removeCluster(name) {
      const state = states.get(name)
      if (name === '' || !state) return
      lively.get(name)?.stop()
      lively.delete(name)
      for (const table of state.storage.tables()) {
        for (const object of table.objects()) state.storage.remove(table.name, object)
        state.storage.endWatches(table.name)
      }
      states.delete(name)
    },
    compact() {
      for (const { storage } of states.values()) storage.compact()
    },
    endWatches() {
      for (const { storage } of states.values()) {
        for (const { name } of storage.tables()) storage.endWatches(name)
      }
    },
  }
  return {
    server,
    stop() {
      for (const simulation of lively.values()) simulation.stop()
    },
    owner: {
      state: () =>
        [...states].flatMap(([cluster, { storage }]) =>
          [...storage.tables()].flatMap((table) =>
            table.objects().map((object) => ({ cluster, table: table.name, isRemoval: false, object })),
          ),
        ),
      lost(changes) {
        for (const [cluster, lost] of Map.groupBy(changes, (noted) => noted.cluster)) {
          states.get(cluster)?.storage.undo(lost)
        }
      },
    },
    restore: ({ cluster, table, isRemoval, object }) => stateOf(cluster).storage.restore(table, object, isRemoval),
  }
}

/** `/clusters/blue/api/v1` is `/api/v1` of blue. */
function clusterIn(path: string): { readonly name: string; readonly path: string } | undefined {
  const match = /^\/clusters\/([^/?]+)(.*)$/s.exec(path)
  return match ? { name: match[1]!, path: match[2]!.startsWith('/') ? match[2]! : `/${match[2]}` } : undefined
}

function refusalOf(check: () => unknown): Refusal | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

async function handle(state: ClusterState, request: TransportRequest, peer?: Peer): Promise<TransportResponse> {
  request.signal?.throwIfAborted()
  const { storage } = state
  const { losses } = storage
  try {
    const answered = await dispatch(state, request, peer)
    // Nobody is told what a crash could still undo, or what has been undone: neither who wrote nor who read.
    await storage.durable()
    if (storage.losses > losses) throw new MusterError('StorageFailed', 'changes could not be written meanwhile.')
    return answered
  } catch (error) {
    const refusal = error instanceof Refusal ? error : internal(describeError(error))
    return await refuse(refusal)
  }
}
