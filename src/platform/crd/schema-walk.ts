/** The walk through two schemas at once. */
import type { JSONSchemaProps } from '../../kube/types/apiextensions/v1.ts'
import type { ChangeReport, ChangePlace } from './unsafe-change.ts'

/** Compares the schemas of one place, and of all places below it. */
export type CompareSchemas = (
  before: JSONSchemaProps,
  after: JSONSchemaProps,
  place: ChangePlace,
  depth: number,
) => void

/** What the comparison of a place needs to go on below it. */
export interface SchemaWalk {
  readonly report: ChangeReport
  readonly compare: CompareSchemas
  readonly depth: number
}

/** A place that the old schema leaves open. */
export const openSchema: JSONSchemaProps = { 'x-kubernetes-preserve-unknown-fields': true }
