/**
 * Fields of objects that others write and no schema of ours has checked: Kueue's, or those of a directory. A field of the wrong form
 * is reported and counts as left out; nothing here throws.
 */
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { isJsonArray, ownMember } from '../../kube/json-member.ts'
import { asJson } from '../../kube/json-object.ts'
import type { KubeObject } from '../../kube/object.ts'
import { resourceAmounts } from '../../kube/scheduling/pod-needs.ts'
import type { QuotaProblem, QuotaProblemReason } from './quota-problem.ts'

export class ObjectFields {
  /** `ClusterQueue team-a`. */
  readonly object: string
  readonly #root: JsonObject
  readonly #path: string
  readonly #problems: QuotaProblem[]

  constructor(root: JsonObject, object: string, problems: QuotaProblem[], path = '') {
    this.#root = root
    this.object = object
    this.#problems = problems
    this.#path = path
  }

  report(field: string, reason: QuotaProblemReason, message: string): void {
    this.#problems.push({ object: this.object, field: this.#at(field), reason, message })
  }

  has(name: string): boolean {
    return this.#value(name) !== undefined
  }

  text(name: string): string | undefined {
    return this.#typed(name, 'text', (value) => (typeof value === 'string' ? value : undefined))
  }

  flag(name: string): boolean | undefined {
    return this.#typed(name, 'true or false', (value) => (typeof value === 'boolean' ? value : undefined))
  }

  integer(name: string): number | undefined {
    return this.#typed(name, 'an integer', (value) => {
      const number = typeof value === 'bigint' ? Number(value) : value
      return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined
    })
  }

  /** One of these words. */
  word<const Words extends readonly string[]>(name: string, words: Words): Words[number] | undefined {
    return this.#typed(name, `one of ${words.join(', ')}`, (value) => words.find((word) => word === value))
  }

  /** The fields of an object below; undefined if there is none. */
  below(name: string): ObjectFields | undefined {
    return this.#typed(name, 'an object', (value) =>
      isJsonObject(value) ? new ObjectFields(value, this.object, this.#problems, this.#at(name)) : undefined,
    )
  }

  /** The fields of the objects in a list; other members are reported. */
  each(name: string): readonly ObjectFields[] {
    return this.#list(name).flatMap((value, index) => {
      const path = `${this.#at(name)}[${index}]`
      if (isJsonObject(value)) return [new ObjectFields(value, this.object, this.#problems, path)]
      this.report(`${name}[${index}]`, 'InvalidField', 'not an object')
      return []
    })
  }

  texts(name: string): readonly string[] {
    return this.#list(name).flatMap((value, index) => {
      if (typeof value === 'string') return [value]
      this.report(`${name}[${index}]`, 'InvalidField', 'not text')
      return []
    })
  }

  /** A map of texts, such as labels. */
  textMap(name: string): Readonly<Record<string, string>> {
    const below = this.below(name)
    return below ? Object.fromEntries(below.#keys().flatMap((key) => below.#textEntry(key))) : {}
  }

  /** A map of amounts by resource, in the queue's units. Those that cannot be read are reported, and are zero. */
  amounts(name: string): ReadonlyMap<string, number> {
    const below = this.below(name)
    if (!below) return new Map()
    return new Map(below.#keys().map((resource) => [resource, below.amount(resource, resource) ?? 0]))
  }

  /** The amount of a resource. @returns undefined if it is left out; zero if it cannot be read, which is reported */
  amount(name: string, resource: string): number | undefined {
    const value = this.#value(name)
    if (value === undefined) return undefined
    const amount = amountOf(resource, value)
    if (amount === undefined) this.report(name, 'InvalidAmount', 'not a quantity, such as 500m or 4Gi; it counts as 0')
    else if (amount < 0) this.report(name, 'InvalidAmount', 'negative; it counts as 0')
    return Math.max(0, amount ?? 0)
  }

  /** As it is, for readers that check it themselves. */
  json(name: string): JsonObject | undefined {
    const value = this.#value(name)
    return isJsonObject(value) ? value : undefined
  }

  #keys(): readonly string[] {
    return Object.keys(this.#root)
  }

  #textEntry(key: string): readonly (readonly [string, string])[] {
    const text = this.text(key)
    return text === undefined ? [] : [[key, text]]
  }

  #list(name: string): readonly Json[] {
    return this.#typed(name, 'a list', (value) => (isJsonArray(value) ? value : undefined)) ?? []
  }

  #typed<T>(name: string, what: string, read: (value: Json) => T | undefined): T | undefined {
    const value = this.#value(name)
    if (value === undefined) return undefined
    const typed = read(value)
    if (typed === undefined) this.report(name, 'InvalidField', `not ${what}; it counts as left out`)
    return typed
  }

  #value(name: string): Json | undefined {
    return ownMember(this.#root, name) ?? undefined
  }

  #at(name: string): string {
    return this.#path === '' ? name : name === '' ? this.#path : `${this.#path}.${name}`
  }
}

export function wholeOf(object: KubeObject, problems: QuotaProblem[]): ObjectFields {
  return new ObjectFields(asJson(object), objectTitle(object), problems)
}

/** The fields of an object's spec, and its name as problems have it. */
export function specOf(object: KubeObject, problems: QuotaProblem[]): ObjectFields {
  const fields = wholeOf(object, problems)
  return fields.below('spec') ?? new ObjectFields({}, fields.object, problems, 'spec')
}

export function objectTitle({ kind, metadata: { namespace, name = '' } }: KubeObject): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`
}

function amountOf(resource: string, value: Json): number | undefined {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'bigint') return undefined
  try {
    const amount = resourceAmounts({ [resource]: typeof value === 'bigint' ? String(value) : value }).get(resource)
    return amount !== undefined && Number.isFinite(amount) ? amount : undefined
  } catch {
    return undefined
  }
}

/** The oldest first, then by name: the same order however the objects came. */
export function oldestFirst(objects: readonly KubeObject[]): readonly KubeObject[] {
  const key = ({ metadata: { creationTimestamp, namespace, name } }: KubeObject): readonly string[] => [
    // Without a time it is from a file, and as good as new.
    creationTimestamp ?? '9999',
    namespace ?? '',
    name ?? '',
  ]
  return objects.toSorted((a, b) => compareTexts(key(a), key(b)))
}

function compareTexts(a: readonly string[], b: readonly string[]): number {
  for (const [index, text] of a.entries()) {
    const other = b[index] ?? ''
    if (text !== other) return text < other ? -1 : 1
  }
  return 0
}
