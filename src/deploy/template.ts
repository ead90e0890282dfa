/**
 * Objects that leave values open, as data. One tree has two interpreters: `resolve` fills in values and gives plain
 * objects (manifests, kustomize base), `helm-template.ts` writes the same tree as a template of a Helm chart. So the
 * three ways to install cannot differ.
 *
 * Strings leave names open by placeholders, which are ordinary strings: they pass through functions that know nothing
 * of templates, such as those that derive RBAC rules.
 */
import { isJsonObject, type Json, type JsonObject } from '../kube/json.ts'
import { writeGoYaml } from '../contract/text/go-yaml.ts'

export type OpenObject =
  | string
  | number
  | boolean
  | null
  | readonly OpenObject[]
  | TemplateMap
  | ValueOf
  | YamlText
  | Entries
  | MapWith
  | When

export interface TemplateMap {
  readonly [name: string]: OpenObject | undefined
}

/** What a user may set, by its path in the values: `image.tag`. */
export type ValuePath = string

/** A value as it is: a scalar, a list or a map. */
export class ValueOf {
  readonly path: ValuePath
  readonly type: 'string' | 'integer' | 'boolean' | 'yaml'
  constructor(path: ValuePath, type: ValueOf['type']) {
    this.path = path
    this.type = type
  }
}

/** A value as YAML text, as in the data of a ConfigMap. */
export class YamlText {
  readonly path: ValuePath
  constructor(path: ValuePath) {
    this.path = path
  }
}

/** Further items of a list, from a value. */
export class Entries {
  readonly path: ValuePath
  constructor(path: ValuePath) {
    this.path = path
  }
}

/** A map with further members, from a value. */
export class MapWith {
  readonly fixed: TemplateMap
  readonly path: ValuePath
  constructor(fixed: TemplateMap, path: ValuePath) {
    this.fixed = fixed
    this.path = path
  }
}

/** A member, an item or an object that exists only under a condition; or another one in its place. */
export class When {
  readonly condition: ValueCondition
  readonly content: OpenObject
  readonly otherwise: OpenObject | undefined
  constructor(condition: ValueCondition, content: OpenObject, otherwise?: OpenObject) {
    this.condition = condition
    this.content = content
    this.otherwise = otherwise
  }
}

/** Whether a value is set: not false, empty or zero, as in Go templates. */
export interface ValueCondition {
  readonly path: ValuePath
  /** The opposite. @default false */
  readonly not?: boolean
}

/** Names that are known when it is installed. */
export type PlaceholderName = 'name' | 'namespace' | 'image'

// Private-use characters: no name and no text of ours contains them.
const [begin, end] = ['\uE000', '\uE001']

export function placeholder(name: PlaceholderName): string {
  return `${begin}${name}${end}`
}

const placeholderPattern = new RegExp(`${begin}([a-z]+)${end}`, 'g')

export function hasPlaceholder(text: string): boolean {
  return text.includes(begin)
}

export function replacePlaceholders(text: string, by: (name: PlaceholderName) => string): string {
  return text.replaceAll(placeholderPattern, (_, name: PlaceholderName) => by(name))
}

export interface Scope {
  readonly values: JsonObject
  readonly names: Readonly<Record<PlaceholderName, string>>
}

/** Undefined: its condition does not hold. */
export function resolve(template: OpenObject, scope: Scope): Json | undefined {
  if (typeof template === 'string') return replacePlaceholders(template, (name) => scope.names[name])
  if (template === null || typeof template !== 'object') return template
  if (template instanceof ValueOf) return installedValue(scope.values, template.path)
  if (template instanceof YamlText) return writeGoYaml(installedValue(scope.values, template.path))
  if (template instanceof When) {
    const chosen = holds(template.condition, scope.values) ? template.content : template.otherwise
    return chosen === undefined ? undefined : resolve(chosen, scope)
  }
  if (template instanceof MapWith) {
    const more = installedValue(scope.values, template.path)
    return { ...(resolve(template.fixed, scope) as JsonObject), ...(isJsonObject(more) ? more : {}) }
  }
  if (template instanceof Entries) return installedValue(scope.values, template.path)
  if (isList(template)) {
    return template.flatMap((item) => {
      const value = resolve(item, scope)
      if (value === undefined) return []
      return item instanceof Entries && Array.isArray(value) ? (value as readonly Json[]) : [value]
    })
  }
  const members = Object.entries(template).flatMap(([name, member]) => {
    const value = member === undefined ? undefined : resolve(member, scope)
    return value === undefined ? [] : [[replacePlaceholders(name, (one) => scope.names[one]), value] as const]
  })
  return Object.fromEntries(members)
}

export function isList(template: OpenObject): template is readonly OpenObject[] {
  return Array.isArray(template)
}

export function installedValue(values: JsonObject, path: ValuePath): Json {
  let value: Json = values
  for (const name of path.split('.')) value = (isJsonObject(value) ? value[name] : undefined) ?? null
  return value
}

function holds({ path, not = false }: ValueCondition, values: JsonObject): boolean {
  return isSet(installedValue(values, path)) !== not
}

function isSet(value: Json): boolean {
  if (Array.isArray(value)) return value.length > 0
  return isJsonObject(value) ? Object.keys(value).length > 0 : Boolean(value)
}
