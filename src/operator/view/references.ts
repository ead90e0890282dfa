/**
 * References between objects, followed as the referring objects change.
 *
 * A table holds, for each declared reference, which objects refer to which names. It is updated with every change of a
 * referring object and reports the names that appeared and disappeared. In a chain (a CR refers to a ConfigMap that
 * refers to a Secret) a referenced object refers in turn; since a declaration is finite, so is every chain, even if
 * objects refer to each other in cycles.
 */
import { kubeErrors } from '../../kube/errors.ts'
import { isMusterError, type MusterError } from '../../kube/muster-error.ts'
import type { Json } from '../../kube/json.ts'
import { asJson } from '../../kube/json-object.ts'
import { compileJsonPath, selectJson, selectJsonPairs } from '../../kube/json-path.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import { checkDnsLabel, checkPathSegment } from '../../kube/meta/name.ts'
import type { KubeObject } from '../../kube/object.ts'
import { selects } from './coverage.ts'
import { chainOf, describeInput, type Input, type Reference } from './input.ts'
import type { ObjectName, ViewSource } from './view.ts'

/** Resolves references. */
export interface References {
  /** Whether the reference currently leads to this name. */
  has(reference: Reference, name: ObjectName): boolean
  /** The names that this object refers to. */
  of(reference: Reference, object: KubeObject): readonly ObjectName[]
}

interface ReferenceTable extends References {
  /** Updates an object; undefined: it is deleted. */
  note(resource: Resource, name: ObjectName, object: KubeObject | undefined): void
  /** All objects of the kind are deleted. */
  noteGone(resource: Resource): void
  /** Whether references start from objects of this kind. */
  isReferring(resource: Resource): boolean
  /** All referenced names of the kind, each once. */
  named(resource: Resource): readonly ObjectName[]
  /** Whether any reference leads to it. */
  names(resource: Resource, name: ObjectName): boolean
}

interface ReferenceTableOptions {
  readonly inputs: readonly Input[]
  /** Reads a referenced object: it may refer to others. */
  readonly get: (resource: Resource, name: ObjectName) => KubeObject | undefined
  /** The namespaces that a `namespacePath` may lead to; a fixed namespace is not restricted. @default any */
  readonly namespaces?: readonly string[] | undefined
  readonly onCame?: (reference: Reference, name: ObjectName) => void
  readonly onWent?: (reference: Reference, name: ObjectName) => void
  /** Called when an object has more references than are followed: it is treated as having none. */
  readonly onProblem?: (reference: Reference, object: KubeObject, error: MusterError) => void
}

interface Row {
  readonly reference: Reference
  readonly from: string
  readonly to: string
  /** The names that each referring object refers to. */
  readonly byReferrer: Map<string, ReadonlyMap<string, ObjectName>>
  /** The number of referring objects of each name. */
  readonly named: Map<string, { readonly name: ObjectName; count: number }>
}

const none: ReadonlyMap<string, ObjectName> = new Map()

export function createReferenceTable(options: ReferenceTableOptions): ReferenceTable {
  const { inputs, get, namespaces, onCame, onWent, onProblem } = options
  const rows = new Map<string, Row>()
  for (const input of inputs.flatMap(chainOf)) {
    if (input.select !== 'reference') continue
    rows.set(describeInput(input), {
      reference: input,
      from: formatResource(input.from.resource),
      to: formatResource(input.resource),
      byReferrer: new Map(),
      named: new Map(),
    })
  }
  const next = Map.groupBy(rows.values(), ({ reference }) => describeInput(reference.from))

  const references: References = {
    has: (reference, name) => rows.get(describeInput(reference))?.named.has(keyOf(name)) ?? false,
    of(reference, object) {
      try {
        const found = follow(reference, object)
        if (!namespaces || reference.namespacePath === undefined) return found
        return found.filter(({ namespace }) => namespace !== undefined && namespaces.includes(namespace))
      } catch (error) {
        if (!isMusterError(error, kubeErrors.InvalidJsonPath)) throw error
        onProblem?.(reference, object, error)
        return []
      }
    },
  }

  /** Sets the references of one object. */
  const set = (row: Row, referrer: string, targets: ReadonlyMap<string, ObjectName>): void => {
    const before = row.byReferrer.get(referrer) ?? none
    if (targets.size > 0) row.byReferrer.set(referrer, targets)
    else row.byReferrer.delete(referrer)
    for (const [key, name] of targets) {
      if (before.has(key)) continue
      const known = row.named.get(key)
      if (known) known.count++
      else {
        row.named.set(key, { name, count: 1 })
        onCame?.(row.reference, name)
        pass(row, name)
      }
    }
    for (const [key, name] of before) {
      if (targets.has(key)) continue
      const known = row.named.get(key)!
      if (--known.count > 0) continue
      row.named.delete(key)
      onWent?.(row.reference, name)
      pass(row, name)
    }
  }

  /** Continues the chain: a name that appeared or disappeared is evaluated as a referring object. */
  const pass = ({ reference }: Row, name: ObjectName): void => {
    for (const row of next.get(describeInput(reference)) ?? []) update(row, name, get(reference.resource, name))
  }

  const update = (row: Row, name: ObjectName, object: KubeObject | undefined): void => {
    const isReferring = object !== undefined && selects(row.reference.from, object, references)
    const targets = isReferring ? references.of(row.reference, object) : []
    set(row, keyOf(name), new Map(targets.map((target) => [keyOf(target), target])))
  }

  return {
    ...references,
    note(resource, name, object) {
      const kind = formatResource(resource)
      for (const row of rows.values()) if (row.from === kind) update(row, name, object)
    },
    noteGone(resource) {
      const kind = formatResource(resource)
      for (const row of rows.values()) {
        if (row.from === kind) for (const referrer of row.byReferrer.keys()) set(row, referrer, none)
      }
    },
    isReferring(resource) {
      const kind = formatResource(resource)
      return [...rows.values()].some((row) => row.from === kind)
    },
    named(resource) {
      const kind = formatResource(resource)
      const all = new Map<string, ObjectName>()
      for (const row of rows.values()) {
        if (row.to === kind) for (const [key, { name }] of row.named) all.set(key, name)
      }
      return [...all.values()]
    },
    names(resource, name) {
      const kind = formatResource(resource)
      const key = keyOf(name)
      return [...rows.values()].some((row) => row.to === kind && row.named.has(key))
    },
  }
}

/** References in a source without change tracking: a directory, a test. Each lookup walks from the start. */
export function referencesIn(source: Pick<ViewSource, 'get' | 'list'>): References {
  const referring = (input: Input): readonly KubeObject[] => {
    if (input.select === 'name') return [source.get(input.resource, input) ?? []].flat()
    if (input.select !== 'reference') {
      const namespace = input.select === 'kind' ? undefined : input.namespace
      return source.list(input.resource, namespace).filter((object) => selects(input, object, references))
    }
    const names = referring(input.from).flatMap((object) => follow(input, object))
    return [...new Map(names.map((name) => [keyOf(name), name])).values()].flatMap(
      (name) => source.get(input.resource, name) ?? [],
    )
  }
  const references: References = {
    of: follow,
    has: (reference, name) =>
      referring(reference.from).some((object) =>
        follow(reference, object).some((target) => keyOf(target) === keyOf(name)),
      ),
  }
  return references
}

type Follow = (object: KubeObject) => readonly ObjectName[]

const compiled = new WeakMap<Reference, Follow>()

/**
 * The names that an object refers to. Compiled once per reference, and cached per object: objects are immutable.
 * @throws InvalidJsonPath when the path yields too many results
 */
function follow(reference: Reference, object: KubeObject): readonly ObjectName[] {
  let found = compiled.get(reference)
  if (!found) compiled.set(reference, (found = compile(reference)))
  return found(object)
}

function compile({ namePath, namespace, namespacePath }: Reference): Follow {
  const names = compileJsonPath(namePath)
  const namespaces = namespacePath === undefined ? undefined : compileJsonPath(namespacePath)
  const known = new WeakMap<KubeObject, readonly ObjectName[]>()
  return (object) => {
    const before = known.get(object)
    if (before) return before
    const json = asJson(object)
    const pairs = namespaces
      ? selectJsonPairs(namespaces, names, json)
      : selectJson(names, json).map((name) => [namespace, name] as const)
    const found = pairs.flatMap(([where, name]) => nameFrom(where, name))
    known.set(object, found)
    return found
  }
}

/** A value that is not a valid name refers to nothing. */
function nameFrom(namespace: Json | undefined, name: Json): readonly ObjectName[] {
  if (typeof name !== 'string' || name === '' || checkPathSegment(name).length > 0) return []
  if (namespace === undefined) return [{ name }]
  if (typeof namespace !== 'string' || checkDnsLabel(namespace).length > 0) return []
  return [{ namespace, name }]
}

function keyOf({ namespace = '', name }: ObjectName): string {
  return `${namespace}/${name}`
}
