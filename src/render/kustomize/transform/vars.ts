/** `vars`: values of objects, written wherever `$(NAME)` stands in certain fields. Deprecated in kustomize, and still in use. */
import { formatGoFloat } from '../../../kube/go/go-text.ts'
import { YamlScalar } from '../../../kube/yaml/yaml-value.ts'
import { changeSpecified, type FieldSpec, itemSlot, memberSlot, type Slot } from '../config/field-spec.ts'
import { failingAt, failure } from '../failure.ts'
import type { Var } from '../kustomization.ts'
import { splitFieldPath } from '../model/path.ts'
import { describeId, effectiveNamespace, type ResourceId } from '../model/resource-id.ts'
import type { ResourceMap } from '../model/resource-list.ts'
import { parseApiVersion } from '../../../kube/kind.ts'
import {
  compareTexts,
  isMapping,
  isMissing,
  isScalar,
  textOf,
  unshared,
  type Value,
  writtenText,
} from '../model/value.ts'
import { isTextual } from '../model/written-scalar.ts'
import { lookUp } from './field-path.ts'

/** Vars of a kustomization and of those that it uses, by name. */
export type Vars = ReadonlyMap<string, Var>

/** Adds vars, and notes them in the objects that they read. */
export function addVars(known: Vars, vars: readonly Var[], resources: ResourceMap, place: string): Vars {
  const added = new Map(known)
  for (const [index, one] of vars.entries()) {
    const where = `${place}[${index}]`
    const { name = '', objref = {} } = one
    const matches = resources.withAnyId(matcherOf(objref))
    if (matches.length > 1) {
      throw failure('KustomizationConflict', where, `the var ${name} fits ${matches.length} objects`)
    }
    for (const resource of matches) resource.varNames = [...resource.varNames, name]
    if (added.has(name)) throw failure('KustomizationInvalid', where, `there are two vars ${name}`)
    added.set(name, one)
  }
  return added
}

export function joinVars(known: Vars, added: Vars, place: string): Vars {
  const twice = [...added.keys()].find((name) => known.has(name))
  if (twice !== undefined) throw failure('KustomizationInvalid', place, `there are two vars ${twice}`)
  return new Map([...known, ...added])
}

function matcherOf(objref: NonNullable<Var['objref']>): (id: ResourceId) => boolean {
  const { group = '', version = '' } = objref.apiVersion ? parseApiVersion(objref.apiVersion) : objref
  const { kind = '', name = '', namespace = '' } = objref
  return (id) =>
    id.group === group &&
    id.version === version &&
    id.kind === kind &&
    id.name === name &&
    (namespace === '' || effectiveNamespace(id) === namespace)
}

type Replaceable = string | number | bigint | boolean

/** Replaces all vars. */
export function resolveVars(resources: ResourceMap, vars: Vars, specs: readonly FieldSpec[], place: string): void {
  if (vars.size === 0) return
  const values = new Map<string, Replaceable>()
  for (const [name, one] of [...vars].toSorted(([a], [b]) => compareTexts(a, b))) {
    const value = valueOfVar(name, one, resources, place)
    if (value !== undefined) values.set(name, value)
  }
  for (const { object, id } of resources.all) {
    if (!object) continue
    failingAt('KustomizationTransformFailed', `${place} in ${describeId(id)}`, () => {
      for (const spec of specs) changeSpecified(object, id, spec, (slot) => expandSlot(slot, values))
    })
  }
}

/** Undefined for a mapping or a list, which cannot be substituted into a string. */
function valueOfVar(name: string, one: Var, resources: ResourceMap, place: string): Replaceable | undefined {
  const resource = resources.all.find(({ varNames }) => varNames.includes(name))
  if (!resource?.object) {
    throw failure('KustomizationTransformFailed', place, `no object fits the objref of the var ${name}`)
  }
  const path = one.fieldref?.fieldPath || 'metadata.name'
  const parts = splitFieldPath(path).flatMap(withIndex)
  const value = failingAt('KustomizationTransformFailed', place, () => lookUp(resource.object ?? null, parts))
  if (value === undefined) {
    throw failure(
      'KustomizationTransformFailed',
      place,
      `${describeId(resource.id)} has no ${path} for the var ${name}`,
    )
  }
  return primitive(value)
}

/** `ports[0]` is `ports` and `0`. */
function withIndex(part: string): readonly string[] {
  const open = part.endsWith(']') ? part.lastIndexOf('[') : -1
  const index = part.slice(open + 1, -1)
  if (open < 0 || !/^\d+$/.test(index)) return [part]
  return open === 0 ? [index] : [part.slice(0, open), index]
}

function primitive(value: Value): Replaceable | undefined {
  const inner = unshared(value)
  // A scalar without a type is a text here, whatever it looks like.
  if (isScalar(inner) && isTextual(inner)) return textOf(inner)
  const plain = inner instanceof YamlScalar ? inner.value : inner
  if (plain === null) return writtenText(value)
  return isMapping(plain) || Array.isArray(plain) ? undefined : plain
}

function expandSlot(slot: Slot, values: ReadonlyMap<string, Replaceable>): void {
  const value = slot.get()
  if (isMissing(value)) return
  if (isMapping(value)) {
    for (const name of value.keys()) expandText(memberSlot(value, name), values)
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      if (!isScalar(item) || !isTextual(unshared(item)))
        throw new Error('a list in which vars are replaced has an item that is no text')
      expandText(itemSlot(value, index), values)
    }
  } else if (isScalar(value)) expandText(slot, values)
}

function expandText(slot: Slot, values: ReadonlyMap<string, Replaceable>): void {
  const value = slot.get()
  if (isScalar(value) && isTextual(value)) slot.set(expand(textOf(value), values))
}

/** `$(NAME)` is replaced, `$$` is a dollar sign. A text that is nothing but a var gets the type of its value. */
function expand(text: string, values: ReadonlyMap<string, Replaceable>): Replaceable {
  const whole = /^\$\(([^)]*)\)$/.exec(text)?.[1]
  if (whole !== undefined) return values.get(whole) ?? text
  const lastClose = text.lastIndexOf(')')
  let result = ''
  let copied = 0
  for (let dollar = text.indexOf('$'); dollar >= 0; dollar = text.indexOf('$', copied)) {
    const close = text[dollar + 1] === '(' && dollar < lastClose ? text.indexOf(')', dollar) : -1
    const value = close < 0 ? undefined : values.get(text.slice(dollar + 2, close))
    const end = close < 0 ? dollar + 2 : close + 1
    const isEscape = text[dollar + 1] === '$'
    result += text.slice(copied, dollar)
    result += isEscape ? '$' : value === undefined ? text.slice(dollar, end) : textOfValue(value)
    copied = end
  }
  return result + text.slice(copied)
}

function textOfValue(value: Replaceable): string {
  return typeof value === 'number' && !Number.isInteger(value) ? formatGoFloat(value) : textOf(value)
}
