/**
 * Room: what is left on each node. It follows every change of nodes and pods, so a scheduling decision looks at nodes
 * and never counts pods.
 */
import { parseQuantity, quantityToMilli, quantityToNumber } from '../../kube/quantity.ts'
import type { PodSpec } from '../../kube/types/core/v1.ts'
import { totalOf } from '../kinds/pod-resources.ts'
import type { StoredIn, StoredPod } from './cluster.ts'
import { isFinished } from './pod-facts.ts'

/** CPU in thousandths, all else in whole units. */
export type RoomAmounts = ReadonlyMap<string, number>

export interface Needs {
  readonly requests: RoomAmounts
  /** With a small something for who asks for nothing, so that such pods spread too. */
  readonly weight: { readonly cpu: number; readonly memory: number }
  /** `TCP 0.0.0.0 8080`. */
  readonly ports: readonly HostPort[]
}

export interface HostPort {
  readonly protocol: string
  readonly ip: string
  readonly port: number
}

const leastCpu = 100
const leastMemory = 200 * 1024 * 1024

function amountOf(resource: string, quantity: Parameters<typeof parseQuantity>[0]): number {
  const parsed = parseQuantity(quantity)
  return resource === 'cpu' ? Number(quantityToMilli(parsed)) : quantityToNumber(parsed)
}

export function amountsOf(list: Readonly<Record<string, string | number>> | undefined): RoomAmounts {
  return new Map(Object.entries(list ?? {}).map(([name, quantity]) => [name, amountOf(name, quantity)]))
}

const known = new WeakMap<PodSpec, Needs>()

export function needsOf({ spec }: StoredPod): Needs {
  if (!spec) return { requests: new Map(), weight: { cpu: leastCpu, memory: leastMemory }, ports: [] }
  const before = known.get(spec)
  if (before) return before
  const needs = readNeeds(spec)
  known.set(spec, needs)
  return needs
}

function readNeeds(spec: PodSpec): Needs {
  const requests = new Map<string, number>()
  for (const [name, quantity] of totalOf(spec, 'requests')) {
    requests.set(name, name === 'cpu' ? Number(quantityToMilli(quantity)) : quantityToNumber(quantity))
  }
  for (const [name, amount] of amountsOf(spec.resources?.requests)) requests.set(name, amount)
  for (const [name, amount] of amountsOf(spec.overhead)) requests.set(name, (requests.get(name) ?? 0) + amount)
  const ports = (spec.containers ?? []).flatMap(({ ports: own = [] }) =>
    own.flatMap(({ hostPort, hostIP, protocol = 'TCP' }) =>
      hostPort ? [{ protocol, ip: hostIP || '0.0.0.0', port: hostPort }] : [],
    ),
  )
  return {
    requests,
    weight: { cpu: requests.get('cpu') || leastCpu, memory: requests.get('memory') || leastMemory },
    ports,
  }
}

/** One node and what stands on it. */
export interface RoomPlace {
  node: StoredIn<'nodes'>
  allocatable: RoomAmounts
  readonly used: Map<string, number>
  readonly weight: { cpu: number; memory: number }
  readonly pods: Map<string, StoredPod>
}

export interface Room {
  /** Counts what may make a pod fit that did not. */
  readonly version: number
  places(): Iterable<RoomPlace>
  place(node: string): RoomPlace | undefined
  /** Pods with required anti-affinity, which have a say in who comes near them. */
  readonly guarded: ReadonlyMap<string, StoredPod>
  setNode(node: StoredIn<'nodes'> | undefined, previous: StoredIn<'nodes'> | undefined): void
  setPod(pod: StoredPod | undefined, previous: StoredPod | undefined): void
  /** Something else than nodes and pods gave hope. */
  hope(): void
}

export function createRoom(): Room {
  const places = new Map<string, RoomPlace>()
  /** On nodes that are not there (yet). */
  const homeless = new Map<string, Map<string, StoredPod>>()
  const guarded = new Map<string, StoredPod>()

  const put = (pod: StoredPod): void => {
    const name = pod.spec!.nodeName!
    const place = places.get(name)
    if (place) occupy(place, pod, 1)
    else homeless.set(name, (homeless.get(name) ?? new Map<string, StoredPod>()).set(pod.metadata.uid, pod))
    if (pod.spec?.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.length) {
      guarded.set(pod.metadata.uid, pod)
    }
  }

  const take = (pod: StoredPod): void => {
    const name = pod.spec!.nodeName!
    const place = places.get(name)
    if (place) occupy(place, pod, -1)
    else homeless.get(name)?.delete(pod.metadata.uid)
    guarded.delete(pod.metadata.uid)
  }

  const room: Room & { version: number } = {
    version: 0,
    places: () => places.values(),
    place: (node) => places.get(node),
    guarded,
    hope: () => void room.version++,
    setNode(node, previous) {
      const name = (node ?? previous)!.metadata.name
      const before = places.get(name)
      if (!node) {
        places.delete(name)
        if (before) homeless.set(name, before.pods)
        return
      }
      if (before && isSameRoom(node, before.node)) {
        before.node = node
        return
      }
      room.version++
      const allocatable = amountsOf(node.status?.allocatable)
      if (before) {
        before.node = node
        before.allocatable = allocatable
        return
      }
      const place: RoomPlace = { node, allocatable, used: new Map(), weight: { cpu: 0, memory: 0 }, pods: new Map() }
      places.set(name, place)
      for (const pod of homeless.get(name)?.values() ?? []) occupy(place, pod, 1)
      homeless.delete(name)
    },
    setPod(pod, previous) {
      const isOn = (one: StoredPod | undefined): one is StoredPod => Boolean(one?.spec?.nodeName) && !isFinished(one!)
      if (isOn(previous)) take(previous)
      if (isOn(pod)) put(pod)
      else if (isOn(previous)) room.version++
    },
  }
  return room
}

function occupy(place: RoomPlace, pod: StoredPod, sign: 1 | -1): void {
  const { requests, weight } = needsOf(pod)
  for (const [name, amount] of requests) place.used.set(name, (place.used.get(name) ?? 0) + sign * amount)
  place.weight.cpu += sign * weight.cpu
  place.weight.memory += sign * weight.memory
  if (sign > 0) place.pods.set(pod.metadata.uid, pod)
  else place.pods.delete(pod.metadata.uid)
}

/** What a heartbeat changes is no reason to look again. */
function isSameRoom(a: StoredIn<'nodes'>, b: StoredIn<'nodes'>): boolean {
  const text = ({ metadata, spec, status }: StoredIn<'nodes'>): string =>
    JSON.stringify([metadata.labels, spec, status?.allocatable])
  return text(a) === text(b)
}
