/**
 * The course of a cluster: all that has happened to it since it was forked. Thousands of runs begin alike, and many go on alike
 * when what went wrong is over. Where two clusters have had the same course they hold the same objects, to the last byte, and a
 * server would answer the same request in the same second with the same bytes. So that is worked out once: who comes by again
 * is given the same answer, and the same change is made.
 *
 * A course is told by a name. What is asked for, and what happens without being asked for, leads from one to the next.
 */
import { type Random, seededRandom } from '../../clock/random.ts'
import type { TransportRequest, TransportResponse } from '../../transport/transport.ts'
import type { ApiServer } from '../../apiserver/server/api-server.ts'
import { objectText } from '../../apiserver/codec/object-text.ts'
import type { StorageChange, Storage } from '../../apiserver/storage/storage.ts'
import { freezeDeep } from '../../cache/intern.ts'
import { jsonIn } from '../../client/body.ts'
import type { Clock } from '../../clock/clock.ts'
import type { Json } from '../../kube/json.ts'
import type { Recall } from '../../kube/recall.ts'
import { once } from './answer.ts'

/** A request on one course. */
interface Memory {
  /** Where it leads if it changes anything. */
  readonly course: number
  outcome: Outcome | undefined
}

/** What came of it. */
interface Outcome {
  readonly answer: TransportResponse & { readonly whole: Uint8Array }
  /** What the answer says, once somebody is given it again. */
  json: Json | undefined
  /** What it changed, if anything; what a server does about that by itself it does anew. */
  readonly told: Told | undefined
}

interface Told {
  readonly table: string
  readonly change: StorageChange
}

/** Chance of a cluster: what it gives depends on how far the cluster is, and not on what it gave before. */
export interface Chance extends Random {
  renew(): void
}

export interface RequestMemoOptions {
  readonly server: ApiServer
  readonly storage: Storage
  readonly clock: Clock
  readonly chance: Chance
  readonly recall: Recall
  /** Says what the cluster holds at the begin. */
  readonly begin: string
}

export function openChance(seed: number, revision: () => number): Chance {
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

/** A server that need not work out twice what it did on the same course. */
export function openRequestMemo({ server, storage, clock, chance, recall, begin }: RequestMemoOptions): ApiServer {
  let course = recall(() => `begin ${begin}`, newCourse)
  let underWay = 0
  /** Several were under way at the same time: who changed what cannot be told. */
  let isMixed = false
  let told: Told[] = []

  storage.onChange((table, change) => {
    if (underWay > 0) told.push({ table: table.name, change })
    else course = recall(() => `${course} ${table.name} ${change.type} ${objectText(change.object)}`, newCourse)
  })

  const textOfRequest = ({ method, path, headers, body = '' }: TransportRequest): string => {
    const content = typeof body === 'string' ? body : Buffer.from(body).toString('latin1')
    // Whatever a server notes of the time it notes in seconds.
    const second = Math.floor(clock.now() / 1000)
    return `${course} ${second} ${method} ${path} ${JSON.stringify(headers)} ${content}`
  }

  const outcomeOf = (request: TransportRequest, answer: TransportResponse, revision: number): Outcome | undefined => {
    const { whole } = answer
    if (!whole || isMixed) return undefined
    const given = { answer: { ...answer, whole }, json: undefined }
    if (told.length === 0) return { ...given, told: undefined }
    const own = ownOf(request, told)
    return own?.change.revision === revision + 1 ? { ...given, told: own } : undefined
  }

  const carryOut = async (request: TransportRequest, memory: Memory): Promise<TransportResponse> => {
    const { revision } = storage
    told = []
    isMixed = underWay > 0
    underWay++
    chance.renew()
    try {
      const answer = await server.handle(request)
      memory.outcome = outcomeOf(request, answer, revision) ?? memory.outcome
      return answer
    } finally {
      underWay--
      chance.renew()
      if (isMixed) course = newCourse()
      else if (told.length > 0) course = memory.course
    }
  }

  const repeat = async (outcome: Outcome, next: number): Promise<TransportResponse> => {
    const { answer, told: own } = outcome
    if (own) {
      told = []
      isMixed = false
      underWay++
      storage.restore(own.table, own.change.object, own.change.type === 'DELETED')
      // What a server does about it follows at once.
      await Promise.resolve()
      underWay--
      course = isMixed ? newCourse() : next
    }
    chance.renew()
    outcome.json ??= freezeDeep(jsonIn(answer.whole))
    return { ...answer, body: once(answer.whole), json: outcome.json }
  }

  return {
    ...server,
    handle(request, peer, readBody) {
      if (request.method === 'GET' || peer || isSigned(request)) return server.handle(request, peer, readBody)
      const memory = recall(() => textOfRequest(request), emptyMemory)
      const { outcome } = memory
      return outcome && underWay === 0 ? repeat(outcome, memory.course) : carryOut(request, memory)
    },
  }
}

/** Each server signs with a key of its own: what it says of tokens is true of no other. */
function isSigned({ path }: TransportRequest): boolean {
  return path.includes('/token')
}

/**
 * The one change that a request made itself, where that can be told from what the server does about it. That is told before the change
 * where it is done in the midst of it, and after it where an object went.
 */
function ownOf({ method, path }: TransportRequest, told: readonly Told[]): Told | undefined {
  const [first] = told
  // A pod is seen as ending before it goes: that is two.
  if (method !== 'DELETE' || !first || first.table === 'pods') return told.at(-1)
  const [named = ''] = path.split('?')
  return named.endsWith(`/${first.change.object.metadata.name}`) ? first : undefined
}

function emptyMemory(): Memory {
  return { course: newCourse(), outcome: undefined }
}

let courses = 0

/** One that nobody has had yet. */
function newCourse(): number {
  return ++courses
}
