/**
 * JSON patch (RFC 6902) as API servers implement it. A patch is a list of operations, applied all or none; the document is
 * never changed, and the result shares all untouched parts with it.
 *
 * Deviations from the RFC are those of the server:
 * - `replace` of a missing object member adds it, and `copy` of one gives null
 * - `test` treats a missing object member as null
 * - an array index may be negative and then counts from the end (`add` at -1 appends)
 * - the document as a whole can be replaced and tested, nothing else
 */
import { kubeErrors } from '../errors.ts'
import { MusterError } from '../muster-error.ts'
import { type Json, type JsonObject, equalJson, isJsonObject, stringifyJson } from '../json.ts'
import { isJsonArray, ownMember } from '../json-member.ts'
import { formatPointer, parsePointer } from './json-pointer.ts'

export type JsonPatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: Json }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'move' | 'copy'; readonly from: string; readonly path: string }

/** Servers limit the size of copies: 3 MiB, all copies of a patch together. */
const maxCopiedBytes = 3 * 1024 * 1024

/** Parses a patch. A missing `value` is null, as for the server. */
export function parseJsonPatch(patch: Json): readonly JsonPatchOperation[] {
  if (!Array.isArray(patch)) throw new MusterError(kubeErrors.InvalidPatch, 'a JSON patch is a list of operations.')
  return patch.map(parseOperation)
}

function parseOperation(operation: Json, index: number): JsonPatchOperation {
  const { op, path, from, value = null } = isJsonObject(operation) ? operation : {}
  const refuse = (reason: string): MusterError =>
    new MusterError(kubeErrors.InvalidPatch, `operation ${index} of the JSON patch ${reason}.`)
  if (typeof path !== 'string') throw refuse('has no path')
  switch (op) {
    case 'add':
    case 'replace':
    case 'test':
      return { op, path, value }
    case 'remove':
      return { op, path }
    case 'move':
    case 'copy':
      if (typeof from !== 'string') throw refuse(`(${op} "${path}") has no from`)
      return { op, from, path }
    default:
      throw refuse(`(at "${path}") is none of add, remove, replace, move, copy and test`)
  }
}

/** The document after all operations. @throws InvalidPatch, PatchTestFailed; both name the operation and its path */
export function applyJsonPatch(document: Json, operations: readonly JsonPatchOperation[]): Json {
  let copiedBytes = 0
  let result = document
  const own: Own = new Set()
  for (const [index, operation] of operations.entries()) {
    try {
      if (operation.op === 'copy') {
        const value = read(result, operation.from) ?? null
        copiedBytes += Buffer.byteLength(stringifyJson(value))
        if (copiedBytes > maxCopiedBytes) throw refusal(`the copies of this patch exceed ${maxCopiedBytes} bytes`)
        disown(value, own)
      }
      result = applyOperation(result, operation, own)
    } catch (cause) {
      // A document deeper than the stack cannot be read anyway.
      const error = cause instanceof RangeError ? refusal('it makes a document that is nested too deep') : cause
      if (!(error instanceof MusterError)) throw error
      const place = `operation ${index} of the JSON patch (${operation.op} "${operation.path}")`
      throw new MusterError(error, `${place}: ${error.message}`, { cause: error })
    }
  }
  return result
}

/**
 * Containers created by this patch, which it may change in place: a patch of ten thousand operations on an object of ten
 * thousand members must not copy it ten thousand times.
 */
type Own = Set<unknown>

/** A value that is now in two places must not be changed in place. */
function disown(value: Json, own: Own): void {
  if (typeof value !== 'object' || value === null) return
  own.delete(value)
  for (const member of Object.values(value) as readonly Json[]) disown(member, own)
}

function applyOperation(document: Json, operation: JsonPatchOperation, own: Own): Json {
  switch (operation.op) {
    case 'add':
      return edit(document, operation.path, own, (parent, key) => insert(parent, key, operation.value))
    case 'remove':
      return edit(document, operation.path, own, remove)
    case 'replace':
      if (operation.path === '') return asDocument(operation.value)
      return edit(document, operation.path, own, (parent, key) => put(parent, key, operation.value))
    case 'copy': {
      const value = read(document, operation.from) ?? null
      return edit(document, operation.path, own, (parent, key) => insert(parent, key, value))
    }
    case 'test':
      return tested(document, operation.path, operation.value)
    default: {
      const value = read(document, operation.from) ?? null
      const without = edit(document, operation.from, own, remove)
      return edit(without, operation.path, own, (parent, key) => insert(parent, key, value))
    }
  }
}

function tested(document: Json, path: string, expected: Json): Json {
  let value: Json | undefined = document
  try {
    if (path !== '') value = read(document, path)
  } catch (cause) {
    // An unreachable path is a failed test.
    throw new MusterError(kubeErrors.PatchTestFailed, 'the path does not exist.', { cause })
  }
  if (!equalJson(value ?? null, expected)) throw new MusterError(kubeErrors.PatchTestFailed, 'the value differs.')
  return document
}

type Container = JsonObject | readonly Json[]

/** The value at a path; undefined for a missing object member. */
function read(document: Json, path: string): Json | undefined {
  const tokens = parsePointer(path)
  if (tokens.length === 0) throw refusal('the whole document can only be replaced or tested')
  return tokens.reduce((value: Json | undefined, key) => childOf(containerFor(key, value), key), document)
}

type MutableContainer = Record<string, Json | undefined> | Json[]

/** The document with one container edited; only the containers on the path are copied, and once. */
function edit(
  document: Json,
  path: string,
  own: Own,
  change: (container: MutableContainer, key: string) => void,
): Json {
  const tokens = parsePointer(path)
  const last = tokens.at(-1)
  if (last === undefined) throw refusal('the whole document can only be replaced or tested')
  const root = owned(containerFor(tokens[0]!, document), own)
  let container = root
  for (const [index, key] of tokens.slice(0, -1).entries()) {
    const child = owned(containerFor(tokens[index + 1]!, childOf(container, key)), own)
    put(container, key, child)
    container = child
  }
  change(container, last)
  return root
}

function owned(container: Container, own: Own): MutableContainer {
  if (own.has(container)) return container as MutableContainer
  const copy = isJsonArray(container) ? [...container] : { ...container }
  own.add(copy)
  return copy
}

function asDocument(value: Json): Json {
  if (typeof value === 'object' && value !== null) return value
  throw refusal('a document is an object or an array')
}

function containerFor(key: string, value: Json | undefined): Container {
  if (typeof value === 'object' && value !== null) return value
  throw refusal(`there is no object or array that could hold "${key}"`)
}

function childOf(container: Container, key: string): Json | undefined {
  if (isJsonArray(container)) return container[indexOf(key, container.length)]
  return ownMember(container, key)
}

function put(container: MutableContainer, key: string, value: Json): void {
  if (Array.isArray(container)) container[indexOf(key, container.length)] = value
  else setMember(container, key, value)
}

function insert(container: MutableContainer, key: string, value: Json): void {
  if (!Array.isArray(container)) return setMember(container, key, value)
  container.splice(key === '-' ? container.length : indexOf(key, container.length + 1), 0, value)
}

function remove(container: MutableContainer, key: string): void {
  if (Array.isArray(container)) return void container.splice(indexOf(key, container.length), 1)
  if (!Object.hasOwn(container, key)) throw refusal('there is nothing to remove')
  delete container[key]
}

/** A member like any other, even if its name is `__proto__`. */
function setMember(container: Record<string, Json | undefined>, key: string, value: Json): void {
  if (key !== '__proto__') container[key] = value
  else Object.defineProperty(container, key, { value, enumerable: true, configurable: true, writable: true })
}

function indexOf(key: string, length: number): number {
  const number = /^[+-]?\d+$/.test(key) ? Number(key) : Number.NaN
  const index = number < 0 ? number + length : number
  if (index >= 0 && index < length) return index
  throw refusal(`"${key}" is no index of an array that takes ${length}`)
}

function refusal(reason: string): MusterError {
  return new MusterError(kubeErrors.InvalidPatch, `${reason}.`)
}

/** A small patch that turns one document into another: it descends into common parts. */
export function createJsonPatch(from: Json, to: Json): readonly JsonPatchOperation[] {
  return [...differences(from, to, [])]
}

function* differences(from: Json, to: Json, place: readonly string[]): Generator<JsonPatchOperation> {
  if (equalJson(from, to)) return
  if (isJsonArray(from) && isJsonArray(to)) yield* arrayDifferences(from, to, place)
  else if (isJsonObject(from) && isJsonObject(to)) yield* objectDifferences(from, to, place)
  else yield { op: 'replace', path: formatPointer(place), value: to }
}

function* objectDifferences(from: JsonObject, to: JsonObject, place: readonly string[]): Generator<JsonPatchOperation> {
  for (const [key, value] of Object.entries(from)) {
    if (value !== undefined && ownMember(to, key) === undefined) {
      yield { op: 'remove', path: formatPointer([...place, key]) }
    }
  }
  for (const [key, value] of Object.entries(to)) {
    if (value === undefined) continue
    const before = ownMember(from, key)
    if (before === undefined) yield { op: 'add', path: formatPointer([...place, key]), value }
    else yield* differences(before, value, [...place, key])
  }
}

/** Equal items at both ends stay; those in between are changed in place, then removed or added. */
function* arrayDifferences(
  from: readonly Json[],
  to: readonly Json[],
  place: readonly string[],
): Generator<JsonPatchOperation> {
  const shorter = Math.min(from.length, to.length)
  let head = 0
  while (head < shorter && equalJson(from[head], to[head])) head++
  let tail = 0
  while (tail < shorter - head && equalJson(from.at(-1 - tail), to.at(-1 - tail))) tail++

  const pathOf = (index: number): string => formatPointer([...place, String(index)])
  const common = shorter - tail
  for (let index = head; index < common; index++) {
    yield* differences(from[index]!, to[index]!, [...place, String(index)])
  }
  // From the end, so that indexes stay valid.
  for (let index = from.length - tail - 1; index >= common; index--) yield { op: 'remove', path: pathOf(index) }
  for (let index = common; index < to.length - tail; index++)
    yield { op: 'add', path: pathOf(index), value: to[index]! }
}
