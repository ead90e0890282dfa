/** The objects of a build in the order of their files, and the ways to find them. */
import { matchLabels, parseLabels } from '../../../kube/selector/selector.ts'
import { failure } from '../failure.ts'
import { anchored, type Pattern } from './pattern.ts'
import { type BuildResource } from './resource.ts'
import { describeId, effectiveNamespace, type ResourceId, sameId } from './resource-id.ts'
import { mappingAt, textOf, type Value } from './value.ts'

/** Which objects a patch or a replacement is for. Every text but the label selectors is a regular expression. */
export interface ObjectSelector {
  readonly group?: string
  readonly version?: string
  readonly kind?: string
  readonly name?: string
  readonly namespace?: string
  readonly labelSelector?: string
  readonly annotationSelector?: string
}

export class ResourceMap {
  private resources: readonly BuildResource[] = []
  private readonly place: string

  /** @param place for messages: the kustomization */
  constructor(place: string) {
    this.place = place
  }

  get all(): readonly BuildResource[] {
    return this.resources
  }

  /** @throws KustomizationConflict if an object with the same id is in the list */
  append(added: readonly BuildResource[]): void {
    const ids = new Set(this.resources.map(({ id }) => idKey(id)))
    for (const { id } of added) {
      const key = idKey(id)
      if (ids.has(key)) {
        throw failure('KustomizationConflict', this.place, `there is already a ${describeId(id)}`)
      }
      ids.add(key)
    }
    this.resources = [...this.resources, ...added]
  }

  /** Replaces all objects. @throws KustomizationConflict */
  reset(resources: readonly BuildResource[]): void {
    this.resources = []
    this.append(resources)
  }

  /** Objects that a patch deleted leave the list. */
  dropEmpty(): void {
    this.resources = this.resources.filter((resource) => !resource.isEmpty)
  }

  replace(old: BuildResource, replacement: BuildResource): void {
    this.resources = this.resources.map((resource) => (resource === old ? replacement : resource))
  }

  /** Objects that have or had an id. */
  withAnyId(matches: (id: ResourceId) => boolean): readonly BuildResource[] {
    return this.resources.filter((resource) => !resource.isEmpty && [...resource.formerIds, resource.id].some(matches))
  }

  /** The one object that has or had the id. @throws KustomizationPatchFailed */
  theOne(id: ResourceId, place: string): BuildResource {
    const found = this.withAnyId((other) => sameId(id, other))
    const [only] = found
    if (found.length === 1 && only) return only
    const number = found.length === 0 ? 'no object matches' : `${found.length} objects match`
    throw failure('KustomizationPatchFailed', place, `${number} the patch of ${describeId(id)}`)
  }

  select(selector: ObjectSelector, place: string): readonly BuildResource[] {
    const matches = objectMatcher(selector, place)
    return this.resources.filter((resource) => {
      const { id, originalId } = resource
      return (
        (matches.namespace(effectiveNamespace(originalId)) || matches.namespace(effectiveNamespace(id))) &&
        (matches.name(originalId.name) || matches.name(id.name)) &&
        matches.kind(id) &&
        matches.labels(resource)
      )
    })
  }
}

function idKey(id: ResourceId): string {
  return [id.group, id.version, id.kind, id.name, effectiveNamespace(id)].join('\n')
}

interface SelectorMatcher {
  readonly kind: (id: ResourceId) => boolean
  readonly name: Pattern
  readonly namespace: Pattern
  readonly labels: (resource: BuildResource) => boolean
}

/** @throws KustomizationInvalid for a text that is no regular expression or no selector */
export function objectMatcher(selector: ObjectSelector, place: string): SelectorMatcher {
  const pattern = (field: keyof ObjectSelector): Pattern => anchored(selector[field] ?? '', `${place}.${field}`)
  const [group, version, kind] = [pattern('group'), pattern('version'), pattern('kind')]
  const labels = parseSelector(selector.labelSelector, `${place}.labelSelector`)
  const annotations = parseSelector(selector.annotationSelector, `${place}.annotationSelector`)
  return {
    kind: (id) => group(id.group) && version(id.version) && kind(id.kind),
    name: pattern('name'),
    namespace: pattern('namespace'),
    labels: ({ object }) =>
      labels(mappingAt(object, 'metadata', 'labels')) && annotations(mappingAt(object, 'metadata', 'annotations')),
  }
}

function parseSelector(text = '', place: string): (map: ReadonlyMap<string, Value> | undefined) => boolean {
  let selector: ReturnType<typeof parseLabels>
  try {
    selector = parseLabels(text)
  } catch (error) {
    throw failure('KustomizationInvalid', place, error instanceof Error ? error.message : String(error), error)
  }
  return (map = new Map()) =>
    matchLabels(selector, Object.fromEntries([...map].map(([key, value]) => [key, textOf(value)])))
}
