/**
 * `fieldsV1`: the form of a field set in managedFields. Keys are path elements, an empty object is a field of the set, and
 * `.` marks a field that is in the set and also has some below it.
 *
 *     {"f:metadata":{"f:labels":{".":{},"f:app":{}}}}     .metadata.labels and .metadata.labels.app
 */
import { kubeErrors } from '../errors.ts'
import { isMusterError, MusterError } from '../muster-error.ts'
import { isJsonObject, type Json, type JsonObject } from '../json.ts'
import { type FieldNode, type FieldSet, fieldSetOfNodes } from './field-set.ts'
import { decodeElement, encodeElement, formatPath, type PathElement } from './path-element.ts'

const leaf: JsonObject = Object.freeze({})

export function encodeFields(set: FieldSet): JsonObject {
  const out: Record<string, Json> = {}
  addNodes(out, set)
  return out
}

function addNodes(out: Record<string, Json>, set: FieldSet): void {
  for (const node of set) out[encodeElement(node.element)] = encodeNode(node)
}

function encodeNode({ owned, below }: FieldNode): Json {
  if (below.length === 0) return leaf
  const out: Record<string, Json> = {}
  if (owned) out['.'] = leaf
  addNodes(out, below)
  return out
}

/** Decodes a field set. Path elements of unknown types are skipped, as the server does with those of newer versions. */
export function decodeFields(fields: Json | undefined): FieldSet {
  return decodeLevel(fields ?? leaf, undefined)
}

/** The position of the decoder, formatted only for errors. */
interface Trail {
  readonly parent: Trail | undefined
  readonly element: PathElement
}

function decodeLevel(fields: Json, at: Trail | undefined): FieldSet {
  if (fields === null) return []
  if (!isJsonObject(fields)) throw invalidAt(at, 'fields are a JSON object.')
  const nodes: FieldNode[] = []
  for (const [text, content] of Object.entries(fields)) {
    if (text === '.' || content === undefined) continue
    const element = elementAt(at, text)
    if (!element) continue
    const below = decodeLevel(content, { parent: at, element })
    nodes.push({ element, owned: below.length === 0 || Object.hasOwn(content as JsonObject, '.'), below })
  }
  return fieldSetOfNodes(nodes)
}

function elementAt(at: Trail | undefined, text: string): PathElement | undefined {
  try {
    return decodeElement(text)
  } catch (cause) {
    if (!isMusterError(cause)) throw cause
    throw invalidAt(at, cause.message, cause)
  }
}

function invalidAt(at: Trail | undefined, why: string, cause?: unknown): MusterError {
  const path: PathElement[] = []
  for (let step = at; step; step = step.parent) path.unshift(step.element)
  return new MusterError(kubeErrors.InvalidFieldSet, `fieldsV1 at ${formatPath(path) || 'its root'}: ${why}`, { cause })
}
