/**
 * What a declaration covers: the objects that a view shows, and the reads that it allows.
 *
 * A list returns the declared objects among those it selects. A read entirely outside of the declaration (a name, a
 * namespace, a kind) is refused: "not found" would be a guess.
 */
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { KubeObject } from '../../kube/object.ts'
import { type LabelSelector, matchLabels } from '../../kube/selector/selector.ts'
import { type DeclaredOutput, describeInput, type EditVerb, editVerbs, type Input, type Reference } from './input.ts'
import { createProjection, joinFields, type Projection } from './projection.ts'
import type { References } from './references.ts'
import type { ObjectName } from './view.ts'

export interface Coverage {
  /** The inputs of the kind. */
  of(resource: Resource): readonly Input[]
  /** Whether the whole kind is declared. */
  isWhole(resource: Resource): boolean
  /** Whether references start from objects of the kind. */
  isReferring(resource: Resource): boolean
  /** Whether the object is declared; `beside` is left out. */
  shows(resource: Resource, object: KubeObject, references: References, beside?: Reference): boolean
  /** Whether an object of this name may be read; `beside` is left out. */
  mayGet(resource: Resource, name: ObjectName, references: References, beside?: Reference): boolean
  /** The part of an object of the kind that the inputs that select it declare, together. */
  projectionOf(resource: Resource, object: KubeObject, references: References): Projection
  /** Whether some input of the kind declares a part of its objects. */
  isProjected(resource: Resource): boolean
  /** Whether the selection can contain declared objects. */
  mayList(resource: Resource, namespace: string | undefined, labels: LabelSelector): boolean
}

const nothing: readonly Input[] = []

export function coverageOf(inputs: readonly Input[]): Coverage {
  const byKind = Map.groupBy(inputs, ({ resource }) => formatResource(resource))
  const whole = new Set(
    inputs.filter(({ select }) => select === 'kind').map(({ resource }) => formatResource(resource)),
  )
  const referring = new Set(
    inputs.flatMap((input) => (input.select === 'reference' ? [formatResource(input.from.resource)] : [])),
  )
  const projected = new Map([...byKind].filter(([, same]) => same.some(({ fields }) => fields)))
  const projections = new Map([...projected].map(([kind, same]) => [kind, projectionsOf(same)]))
  const of = (resource: Resource): readonly Input[] => byKind.get(formatResource(resource)) ?? nothing
  const isWhole = (resource: Resource): boolean => whole.has(formatResource(resource))
  const others = (resource: Resource, beside: Reference | undefined): readonly Input[] =>
    beside ? of(resource).filter((input) => describeInput(input) !== describeInput(beside)) : of(resource)
  return {
    of,
    isWhole,
    isReferring: (resource) => referring.has(formatResource(resource)),
    shows: (resource, object, references, beside) =>
      isWhole(resource) || others(resource, beside).some((input) => selects(input, object, references)),
    mayGet: (resource, name, references, beside) =>
      others(resource, beside).some((input) => maySelect(input, name, references)),
    projectionOf: (resource, object, references) =>
      projections.get(formatResource(resource))?.(object, references) ?? wholeObject,
    isProjected: (resource) => projected.size > 0 && projected.has(formatResource(resource)),
    mayList: (resource, namespace, labels) => of(resource).some((input) => isPossible(input, namespace, labels)),
  }
}

const wholeObject = createProjection(undefined)

/** Of each set of inputs that select the same object, one projection. */
function projectionsOf(inputs: readonly Input[]): (object: KubeObject, references: References) => Projection {
  const known = new Map<string, Projection>()
  return (object, references) => {
    const selecting = inputs.filter((input) => inputs.length === 1 || selects(input, object, references))
    if (selecting.some(({ fields }) => !fields)) return wholeObject
    const fields = joinFields(selecting.map((input) => input.fields))
    const key = fields?.join() ?? ''
    let projection = known.get(key)
    if (!projection) known.set(key, (projection = createProjection(fields)))
    return projection
  }
}

/** Whether the input selects the object. */
export function selects(input: Input, { metadata }: KubeObject, references: References): boolean {
  const { name = '', namespace, labels } = metadata
  switch (input.select) {
    case 'kind':
      return true
    case 'labels': {
      const wanted = Object.entries(input.labels)
      return isIn(input, namespace) && wanted.every(([key, value]) => hasLabel(labels, key, value))
    }
    default:
      return maySelect(input, { name, namespace }, references)
  }
}

/** As `selects`, by name only. A label selector may match: that is decided when the object is known. */
export function maySelect(input: Input, { name, namespace }: ObjectName, references: References): boolean {
  switch (input.select) {
    case 'kind':
      return true
    case 'name':
      return name === input.name && (namespace ?? '') === (input.namespace ?? '')
    case 'prefix':
      return isIn(input, namespace) && name.startsWith(input.prefix)
    case 'labels':
      return isIn(input, namespace)
    default:
      return references.has(input, { name, namespace })
  }
}

/** Whether an object of this name may be written; in this way, if it belongs to others. */
export function mayWrite(
  outputs: readonly DeclaredOutput[],
  resource: Resource,
  name: ObjectName,
  verb?: EditVerb,
): boolean {
  const kind = formatResource(resource)
  return outputs.some(
    (output) =>
      formatResource(output.resource) === kind &&
      (verb === undefined || (editVerbs(output)?.includes(verb) ?? true)) &&
      maySelect(output, name, noReferences),
  )
}

/** Of inputs and outputs without references, or of those alone. */
export const noReferences: References = { has: () => false, of: () => [] }

function isPossible(input: Input, namespace: string | undefined, labels: LabelSelector): boolean {
  if (input.select === 'kind') return true
  if (namespace !== undefined && !isIn(input, namespace)) return false
  if (input.select !== 'labels') return true
  // The input's labels must not contradict the selector.
  const overlapping = labels.filter(({ key }) => Object.hasOwn(input.labels, key))
  return matchLabels(overlapping, input.labels)
}

function isIn({ namespace }: { readonly namespace?: string }, asked: string | undefined): boolean {
  return namespace === undefined || namespace === asked
}

function hasLabel(labels: Readonly<Record<string, string>> | undefined, key: string, value: string): boolean {
  return labels !== undefined && Object.hasOwn(labels, key) && labels[key] === value
}
