/**
 * What the answers of writes told about objects, until the watch has caught up with them: the reason why a reader
 * never sees its own write undone by news from before it.
 */
import type { ObjectRef } from '../client/client.ts'
import type { KubeObject } from '../kube/object.ts'
import { keyOf, parseKey, refOf, versionOf } from './key.ts'
import { isLater } from './own-writes.ts'
import type { Store } from './store.ts'

interface Answer {
  readonly at: number
  /** False: the object with this uid is gone. */
  readonly exists: boolean
  readonly uid: string | undefined
  /** The version written, or the last one known before a delete. */
  readonly version: string
}

/** Answers that a list does not know of yet. */
export interface NewerAnswers {
  /** The list, with what the copy holds from newer answers in the place of its own. */
  merge(listed: readonly KubeObject[], store: Store): readonly KubeObject[]
}

export interface Answers {
  written(ref: ObjectRef, object: KubeObject, at: number): void
  deleted(ref: ObjectRef, uid: string, lastVersion: string, at: number): void
  has(ref: ObjectRef): boolean
  versionOf(ref: ObjectRef): string | undefined
  /** Was the object with this uid deleted, by the latest answer? */
  isGone(ref: ObjectRef, uid: string | undefined): boolean
  /** Is this a state from before the latest answer? */
  isHistory(ref: ObjectRef, object: KubeObject): boolean
  drop(ref: ObjectRef): void
  /** The latest version that any of them wrote. */
  latest(): string | undefined
  /** The watch is past this version. */
  passed(version: string, isConcerned: (key: string) => boolean): void
  /**
   * A list is the truth of a moment. An answer that came after the list began may be newer than it; one that came
   * before cannot be, unless the server has lost data, and then the list is right again.
   */
  newerThan(version: string, begunAt: number, isConcerned: (key: string) => boolean): NewerAnswers
  /** Forgets what the list has settled. */
  settle(version: string, begunAt: number, isConcerned: (key: string) => boolean): void
}

export function createAnswers(): Answers {
  const answers = new Map<string, Answer>()

  const isNewer = ({ at, exists, version }: Answer, listed: string, begunAt: number): boolean =>
    at >= begunAt && (!exists || isLater(version, listed))

  return {
    written: (ref, object, at) =>
      void answers.set(keyOf(ref), { at, exists: true, uid: object.metadata.uid, version: versionOf(object) }),
    deleted: (ref, uid, version, at) => void answers.set(keyOf(ref), { at, exists: false, uid, version }),
    has: (ref) => answers.has(keyOf(ref)),
    versionOf: (ref) => answers.get(keyOf(ref))?.version,
    isGone(ref, uid) {
      const answer = answers.get(keyOf(ref))
      return answer !== undefined && !answer.exists && answer.uid === uid
    },
    isHistory(ref, object) {
      if (answers.size === 0) return false
      const answer = answers.get(keyOf(ref))
      if (!answer) return false
      return (!answer.exists && answer.uid === object.metadata.uid) || isLater(answer.version, versionOf(object))
    },
    drop: (ref) => void (answers.size > 0 && answers.delete(keyOf(ref))),
    latest() {
      let latest: string | undefined
      for (const { exists, version } of answers.values()) {
        if (exists && (latest === undefined || isLater(version, latest))) latest = version
      }
      return latest
    },
    passed(version, isConcerned) {
      for (const [key, answer] of answers) {
        if (answer.exists && isConcerned(key) && !isLater(answer.version, version)) answers.delete(key)
      }
    },
    newerThan(version, begunAt, isConcerned) {
      const newer = new Map(
        [...answers].filter(([key, answer]) => isConcerned(key) && isNewer(answer, version, begunAt)),
      )
      return {
        merge(listed, store) {
          if (newer.size === 0) return listed
          const kept = listed.filter((object) => {
            const answer = newer.get(keyOf(refOf(object)))
            return !answer || (!answer.exists && answer.uid !== object.metadata.uid)
          })
          for (const [key, { exists }] of newer) {
            const { namespace, name } = parseKey(key)
            const object = exists ? store.get(namespace, name) : undefined
            if (object) kept.push(object)
          }
          return kept
        },
      }
    },
    settle(version, begunAt, isConcerned) {
      for (const [key, answer] of answers) {
        if (isConcerned(key) && !isNewer(answer, version, begunAt)) answers.delete(key)
      }
    },
  }
}
