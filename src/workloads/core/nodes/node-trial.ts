/**
 * What would fit if some pods were gone and others there: the question of preemption, of reservations and of estimates.
 *
 * A trial copies only the nodes that it changes, and counts only the shapes that it is asked for, so that a search through many
 * victims leaves the counts of all waiting shapes alone.
 */
import type { NodeAssignment, PodGroup, ShapeColumn } from './node-table.ts'
import type { PodShape } from '../pods/pod-shape.ts'

export interface NodeTrial {
  /** As if these pods were not there, or there with a negative factor. */
  free(assignments: readonly NodeAssignment[], factor?: 1 | -1): void
  /** Whether each group alone has room. */
  hasRoom(groups: readonly PodGroup[]): boolean
  /** Whether one of these pods is on a node that accepts one of the groups. */
  concerns(groups: readonly PodGroup[], assignments: readonly NodeAssignment[]): boolean
  /** Nodes for all pods of the groups, or undefined. Takes nothing. */
  place(groups: readonly PodGroup[]): readonly NodeAssignment[] | undefined
}

/** What a trial asks of its table. */
interface TrialTable {
  readonly names: readonly string[]
  columnOf(this: void, shape: PodShape): ShapeColumn
  rowOf(this: void, name: string): number | undefined
  resourceIndex(this: void, name: string): number | undefined
  roomOn(this: void, row: number, column: ShapeColumn): number
  roomIn(this: void, values: Float64Array, start: number, row: number, column: ShapeColumn): number
  /** A copy of what is free on a node. */
  valuesOf(this: void, row: number): Float64Array
}

export function createNodeTrial(table: TrialTable): NodeTrial {
  const changed = new Map<number, Float64Array>()
  const rooms = new Map<string, { readonly column: ShapeColumn; room: number }>()

  const roomOn = (row: number, column: ShapeColumn): number => {
    const values = changed.get(row)
    return values ? table.roomIn(values, 0, row, column) : table.roomOn(row, column)
  }

  const countOf = (shape: PodShape): { readonly column: ShapeColumn; room: number } => {
    const known = rooms.get(shape.key)
    if (known) return known
    const column = table.columnOf(shape)
    let { room } = column
    for (const row of changed.keys()) room += roomOn(row, column) - table.roomOn(row, column)
    const made = { column, room }
    rooms.set(shape.key, made)
    return made
  }

  const shift = (row: number, shape: PodShape, count: number): void => {
    const values = changed.get(row) ?? table.valuesOf(row)
    for (const one of rooms.values()) one.room -= roomOn(row, one.column)
    changed.set(row, values)
    for (const [resource, amount] of shape.requests) {
      const index = table.resourceIndex(resource)
      if (index !== undefined) values[index] = values[index]! + amount * count
    }
    for (const one of rooms.values()) one.room += roomOn(row, one.column)
  }

  /** The fullest nodes first, so that large pods still find a whole node later. */
  const placeGroup = (
    { shape, count }: PodGroup,
    column: ShapeColumn,
    taken: Map<number, Float64Array>,
  ): readonly NodeAssignment[] | undefined => {
    const candidates: { readonly row: number; readonly room: number }[] = []
    for (let row = 0; row < table.names.length; row++) {
      const values = taken.get(row)
      const room = values ? table.roomIn(values, 0, row, column) : roomOn(row, column)
      if (room > 0) candidates.push({ row, room })
    }
    candidates.sort((a, b) => a.room - b.room || a.row - b.row)
    const assignments: NodeAssignment[] = []
    let left = count
    for (const { row, room } of candidates) {
      const here = Math.min(room, left)
      const values = taken.get(row) ?? Float64Array.from(changed.get(row) ?? table.valuesOf(row))
      taken.set(row, values)
      for (let each = 0; each < column.resources.length; each++) {
        const at = column.resources[each]!
        values[at] = values[at]! - column.amounts[each]! * here
      }
      assignments.push({ node: table.names[row]!, shape, count: here })
      left -= here
      if (left === 0) return assignments
    }
    return undefined
  }

  const trial: NodeTrial = {
    free(assignments, factor = 1) {
      for (const { node, shape, count } of assignments) {
        const row = table.rowOf(node)
        if (row !== undefined) shift(row, shape, count * factor)
      }
    },
    hasRoom: (groups) => groups.every(({ shape, count }) => countOf(shape).room >= count),
    concerns: (groups, assignments) =>
      assignments.some(({ node }) => {
        const row = table.rowOf(node)
        return row !== undefined && groups.some(({ shape }) => countOf(shape).column.acceptance.rows[row] === 1)
      }),
    place(groups) {
      if (!trial.hasRoom(groups)) return undefined
      const judged = groups.map((group) => ({ group, ...countOf(group.shape) }))
      // The group with the least choice first: the others have more nodes left to go to.
      judged.sort((a, b) => a.room / a.group.count - b.room / b.group.count)
      const taken = new Map<number, Float64Array>()
      const assignments: NodeAssignment[] = []
      for (const { group, column } of judged) {
        const placed = placeGroup(group, column, taken)
        if (!placed) return undefined
        assignments.push(...placed)
      }
      return assignments
    },
  }
  return trial
}
