/**
 * The path from a variable to a part of its value: `self`, then field names, `@items` of lists, `@keys` and `@values` of
 * maps. It leads to the same place in the schema.
 *
 * Paths are slices as in Go: an extended path shares its memory with the longer one while there is capacity. So two paths that
 * extend the same one may overwrite each other, and a variable of an inner loop then has the size of another field. That is a
 * bug of the real server, but a definition that it rejects must be rejected here, too.
 */
import type { Estimate } from './estimate.ts'
import type { SchemaSize } from './size.ts'

export interface SizePath {
  /** The memory: steps from `length` on belong to longer paths. */
  readonly steps: string[]
  readonly length: number
  readonly room: number
}

export function variablePath(name: string): SizePath {
  return { steps: [name], length: 1, room: 1 }
}

export function pathBelow(path: SizePath | undefined, step: string): SizePath {
  if (!path) return variablePath(step)
  const { length, room } = path
  if (length === room) return { steps: [...path.steps.slice(0, length), step], length: length + 1, room: room * 2 }
  path.steps[length] = step
  return { steps: path.steps, length: length + 1, room }
}

/** Undefined if the path leaves the schema. The first step is the variable: all have the same schema. */
export function sizeAt(root: SchemaSize, path: SizePath | undefined): Estimate | undefined {
  const found = path && partAt(root, path)
  return found && { min: 0, max: found.most }
}

/** Of the elements of the list at a path. */
export function elementSizeAt(root: SchemaSize, path: SizePath | undefined): Estimate | undefined {
  const found = path && partAt(root, path)?.element
  return found && { min: 0, max: found.most }
}

function partAt(root: SchemaSize, { steps, length }: SizePath): SchemaSize | undefined {
  let current: SchemaSize | undefined = root
  for (let index = 1; current && index < length; index++) current = partOf(current, steps[index]!)
  return current
}

function partOf({ fields, element, key }: SchemaSize, step: string): SchemaSize | undefined {
  switch (step) {
    case '@items':
    case '@values':
      return element
    case '@keys':
      return key
    default:
      return fields?.get(step)
  }
}
