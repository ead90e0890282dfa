/**
 * Tables: the output of `kubectl get`. The server provides columns and cells, so that clients need not know any kind.
 */
import type { ListMeta, UntypedObject } from '../../kube/object.ts'
import type { ServedResource } from '../catalog/catalog.ts'
import { badRequest } from '../errors/status-error.ts'
import { shownMetadata } from '../catalog/partial-metadata.ts'
import type { Cell, PrintContext } from '../printer/cells.ts'
import { plainColumns } from '../printer/cluster.ts'
import { type ColumnDefinition, columnDefinitions } from '../printer/columns.ts'
import { customColumns } from '../printer/custom.ts'
import { printerOf } from '../printer/printers.ts'

interface TableRequest {
  readonly served: ServedResource
  /** `None`, `Metadata` or `Object`: how much of each object a row includes. */
  readonly includeObject: string
  readonly now: number
  /** The apiVersion of the table. @default meta.k8s.io/v1 */
  readonly metaVersion?: string | undefined
  /** Whether to include column definitions: only in the first event of a watch. @default true */
  readonly hasHeaders?: boolean | undefined
}

/** An object as stored, and at the requested version. */
export interface Shown {
  readonly stored: UntypedObject
  readonly shown: UntypedObject
}

/** A table of one object or of a list. */
export function printTable(content: Shown | readonly Shown[], metadata: ListMeta, request: TableRequest): unknown {
  const { served, includeObject, now, metaVersion = 'meta.k8s.io/v1', hasHeaders = true } = request
  if (!/^(?:Metadata|Object|None|)$/.test(includeObject)) {
    throw badRequest(
      `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(includeObject)}: must be 'Metadata', 'Object', 'None', or empty`,
    )
  }
  const all = isList(content) ? content : [content]
  const context: PrintContext = { now, list: isList(content) ? all.map(({ stored }) => stored) : [] }
  const { definitions, row } = layoutOf(served)
  const isPlain = !served.custom && !printerOf(served.table)
  const rows = all.map((one) => {
    const cells = row(one, context)
    const object = rowObject(one, includeObject, metaVersion, served)
    const conditions = rowConditions(served, one.stored)
    return conditions ? { cells, conditions, object } : { cells, object }
  })
  return {
    kind: 'Table',
    apiVersion: metaVersion,
    metadata,
    // kube-apiserver repeats the column definitions of APIServices in every event.
    columnDefinitions: hasHeaders || served.table === 'apiservices.apiregistration.k8s.io' ? definitions() : null,
    // With the default columns, and for CRDs, an empty table has null rows.
    rows: rows.length === 0 && (isPlain || served.table === crdTable) ? null : rows,
  }
}

const crdTable = 'customresourcedefinitions.apiextensions.k8s.io'

interface Layout {
  readonly definitions: () => readonly ColumnDefinition[]
  readonly row: (object: Shown, context: PrintContext) => readonly Cell[]
}

function layoutOf(served: ServedResource): Layout {
  if (served.custom) {
    const { definitions, row } = customColumns(served.columns)
    // The JSONPaths refer to the requested version.
    return { definitions: () => definitions, row: ({ shown }, context) => row(shown, context) }
  }
  const cells = Object.values(printerOf(served.table) ?? plainColumns)
  return {
    definitions: () => columnDefinitions(served.table),
    row: ({ stored }, context) => cells.map((cell) => cell(stored as never, context)),
  }
}

function rowObject({ shown }: Shown, includeObject: string, apiVersion: string, served: ServedResource): unknown {
  if (includeObject === 'None') return null
  if (includeObject === 'Object') return shown
  return { kind: 'PartialObjectMetadata', apiVersion, metadata: shownMetadata(shown, served) }
}

const endings: Readonly<Record<string, string>> = {
  Succeeded: 'The pod has completed successfully.',
  Failed: 'The pod failed.',
}

/** Marks completed Pods, for clients that hide such rows. */
function rowConditions({ table }: ServedResource, object: UntypedObject): readonly object[] | undefined {
  if (table !== 'pods') return undefined
  const { phase: reason = '' } = (object['status'] ?? {}) as { readonly phase?: string }
  const message = Object.hasOwn(endings, reason) ? endings[reason] : undefined
  return message === undefined ? undefined : [{ type: 'Completed', status: 'True', reason, message }]
}

function isList(content: Shown | readonly Shown[]): content is readonly Shown[] {
  return Array.isArray(content)
}
