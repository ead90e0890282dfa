/**
 * Tables: what `kubectl get` prints. The server decides on columns and cells, so that every client shows the same and
 * none needs to know a kind.
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

export interface TableRequest {
  readonly served: ServedResource
  /** `None`, `Metadata` or `Object`: how much of each object comes with its row. */
  readonly includeObject: string
  readonly now: number
  /** Of the table. @default meta.k8s.io/v1 */
  readonly metaVersion?: string | undefined
  /** Later events of a watch leave out what the first one said. @default true */
  readonly hasHeaders?: boolean | undefined
}

/** An object as it is stored, and as the version that was asked for shows it. */
export interface Shown {
  readonly stored: UntypedObject
  readonly shown: UntypedObject
}

/** A table of one object, or of a list. */
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
    // Said again each time where a real server forgets that it has been said.
    columnDefinitions: hasHeaders || served.table === 'apiservices.apiregistration.k8s.io' ? definitions() : null,
    // The plain table of nothing has no rows at all.
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
    // The paths are those of the version that was asked for.
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

/** A Pod that has ended is marked, for clients that leave such rows out. */
function rowConditions({ table }: ServedResource, object: UntypedObject): readonly object[] | undefined {
  if (table !== 'pods') return undefined
  const { phase: reason = '' } = (object['status'] ?? {}) as { readonly phase?: string }
  const message = Object.hasOwn(endings, reason) ? endings[reason] : undefined
  return message === undefined ? undefined : [{ type: 'Completed', status: 'True', reason, message }]
}

function isList(content: Shown | readonly Shown[]): content is readonly Shown[] {
  return Array.isArray(content)
}
