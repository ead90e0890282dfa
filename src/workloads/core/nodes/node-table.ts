/**
 * Free capacity of all nodes, and how many further pods of each waiting shape it has room for.
 *
 * Amounts are rows of one typed array, a column for each resource. A change of a node evaluates that node for each shape that
 * waits; the question "how many fit" then costs nothing, however many nodes there are.
 */
import { type CandidateNode, mismatchOf } from '../../../kube/scheduling/node-match.ts'
import type { ResourceAmounts } from '../../../kube/scheduling/pod-needs.ts'
import type { PodSpec } from '../../../kube/types/core/v1.ts'
import { createNodeTrial, type NodeTrial } from './node-trial.ts'
import type { NodeConstraints, PodShape } from '../pods/pod-shape.ts'

/** Pods of one shape that have to start together with others. */
export interface PodGroup {
  readonly shape: PodShape
  readonly count: number
}

/** Pods of a shape on a node. */
export interface NodeAssignment {
  readonly node: string
  readonly shape: PodShape
  readonly count: number
}

/** A resource of which there is too little. */
export interface Shortage {
  readonly resource: string
  readonly requested: number
  readonly available: number
}

export interface NodeTable {
  /** Incremented when capacity may have grown: only then may fit what did not fit before. */
  readonly growth: number
  /** Incremented when a node itself changes. */
  readonly version: number
  /** A new, changed or removed node. Its pods are kept, also while it is missing. */
  setNode(name: string, node: CandidateNode | undefined, allocatable?: ResourceAmounts): void
  /** Takes capacity of a node: a pod, or a reservation for one. A negative `count` gives it back. */
  take(name: string, requests: ResourceAmounts, count: number): void
  /** Counts how many pods of this shape fit, from now on. Each call needs one of `forget`. */
  watch(shape: PodShape): void
  forget(shape: PodShape): void
  /** How many further pods of a shape fit, each on its own. Of a watched shape at no cost. */
  room(shape: PodShape): number
  /** Nodes for all pods of the groups, or undefined. Takes nothing. */
  place(groups: readonly PodGroup[]): readonly NodeAssignment[] | undefined
  /** The same questions as if other pods were there. Valid until the table changes. */
  trial(): NodeTrial
  /** The resource that limits how many pods of a shape fit, over the nodes that accept them. */
  shortage(group: PodGroup): Shortage
  /** What the nodes have in total, and what of it is free. */
  totals(): ReadonlyMap<string, { readonly allocatable: number; readonly free: number }>
}

/** Which nodes accept pods with certain constraints: shapes that differ in their requests only share it. */
interface Acceptance {
  readonly key: string
  readonly pod: { readonly spec: PodSpec }
  /** By row: 1 if the node accepts them. */
  rows: Uint8Array
  users: number
}

/** A shape, and how many of its pods fit over all nodes. */
export interface ShapeColumn {
  readonly shape: PodShape
  readonly acceptance: Acceptance
  readonly resources: Uint32Array
  readonly amounts: Float64Array
  room: number
  watchers: number
}

interface Row {
  readonly index: number
  node: CandidateNode | undefined
  allocatable: ResourceAmounts
  /** By resource, also while the node is missing. */
  readonly taken: Map<string, number>
}

export function createNodeTable(): NodeTable {
  const resources = new Map<string, number>()
  const rows = new Map<string, Row>()
  const names: string[] = []
  /** Rows of removed nodes, for the next ones. */
  const vacant: number[] = []
  const columns = new Map<string, ShapeColumn>()
  /** The same columns: a change of a node goes through all of them. */
  let watched: ShapeColumn[] = []
  const acceptances = new Map<string, Acceptance>()
  let width = 4
  let free = new Float64Array(64 * width)
  let growth = 0
  let version = 0

  const resourceIndex = (name: string): number => {
    const known = resources.get(name)
    if (known !== undefined) return known
    const index = resources.size
    resources.set(name, index)
    if (index >= width) widen()
    return index
  }

  const widen = (): void => {
    const wider = new Float64Array((free.length / width) * width * 2)
    for (let row = 0; row * width < free.length; row++)
      wider.set(free.subarray(row * width, (row + 1) * width), row * width * 2)
    free = wider
    width *= 2
  }

  const roomOn = (row: number, column: ShapeColumn): number => roomIn(free, row * width, row, column)

  /** The same with the free amounts of another array. */
  const roomIn = (
    values: Float64Array,
    start: number,
    row: number,
    { resources: indexes, amounts, acceptance, shape }: ShapeColumn,
  ): number => {
    if (acceptance.rows[row] !== 1) return 0
    let room = shape.perNode
    for (let each = 0; each < indexes.length; each++) {
      // A copy may be older than the last resource.
      const fits = (values[start + indexes[each]!] ?? 0) / amounts[each]!
      // Most nodes of a full cluster have no room: the first resource says so.
      if (fits < 1) return 0
      if (fits < room) room = fits
    }
    return Math.floor(room)
  }

  /** Changes a row, and the counts of all shapes by the difference. */
  const change = (row: number, apply: () => void): void => {
    for (const column of watched) column.room -= roomOn(row, column)
    apply()
    for (const column of watched) column.room += roomOn(row, column)
  }

  const acceptanceOf = ({ constraints }: PodShape): Acceptance => {
    const key = JSON.stringify(constraints)
    const known = acceptances.get(key)
    if (known) return known
    const acceptance = { key, pod: podWith(constraints), rows: new Uint8Array(free.length / width), users: 0 }
    for (const { index, node } of rows.values()) if (node) acceptance.rows[index] = accepts(acceptance, node)
    return acceptance
  }

  const makeColumn = (shape: PodShape): ShapeColumn => {
    const column: ShapeColumn = {
      shape,
      acceptance: acceptanceOf(shape),
      resources: Uint32Array.from(shape.requests.keys(), resourceIndex),
      amounts: Float64Array.from(shape.requests.values()),
      room: 0,
      watchers: 0,
    }
    for (let row = 0; row < names.length; row++) column.room += roomOn(row, column)
    return column
  }

  const columnOf = (shape: PodShape): ShapeColumn => columns.get(shape.key) ?? makeColumn(shape)

  const rowOf = (name: string): Row => {
    const known = rows.get(name)
    if (known) return known
    const index = vacant.pop() ?? names.length
    if (index * width >= free.length) lengthen()
    names[index] = name
    const row: Row = { index, node: undefined, allocatable: new Map(), taken: new Map() }
    rows.set(name, row)
    return row
  }

  const lengthen = (): void => {
    const doubled = new Float64Array(free.length * 2)
    doubled.set(free)
    free = doubled
    for (const acceptance of acceptances.values()) {
      const longer = new Uint8Array(free.length / width)
      longer.set(acceptance.rows)
      acceptance.rows = longer
    }
  }

  const fill = ({ index, allocatable, taken }: Row): void => {
    free.fill(0, index * width, (index + 1) * width)
    for (const [name, amount] of allocatable) free[index * width + resourceIndex(name)] = amount
    for (const [name, amount] of taken) {
      const at = index * width + resourceIndex(name)
      free[at] = free[at]! - amount
    }
  }

  const table: NodeTable = {
    get growth() {
      return growth
    },
    get version() {
      return version
    },
    setNode(name, node, allocatable = new Map()) {
      const row = rowOf(name)
      // Columns of new resources are made before the counts are compared.
      for (const resource of allocatable.keys()) resourceIndex(resource)
      change(row.index, () => {
        row.node = node
        row.allocatable = allocatable
        fill(row)
        for (const acceptance of acceptances.values()) acceptance.rows[row.index] = node ? accepts(acceptance, node) : 0
      })
      growth++
      version++
      if (node === undefined && row.taken.size === 0) {
        rows.delete(name)
        vacant.push(row.index)
      }
    },
    take(name, requests, count) {
      const row = rowOf(name)
      for (const resource of requests.keys()) resourceIndex(resource)
      change(row.index, () => {
        for (const [resource, amount] of requests) {
          const taken = (row.taken.get(resource) ?? 0) + amount * count
          if (taken === 0) row.taken.delete(resource)
          else row.taken.set(resource, taken)
          const at = row.index * width + resources.get(resource)!
          free[at] = free[at]! - amount * count
        }
      })
      if (count < 0) growth++
      if (row.node === undefined && row.taken.size === 0) {
        rows.delete(name)
        vacant.push(row.index)
      }
    },
    watch(shape) {
      const column = columnOf(shape)
      if (column.watchers++ > 0) return
      columns.set(shape.key, column)
      watched.push(column)
      column.acceptance.users++
      acceptances.set(column.acceptance.key, column.acceptance)
    },
    forget(shape) {
      const column = columns.get(shape.key)
      if (!column || --column.watchers > 0) return
      columns.delete(shape.key)
      watched = watched.filter((one) => one !== column)
      if (--column.acceptance.users === 0) acceptances.delete(column.acceptance.key)
    },
    room: (shape) => columnOf(shape).room,
    place: (groups) => table.trial().place(groups),
    trial: () =>
      createNodeTrial({
        names,
        columnOf,
        rowOf: (name) => rows.get(name)?.index,
        resourceIndex: (name) => resources.get(name),
        roomOn,
        roomIn,
        valuesOf: (row) => free.slice(row * width, (row + 1) * width),
      }),
    shortage({ shape, count }) {
      const { acceptance, resources: indexes, amounts } = columnOf(shape)
      const keys = [...shape.requests.keys()]
      const sums = keys.map(() => 0)
      const fits = keys.map(() => 0)
      for (let row = 0; row < names.length; row++) {
        if (acceptance.rows[row] !== 1) continue
        for (let each = 0; each < indexes.length; each++) {
          const value = Math.max(0, free[row * width + indexes[each]!]!)
          sums[each] = sums[each]! + value
          fits[each] = fits[each]! + Math.floor(value / amounts[each]!)
        }
      }
      const least = fits.indexOf(Math.min(...fits))
      return { resource: keys[least]!, requested: amounts[least]! * count, available: sums[least]! }
    },
    totals() {
      const totals = new Map<string, { allocatable: number; free: number }>()
      for (const { index, node, allocatable } of rows.values()) {
        if (!node) continue
        for (const [name, amount] of allocatable) {
          const total = totals.get(name) ?? { allocatable: 0, free: 0 }
          total.allocatable += amount
          total.free += Math.max(0, free[index * width + resources.get(name)!]!)
          totals.set(name, total)
        }
      }
      return totals
    },
  }

  return table
}

function accepts({ pod }: Acceptance, node: CandidateNode): 0 | 1 {
  return mismatchOf(pod, node) === undefined ? 1 : 0
}

function podWith({ nodeSelector, nodeAffinity, tolerations }: NodeConstraints): { readonly spec: PodSpec } {
  return {
    spec: {
      containers: [],
      ...(nodeSelector && { nodeSelector }),
      ...(tolerations && { tolerations }),
      ...(nodeAffinity && {
        affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: nodeAffinity } },
      }),
    },
  }
}
