/**
 * States known from write responses, until the watch has caught up with them. They guarantee read-your-own-writes: a
 * watch event from before a write never undoes that write in the cache.
 */
import type { ObjectRef } from '../client/client.ts'
import type { KubeObject } from '../kube/object.ts'
import { cacheKey, parseKey, refOf, resourceVersionOf } from './key.ts'
import { isLater } from './resource-version.ts'
import type { Store } from './store.ts'

/** The latest state known from a response. */
interface Written {
  readonly at: number
  readonly version: string
  /** The consumer that wrote it. */
  readonly writer: string
  /** The versions written since the watch last caught up, and by which consumer. */
  readonly writers: ReadonlyMap<string, string>
}

/** A change that is older than the latest response. */
interface HiddenChange {
  /** The consumer of the latest response. */
  readonly writer: string
  /** The consumer that made the change, if it was one. */
  readonly author: string | undefined
}

/** Writes of one object that are in flight. */
interface InFlight {
  count: number
  /** Uids whose deletion the watch delivered meanwhile: a response that reports it adds nothing. */
  readonly ended: Set<string | undefined>
}

/** A delete known from a response. */
interface Deleted {
  readonly at: number
  readonly writer: string | undefined
}

/** Responses newer than a list. */
interface NewerWriteResponses {
  /** The list, with the states of newer responses in place of the listed ones. */
  merge(listed: readonly KubeObject[], store: Store): readonly KubeObject[]
}

export interface WriteResponses {
  begin(ref: ObjectRef): void
  end(ref: ObjectRef): void
  /** The response of a write; a later one may be known already. */
  written(ref: ObjectRef, version: string, writer: string, at: number): void
  /** `writer`: undefined if another client deleted it. */
  deleted(ref: ObjectRef, uid: string, writer: string | undefined, at: number): void
  versionOf(ref: ObjectRef): string | undefined
  /** Did a response report that the object with this uid is deleted? */
  isGone(ref: ObjectRef, uid: string | undefined): boolean
  /** Is this state older than the latest response? */
  isOutdated(ref: ObjectRef, object: KubeObject): boolean
  /** From whose write a change is hidden that the watch delivers late; `gone`: it deleted the object with this uid. */
  hiddenChange(ref: ObjectRef, version: string, gone?: string): HiddenChange | undefined
  /** The objects whose latest response is one of this consumer. */
  writtenBy(consumer: string): readonly string[]
  /** Did the watch deliver the deletion of this uid while a write was in flight? */
  hasEnded(ref: ObjectRef, uid: string): boolean
  /** The watch delivered the deletion. `isSure`: not just a change of selection, so no older event of this uid can follow. */
  ended(ref: ObjectRef, uid: string | undefined, isSure: boolean): void
  /** The watch delivered a state of this uid: it exists. */
  noteExisting(ref: ObjectRef, uid: string | undefined): void
  /** The watch has caught up with the write. */
  drop(ref: ObjectRef): void
  /** The latest version of all responses. */
  latest(): string | undefined
  /** The watch has passed this version, and all deletes whose responses came before this moment. */
  passed(version: string, before: number): void
  /**
   * A list is a consistent snapshot. A response that came after the list request began may be newer; an earlier one cannot
   * be, unless the server has lost data, and then the list is right.
   */
  newerThan(version: string, begunAt: number): NewerWriteResponses
  /** Drops what the list supersedes. Returns the objects, and the writers of their latest responses. */
  settle(version: string, begunAt: number): readonly { readonly ref: ObjectRef; readonly writer: string }[]
}

export function createWriteResponses(): WriteResponses {
  const writes = new Map<string, Written>()
  /** Deleted uids by key. A delete has no version that the watch could catch up with. */
  const gone = new Map<string, Map<string, Deleted>>()
  const inFlight = new Map<string, InFlight>()

  const isNewer = ({ at, version }: Written, listed: string, begunAt: number): boolean =>
    at >= begunAt && isLater(version, listed)

  const isGone = (key: string, uid: string | undefined): boolean => gone.get(key)?.has(uid ?? '') ?? false

  const forgetGone = (key: string, uid: string): void => {
    const uids = gone.get(key)
    uids?.delete(uid)
    if (uids?.size === 0) gone.delete(key)
  }

  const forgetBefore = (moment: number): void => {
    for (const [key, uids] of gone) for (const [uid, { at }] of uids) if (at < moment) forgetGone(key, uid)
  }

  return {
    begin(ref) {
      const writing = inFlight.get(cacheKey(ref))
      if (writing) writing.count++
      else inFlight.set(cacheKey(ref), { count: 1, ended: new Set() })
    },
    end(ref) {
      const writing = inFlight.get(cacheKey(ref))
      if (writing && --writing.count === 0) inFlight.delete(cacheKey(ref))
    },
    written(ref, version, writer, at) {
      const key = cacheKey(ref)
      const known = writes.get(key)
      const writers = new Map(known?.writers).set(version, writer)
      const isOvertaken = known !== undefined && !isLater(version, known.version)
      writes.set(key, isOvertaken ? { ...known, writers } : { at, version, writer, writers })
    },
    deleted(ref, uid, writer, at) {
      const key = cacheKey(ref)
      const uids = gone.get(key)
      if (uids) uids.set(uid, { at, writer })
      else gone.set(key, new Map([[uid, { at, writer }]]))
    },
    versionOf: (ref) => writes.get(cacheKey(ref))?.version,
    isGone: (ref, uid) => isGone(cacheKey(ref), uid),
    isOutdated(ref, object) {
      if (writes.size === 0 && gone.size === 0) return false
      const key = cacheKey(ref)
      const written = writes.get(key)
      return (
        isGone(key, object.metadata.uid) ||
        (written !== undefined && isLater(written.version, resourceVersionOf(object)))
      )
    },
    hiddenChange(ref, version, uid) {
      const key = cacheKey(ref)
      const written = writes.get(key)
      if (!written) return undefined
      const { writer, writers } = written
      return {
        writer,
        author: writers.get(version) ?? (uid === undefined ? undefined : gone.get(key)?.get(uid)?.writer),
      }
    },
    writtenBy: (consumer) => [...writes].flatMap(([key, { writer }]) => (writer === consumer ? [key] : [])),
    hasEnded: (ref, uid) => inFlight.get(cacheKey(ref))?.ended.has(uid) ?? false,
    ended(ref, uid, isSure) {
      const key = cacheKey(ref)
      inFlight.get(key)?.ended.add(uid)
      if (isSure) forgetGone(key, uid ?? '')
    },
    noteExisting: (ref, uid) => void (inFlight.size > 0 && inFlight.get(cacheKey(ref))?.ended.delete(uid)),
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
      forgetBefore(before)
    },
    newerThan(version, begunAt) {
      const newer = [...writes].filter(([, written]) => isNewer(written, version, begunAt))
      return {
        merge(listed, store) {
          if (newer.length === 0 && gone.size === 0) return listed
          const written = new Map(newer)
          const kept = listed.filter((object) => {
            const key = cacheKey(refOf(object))
            const deleted = gone.get(key)?.get(object.metadata.uid ?? '')
            return !written.has(key) && (deleted === undefined || deleted.at < begunAt)
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
      const settled = [...writes].filter(([, written]) => !isNewer(written, version, begunAt))
      for (const [key] of settled) writes.delete(key)
      forgetBefore(begunAt)
      return settled.map(([key, { writer }]) => ({ ref: parseKey(key), writer }))
    },
  }
}
