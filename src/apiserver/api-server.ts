/**
 * The embedded API server: a Kubernetes API as a function from request to answer.
 *
 * It is a library first: no socket, no file, no clock of its own. `inProcessTransport(server)` makes it a cluster for
 * a client in the same process, `listener.ts` one for everybody on this machine.
 */
import type { Clock } from '../clock/clock.ts'
import { type Random, systemRandom } from '../clock/random.ts'
import type { Handler } from '../client/in-process.ts'
import { createCatalog } from './catalog.ts'
import { create } from './create.ts'
import { dispatch } from './dispatch.ts'
import { keepHouse } from './housekeeping.ts'
import { internal, Refusal } from './refusal.ts'
import { answer } from './representation.ts'
import { type ClusterState, randomUuid } from './state.ts'
import { createStorage } from './storage.ts'
import { writingOf } from './writing.ts'

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
}

export interface ApiServer extends Handler {
  /** Forgets all history: watches that resume, and lists that continue, must start over. */
  compact(): void
  /** Ends all watches, as a server does that restarts. */
  endWatches(): void
}

const firstNamespaces = ['default', 'kube-system', 'kube-public', 'kube-node-lease']

export function createApiServer(options: ApiServerOptions): ApiServer {
  const { clock, random = systemRandom, ids = () => randomUuid(random), history, watchBuffer = 10_000 } = options
  const state: ClusterState = {
    storage: createStorage({ history }),
    catalog: createCatalog(),
    clock,
    random,
    ids,
    watchBuffer,
  }
  keepHouse(state)
  for (const name of firstNamespaces) {
    const served = state.catalog.find('', 'v1', 'namespaces')!
    const route = { served, namespace: undefined, name: undefined, subresource: '' }
    create(
      state,
      writingOf(route, new URLSearchParams(), 'muster', () => undefined),
      { metadata: { name } },
    )
  }
  return {
    async handle(request) {
      request.signal?.throwIfAborted()
      try {
        return await dispatch(state, request)
      } catch (error) {
        const refusal = error instanceof Refusal ? error : internal(error instanceof Error ? error.message : 'unknown')
        return await answer(refusal.status.code, refusal.status)
      }
    },
    compact: () => state.storage.compact(),
    endWatches() {
      for (const { name } of state.storage.tables()) state.storage.endWatches(name)
    },
  }
}
