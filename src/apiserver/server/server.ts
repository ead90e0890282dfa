/**
 * The implementation of the embedded API server: logical clusters, their storage, and the handling of a request in one
 * of them. The write path is passed in (`api-server.ts`) or loaded by the first write (`lazy-server.ts`).
 */
import { systemRandom } from '../../clock/random.ts'
import type { TransportRequest, TransportResponse } from '../../transport/transport.ts'
import { apiserverErrors } from '../errors.ts'
import { describeError, MusterError } from '../../kube/muster-error.ts'
import { createAccess } from '../access/access.ts'
import type { Peer } from '../access/authenticate.ts'
import { policyFromRecord } from '../bootstrap/bootstrap-policy.ts'
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
import type { Journal, JournalOwner, SnapshotEntry } from '../storage/journal/journal.ts'
import type { JournalEntry } from '../storage/journal/recovery.ts'
import { dnsLabel } from '../../kube/validation/name-validation.ts'
import { internal, StatusError } from '../errors/status-error.ts'
import { answerText, errorResponse } from '../representation/representation.ts'
import { parseTarget, type RequestTarget } from '../access/request-target.ts'
import { seed } from '../bootstrap/seed.ts'
import { type ClusterState, type CoreControllerOptions, randomUuid, type WritePath } from '../cluster/state.ts'
import { createStorage, type Storage } from '../storage/storage.ts'
import { createWebhookCaller } from '../webhook/webhook-caller.ts'

/** Just below the time after which clients consider a silent watch dead. */
const defaultBookmarkMs = 60_000

/** The write path, or a function that loads it. */
type WritePathSource = WritePath | (() => Promise<WritePath>)

export async function openServer(options: DurableApiServerOptions, source: WritePathSource): Promise<DurableApiServer> {
  const isOurs = typeof options.folder === 'string'
  const { entries, tornBytes, start, release } = isOurs ? await openFolder(options.folder) : options.folder
  let journal: Journal | undefined
  const writer: JournalWriter = { append: (change) => journal?.append(change), durable: () => journal?.durable() }
  const { server, owner, restore, stop, writePath } = createServer(options, source, writer)
  try {
    // Restoring CRDs needs their serving code, and restored objects may need a controller's attention.
    if (entries.length > 0) await writePath()
    restore(entries)
    journal = await start(owner)
    // Creates the default cluster if the folder is new: its bootstrap objects are written to the journal, too.
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
    // A folder that the caller opened stays locked: the caller may try again.
    if (isOurs) release()
    throw error
  }
}

type JournalWriter = Pick<Journal, 'append' | 'durable'>

interface Created {
  readonly server: ApiServer
  readonly writePath: ClusterState['writePath']
  readonly owner: JournalOwner
  readonly restore: (entries: Iterable<JournalEntry>) => void
  /** Stops the workloads of all clusters. */
  readonly stop: () => void
}

export function createServer(options: ApiServerOptions, source: WritePathSource, journal?: JournalWriter): Created {
  const { clock, random = systemRandom, ids = () => randomUuid(random), history, historyBytes } = options
  const { watchBuffer = 10_000, watchBufferBytes = 64 * 1024 * 1024, bookmarkMs = defaultBookmarkMs } = options
  const { controllerManager = true, collectGarbage = true, rootCa = '' } = options
  const { serviceAccounts = false } = options
  // Checked now: otherwise an invalid key would only fail the first token request, long after the start.
  if (options.access?.signingKey !== undefined) readSigningKey(options.access.signingKey, 'the signing key')
  const controllers: CoreControllerOptions = { controllerManager, collectGarbage, serviceAccounts, rootCa }
  const disabled = disabledPlugins(options)
  const states = new Map<string, ClusterState>()
  const workloads = new Map<string, ReturnType<Workloads>>()

  let loadedWritePath = typeof source === 'function' ? undefined : source
  let loading: Promise<WritePath> | undefined
  const load = async (importWritePath: () => Promise<WritePath>): Promise<WritePath> => {
    try {
      loadedWritePath = await importWritePath()
    } catch (error) {
      // The next write tries again.
      loading = undefined
      throw error
    }
    for (const state of states.values()) loadedWritePath.startControllers(state, controllers)
    return loadedWritePath
  }
  const writePath = (): WritePath | Promise<WritePath> =>
    loadedWritePath ?? (loading ??= load(source as () => Promise<WritePath>))

  const stateOf = (name: string): ClusterState => {
    const known = states.get(name)
    if (known) return known
    const storage = createStorage({
      history,
      historyBytes,
      log: journal && {
        append: (change) => journal.append({ ...change, cluster: name }),
        durable: () => journal.durable(),
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
      writePath,
      admission: () => (plugins ??= loadedWritePath?.admissionPlugins({ disabled }) ?? []),
      serviceRange: options.serviceRange ?? '10.0.0.0/16',
      webhooks: options.webhooks ?? createWebhookCaller({ storage, clock }),
    }
    states.set(name, state)
    loadedWritePath?.startControllers(state, controllers)
    return state
  }
  const readyState = (name: string): ClusterState => {
    const state = stateOf(name)
    if (isEmpty(state)) seed(state, { aggregated: controllerManager, rootCa: serviceAccounts ? rootCa : undefined })
    if (options.workloads && !workloads.has(name)) workloads.set(name, options.workloads(state))
    return state
  }
  if (!journal) readyState('')

  const handleIn = async (
    target: RequestTarget,
    request: TransportRequest,
    peer: Peer | undefined,
    readBody: ReadBody | undefined,
  ): Promise<TransportResponse> => {
    const { cluster: name, query } = target
    if (dnsLabel(name).length > 0) return answerText(404, '404 page not found\n')
    if (!states.has(name)) {
      // Only a caller with full access may create a cluster by requesting it.
      const whole = { cluster: '', path: `/clusters/${name}`, query, resource: undefined }
      const denied = statusErrorOf(() => stateOf('').access.admit(request, whole, peer))
      if (denied) return await errorResponse(denied)
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
      path.warmUp(readyState(''))
    },
    cluster(name) {
      const state = readyState(name)
      return {
        async handle(request) {
          const target = parseTarget(request.path)
          if (!target) return badTarget()
          // Logical clusters are not nested.
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
      workloads.get(name)?.stop()
      workloads.delete(name)
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
      for (const simulation of workloads.values()) simulation.stop()
    },
    owner: {
      state: () => [...states].flatMap(([cluster, { storage }]) => snapshotOf(cluster, storage)),
      lost(changes) {
        for (const [cluster, lost] of Map.groupBy(changes, (change) => change.cluster)) {
          states.get(cluster)?.storage.undo(lost)
        }
      },
    },
    restore(entries) {
      for (const entry of entries) restoreEntry(stateOf(entry.cluster).storage, entry)
      // Of a removed cluster, the journal still holds the removals.
      for (const [name, state] of states) if (name !== '' && isEmpty(state)) states.delete(name)
    },
  }
}

/** Pods need no service account where no controller creates one; no usage of a quota is known where no controller counts. */
function disabledPlugins({
  disableAdmissionPlugins,
  serviceAccounts,
  controllerManager = true,
}: ApiServerOptions): Set<string> {
  const disabled = new Set(disableAdmissionPlugins ?? (serviceAccounts ? [] : ['ServiceAccount']))
  if (!controllerManager) disabled.add('ResourceQuota')
  return disabled
}

/** Every cluster that has been initialized has namespaces. */
function isEmpty({ storage }: ClusterState): boolean {
  return storage.table('namespaces').size === 0
}

/** The entries of a snapshot from which a cluster can be restored. */
function snapshotOf(cluster: string, storage: Storage): readonly SnapshotEntry[] {
  const { revision } = storage
  const bootstrap = storage.unchangedBootstrap()
  const objects = [...storage.tables()]
    .filter(({ name }) => !bootstrap?.tables.includes(name))
    .flatMap((table) => table.objects().map((object) => ({ cluster, table: table.name, isRemoval: false, object })))
  return [...(bootstrap ? [{ cluster, bootstrap }] : []), ...objects, { cluster, revision }]
}

function restoreEntry(storage: Storage, entry: JournalEntry): void {
  if ('revision' in entry) return storage.restoreRevision(entry.revision)
  if ('object' in entry) return storage.restore(entry.table, entry.object, entry.isRemoval)
  const bootstrap = policyFromRecord(entry.bootstrap)
  if (!bootstrap)
    throw new MusterError(
      apiserverErrors.StorageDamaged,
      'the journal uses a bootstrap policy that this version of Muster does not have.',
    )
  storage.restoreBootstrap(bootstrap)
}

/** The response of kube-apiserver to an invalid request target. */
function badTarget(): TransportResponse {
  return answerText(400, '400 Bad Request')
}

function statusErrorOf(check: () => unknown): StatusError | undefined {
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
    // Neither writers nor readers may see a state that a crash could still undo, or that has been undone.
    const kept = storage.durable()
    if (kept) await kept
    if (storage.losses > losses)
      throw new MusterError(apiserverErrors.StorageFailed, 'changes were reverted during this request.')
    return answered
  } catch (error) {
    const failure = error instanceof StatusError ? error : internal(describeError(error))
    return await errorResponse(failure)
  }
}
