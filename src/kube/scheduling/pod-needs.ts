/**
 * What a pod requests of its node. Containers run concurrently, so their requests are added up; init containers run one
 * after the other before them, so each counts together with the sidecars started before it, and the maximum is taken.
 */
import type { Container, PodSpec } from '../types/core/v1.ts'
import {
  addQuantities,
  compareQuantities,
  makeQuantity,
  parseQuantity,
  type Quantity,
  quantityToMilli,
  quantityToNumber,
} from '../units/quantity.ts'

type Amounts = ReadonlyMap<string, Quantity>
type Kind = 'requests' | 'limits'

/** The sum over the containers of a pod, without requests at the level of the pod and without overhead. */
export function totalOf(spec: PodSpec, kind: Kind): Amounts {
  const total = new Map<string, Quantity>()
  // Validation also runs on a pod without containers, to report that.
  for (const container of (spec.containers as PodSpec['containers'] | null | undefined) ?? [])
    add(total, amountsOf(container, kind))
  const sidecars = new Map<string, Quantity>()
  const peak = new Map<string, Quantity>()
  for (const container of spec.initContainers ?? []) {
    const own = new Map(amountsOf(container, kind))
    if (container.restartPolicy === 'Always') {
      add(total, own)
      add(sidecars, own)
      raise(peak, sidecars)
    } else {
      add(own, sidecars)
      raise(peak, own)
    }
  }
  raise(total, peak)
  return total
}

function amountsOf({ resources }: Container, kind: Kind): Amounts {
  return new Map(Object.entries(resources?.[kind] ?? {}).map(([name, amount]) => [name, parseQuantity(amount)]))
}

function add(total: Map<string, Quantity>, more: Amounts): void {
  for (const [name, amount] of more) total.set(name, addQuantities(total.get(name) ?? makeQuantity(0), amount))
}

function raise(total: Map<string, Quantity>, other: Amounts): void {
  for (const [name, amount] of other) {
    const known = total.get(name)
    if (!known || compareQuantities(known, amount) < 0) total.set(name, amount)
  }
}

/** CPU in thousandths, all else in whole units. */
export type ResourceAmounts = ReadonlyMap<string, number>

export interface PodNeeds {
  readonly requests: ResourceAmounts
  /** Requests for scoring, with a small minimum for pods without requests, so that such pods spread too. */
  readonly weight: { readonly cpu: number; readonly memory: number }
  readonly ports: readonly HostPort[]
}

export interface HostPort {
  readonly protocol: string
  readonly ip: string
  readonly port: number
}

const minCpu = 100
const minMemory = 200 * 1024 * 1024

function amountOf(resource: string, quantity: Parameters<typeof parseQuantity>[0]): number {
  const parsed = parseQuantity(quantity)
  return resource === 'cpu' ? Number(quantityToMilli(parsed)) : quantityToNumber(parsed)
}

export function resourceAmounts(list: Readonly<Record<string, string | number>> | undefined): ResourceAmounts {
  return new Map(Object.entries(list ?? {}).map(([name, quantity]) => [name, amountOf(name, quantity)]))
}

/** Objects are never changed in place, so the result for a spec stays right. */
const known = new WeakMap<PodSpec, PodNeeds>()

export function needsOf({ spec }: { readonly spec?: PodSpec }): PodNeeds {
  if (!spec) return { requests: new Map(), weight: { cpu: minCpu, memory: minMemory }, ports: [] }
  const before = known.get(spec)
  if (before) return before
  const needs = readNeeds(spec)
  known.set(spec, needs)
  return needs
}

function readNeeds(spec: PodSpec): PodNeeds {
  const requests = new Map<string, number>()
  for (const [name, quantity] of totalOf(spec, 'requests')) {
    requests.set(name, name === 'cpu' ? Number(quantityToMilli(quantity)) : quantityToNumber(quantity))
  }
  for (const [name, amount] of resourceAmounts(spec.resources?.requests)) requests.set(name, amount)
  for (const [name, amount] of resourceAmounts(spec.overhead)) requests.set(name, (requests.get(name) ?? 0) + amount)
  const ports = (spec.containers ?? []).flatMap(({ ports: own = [] }) =>
    own.flatMap(({ hostPort, hostIP, protocol = 'TCP' }) =>
      hostPort ? [{ protocol, ip: hostIP || '0.0.0.0', port: hostPort }] : [],
    ),
  )
  return {
    requests,
    weight: { cpu: requests.get('cpu') || minCpu, memory: requests.get('memory') || minMemory },
    ports,
  }
}
