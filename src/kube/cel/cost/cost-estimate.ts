/**
 * The worst-case cost of an expression, before it runs: the server rejects rules that could take too long on the largest data
 * that their schema allows. The estimate walks the checked tree like an evaluation, and counts every loop with the maximum
 * length of its range.
 *
 * Sizes come from three sources: literals, the schema (by the path from the variable to the value), and calls with a known
 * result size. Without any of them the size is unlimited, and the cost maximal.
 */
import { type Operand, callEstimate } from './call-estimate.ts'
import type { CheckedExpression, CheckedReference } from '../check/check.ts'
import {
  type Estimate,
  either,
  exactEstimate,
  mostPossible,
  zeroEstimate,
  one,
  plus,
  times,
  unknownEstimate,
} from './estimate.ts'
import type { CelCall, CelExpression, Fold, ListExpression, MapExpression, Select } from '../syntax/expression.ts'
import { listCost, mapCost } from '../evaluate/frame.ts'
import { type SizePath, elementSizeAt, pathBelow, sizeAt, variablePath } from './size-path.ts'
import type { SchemaSize } from './size.ts'
import { type CelType, isOptionalType } from '../value/type.ts'
import type { CelValue } from '../value/value.ts'

/** @param data - of all variables: a rule has only `self` and `oldSelf`, with the same schema. */
export function estimateCost(root: CelExpression, checked: CheckedExpression, data: SchemaSize): Estimate {
  return new Estimator(checked, data).cost(root)
}

/** Sizes of the contents of a list or map. */
interface EntrySize {
  readonly isList: boolean
  readonly key: Estimate
  readonly value: Estimate
}

interface Local {
  readonly path: SizePath | undefined
  readonly size: Estimate | undefined
  readonly entry: EntrySize | undefined
}

/** An empty range, to start a union with. */
const empty: Estimate = { min: mostPossible, max: 0 }

class Estimator {
  readonly #checked: CheckedExpression
  readonly #data: SchemaSize
  readonly #paths = new Map<CelExpression, SizePath | undefined>()
  readonly #sizes = new Map<CelExpression, Estimate>()
  readonly #entries = new Map<CelExpression, EntrySize>()
  readonly #locals = new Map<string, Local[]>()

  constructor(checked: CheckedExpression, data: SchemaSize) {
    this.#checked = checked
    this.#data = data
  }

  cost(node: CelExpression): Estimate {
    switch (node.kind) {
      case 'literal':
        return zeroEstimate
      case 'ident':
        return this.#ident(node, node.name.replace(/^\./, ''))
      case 'select':
        return this.#select(node)
      case 'call':
        return this.#call(node)
      case 'list':
        return this.#list(node)
      case 'map':
        return this.#map(node)
      case 'fold':
        return node.macro === 'bind' ? this.#bind(node) : this.#fold(node)
      default:
        return zeroEstimate
    }
  }

  #ident(node: CelExpression, name: string): Estimate {
    const local = this.#local(name)
    this.#paths.set(node, local ? local.path : variablePath(name))
    return one
  }

  #select(node: Select): Estimate {
    const reference = this.#checked.references.get(node)
    if (reference?.kind === 'variable') return this.#ident(node, reference.name)
    if (reference?.kind === 'type') return this.#ident(node, reference.type.name)
    const operand = this.cost(node.operand)
    if (node.isTest) return operand
    const kind = this.#typeOf(node.operand)?.kind
    this.#paths.set(node, pathBelow(this.#path(node.operand), node.field))
    return kind === 'map' || kind === 'object' ? plus(operand, one) : operand
  }

  #call(node: CelCall): Estimate {
    // An optional field has no path: its size is unknown.
    if (node.name === '_?._') return plus(one, this.cost(node.args[0]!))
    const reference = this.#checked.references.get(node) as Extract<CheckedReference, { readonly kind: 'call' }>
    if (reference.name === 'dyn') return this.#dyn(node, node.args[0]!)
    const given = node.args.map((arg) => ({ cost: this.cost(arg), operand: this.#operand(arg) }))
    const args = given.map(({ operand }) => operand)
    const argCosts = given.map((arg) => arg.cost)
    const called = reference.isStatic ? undefined : node.target!
    const targetCost = called ? this.cost(called) : zeroEstimate
    const target = called && this.#operand(called)
    let cost = empty
    let size: Estimate | undefined
    for (const { id } of reference.overloads) {
      const estimate = callEstimate({ name: reference.name, overload: id, target, args }, (list) =>
        elementSizeAt(this.#data, list),
      )
      cost = either(cost, withArgs(id, estimate.cost, argCosts))
      if (estimate.size) size = size ? either(size, estimate.size) : estimate.size
      size = this.#noteResult(node, id, size) ?? this.#size(node)
    }
    if (size) this.#sizes.set(node, size)
    return plus(targetCost, cost)
  }

  /** What is known of the result beyond its size: its origin and contents. */
  #noteResult(node: CelCall, overload: string, size: Estimate | undefined): Estimate | undefined {
    const [first, second, third] = node.args
    switch (overload) {
      case 'index_list':
      case 'index_map': {
        const step = overload === 'index_list' ? '@items' : '@values'
        this.#paths.set(node, pathBelow(this.#path(first!), step))
        return this.#entry(first!)?.value
      }
      case 'conditional':
        this.#noteUnion(node, second!, third!)
        return size
      case 'add_string':
      case 'add_bytes':
      case 'add_list':
        this.#noteUnion(node, first!, second!)
        return size
      default:
        return size
    }
  }

  #noteUnion(node: CelExpression, left: CelExpression, right: CelExpression): void {
    const [a, b] = [this.#entry(left), this.#entry(right)]
    if (!a || !b) return
    this.#entries.set(node, { isList: a.isList, key: either(a.key, b.key), value: either(a.value, b.value) })
  }

  #dyn(node: CelCall, arg: CelExpression): Estimate {
    const cost = this.cost(arg)
    this.#copy(node, arg)
    return plus(one, cost)
  }

  #copy(node: CelExpression, from: CelExpression): void {
    const size = this.#size(from)
    const entry = this.#entry(from)
    if (size) this.#sizes.set(node, size)
    if (entry) this.#entries.set(node, entry)
  }

  #list(node: ListExpression): Estimate {
    let cost = exactEstimate(listCost)
    let value = node.elements.length === 0 ? zeroEstimate : empty
    for (const element of node.elements) {
      cost = plus(cost, this.cost(element.value))
      value = either(value, this.#size(element.value) ?? unknownEstimate)
    }
    this.#entries.set(node, { isList: true, key: one, value })
    return cost
  }

  #map(node: MapExpression): Estimate {
    let cost = exactEstimate(mapCost)
    let [key, value] = node.entries.length === 0 ? [zeroEstimate, zeroEstimate] : [empty, empty]
    for (const entry of node.entries) {
      cost = plus(cost, this.cost(entry.key), this.cost(entry.value))
      key = either(key, this.#size(entry.key) ?? unknownEstimate)
      value = either(value, this.#size(entry.value) ?? unknownEstimate)
    }
    this.#entries.set(node, { isList: false, key, value })
    return cost
  }

  #bind(node: Fold): Estimate {
    const cost = plus(this.cost(node.range), this.cost(node.init))
    this.#declare(node.accumulator, this.#whole(node.init))
    const result = this.cost(node.result)
    this.#forget(node.accumulator)
    this.#copy(node, node.result)
    return plus(cost, result)
  }

  #fold(node: Fold): Estimate {
    const start = plus(this.cost(node.range), this.cost(node.init))
    this.#declare(node.accumulator, this.#whole(node.init))
    const names = this.#declareElements(node)
    const round = plus(this.cost(node.condition), this.cost(node.step))
    for (const name of names) this.#forget(name)
    const result = this.cost(node.result)
    this.#forget(node.accumulator)
    const rounds = this.#size(node.range) ?? unknownEstimate
    const size = node.init.kind === 'literal' ? this.#size(node.init)! : rounds
    this.#sizes.set(node, size)
    const entry = node.init.kind === 'literal' ? undefined : this.#entry(node.step)
    if (entry) this.#entries.set(node, entry)
    return plus(start, result, times(rounds, round))
  }

  #declareElements({ range, variable, variable2 }: Fold): readonly string[] {
    const entry = this.#entry(range)
    const isList = entry ? entry.isList : this.#typeOf(range)?.kind === 'list'
    const above = this.#path(range)
    const key = (): Local => ({
      path: pathBelow(above, isList ? '@indices' : '@keys'),
      size: entry?.key,
      entry: undefined,
    })
    const value = (): Local => ({
      path: pathBelow(above, isList ? '@items' : '@values'),
      size: entry?.value,
      entry: undefined,
    })
    if (variable2 === undefined) {
      this.#declare(variable, isList ? value() : key())
      return [variable]
    }
    this.#declare(variable, key())
    this.#declare(variable2, value())
    return [variable, variable2]
  }

  #whole(node: CelExpression): Local {
    return { path: this.#path(node), size: this.#size(node), entry: this.#entry(node) }
  }

  #declare(name: string, local: Local): void {
    const stack = this.#locals.get(name)
    if (stack) stack.push(local)
    else this.#locals.set(name, [local])
  }

  #forget(name: string): void {
    this.#locals.get(name)?.pop()
  }

  #local(name: string): Local | undefined {
    return this.#locals.get(name)?.at(-1)
  }

  #typeOf(node: CelExpression): CelType | undefined {
    return this.#checked.types.get(node)
  }

  #operand(node: CelExpression): Operand {
    return { expression: node, type: this.#typeOf(node), path: this.#path(node), size: this.#size(node) }
  }

  #path(node: CelExpression): SizePath | undefined {
    const local = node.kind === 'ident' ? this.#local(node.name) : undefined
    return local ? local.path : this.#paths.get(node)
  }

  #size(node: CelExpression): Estimate | undefined {
    const known = this.#sizes.get(node) ?? writtenSize(node)
    if (known) return known
    const found = sizeAt(this.#data, this.#path(node))
    if (found) {
      this.#sizes.set(node, found)
      return found
    }
    const type = this.#typeOf(node)
    if (type && isScalar(type)) return one
    return node.kind === 'ident' ? this.#local(node.name)?.size : undefined
  }

  #entry(node: CelExpression): EntrySize | undefined {
    return this.#entries.get(node) ?? (node.kind === 'ident' ? this.#local(node.name)?.entry : undefined)
  }
}

/** Logical operators stop early, a conditional takes one branch; all others need all arguments. */
function withArgs(overload: string, own: Estimate, args: readonly Estimate[]): Estimate {
  const [first = zeroEstimate, second = zeroEstimate, third = zeroEstimate] = args
  switch (overload) {
    case 'logical_and':
    case 'logical_or':
      return { min: first.min, max: plus(first, second).max }
    case 'conditional':
      return plus(first, either(second, third))
    default:
      return args.reduce((sum, part) => plus(sum, part), own)
  }
}

/** Of literal lists and maps. */
function writtenSize(node: CelExpression): Estimate | undefined {
  switch (node.kind) {
    case 'literal':
      return literalSize(node.value)
    case 'list':
      return exactEstimate(node.elements.length)
    case 'map':
      return exactEstimate(node.entries.length)
    default:
      return undefined
  }
}

function literalSize(value: CelValue): Estimate {
  if (typeof value === 'string') return exactEstimate(Array.from(value).length)
  return value instanceof Uint8Array ? exactEstimate(value.length) : one
}

function isScalar(type: CelType): boolean {
  if (isOptionalType(type)) return isScalar(type.parameters[0]!)
  return ['bool', 'double', 'duration', 'int', 'timestamp', 'uint'].includes(type.kind)
}
