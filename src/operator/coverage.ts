/**
 * What a declaration covers: which objects are shown, and what may be asked for.
 *
 * A controller lives in the world that it declared. A list shows what of that world it selects; what lies outside of it
 * altogether (a name, a namespace, a kind) is not answered with "there is none", which would be a guess, but refused.
 */
import { formatResource, type Resource } from '../kube/kind.ts'
import type { KubeObject } from '../kube/object.ts'
import { type LabelSelector, matchLabels } from '../kube/selector.ts'
import { describeInput, type Input, type DeclaredOutput, type Reference } from './input.ts'
import type { References } from './references.ts'
import type { ObjectName } from './view.ts'

export interface Coverage {
  /** What is declared of the kind. */
  of(resource: Resource): readonly Input[]
  /** The whole kind. */
  isWhole(resource: Resource): boolean
  /** Do references lead from objects of the kind? */
  isReferring(resource: Resource): boolean
  /** Is the object among what is declared? `beside` is left out. */
  shows(resource: Resource, object: KubeObject, references: References, beside?: Reference): boolean
  /** May an object of this name be asked for? Likewise. */
  mayGet(resource: Resource, name: ObjectName, references: References, beside?: Reference): boolean
  /** May there be something in this selection? */
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
      others(resource, beside).some((input) => isWithin(input, name, references)),
    mayList: (resource, namespace, labels) => of(resource).some((input) => isPossible(input, namespace, labels)),
  }
}

/** Is the object one of those that the input means? */
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
      return isWithin(input, { name, namespace }, references)
  }
}

/** As `selects`, by the name alone. What depends on labels may be: that shows when it is there. */
function isWithin(input: Input, { name, namespace }: ObjectName, references: References): boolean {
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

/** Is an object of this name among what may be written? */
export function mayWrite(outputs: readonly DeclaredOutput[], resource: Resource, name: ObjectName): boolean {
  const kind = formatResource(resource)
  return outputs.some((output) => formatResource(output.resource) === kind && isWithin(output, name, noReferences))
}

/** What is written, no reference says. */
const noReferences: References = { has: () => false, of: () => [] }

function isPossible(input: Input, namespace: string | undefined, labels: LabelSelector): boolean {
  if (input.select === 'kind') return true
  if (namespace !== undefined && !isIn(input, namespace)) return false
  if (input.select !== 'labels') return true
  // Of the labels that are certain, none may be excluded.
  const certain = labels.filter(({ key }) => Object.hasOwn(input.labels, key))
  return matchLabels(certain, input.labels)
}

function isIn({ namespace }: { readonly namespace?: string }, asked: string | undefined): boolean {
  return namespace === undefined || namespace === asked
}

function hasLabel(labels: Readonly<Record<string, string>> | undefined, key: string, value: string): boolean {
  return labels !== undefined && Object.hasOwn(labels, key) && labels[key] === value
}
