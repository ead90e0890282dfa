/**
 * The embedded API server as a machine: logical clusters, what they are kept in, and the way of a request into one of
 * them. What it needs for writing is handed to it, or fetched when somebody writes; `api-server.ts` and `lazy-server.ts`
 * are the two ways to have one.
 */
import { systemRandom } from '../../clock/random.ts'
import type { TransportRequest, TransportResponse } from '../../transport/transport.ts'
import { describeError, MusterError } from '../../kube/errors.ts'
import { createAccess } from '../access/access.ts'
import type { Peer } from '../access/authenticate.ts'
import { keptPolicy } from '../bootstrap/bootstrap-policy.ts'
import { readSigningKey } from '../access/token-issuer.ts'
import type { AdmissionPlugin } from '../cluster/admission.ts'
import type {
  ApiServer,
  ApiServerOptions,
  DurableApiServer,
  DurableApiServerOptions,
  ReadBody,
  Workloads,
} from './api-server.ts'
import { createCatalog } from '../catalog/catalog.ts'
import { dispatchRequest } from './dispatch.ts'
import { openFolder } from '../storage/journal/folder.ts'
import type { Journal, JournalOwner, Kept } from '../storage/journal/journal.ts'
import type { JournalEntry } from '../storage/journal/recovery.ts'
import { dnsLabel } from '../../kube/validation/name-validation.ts'
import { noRecall } from '../../kube/recall.ts'
import { internal, StatusError } from '../errors/status-error.ts'
import { answerText, refuseRepresentation } from '../representation/representation.ts'
import { parseTarget, type RequestTarget } from '../access/request-target.ts'
import { seed } from '../bootstrap/seed.ts'
import { type ClusterState, type Keeping, randomUuid, type WritePath } from '../cluster/state.ts'
import { createStorage, type Storage } from '../storage/storage.ts'
import { createWebhookCaller } from '../webhook/webhook-caller.ts'

/** Clients take a silent watch for dead a little later. */
const defaultBookmarkMs = 60_000

/** The write path, or who brings it when it is needed. */
export type WritePathSource = WritePath | (() => Promise<WritePath>)

export async function openServer(options: DurableApiServerOptions, source: WritePathSource): Promise<DurableApiServer> {
  const isOurs = typeof options.folder === 'string'
  const { entries, tornBytes, start, release } = isOurs ? await openFolder(options.folder) : options.folder
  let journal: Journal | undefined
  const keeper: ServerKeeper = { append: (noted) => journal?.append(noted), durable: () => journal?.durable() }
  const { server, owner, restore, stop, writePath } = createServer(options, source, keeper)
  try {
    // Custom kinds are served by their rules, and objects may have become due for a controller.
    if (entries.length > 0) await writePath()
    restore(entries)
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
  readonly writePath: ClusterState['writePath']
  readonly owner: JournalOwner
  readonly restore: (entries: Iterable<JournalEntry>) => void
  /** Nothing lives in it any more. */
  readonly stop: () => void
}

export function createServer(options: ApiServerOptions, source: WritePathSource, keeper?: ServerKeeper): Created {
  const { clock, random = systemRandom, ids = () => randomUuid(random), history, historyBytes } = options
  const { watchBuffer = 10_000, watchBufferBytes = 64 * 1024 * 1024, bookmarkMs = defaultBookmarkMs } = options
  const { collectGarbage = true, serviceAccounts = false, rootCa = '', recall = noRecall } = options
  // At once: else the first who needs a token would learn of it, long after the start.
  if (options.access?.signingKey !== undefined) readSigningKey(options.access.signingKey, 'the signing key')
  const keeping: Keeping = { collectGarbage, serviceAccounts, rootCa }
  const states = new Map<string, ClusterState>()
  const lively = new Map<string, ReturnType<Workloads>>()

  let writing = typeof source === 'function' ? undefined : source
  let loading: Promise<WritePath> | undefined
  const load = async (bring: () => Promise<WritePath>): Promise<WritePath> => {
    try {
      writing = await bring()
    } catch (error) {
      // The next who writes tries again.
      loading = undefined
      throw error
    }
    for (const state of states.values()) writing.keep(state, keeping)
    return writing
  }
  const writePath = (): WritePath | Promise<WritePath> =>
    writing ?? (loading ??= load(source as () => Promise<WritePath>))

  const stateOf = (name: string): ClusterState => {
    const known = states.get(name)
    if (known) return known
    const storage = createStorage({
      history,
      historyBytes,
      keeper: keeper && {
        keep: (done) => keeper.append({ ...done, cluster: name }),
        durable: () => keeper.durable(),
      },
    })
    let plugins: readonly AdmissionPlugin[] | undefined
    const state: ClusterState = {
      storage,
      access: createAccess(storage, () => clock.now(), options.access),
      catalog: createCatalog(),
      clock,
      random,
      ids,
      watchBuffer,
      watchBufferBytes,
      bookmarkMs,
      recall,
      writePath,
      admission: () => (plugins ??= writing?.admissionPlugins(keeping) ?? []),
      webhooks: options.webhooks ?? createWebhookCaller({ storage, clock }),
    }
    states.set(name, state)
    writing?.keep(state, keeping)
    return state
  }
  const readyState = (name: string): ClusterState => {
    const state = stateOf(name)
    if (isEmpty(state)) seed(state, serviceAccounts ? rootCa : undefined)
    if (options.workloads && !lively.has(name)) lively.set(name, options.workloads(state))
    return state
  }
  if (!keeper) readyState('')

  const handleIn = async (
    target: RequestTarget,
    request: TransportRequest,
    peer: Peer | undefined,
    readBody: ReadBody | undefined,
  ): Promise<TransportResponse> => {
    const { cluster: name, query } = target
    if (dnsLabel(name).length > 0) return answerText(404, '404 page not found\n')
    if (!states.has(name)) {
      // Nobody makes a cluster by asking for it who could not do everything in it.
      const whole = { cluster: '', path: `/clusters/${name}`, query, resource: undefined }
      const refusal = refusalOf(() => stateOf('').access.admit(request, whole, peer))
      if (refusal) return await refuseRepresentation(refusal)
    }
    return await handle(readyState(name), request, target, peer, readBody)
  }

  const server: ApiServer = {
    handle(request, peer, readBody) {
      const target = parseTarget(request.path)
      if (!target) return Promise.resolve(badTarget())
      if (target.cluster !== '') return handleIn(target, request, peer, readBody)
      return handle(readyState(''), request, target, peer, readBody)
    },
    async prepareWrites() {
      const path = await writePath()
      path.rehearse(readyState(''))
    },
    cluster(name) {
      const state = readyState(name)
      return {
        async handle(request) {
          const target = parseTarget(request.path)
          if (!target) return badTarget()
          // A logical cluster has none of its own.
          if (target.cluster !== '') return answerText(404, '404 page not found\n')
          return await handle(state, request, target)
        },
      }
    },
    async importGather(folder, { cluster = '', ...how } = {}) {
      const [{ importGather }] = await Promise.all([import('../must-gather/must-gather.ts'), writePath()])
      const imported = await importGather(readyState(cluster), folder, how)
      await stateOf(cluster).storage.durable()
      return imported
    },
    async importObjects(objects, { cluster = '' } = {}) {
      const [{ importObjects }] = await Promise.all([import('../must-gather/must-gather.ts'), writePath()])
      const imported = importObjects(readyState(cluster), objects)
      await stateOf(cluster).storage.durable()
      return imported
    },
    async exportGather(folder, { cluster = '', ...how } = {}) {
      const { exportGather } = await import('../must-gather/must-gather.ts')
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
    writePath,
    stop() {
      for (const simulation of lively.values()) simulation.stop()
    },
    owner: {
      state: () => [...states].flatMap(([cluster, { storage }]) => keptOf(cluster, storage)),
      lost(changes) {
        for (const [cluster, lost] of Map.groupBy(changes, (noted) => noted.cluster)) {
          states.get(cluster)?.storage.undo(lost)
        }
      },
    },
    restore(entries) {
      for (const entry of entries) restoreEntry(stateOf(entry.cluster).storage, entry)
      // What is left of a cluster that was removed is the tale of its removal.
      for (const [name, state] of states) if (name !== '' && isEmpty(state)) states.delete(name)
    },
  }
}

/** A cluster that has anything has its namespaces. */
function isEmpty({ storage }: ClusterState): boolean {
  return storage.table('namespaces').size === 0
}

/** All that has to be written down of a cluster so that it can be had again. */
function keptOf(cluster: string, storage: Storage): readonly Kept[] {
  const { revision } = storage
  const foundation = storage.intactFoundation()
  const objects = [...storage.tables()]
    .filter(({ name }) => !foundation?.tables.includes(name))
    .flatMap((table) => table.objects().map((object) => ({ cluster, table: table.name, isRemoval: false, object })))
  return [...(foundation ? [{ cluster, foundation }] : []), ...objects, { cluster, revision }]
}

function restoreEntry(storage: Storage, entry: JournalEntry): void {
  if ('revision' in entry) return storage.restoreRevision(entry.revision)
  if ('object' in entry) return storage.restore(entry.table, entry.object, entry.isRemoval)
  const foundation = keptPolicy(entry.foundation)
  if (!foundation)
    throw new MusterError(
      'StorageDamaged',
      'the journal begins with a policy that this version of Muster does not have.',
    )
  storage.restoreFoundation(foundation)
}

/** As the real server answers what is no target at all. */
function badTarget(): TransportResponse {
  return answerText(400, '400 Bad Request')
}

function refusalOf(check: () => unknown): StatusError | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    if (error instanceof StatusError) return error
    throw error
  }
}

async function handle(
  state: ClusterState,
  request: TransportRequest,
  target: RequestTarget,
  peer?: Peer,
  readBody?: ReadBody,
): Promise<TransportResponse> {
  request.signal?.throwIfAborted()
  const { storage } = state
  const { losses } = storage
  try {
    const answered = await dispatchRequest(state, request, target, peer, readBody)
    // Nobody is told what a crash could still undo, or what has been undone: neither who wrote nor who read.
    const kept = storage.durable()
    if (kept) await kept
    if (storage.losses > losses) throw new MusterError('StorageFailed', 'changes could not be written meanwhile.')
    return answered
  } catch (error) {
    const refusal = error instanceof StatusError ? error : internal(describeError(error))
    return await refuseRepresentation(refusal)
  }
}
