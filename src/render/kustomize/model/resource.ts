/**
 * An object of a build, with what kustomize remembers about it: the names it had, the prefixes and suffixes it was given,
 * whether its name gets a hash. Kustomize keeps this in annotations of the object; here they are fields.
 */
import { formatApiVersion, parseApiVersion } from '../../../kube/kind.ts'
import { failure } from '../failure.ts'
import type { KindTable } from './kind-table.ts'
import { describeId, effectiveNamespace, resourceId, type ResourceId } from './resource-id.ts'
import {
  cloneValue,
  ensureMapping,
  isEmptyValue,
  isMapping,
  type Mapping,
  mappingAt,
  rewriteMember,
  textOf,
  type Value,
  writtenText,
} from './value.ts'

export type Behavior = 'create' | 'merge' | 'replace' | 'unspecified'

interface FormerName {
  readonly name: string
  readonly namespace: string
  readonly kind: string
}

export class BuildResource {
  /** Undefined once a patch has deleted the object. */
  object: Mapping | undefined
  readonly kinds: KindTable
  formerNames: readonly FormerName[] = []
  prefixes: readonly string[] = []
  suffixes: readonly string[] = []
  /** Names of the vars that read this object. */
  varNames: readonly string[] = []
  needsHash = false
  /** Of generated objects. */
  behavior: Behavior | undefined
  /** Where the object comes from, for an annotation. */
  origin: string | undefined
  /** The transformations that it went through, for an annotation. */
  readonly transformations: string[] = []

  constructor(object: Mapping, kinds: KindTable) {
    this.object = object
    this.kinds = kinds
  }

  get isEmpty(): boolean {
    return isEmptyValue(this.object)
  }

  /** Whether kustomize has something noted about the object. */
  get isAnnotated(): boolean {
    return this.formerNames.length > 0 || this.needsHash || this.behavior !== undefined || this.origin !== undefined
  }

  get kind(): string {
    return textOf(this.object?.get('kind'))
  }

  get apiVersion(): string {
    return textOf(this.object?.get('apiVersion'))
  }

  get name(): string {
    return textOf(mappingAt(this.object, 'metadata')?.get('name'))
  }

  get namespace(): string {
    return textOf(mappingAt(this.object, 'metadata')?.get('namespace'))
  }

  get id(): ResourceId {
    return this.idWith(this.name, this.namespace, this.kind)
  }

  /** Ids that the object had before it was renamed, the oldest first. */
  get formerIds(): readonly ResourceId[] {
    const named = this.formerNames.filter(({ name }) => name !== '')
    if (named.length > 0 && named.length < this.formerNames.length) {
      throw failure('KustomizationTransformFailed', describeId(this.id), 'the object had no name when it was renamed')
    }
    return named.map(({ name, namespace, kind }) => this.idWith(name, namespace, kind))
  }

  /** The first id, which references in files use. */
  get originalId(): ResourceId {
    return this.formerIds[0] ?? this.id
  }

  private idWith(name: string, namespace: string, kind: string): ResourceId {
    return resourceId(this.kinds, { ...parseApiVersion(this.apiVersion), kind }, name, namespace)
  }

  /** To be called before a change of name, namespace or kind. */
  rememberName(): void {
    const { id } = this
    this.formerNames = [...this.formerNames, { name: id.name, namespace: effectiveNamespace(id), kind: id.kind }]
  }

  setName(name: string): void {
    if (this.object) rewriteMember(ensureMapping(this.object, 'metadata'), 'name', name)
  }

  /** An empty namespace removes the field. */
  setNamespace(namespace: string): void {
    if (!this.object) return
    if (namespace === '') mappingAt(this.object, 'metadata')?.delete('namespace')
    else rewriteMember(ensureMapping(this.object, 'metadata'), 'namespace', namespace)
  }

  textMap(field: 'labels' | 'annotations'): Map<string, string> {
    const map = mappingAt(this.object, 'metadata', field)
    return new Map([...(map ?? [])].map(([key, value]) => [key, writtenText(value)]))
  }

  /** An empty map removes the field. */
  setTextMap(field: 'labels' | 'annotations', map: ReadonlyMap<string, string>): void {
    if (!this.object) return
    const metadata = ensureMapping(this.object, 'metadata')
    metadata.delete(field)
    if (map.size > 0) metadata.set(field, new Map<string, Value>(map))
  }

  clone(): BuildResource {
    const copy = new BuildResource(new Map(), this.kinds)
    const object = this.object && cloneValue(this.object)
    copy.object = isMapping(object) ? object : undefined
    copy.formerNames = this.formerNames
    copy.prefixes = this.prefixes
    copy.suffixes = this.suffixes
    copy.varNames = this.varNames
    copy.needsHash = this.needsHash
    copy.behavior = this.behavior
    return copy
  }

  setKind(kind: Pick<ResourceId, 'group' | 'version' | 'kind'>): void {
    this.object?.set('apiVersion', formatApiVersion(kind))
    this.object?.set('kind', kind.kind)
  }
}
