/**
 * An input: what an operator may read, as narrowly as its author can declare it.
 *
 *     reads: [
 *       Node,                                                              // a whole kind
 *       exactly(Ingress, { name: 'cluster' }),                             // one object
 *       generated(CertificateSigningRequest, { prefix: 'my-operator-' }),  // objects by name prefix
 *       labelled(Secret, { namespace: 'shared', labels: { tier: 'db' } }), // objects by label
 *       referenced(Secret, {                                               // objects that another object refers to
 *         from: Database,
 *         namePath: '$.spec.users[*].passwordSecret',
 *         namespacePath: '$.metadata.namespace',
 *       }),
 *       fields(Pod, ['spec.nodeName', 'status.phase']),                    // some fields of them (`projected-input.ts`)
 *     ]
 *
 * Watches, triggers, the view's contents and the RBAC role are derived from inputs: narrow inputs make all of them
 * cheaper. They are plain data: they can be printed, compared and checked.
 */
import { operatorErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { compileJsonPath, leadingMembers } from '../../kube/json-path.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import { checkDnsLabel, checkLabelValue, checkPathSegment, checkQualifiedName } from '../../kube/meta/name.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { TypedResource } from '../../kube/typed-resource.ts'
import { isAtOrBelow } from './projection.ts'

/** All objects of a kind. */
export interface WholeKind<T extends KubeObject = KubeObject> {
  readonly select: 'kind'
  readonly resource: TypedResource<T>
}

/** One object. */
export interface ExactName<T extends KubeObject = KubeObject> {
  readonly select: 'name'
  readonly resource: TypedResource<T>
  /** Absent for cluster-scoped kinds. */
  readonly namespace?: string
  readonly name: string
  /** With its `managedFields`: they decide what is written to a shared object. */
  readonly managedFields?: true
}

/** Objects with generated names: they begin with `prefix`. */
export interface GeneratedName<T extends KubeObject = KubeObject> {
  readonly select: 'prefix'
  readonly resource: TypedResource<T>
  /** Absent: all, or for kinds without. */
  readonly namespace?: string
  readonly prefix: string
}

/** Objects that carry all of these labels. */
export interface LabelSelected<T extends KubeObject = KubeObject> {
  readonly select: 'labels'
  readonly resource: TypedResource<T>
  /** Absent: all, or for kinds without. */
  readonly namespace?: string
  readonly labels: Readonly<Record<string, string>>
}

/**
 * Objects that others name. They are followed as what names them changes. A path that finds nothing refers to nothing:
 * every reference is optional.
 */
export interface Reference<T extends KubeObject = KubeObject> {
  readonly select: 'reference'
  readonly resource: TypedResource<T>
  /** What names them; with it, it is an input too. */
  readonly from: Input
  /** JSONPath to the name. */
  readonly namePath: string
  /** The namespace, where it is always the same. */
  readonly namespace?: string
  /** JSONPath to the namespace, where the referring object says it (`$.metadata.namespace`: the one that it is in). */
  readonly namespacePath?: string
}

/** How much of each object is read. */
interface InputFields {
  /** Paths beside metadata, which is always read; sorted, none below another. Absent: whole objects. */
  readonly fields?: readonly string[] | undefined
}

export type Input<T extends KubeObject = KubeObject> = InputFields &
  (WholeKind<T> | ExactName<T> | GeneratedName<T> | LabelSelected<T> | Reference<T>)

/** An input that selects whole objects. */
export type Unprojected<I> = I & { readonly fields?: undefined }

/** What may be done to an object that belongs to others. */
export type EditVerb = 'create' | 'patch' | 'delete'

/** Objects of a kind that belong to others: see `edits.ts`. */
export interface EditedKind<T extends KubeObject = KubeObject> extends WholeKind<T> {
  readonly verbs: readonly EditVerb[]
}

/** What an operator may write: no label selectors and references, whose objects are not known in advance. */
export type DeclaredOutput<T extends KubeObject = KubeObject> = Unprojected<
  WholeKind<T> | EditedKind<T> | ExactName<T> | GeneratedName<T>
>

/** An output that is only edited: undefined for objects of the operator's own. */
export function editVerbs(output: Input): readonly EditVerb[] | undefined {
  return 'verbs' in output ? (output as EditedKind).verbs : undefined
}

export function whole<T extends KubeObject>(resource: TypedResource<T>): WholeKind<T> {
  return { select: 'kind', resource }
}

/** @throws InvalidController */
export function exactly<T extends KubeObject>(
  resource: TypedResource<T>,
  { name, namespace }: { readonly name: string; readonly namespace?: string },
): ExactName<T> {
  const place = `exactly(${formatResource(resource)})`
  checkNamespace(resource, namespace, place)
  if (resource.namespaced && namespace === undefined) {
    refuse(place, 'it needs a namespace: its objects are in namespaces')
  }
  checkName(name, 'name', place)
  return { select: 'name', resource, ...(namespace !== undefined && { namespace }), name }
}

/** @throws InvalidController */
export function generated<T extends KubeObject>(
  resource: TypedResource<T>,
  { prefix, namespace }: { readonly prefix: string; readonly namespace?: string },
): GeneratedName<T> {
  const place = `generated(${formatResource(resource)})`
  checkNamespace(resource, namespace, place)
  checkName(prefix, 'prefix', place)
  return { select: 'prefix', resource, ...(namespace !== undefined && { namespace }), prefix }
}

/** @throws InvalidController */
export function labelled<T extends KubeObject>(
  resource: TypedResource<T>,
  { labels, namespace }: { readonly labels: Readonly<Record<string, string>>; readonly namespace?: string },
): LabelSelected<T> {
  const place = `labelled(${formatResource(resource)})`
  checkNamespace(resource, namespace, place)
  if (Object.keys(labels).length === 0) refuse(place, 'it needs a label at least; to read all, declare the kind itself')
  for (const [key, value] of Object.entries(labels)) {
    const [problem] = [...checkQualifiedName(key), ...checkLabelValue(value)]
    if (problem !== undefined) refuse(place, `label ${key}=${value} ${problem}`)
  }
  return { select: 'labels', resource, ...(namespace !== undefined && { namespace }), labels: { ...labels } }
}

export interface ReferenceOptions {
  /** The referring objects: a kind, or another input; another reference makes a chain. */
  readonly from: TypedResource | Input
  readonly namePath: string
  readonly namespace?: string
  readonly namespacePath?: string
}

/** @throws InvalidController, InvalidJsonPath */
export function referenced<T extends KubeObject>(
  resource: TypedResource<T>,
  { from, namePath, namespace, namespacePath }: ReferenceOptions,
): Reference<T> {
  const place = `referenced(${formatResource(resource)})`
  checkNamespace(resource, namespace, place)
  if (!resource.namespaced && namespacePath !== undefined) {
    refuse(place, 'it has a namespacePath, but its objects are in no namespace')
  }
  if (resource.namespaced && (namespace === undefined) === (namespacePath === undefined)) {
    refuse(
      place,
      'it needs either a namespace or a namespacePath; $.metadata.namespace is that of the referring object',
    )
  }
  const referring = inputOf(from)
  checkReferring(referring, namePath, place)
  if (namespacePath !== undefined) checkReferring(referring, namespacePath, place)
  return {
    select: 'reference',
    resource,
    from: referring,
    namePath,
    ...(namespace !== undefined && { namespace }),
    ...(namespacePath !== undefined && { namespacePath }),
  }
}

/**
 * A projected input can refer to others only by what is read of it.
 * @throws InvalidController, InvalidJsonPath
 */
function checkReferring({ fields, resource }: Input, text: string, place: string): void {
  const path = compileJsonPath(text)
  if (fields === undefined) return
  const members = leadingMembers(path)
  if (!members)
    refuse(place, `${text} has a filter, which may read any field: ${formatResource(resource)} is read in part`)
  const needed = members.join('.')
  if (members[0] === 'metadata' || fields.some((field) => isAtOrBelow(needed, field))) return
  refuse(
    place,
    `${text} reads ${needed || 'the whole object'}, but of ${formatResource(resource)} fields() has only ${describeFields(fields)}`,
  )
}

/** A bare kind means all of its objects. */
export function inputOf<T extends KubeObject, I extends Input<T>>(given: TypedResource<T> | I): WholeKind<T> | I {
  return 'select' in given ? given : whole(given)
}

/** An input with all inputs that it refers through, itself last. */
export function chainOf(input: Input): readonly Input[] {
  return input.select === 'reference' ? [...chainOf(input.from), input] : [input]
}

const descriptions = new WeakMap<Input, string>()

/** One line for people. Equal inputs have equal descriptions. */
export function describeInput(input: Input): string {
  const known = descriptions.get(input)
  if (known !== undefined) return known
  const selection = describeSelection(input)
  const described = input.fields ? `${selection} {${describeFields(input.fields)}}` : selection
  descriptions.set(input, described)
  return described
}

function describeFields(fields: readonly string[]): string {
  return fields.length === 0 ? 'metadata' : fields.join(', ')
}

/** Which objects it selects, whatever is read of them. */
export function describeSelection(input: Input): string {
  const kind = formatResource(input.resource)
  const { namespaced } = input.resource
  switch (input.select) {
    case 'kind': {
      const verbs = editVerbs(input)
      return verbs ? `${kind} (${verbs.join(', ')})` : kind
    }
    case 'name':
      return `${kind} ${input.namespace === undefined ? input.name : `${input.namespace}/${input.name}`}`
    case 'prefix':
      return `${kind} ${namespaced ? `${input.namespace ?? '*'}/` : ''}${input.prefix}*`
    case 'labels': {
      const labels = Object.entries(input.labels).map(([key, value]) => `${key}=${value}`)
      return `${kind} ${namespaced ? `${input.namespace ?? '*'}/` : ''}[${labels.toSorted().join(',')}]`
    }
    default: {
      const where = input.namespace ?? input.namespacePath
      const path = where === undefined ? input.namePath : `${where}/${input.namePath}`
      return `${kind} ${path} of ${describeInput(input.from)}`
    }
  }
}

/** Each once, in order. */
export function uniqueInputs<I extends Input>(inputs: readonly I[]): readonly I[] {
  return [...new Map(inputs.map((input) => [describeInput(input), input])).values()]
}

/** The kinds of the inputs, each once, in order. */
export function kindsOf(inputs: readonly Input[]): readonly Resource[] {
  return [...new Map(inputs.map(({ resource }) => [formatResource(resource), resource])).values()]
}

/**
 * A resource is read at one version: at two, each object would appear twice.
 * @throws InvalidController
 */
export function checkVersions(inputs: readonly Input[], place: string): void {
  const versions = new Map<string, string>()
  for (const { resource } of inputs) {
    const { group, plural, version } = resource
    const name = group === '' ? plural : `${plural}.${group}`
    const other = versions.get(name) ?? version
    if (other !== version) {
      const message = `${place}: ${name} is declared at ${other} and at ${version}. Use one of them everywhere.`
      throw new MusterError(operatorErrors.InvalidController, message)
    }
    versions.set(name, version)
  }
}

function checkNamespace(resource: Resource, namespace: string | undefined, place: string): void {
  if (namespace === undefined) return
  if (!resource.namespaced) refuse(place, `it has namespace "${namespace}", but its objects are in no namespace`)
  const [problem] = checkDnsLabel(namespace)
  if (problem !== undefined) refuse(place, `namespace "${namespace}" ${problem}`)
}

function checkName(name: string, what: string, place: string): void {
  const [problem] = name === '' ? ['must not be empty'] : checkPathSegment(name)
  if (problem !== undefined) refuse(place, `${what} "${name}" ${problem}`)
}

function refuse(place: string, problem: string): never {
  throw new MusterError(operatorErrors.InvalidController, `${place}: ${problem}.`)
}
