/**
 * Events: what a component wants people to know. What is said again is counted, not repeated; and what was said an hour
 * ago is forgotten, as the real server does.
 */
import { formatTime } from '../../kube/duration.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { SimulatedState } from './cluster.ts'
import type { Hand } from './object-writer.ts'

export type Recorder = (about: KubeObject, type: 'Normal' | 'Warning', reason: string, message: string) => void

const keptMs = 3_600_000
/** Who has that much to say about one object is not listened to any more, until time has passed. */
const burst = 25
const refillMs = 300_000

interface Noted {
  readonly namespace: string
  readonly name: string
  readonly key: string
  readonly at: number
}

/** `component` is who speaks, as events name it: `deployment-controller`. */
export function createRecorder(cluster: SimulatedState, hand: Hand, component: string): Recorder {
  const noted = new Map<string, Noted>()
  const patience = new Map<string, { readonly left: number; readonly at: number }>()
  let count = 0

  const isHeard = (uid: string): boolean => {
    const now = cluster.now()
    const known = patience.get(uid) ?? { left: burst, at: now }
    const left = Math.min(burst, known.left + (now - known.at) / refillMs)
    patience.delete(uid)
    patience.set(uid, { left: left < 1 ? left : left - 1, at: now })
    // Whose patience is restored is as good as forgotten; the oldest come first.
    for (const [other, { at }] of patience) {
      if (at > now - burst * refillMs) break
      patience.delete(other)
    }
    return left >= 1
  }

  const forget = async (): Promise<void> => {
    for (const one of noted.values()) {
      if (one.at > cluster.now() - keptMs) return
      noted.delete(one.key)
      const old = cluster.get('events', one.namespace, one.name)
      if (old) await hand.remove('events', old)
    }
  }

  const write = async (
    about: KubeObject,
    ...[type, reason, message]: [type: string, reason: string, message: string]
  ): Promise<void> => {
    if (!isHeard(about.metadata.uid ?? '')) return
    await forget()
    const { name = '', namespace = 'default', uid = '', resourceVersion = '' } = about.metadata
    const { nodeName = '' } = (about as { readonly spec?: { readonly nodeName?: string } }).spec ?? {}
    const host = component === 'kubelet' ? nodeName : ''
    const key = [about.kind, namespace, name, uid, type, reason, message].join('\0')
    const now = formatTime(cluster.now())
    const before = noted.get(key)
    const live = before && cluster.get('events', before.namespace, before.name)
    if (before && live) {
      // Told again: it is as fresh as the last time.
      noted.delete(key)
      noted.set(key, { ...before, at: cluster.now() })
      await hand.update('events', { ...live, count: (live.count ?? 1) + 1, lastTimestamp: now })
      return
    }
    const eventName = `${name}.${(cluster.now() * 4096 + (count++ % 4096)).toString(16)}`
    await hand.create('events', {
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
    noted.set(key, { namespace, name: eventName, key, at: cluster.now() })
  }

  return (about, type, reason, message) => {
    // Nobody waits for an event, and what cannot be told (its namespace is going, say) is not worth a failure.
    write(about, type, reason, message).catch(() => undefined)
  }
}
