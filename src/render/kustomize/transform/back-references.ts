/**
 * Names that objects use of others: when an object was renamed, the fields that refer to it follow. A reference is found by
 * the kind and by any name that the object had; of several candidates the one with the same prefixes and suffixes counts.
 */
import { changeSpecified, type FieldSpec, itemSlot, type Slot } from '../config/field-spec.ts'
import type { NameReference, TransformerConfig } from '../config/transformer-config.ts'
import { failingAt, failure } from '../failure.ts'
import type { KindSelector } from '../model/resource-id.ts'
import { describeId, effectiveNamespace, isSelected, notANamespace } from '../model/resource-id.ts'
import type { BuildResource } from '../model/resource.ts'
import type { ResourceMap } from '../model/resource-list.ts'
import {
  isMapping,
  isMissing,
  isScalar,
  type Mapping,
  mappingAt,
  rewriteMember,
  textOf,
  type Value,
} from '../model/value.ts'
import { rewritten } from '../model/written-scalar.ts'

export function updateReferences(resources: ResourceMap, config: TransformerConfig, place: string): void {
  const candidatesByName = indexByFormerName(resources.all)
  if (candidatesByName.size === 0) return
  for (const referrer of resources.all) {
    const { originalId, object } = referrer
    if (!object) continue
    const mayRefer = scopeOf(referrer)
    const inScope = (): readonly BuildResource[] => resources.all.filter(mayRefer)
    for (const reference of config.nameReference) {
      for (const spec of reference.fieldSpecs ?? []) {
        if (!isSelected(originalId, spec)) continue
        const search = { referrer, reference, spec, candidatesByName, mayRefer, inScope, place }
        const where = `${place}: ${spec.path ?? ''} of ${describeId(referrer.id)}`
        failingAt('KustomizationTransformFailed', where, () => {
          changeSpecified(object, referrer.id, { path: spec.path ?? '' }, (slot) => updateSlot(slot, search))
        })
      }
    }
  }
}

type ByName = ReadonlyMap<string, readonly BuildResource[]>

/** Objects that were renamed, by every name that they had. */
function indexByFormerName(resources: readonly BuildResource[]): ByName {
  const index = new Map<string, BuildResource[]>()
  for (const resource of resources) {
    for (const name of new Set(resource.formerNames.map((former) => former.name))) {
      const list = index.get(name) ?? []
      list.push(resource)
      index.set(name, list)
    }
  }
  return index
}

interface Search {
  readonly referrer: BuildResource
  readonly reference: NameReference
  readonly spec: FieldSpec
  readonly candidatesByName: ByName
  readonly mayRefer: (candidate: BuildResource) => boolean
  readonly inScope: () => readonly BuildResource[]
  readonly place: string
}

/** Objects in the same namespace, cluster-scoped ones, and those in the namespaces of the subjects of a binding. */
function scopeOf(referrer: BuildResource): (candidate: BuildResource) => boolean {
  const { id } = referrer
  if (id.isClusterScoped) return () => true
  const own = effectiveNamespace(id)
  const bound = subjectNamespaces(referrer)
  return (candidate) => {
    const namespace = effectiveNamespace(candidate.id)
    return namespace === notANamespace || namespace === own || bound.has(candidate.namespace)
  }
}

function subjectNamespaces({ kind, object }: BuildResource): ReadonlySet<string> {
  const subjects = kind === 'RoleBinding' ? object?.get('subjects') : undefined
  if (!Array.isArray(subjects)) return new Set()
  return new Set(
    subjects.flatMap((subject) => {
      const isAccount = isMapping(subject) && textOf(subject.get('kind')) === 'ServiceAccount'
      return isAccount && subject.has('namespace') ? [textOf(subject.get('namespace'))] : []
    }),
  )
}

function updateSlot(slot: Slot, search: Search): void {
  const value = slot.get()
  if (isMissing(value)) return
  if (Array.isArray(value)) {
    for (const index of value.keys()) updateItem(itemSlot(value, index), search)
  } else updateItem(slot, search)
}

function updateItem(slot: Slot, search: Search): void {
  const value = slot.get()
  if (isMissing(value)) return
  if (isMapping(value)) updateNameAndNamespace(value, search)
  else if (isScalar(value)) {
    const name = textOf(value)
    const target = referral(
      name,
      search,
      () => true,
      (a, b) => a.name === b.name,
    )
    if (target && target.name !== name) slot.set(rewritten(value, target.name))
  } else throw new Error('neither a name nor a mapping with a name')
}

/** A reference with a namespace: subjects of bindings, Services of webhooks. */
function updateNameAndNamespace(mapping: Mapping, search: Search): void {
  if (!mapping.has('name')) throw new Error('there is no name')
  const name = textOf(mapping.get('name'))
  const isCandidate = inNamespace(mapping.get('namespace'), search)
  const target = referral(name, search, isCandidate, (a, b) => a.name === b.name && a.namespace === b.namespace)
  if (!target || (target.name === name && target.namespace === '')) return
  rewriteMember(mapping, 'name', target.name)
  if (target.namespace !== '') rewriteMember(mapping, 'namespace', target.namespace)
}

/** The namespace of a reference is the one that objects had at first; or, if none had it, the one that they have. */
function inNamespace(value: Value | undefined, search: Search): (candidate: BuildResource) => boolean {
  if (value === undefined) return () => true
  const namespace = textOf(value)
  const original = (candidate: BuildResource): boolean => effectiveNamespace(candidate.originalId) === namespace
  const current = (candidate: BuildResource): boolean => effectiveNamespace(candidate.id) === namespace
  if (namespace === notANamespace) return () => false
  return search.inScope().some(original) ? original : current
}

/** The object that a name refers to, if it was renamed. */
function referral(
  name: string,
  search: Search,
  isCandidate: (candidate: BuildResource) => boolean,
  isSame: (a: BuildResource, b: BuildResource) => boolean,
): BuildResource | undefined {
  const { referrer, reference, spec } = search
  const kinds: readonly KindSelector[] = [reference, ...roleKind(referrer, spec)]
  let candidates = (search.candidatesByName.get(name) ?? []).filter(
    (candidate) =>
      search.mayRefer(candidate) &&
      isCandidate(candidate) &&
      kinds.every((kind) => candidate.formerIds.some((id) => isSelected(id, kind))) &&
      isNear(candidate, referrer),
  )
  if (candidates.length > 1) {
    candidates = candidates.filter((candidate) => haveSameAffixes(candidate, referrer, true))
    if (candidates.length > 1) {
      candidates = candidates.filter((candidate) => haveSameAffixes(candidate, referrer, false))
    }
  }
  const [first] = candidates
  if (!first || candidates.every((candidate) => isSame(candidate, first))) return first
  const list = candidates.map(({ id }) => describeId(id)).join(', ')
  throw failure('KustomizationConflict', search.place, `the reference to ${name} fits several objects: ${list}`)
}

/** Accounts may be in another namespace than the binding that names them. */
function isNear(candidate: BuildResource, referrer: BuildResource): boolean {
  if (referrer.id.isClusterScoped || candidate.id.isClusterScoped || candidate.kind === 'ServiceAccount') return true
  return effectiveNamespace(candidate.id) === effectiveNamespace(referrer.id)
}

/** A `roleRef` says itself which kind of role it means. */
function roleKind({ object }: BuildResource, { path = '' }: FieldSpec): readonly KindSelector[] {
  const roleRef = path.endsWith('roleRef/name') ? mappingAt(object, 'roleRef') : undefined
  if (!roleRef?.has('apiGroup') || !roleRef.has('kind')) return []
  return [{ group: textOf(roleRef.get('apiGroup')), kind: textOf(roleRef.get('kind')) }]
}

function haveSameAffixes(a: BuildResource, b: BuildResource, isLenient: boolean): boolean {
  const fits = (one: readonly string[], other: readonly string[]): boolean =>
    (isLenient && (one.length === 0 || other.length === 0)) || endAlike(one, other)
  return fits(a.prefixes, b.prefixes) && fits(a.suffixes, b.suffixes)
}

function endAlike(one: readonly string[], other: readonly string[]): boolean {
  const length = Math.min(one.length, other.length)
  if (length === 0) return one.length === other.length
  return one.slice(-length).every((text, at) => text === other.slice(-length)[at])
}
