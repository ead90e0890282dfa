/**
 * The way from a variable to a part of its value: `self`, then names of fields, `@items` of lists, `@keys` and `@values`
 * of maps. It leads to the same place in the schema.
 */
import type { Estimate } from './estimate.ts'
import type { SchemaSize } from './size.ts'

export type SizePath = readonly string[]

/** Undefined where the path leads out of the schema. The first step is the variable: all have the same schema. */
export function sizeAt(root: SchemaSize, path: SizePath | undefined): Estimate | undefined {
  if (!path || path.length === 0) return undefined
  let current: SchemaSize | undefined = root
  for (const step of path.slice(1)) {
    current =
      step === '@items' || step === '@values'
        ? current.element
        : step === '@keys'
          ? current.key
          : current.fields?.get(step)
    if (!current) return undefined
  }
  return { min: 0, max: current.most }
}
