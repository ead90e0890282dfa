/**
 * The final state of a cluster, without values that differ in each run: uids, versions, times, generated names. Other
 * values that differ between two runs without faults (a password, the name of a Pod) are random and masked, too: they
 * are detected, not declared.
 */
import type { Storage, StoredObject } from '../../apiserver/storage/storage.ts'
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { isJsonArray, ownMember } from '../../kube/json-member.ts'

/** By object, `configmaps default/sample`: each field with a value, by its path. */
export type EndState = ReadonlyMap<string, ReadonlyMap<string, string>>

/** `configmaps default/sample .data.key`, or an object alone. */
export type EndStateMask = ReadonlySet<string>

/** What a user added, to see whether it is kept. */
export const foreignKey = 'simulation.example.com/another-manager'
/** As a key without a slash. */
export const foreignEntry = 'added-by-another-manager'

export function endStateName(table: string, { metadata: { namespace, name } }: StoredObject): string {
  return `${table} ${namespace === undefined ? '' : `${namespace}/`}${name}`
}

/** `crs`: tables whose status is compared; the status of other objects is the cluster's own. */
export function endStateOf(storage: Storage, tables: readonly string[], crs: ReadonlySet<string>): EndState {
  const state = new Map<string, ReadonlyMap<string, string>>()
  const owners = new Map<string, string>()
  for (const table of tables) {
    for (const object of storage.table(table).objects()) owners.set(object.metadata.uid, endStateName(table, object))
  }
  const made = [...new Set([...tables, 'pods'])].flatMap((table) =>
    storage
      .table(table)
      .objects()
      .filter(({ metadata }) => metadata.generateName !== undefined),
  )
  const chance = made.map(({ metadata }) => metadata.name)
  for (const table of tables) {
    const generated = new Map<string, number>()
    for (const object of storage.table(table).objects()) {
      const { generateName } = object.metadata
      if (isClusterOwn(table, object)) continue
      const count = (generated.get(generateName ?? '') ?? 0) + 1
      if (generateName !== undefined) generated.set(generateName, count)
      const name =
        generateName === undefined
          ? endStateName(table, object)
          : `${table} ${object.metadata.namespace ?? ''}/${generateName}(${count})`
      const fields = fieldsOf(object, crs.has(table), owners)
      state.set(name, chance.length === 0 ? fields : withoutNames(fields, chance))
    }
  }
  return state
}

/** Replaces generated names wherever they occur. */
function withoutNames(fields: ReadonlyMap<string, string>, names: readonly string[]): ReadonlyMap<string, string> {
  const hasName = (value: string): boolean => names.some((name) => value.includes(name))
  return new Map([...fields].map(([path, value]) => [path, hasName(value) ? '(a generated name)' : value]))
}

/** Objects of the cluster itself. */
function isClusterOwn(table: string, { metadata }: StoredObject): boolean {
  if (table === 'services') return metadata.namespace === 'default' && metadata.name === 'kubernetes'
  return table === 'namespaces' && /^(?:default|kube-.*)$/.test(metadata.name)
}

function fieldsOf(
  object: StoredObject,
  isCr: boolean,
  owners: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const own = ownFieldsOf(object, isCr)
  const { ownerReferences = [] } = object.metadata
  if (ownerReferences.length === 0) return own
  const fields = new Map(own)
  for (const { uid, kind, name } of ownerReferences)
    fields.set(`.metadata.owner ${kind} ${name}`, owners.get(uid) ?? '(gone)')
  return fields
}

/** A memo: most objects are shared by many runs. */
const known = new WeakMap<StoredObject, ReadonlyMap<string, string>>()

/** The fields that depend on the object alone. */
function ownFieldsOf(object: StoredObject, isCr: boolean): ReadonlyMap<string, string> {
  const before = known.get(object)
  if (before) return before
  const { metadata, status, ...rest } = object
  const { labels = {}, annotations = {}, finalizers = [], deletionTimestamp } = metadata
  const { [foreignKey]: _, 'deployment.kubernetes.io/revision': __, ...kept } = annotations
  const fields = new Map<string, string>()
  const { [foreignEntry]: ___, ...data } = isJsonObject(rest['data']) ? rest['data'] : {}
  collect({ ...rest, ...(rest['data'] !== undefined && { data }) }, '', fields)
  collect({ labels, annotations: kept, finalizers }, '.metadata', fields)
  if (deletionTimestamp !== undefined) fields.set('.metadata.deletionTimestamp', '(time)')
  if (isCr) collect(reported(status as Json | undefined, metadata.generation ?? 0), '.status', fields)
  known.set(object, fields)
  return fields
}

/** The status of a CR; whether it has observed its newest generation, not which one that is: in all parts of it. */
function reported(status: Json | undefined, generation: number): Json {
  if (!isJsonObject(status)) return {}
  const seen = (value: Json | undefined): Json => (value === generation ? 'the newest' : 'an older one')
  const seenIn = (part: Json): Json => {
    if (isJsonArray(part)) return part.map(seenIn)
    if (!isJsonObject(part)) return part
    return Object.fromEntries(
      Object.entries(part).map(([name, value]) => [name, name === 'observedGeneration' ? seen(value) : seenIn(value!)]),
    )
  }
  const { conditions, lifecycle, ...rest } = status
  return {
    ...(seenIn(rest) as JsonObject),
    ...(lifecycle !== undefined && { lifecycle: withoutStory(lifecycle) }),
    conditions: isJsonArray(conditions)
      ? Object.fromEntries(
          conditions.filter(isJsonObject).map((condition) => {
            const { type, status: is, reason = '', observedGeneration: of } = condition
            return [
              typeof type === 'string' ? type : '',
              { is: is ?? '', reason, ...(of !== undefined && { of: seen(of) }) },
            ]
          }),
        )
      : {},
  }
}

/** Of a life cycle: the current state without its history. */
function withoutStory(lifecycle: Json): Json {
  if (!isJsonObject(lifecycle)) return lifecycle
  const { history: _history, attempts: _attempts, relapse: _relapse, ...rest } = lifecycle
  return rest
}

const timePattern = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z/g

function collect(value: Json | undefined, path: string, fields: Map<string, string>): void {
  if (isJsonObject(value)) {
    for (const name of Object.keys(value)) collect(ownMember(value, name), `${path}.${name}`, fields)
  } else if (isJsonArray(value)) {
    for (const [index, item] of value.entries()) collect(item, `${path}[${index}]`, fields)
  } else if (typeof value === 'string') fields.set(path, JSON.stringify(value).replaceAll(timePattern, '(time)'))
  else if (value !== undefined) fields.set(path, String(value))
}

export interface Difference {
  /** `configmaps default/sample` */
  readonly object: string
  /** Absent when the object is missing or additional. */
  readonly field?: string | undefined
  readonly expected: string | undefined
  readonly found: string | undefined
}

export function endStateDifferences(expected: EndState, found: EndState, mask: EndStateMask): readonly Difference[] {
  const result: Difference[] = []
  for (const object of new Set([...expected.keys(), ...found.keys()])) {
    if (mask.has(object)) continue
    const [one, other] = [expected.get(object), found.get(object)]
    if (!one || !other) {
      result.push({ object, expected: one && 'there', found: other && 'there' })
      continue
    }
    const compare = (field: string): void => {
      const [wanted, is] = [one.get(field), other.get(field)]
      if (wanted !== is && !mask.has(`${object} ${field}`)) result.push({ object, field, expected: wanted, found: is })
    }
    for (const field of one.keys()) compare(field)
    for (const field of other.keys()) if (!one.has(field)) compare(field)
  }
  return result
}

/** The random values: differences between two runs that should be equal. */
export function maskOf(one: EndState, other: EndState): EndStateMask {
  const found = endStateDifferences(one, other, new Set())
  return new Set(found.map(({ object, field }) => (field === undefined ? object : `${object} ${field}`)))
}

export function describeDifference({ object, field, expected, found }: Difference): string {
  if (field === undefined) return found === undefined ? `${object} is missing` : `${object} is there, and should not be`
  return `${object} has ${field} ${found ?? 'absent'} instead of ${expected ?? 'absent'}`
}
