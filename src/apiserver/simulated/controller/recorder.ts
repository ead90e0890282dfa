/**
 * Records events. Repeated events are aggregated into a count; events older than an hour are forgotten, as on the real
 * server.
 */
import { formatTime } from '../../../kube/units/duration.ts'
import type { KubeObject } from '../../../kube/object.ts'
import type { SimulatedState } from './cluster.ts'
import type { ObjectWriter } from './object-writer.ts'

export type Recorder = (about: KubeObject, type: 'Normal' | 'Warning', reason: string, message: string) => void

const keptMs = 3_600_000
/** Events per object before rate limiting starts; the allowance refills over time. */
const burst = 25
const refillMs = 300_000

interface RecordedEvent {
  readonly namespace: string
  readonly name: string
  readonly key: string
  readonly at: number
}

/** `component` is the source of the events: `deployment-controller`. */
export function createRecorder(cluster: SimulatedState, writer: ObjectWriter, component: string): Recorder {
  const recorded = new Map<string, RecordedEvent>()
  const allowances = new Map<string, { readonly left: number; readonly at: number }>()
  let count = 0

  const isAllowed = (uid: string): boolean => {
    const now = cluster.now()
    const known = allowances.get(uid) ?? { left: burst, at: now }
    const left = Math.min(burst, known.left + (now - known.at) / refillMs)
    allowances.delete(uid)
    allowances.set(uid, { left: left < 1 ? left : left - 1, at: now })
    // An object whose allowance is full again needs no entry; the oldest entries come first.
    for (const [other, { at }] of allowances) {
      if (at > now - burst * refillMs) break
      allowances.delete(other)
    }
    return left >= 1
  }

  const forget = async (): Promise<void> => {
    for (const one of recorded.values()) {
      if (one.at > cluster.now() - keptMs) return
      recorded.delete(one.key)
      const old = cluster.get('events', one.namespace, one.name)
      if (old) await writer.remove('events', old)
    }
  }

  const write = async (
    about: KubeObject,
    ...[type, reason, message]: [type: string, reason: string, message: string]
  ): Promise<void> => {
    if (!isAllowed(about.metadata.uid ?? '')) return
    await forget()
    const { name = '', namespace = 'default', uid = '', resourceVersion = '' } = about.metadata
    const { nodeName = '' } = (about as { readonly spec?: { readonly nodeName?: string } }).spec ?? {}
    const host = component === 'kubelet' ? nodeName : ''
    const key = [about.kind, namespace, name, uid, type, reason, message].join('\0')
    const now = formatTime(cluster.now())
    const before = recorded.get(key)
    const live = before && cluster.get('events', before.namespace, before.name)
    if (before && live) {
      // Moves the entry to the end: it is as recent as its last occurrence.
      recorded.delete(key)
      recorded.set(key, { ...before, at: cluster.now() })
      await writer.update('events', { ...live, count: (live.count ?? 1) + 1, lastTimestamp: now })
      return
    }
    const eventName = `${name}.${(cluster.now() * 4096 + (count++ % 4096)).toString(16)}`
    await writer.create('events', {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: eventName, namespace },
      involvedObject: { apiVersion: about.apiVersion, kind: about.kind, name, namespace, uid, resourceVersion },
      type,
      reason,
      message,
      count: 1,
      firstTimestamp: now,
      lastTimestamp: now,
      source: { component, ...(host && { host }) },
      reportingComponent: component,
      reportingInstance: host,
    })
    recorded.set(key, { namespace, name: eventName, key, at: cluster.now() })
  }

  return (about, type, reason, message) => {
    // Events are best effort: a failed write (in a namespace that is being deleted, say) is ignored.
    write(about, type, reason, message).catch(() => undefined)
  }
}
