/**
 * What the answers of writes told about objects, until the watch has caught up with them: the reason why a reader
 * never sees its own write undone by news from before it.
 */
import type { ObjectRef } from '../client/client.ts'
import type { KubeObject } from '../kube/object.ts'
import { cacheKey, parseKey, refOf, resourceVersionOf } from './key.ts'
import { isLater } from './own-writes.ts'
import type { Store } from './store.ts'

/** The latest state that an answer told of. */
interface Written {
  readonly at: number
  readonly version: string
}

/** Writes of one object that are under way. */
interface UnderWay {
  count: number
  /** Lives of the object that the watch saw end meanwhile: an answer that tells of it is no news. */
  readonly ended: Set<string | undefined>
}

/** One of the objects that a name has had. */
export interface ObjectLife {
  readonly ref: ObjectRef
  readonly uid: string
}

/** Answers that a list does not know of yet. */
export interface NewerWriteResponses {
  /** The list, with what the copy holds from newer answers in the place of its own. */
  merge(listed: readonly KubeObject[], store: Store): readonly KubeObject[]
}

export interface WriteResponses {
  begin(ref: ObjectRef): void
  end(ref: ObjectRef): void
  written(ref: ObjectRef, object: KubeObject, at: number): void
  deleted(ref: ObjectRef, uid: string, at: number): void
  versionOf(ref: ObjectRef): string | undefined
  /** Did an answer tell that the object with this uid is gone? */
  isGone(ref: ObjectRef, uid: string | undefined): boolean
  /** Is this a state from before the latest answer? */
  isHistory(ref: ObjectRef, object: KubeObject): boolean
  /** Has the watch seen this life end while a write was under way? */
  hasEnded(ref: ObjectRef, uid: string): boolean
  /** The watch saw this life end: no older news of it can come. Or does it only seem so? Then some may. */
  ended(ref: ObjectRef, uid: string | undefined, isSure: boolean): void
  /** The watch tells of this life: it has not ended. */
  lives(ref: ObjectRef, uid: string | undefined): void
  /** The watch has caught up with what was written. */
  drop(ref: ObjectRef): void
  /** The latest version that any of them wrote. */
  latest(): string | undefined
  /** The watch is past this version, and past what was deleted before this moment: returns those. */
  passed(version: string, before: number): readonly ObjectLife[]
  /**
   * A list is the truth of a moment. An answer that came after the list began may be newer than it; one that came
   * before cannot be, unless the server has lost data, and then the list is right again.
   */
  newerThan(version: string, begunAt: number): NewerWriteResponses
  /** Forgets what the list has settled. */
  settle(version: string, begunAt: number): void
}

export function createWriteResponses(): WriteResponses {
  const writes = new Map<string, Written>()
  /** Lives that are over, by key: uid → when the answer came. Other than a version, this is no state to catch up with. */
  const gone = new Map<string, Map<string, number>>()
  const underWay = new Map<string, UnderWay>()

  const isNewer = ({ at, version }: Written, listed: string, begunAt: number): boolean =>
    at >= begunAt && isLater(version, listed)

  const isGone = (key: string, uid: string | undefined): boolean => gone.get(key)?.has(uid ?? '') ?? false

  const forgetGone = (key: string, uid: string): void => {
    const lives = gone.get(key)
    lives?.delete(uid)
    if (lives?.size === 0) gone.delete(key)
  }

  const forgetBefore = (moment: number): readonly ObjectLife[] => {
    const over = [...gone].flatMap(([key, lives]) =>
      [...lives].filter(([, at]) => at < moment).map(([uid]) => ({ ref: parseKey(key), uid })),
    )
    for (const { ref, uid } of over) forgetGone(cacheKey(ref), uid)
    return over
  }

  return {
    begin(ref) {
      const writing = underWay.get(cacheKey(ref))
      if (writing) writing.count++
      else underWay.set(cacheKey(ref), { count: 1, ended: new Set() })
    },
    end(ref) {
      const writing = underWay.get(cacheKey(ref))
      if (writing && --writing.count === 0) underWay.delete(cacheKey(ref))
    },
    written: (ref, object, at) => void writes.set(cacheKey(ref), { at, version: resourceVersionOf(object) }),
    deleted(ref, uid, at) {
      const key = cacheKey(ref)
      const lives = gone.get(key)
      if (lives) lives.set(uid, at)
      else gone.set(key, new Map([[uid, at]]))
    },
    versionOf: (ref) => writes.get(cacheKey(ref))?.version,
    isGone: (ref, uid) => isGone(cacheKey(ref), uid),
    isHistory(ref, object) {
      if (writes.size === 0 && gone.size === 0) return false
      const key = cacheKey(ref)
      const written = writes.get(key)
      return (
        isGone(key, object.metadata.uid) ||
        (written !== undefined && isLater(written.version, resourceVersionOf(object)))
      )
    },
    hasEnded: (ref, uid) => underWay.get(cacheKey(ref))?.ended.has(uid) ?? false,
    ended(ref, uid, isSure) {
      const key = cacheKey(ref)
      underWay.get(key)?.ended.add(uid)
      if (isSure) forgetGone(key, uid ?? '')
    },
    lives: (ref, uid) => void (underWay.size > 0 && underWay.get(cacheKey(ref))?.ended.delete(uid)),
    drop: (ref) => void (writes.size > 0 && writes.delete(cacheKey(ref))),
    latest() {
      let latest: string | undefined
      for (const { version } of writes.values()) {
        if (latest === undefined || isLater(version, latest)) latest = version
      }
      return latest
    },
    passed(version, before) {
      for (const [key, written] of writes) {
        if (!isLater(written.version, version)) writes.delete(key)
      }
      return forgetBefore(before)
    },
    newerThan(version, begunAt) {
      const newer = [...writes].filter(([, written]) => isNewer(written, version, begunAt))
      return {
        merge(listed, store) {
          if (newer.length === 0 && gone.size === 0) return listed
          const written = new Map(newer)
          const kept = listed.filter((object) => {
            const key = cacheKey(refOf(object))
            const goneAt = gone.get(key)?.get(object.metadata.uid ?? '')
            return !written.has(key) && (goneAt === undefined || goneAt < begunAt)
          })
          for (const key of written.keys()) {
            const { namespace, name } = parseKey(key)
            const object = store.get(namespace, name)
            if (object) kept.push(object)
          }
          return kept
        },
      }
    },
    settle(version, begunAt) {
      for (const [key, written] of writes) {
        if (!isNewer(written, version, begunAt)) writes.delete(key)
      }
      forgetBefore(begunAt)
    },
  }
}
