/**
 * Where a `range` is. Generated values belong to an element, not to its number: the password of one user must not become that of
 * another when a list gets one more, or another order.
 */
import { createHash } from 'node:crypto'
import type { RenderMeter } from './budget.ts'
import { formatPlain } from './format-value.ts'
import type { RangeElement } from './services.ts'
import { hasMember, isGoList, isInteger, isMap } from './values.ts'

export class RangePosition {
  /** Of a list or a count. */
  index = 0
  /** Of a map. */
  key: string | undefined
  readonly #value: unknown
  readonly #budget: RenderMeter
  /** Of the elements up to the current one, as they were when they were first asked for: a body may change them. */
  readonly #identities: string[] = []

  constructor(value: unknown, budget: RenderMeter) {
    this.#value = value
    this.#budget = budget
  }

  step(): RangeElement {
    if (this.key !== undefined) return { via: 'range', element: digest(this.key) }
    if (!isGoList(this.#value)) return { via: 'range', element: String(this.index) }
    for (let at = this.#identities.length; at <= this.index; at++)
      this.#identities.push(this.#identity(this.#value[at]))
    const own = this.#identities[this.index]!
    const before = this.#identities.slice(0, this.index).filter((other) => other === own).length
    this.#budget.step(this.index)
    return { via: 'range', element: before > 0 ? `${own}/${before}` : own }
  }

  #identity(element: unknown): string {
    if (isMap(element)) {
      const name = nameFields.find((field) => hasMember(element, field) && isName(element[field]))
      if (name !== undefined) return digest(`${name}=${formatPlain(element[name])}`)
    }
    this.#budget.measure(element)
    return digest(formatPlain(element))
  }
}

/** Fields that identify an element, so that its other fields can change. */
const nameFields = ['name', 'id', 'key', 'username', 'user', 'host'] as const

function isName(value: unknown): boolean {
  return (typeof value === 'string' && value !== '') || typeof value === 'number' || isInteger(value)
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
