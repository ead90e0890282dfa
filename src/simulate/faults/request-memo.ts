/**
 * The request memo: what the API server does with a request, memoized by the history of its cluster. Thousands of runs
 * begin alike, and many continue alike after their fault. Two clusters with the same history since their fork hold the
 * same objects, byte for byte, and a server answers the same request in the same second with the same bytes. So that is
 * computed once: later runs get the stored answer, and the stored change is applied.
 *
 * A history is identified by a number. A request or a spontaneous change leads from one history to the next.
 */
import { type Random, seededRandom } from '../../clock/random.ts'
import type { TransportRequest, TransportResponse } from '../../transport/transport.ts'
import type { ApiServer } from '../../apiserver/server/api-server.ts'
import { objectText } from '../../apiserver/codec/object-text.ts'
import type { StorageChange, Storage } from '../../apiserver/storage/storage.ts'
import { freezeDeep } from '../../cache/decode/intern.ts'
import { jsonIn } from '../../client/body.ts'
import type { Clock } from '../../clock/clock.ts'
import type { Json } from '../../kube/json.ts'
import type { Recall } from './recall.ts'
import { once } from './answer.ts'

/** A request at one point of a history. */
interface Memory {
  /** The history after it, if it changes anything. */
  readonly history: number
  outcome: Outcome | undefined
}

/** The outcome of a request. */
interface Outcome {
  readonly answer: TransportResponse & { readonly whole: Uint8Array }
  /** The parsed answer, computed when it is used again. */
  json: Json | undefined
  /** Its change, if any; reactions of the server are computed anew. */
  readonly ownChange: TableChange | undefined
}

interface TableChange {
  readonly table: string
  readonly change: StorageChange
}

/** The random source of a cluster: it depends on the cluster's revision, not on earlier draws. */
interface ClusterRandom extends Random {
  renew(): void
}

interface RequestMemoOptions {
  readonly server: ApiServer
  readonly storage: Storage
  readonly clock: Clock
  readonly clusterRandom: ClusterRandom
  readonly recall: Recall
  /** Identifies the initial content of the cluster. */
  readonly begin: string
}

export function openClusterRandom(seed: number, revision: () => number): ClusterRandom {
  let at: number | undefined
  let random = seededRandom(seed)
  return {
    next() {
      const now = revision()
      if (now !== at) {
        at = now
        random = seededRandom(seed + now * 7919)
      }
      return random.next()
    },
    renew() {
      at = undefined
    },
  }
}

/** A server with a memo of its requests. */
export function openRequestMemo({
  server,
  storage,
  clock,
  clusterRandom,
  recall,
  begin,
}: RequestMemoOptions): ApiServer {
  let history = recall(() => `begin ${begin}`, newHistory)
  let underWay = 0
  /** Concurrent requests: their changes cannot be attributed. */
  let isMixed = false
  let changes: TableChange[] = []

  storage.onChange((table, change) => {
    if (underWay > 0) changes.push({ table: table.name, change })
    else history = recall(() => `${history} ${table.name} ${change.type} ${objectText(change.object)}`, newHistory)
  })

  const textOfRequest = ({ method, path, headers, body = '' }: TransportRequest): string => {
    const content = typeof body === 'string' ? body : Buffer.from(body).toString('latin1')
    // The server stores times in seconds.
    const second = Math.floor(clock.now() / 1000)
    return `${history} ${second} ${method} ${path} ${JSON.stringify(headers)} ${content}`
  }

  const outcomeOf = (request: TransportRequest, answer: TransportResponse, revision: number): Outcome | undefined => {
    const { whole } = answer
    if (!whole || isMixed) return undefined
    const given = { answer: { ...answer, whole }, json: undefined }
    if (changes.length === 0) return { ...given, ownChange: undefined }
    const own = ownOf(request, changes)
    return own?.change.revision === revision + 1 ? { ...given, ownChange: own } : undefined
  }

  const carryOut = async (request: TransportRequest, memory: Memory): Promise<TransportResponse> => {
    const { revision } = storage
    changes = []
    isMixed = underWay > 0
    underWay++
    clusterRandom.renew()
    try {
      const answer = await server.handle(request)
      memory.outcome = outcomeOf(request, answer, revision) ?? memory.outcome
      return answer
    } finally {
      underWay--
      clusterRandom.renew()
      if (isMixed) history = newHistory()
      else if (changes.length > 0) history = memory.history
    }
  }

  const repeat = async (outcome: Outcome, next: number): Promise<TransportResponse> => {
    const { answer, ownChange: own } = outcome
    if (own) {
      changes = []
      isMixed = false
      underWay++
      storage.restore(own.table, own.change.object, own.change.type === 'DELETED')
      // The server reacts to the change at once.
      await Promise.resolve()
      underWay--
      history = isMixed ? newHistory() : next
    }
    clusterRandom.renew()
    outcome.json ??= freezeDeep(jsonIn(answer.whole))
    return { ...answer, body: once(answer.whole), json: outcome.json }
  }

  return {
    ...server,
    handle(request, peer, readBody) {
      if (request.method === 'GET' || peer || isSigned(request)) return server.handle(request, peer, readBody)
      const memory = recall(() => textOfRequest(request), emptyMemory)
      const { outcome } = memory
      return outcome && underWay === 0 ? repeat(outcome, memory.history) : carryOut(request, memory)
    },
  }
}

/** Each server signs with its own key: answers about tokens are not shared. */
function isSigned({ path }: TransportRequest): boolean {
  return path.includes('/token')
}

/**
 * The change that the request itself made, if it can be distinguished from the server's reactions. Those are recorded
 * before it if they are part of the write, and after it for a deletion.
 */
function ownOf({ method, path }: TransportRequest, changes: readonly TableChange[]): TableChange | undefined {
  const [first] = changes
  // The deletion of a Pod is two changes.
  if (method !== 'DELETE' || !first || first.table === 'pods') return changes.at(-1)
  const [named = ''] = path.split('?')
  return named.endsWith(`/${first.change.object.metadata.name}`) ? first : undefined
}

function emptyMemory(): Memory {
  return { history: newHistory(), outcome: undefined }
}

let histories = 0

/** A new, unique history. */
function newHistory(): number {
  return ++histories
}
