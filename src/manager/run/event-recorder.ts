/**
 * Kubernetes Events without repetition: an Event that occurs again for the same object increases a count. The name of
 * an Event is derived from its content, so that the count survives a restart.
 */
import { hash } from 'node:crypto'
import type { Client } from '../../client/client.ts'
import type { Clock } from '../../clock/clock.ts'
import { formatTime } from '../../kube/units/duration.ts'
import { clientErrors } from '../../client/errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import { cutText } from '../../kube/text/hidden-text.ts'
import type { Resource } from '../../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import type { EventDraft } from '../../operator/ledger.ts'

interface EventRecorder {
  /**
   * Never rejects: a failed Event must not fail a reconcile. `isHeld` is checked before each request: there may be
   * several.
   */
  record(about: KubeObject, event: EventDraft, isHeld?: () => boolean): Promise<void>
}

interface EventRecorderOptions {
  readonly client: Client
  readonly clock: Clock
  /** Reported as the source of the Event. */
  readonly operator: string
  /** Minimum time between two writes of the same Event; occurrences in between are counted. @default 60_000 */
  readonly quietMs?: number
  /** Time limit of one request. @default the client's */
  readonly timeoutMs?: number | undefined
  readonly onProblem: (error: unknown) => void
}

const events: Resource = { group: '', version: 'v1', kind: 'Event', plural: 'events', namespaced: true }

interface RecordedEvent {
  count: number
  readonly first: string
  writtenAt: number
}

/** Limit of remembered Events. The oldest is dropped, and is created anew when it occurs again. */
const mostRemembered = 4096
const longestMessage = 1024

export function createEventRecorder({
  client,
  clock,
  operator,
  quietMs = 60_000,
  timeoutMs,
  onProblem,
}: EventRecorderOptions): EventRecorder {
  const recorded = new Map<string, RecordedEvent>()
  const limits = timeoutMs === undefined ? {} : { timeoutMs }

  return {
    async record(about, { type, reason, message }, isHeld = () => true) {
      const { name = '', namespace = 'default', uid = '', resourceVersion = '' } = about.metadata
      const text = cutText(message, longestMessage)
      const id = hash('sha256', JSON.stringify([uid, operator, type, reason, text])).slice(0, 16)
      const now = clock.now()
      const time = formatTime(now)
      const known = recorded.get(id)
      if (known) {
        known.count++
        if (now - known.writtenAt < quietMs) return
      }
      const entry = known ?? { count: 1, first: time, writtenAt: now }
      entry.writtenAt = now
      recorded.delete(id)
      recorded.set(id, entry)
      if (recorded.size > mostRemembered) recorded.delete(recorded.keys().next().value!)
      const eventName = `${name.slice(0, 230)}.${id}`
      const { apiVersion, kind } = about
      const object = {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: eventName, namespace },
        involvedObject: {
          apiVersion,
          kind,
          name,
          ...(about.metadata.namespace !== undefined && { namespace }),
          uid,
          resourceVersion,
        },
        type,
        reason,
        message: text,
        source: { component: operator },
        reportingComponent: operator,
        reportingInstance: operator,
        firstTimestamp: entry.first,
        lastTimestamp: time,
        count: entry.count,
      } as UntypedObject
      try {
        const isCounted = known !== undefined && (await countOn(eventName, namespace, entry.count, time))
        if (!isCounted && isHeld()) await create(object, entry, time, isHeld)
      } catch (error) {
        onProblem(error)
      }
    },
  }

  /** False when the server has expired the Event. */
  async function countOn(name: string, namespace: string, count: number, lastTimestamp: string): Promise<boolean> {
    try {
      const change = { count, lastTimestamp }
      await client.patch(events, { name, namespace }, change, { type: 'merge', fieldManager: operator, ...limits })
      return true
    } catch (error) {
      if (isMusterError(error, clientErrors.NotFound)) return false
      throw error
    }
  }

  /** An Event from before a restart exists already: its count goes on. */
  async function create(
    object: UntypedObject,
    entry: RecordedEvent,
    time: string,
    isHeld: () => boolean,
  ): Promise<void> {
    try {
      await client.create(events, object, { fieldManager: operator, ...limits })
    } catch (error) {
      if (!isMusterError(error, clientErrors.AlreadyExists)) throw error
      const { name = '', namespace = '' } = object.metadata
      const before = await client.get(events, { name, namespace })
      entry.count += Number(before['count'] ?? 1)
      if (isHeld()) await countOn(name, namespace, entry.count, time)
    }
  }
}
