/**
 * Lookups: live objects that a chart asks for while it renders. A render cannot read the cluster: it is a function of its input.
 * So it is given answers, and says which further objects it asked for; it runs again with those, until it has all of them.
 */
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import type { Lookup } from '../template/services.ts'
import { type GoMap, int64, setMapMember } from '../template/values.ts'

export interface LookupQuestion {
  readonly apiVersion: string
  readonly kind: string
  /** Empty: of the cluster, or of all namespaces. */
  readonly namespace: string
  /** Empty: all objects, as a list. */
  readonly name: string
}

export interface LookupAnswer extends LookupQuestion {
  /** The object, or the list; null if there is none. */
  readonly found: JsonObject | null
}

interface LookupRecord {
  readonly lookup: Lookup
  /** What was asked for and has no answer. */
  asked(this: void): readonly LookupQuestion[]
}

/** What has no answer is not found. */
export function recordLookups(answers: readonly LookupAnswer[]): LookupRecord {
  const known = new Map(answers.map((answer) => [keyOf(answer), answer]))
  const asked = new Map<string, LookupQuestion>()
  return {
    lookup(apiVersion, kind, namespace, name) {
      const question = { apiVersion, kind, namespace, name }
      const key = keyOf(question)
      const answer = known.get(key)
      if (!answer) asked.set(key, question)
      return answer?.found ? liveValue(answer.found) : undefined
    },
    asked: () => [...asked.values()],
  }
}

function keyOf({ apiVersion, kind, namespace, name }: LookupQuestion): string {
  return JSON.stringify([apiVersion, kind, namespace, name])
}

/** Integers of live objects are Go's int64, unlike those of values. */
function liveValue(json: Json): unknown {
  if (typeof json === 'bigint' || (typeof json === 'number' && Number.isSafeInteger(json))) return int64(BigInt(json))
  if (Array.isArray(json)) return json.map((item: Json) => liveValue(item))
  if (!isJsonObject(json)) return json
  const map: GoMap = {}
  for (const [key, member] of Object.entries(json)) if (member !== undefined) setMapMember(map, key, liveValue(member))
  return map
}
