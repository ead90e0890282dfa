/**
 * The back end of the compiler: a checked tree becomes closures that call each other. Names are slots of an array, so that an
 * evaluation neither looks up names nor copies environments; and every closure counts its cost, in the units of the server,
 * against the limit of the call.
 *
 * `cost-estimate.ts` estimates the worst-case cost beforehand, from the same checked tree.
 */
import type { CheckedExpression, CheckedReference } from '../check/check.ts'
import { CelCompileError, CelRuntimeError, noSuchOverload } from '../value/error.ts'
import type {
  CelCall,
  CelExpression,
  Fold,
  ListExpression,
  MapExpression,
  Select,
  StructExpression,
} from '../syntax/expression.ts'
import { type Closure, absorbed, listCost, mapCost, pay, structCost } from './frame.ts'
import { type CelOverload, callOverload } from '../library/function.ts'
import { JsonMap } from './json-value.ts'
import { find, findField, isPresent, missing, optionalLookup, select } from './lookup.ts'
import { mapInsertion, overElements, overPairs, passes, quantifier } from './loop.ts'
import { dispatchOperator, fastBinary, isCelOperator, spendOnTexts, noMatchingOverload } from './operator.ts'
import { compilePattern } from '../library/regex.ts'
import { showValue } from '../value/show.ts'
import {
  CelArray,
  CelEntries,
  CelOpaque,
  CelOptional,
  CelTypeValue,
  type CelValue,
  isOfType,
  optionalNone,
} from '../value/value.ts'

export interface Compiled {
  readonly run: Closure
  readonly slots: number
  readonly used: ReadonlySet<string>
}

export function closureOf(root: CelExpression, checked: CheckedExpression, names: readonly string[]): Compiled {
  const compiler = new Compiler(checked, names)
  const run = compiler.compile(root)
  return { run, slots: compiler.slots, used: compiler.used }
}

interface LocalScope {
  readonly parent: LocalScope | undefined
  readonly name: string
  readonly slot: number
}

class Compiler {
  readonly used = new Set<string>()
  slots: number
  readonly #checked: CheckedExpression
  readonly #globals: ReadonlyMap<string, number>
  #scope: LocalScope | undefined

  constructor(checked: CheckedExpression, names: readonly string[]) {
    this.#checked = checked
    this.#globals = new Map(names.map((name, slot) => [name, slot]))
    this.slots = names.length
  }

  compile(node: CelExpression): Closure {
    const constant = this.#constant(node)
    if (constant !== undefined) return () => constant.value
    switch (node.kind) {
      case 'ident':
        return this.#ident(node, node.name)
      case 'select':
        return this.#select(node)
      case 'call':
        return this.#call(node)
      case 'list':
        return this.#list(node)
      case 'map':
        return this.#map(node)
      case 'fold':
        return this.#fold(node)
      case 'struct':
        return this.#struct(node)
      default:
        throw noSuchOverload()
    }
  }

  /** Literals, lists and maps of them, and conversions: computed once, at no cost. */
  #constant(node: CelExpression): { readonly value: CelValue } | undefined {
    switch (node.kind) {
      case 'literal':
        return { value: node.value }
      case 'list': {
        const elements = completeOf(
          node.elements.map(({ value, isOptional }) => (isOptional ? undefined : this.#constant(value))),
        )
        return elements && { value: new CelArray(elements.map(({ value }) => value)) }
      }
      case 'map': {
        const entries = completeOf(
          node.entries.map(({ key, value, isOptional }) => {
            const [left, right] = [this.#constant(key), isOptional ? undefined : this.#constant(value)]
            return left && right && ([left.value, right.value] as const)
          }),
        )
        return entries && { value: this.#instantiate(() => CelEntries.of(entries)) }
      }
      case 'call': {
        const reference = this.#checked.references.get(node)
        if (reference?.kind !== 'call' || !conversions.has(reference.name) || node.args.length !== 1) return undefined
        const arg = this.#constant(node.args[0]!)
        if (!arg) return undefined
        return { value: this.#instantiate(() => callOverload(reference.name, reference.overloads, [arg.value])[1]) }
      }
      default:
        return undefined
    }
  }

  /** A failure at compile time is a mistake of the author. */
  #instantiate<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      if (error instanceof CelRuntimeError) throw new CelCompileError([error.message], 'program')
      throw error
    }
  }

  #slot(name: string): number | undefined {
    const plain = name.startsWith('.') ? name.slice(1) : name
    if (!name.startsWith('.')) {
      for (let scope = this.#scope; scope; scope = scope.parent) if (scope.name === plain) return scope.slot
    }
    if (this.#globals.has(plain)) this.used.add(plain)
    return this.#globals.get(plain)
  }

  #ident(node: CelExpression, name: string): Closure {
    const reference = this.#checked.references.get(node)
    if (reference?.kind === 'type') {
      // The checker knows these two by their short names, the interpreter does not.
      if (name === 'duration' || name === 'timestamp') {
        throw new CelCompileError([`reference to undefined type: ${name}`], 'program')
      }
      const value = new CelTypeValue(reference.type)
      return () => value
    }
    const slot = this.#slot(name)
    return (frame) => {
      pay(frame, 1)
      const value = slot === undefined ? undefined : frame.values[slot]
      if (value === undefined) throw new CelRuntimeError(`no such attribute(s): ${name}`)
      return value
    }
  }

  #select(node: Select): Closure {
    const reference = this.#checked.references.get(node)
    if (reference?.kind === 'variable') return this.#ident(node, reference.name)
    if (reference?.kind === 'type') return this.#ident(node, reference.type.name)
    const { field } = node
    const operand = this.compile(node.operand)
    const base = this.#qualifierCost(node.operand)
    if (node.isTest) {
      return (frame) => {
        const value = operand(frame)
        pay(frame, base)
        return isPresent(value, field)
      }
    }
    const type = this.#checked.types.get(node.operand)
    const property =
      type?.kind === 'object' ? (type.fields?.get(field) ?? type.fields?.get(`__${field}__`))?.property : undefined
    if (property !== undefined) {
      // The usual case: a field of a schema, found without unescaping its name again.
      return (frame) => {
        const value = operand(frame)
        pay(frame, base)
        if (!(value instanceof JsonMap) || value.type.kind !== 'object') return select(value, field)
        const found = value.member(property)
        if (found === undefined) throw new CelRuntimeError(`no such key: ${field}`)
        return found
      }
    }
    return (frame) => {
      const value = operand(frame)
      pay(frame, base)
      return select(value, field)
    }
  }

  /** A qualifier costs one; one more if it starts from a computed value. */
  #qualifierCost(operand: CelExpression): number {
    const isAttribute =
      operand.kind === 'ident' ||
      operand.kind === 'select' ||
      (operand.kind === 'call' && attributeCalls.has(operand.name))
    return isAttribute ? 1 : 2
  }

  #call(node: CelCall): Closure {
    if (node.name === '_?._') return this.#optionalSelect(node)
    const reference = this.#checked.references.get(node) as Extract<CheckedReference, { readonly kind: 'call' }>
    const operands = reference.isStatic ? node.args : [node.target!, ...node.args]
    switch (reference.name) {
      case '_&&_':
        return this.#logic(operands, false)
      case '_||_':
        return this.#logic(operands, true)
      case '_?_:_':
        return this.#conditional(operands)
      case '_[_]':
        return this.#index(operands, false)
      case '_[?_]':
        return this.#index(operands, true)
      case 'or':
      case 'orValue':
        return this.#optionalOr(operands, reference.name)
      default:
    }
    return this.#plainCall(reference.name, reference.overloads, operands)
  }

  #plainCall(name: string, overloads: readonly CelOverload[], operands: readonly CelExpression[]): Closure {
    const args = operands.map((operand) => this.compile(operand))
    const [first, second] = args
    if (args.length === 2) {
      const binary = fastBinary(name, overloads)
      if (binary) {
        return (frame) => {
          const a = first!(frame)
          const b = second!(frame)
          return binary(frame, a, b)
        }
      }
    }
    if (patternCalls.has(name)) {
      const pattern = this.#constant(operands[1]!)
      if (typeof pattern?.value === 'string') this.#instantiate(() => compilePattern(pattern.value as string))
    }
    const only = overloads.length === 1 && !isCelOperator(name) ? overloads[0]! : undefined
    if (!only) {
      return (frame) => {
        const values = args.map((arg) => arg(frame))
        const [overload, result] = dispatchOperator(name, overloads, values)
        pay(frame, overload.cost ? overload.cost(values, result) : 1)
        return result
      }
    }
    // Values from schemas have the types that the checker knows; other values are checked at run time.
    const isSure = operands.map((operand) => isSettled(this.#checked, operand))
    return (frame) => {
      const values = args.map((arg) => arg(frame))
      for (let index = 0; index < values.length; index++) {
        if (!isSure[index] && !isOfType(values[index]!, only.params[index]!)) throw noMatchingOverload(name, values)
      }
      if (!only.cost) spendOnTexts(values)
      const result = only.call(values)
      pay(frame, only.cost ? only.cost(values, result) : 1)
      return result
    }
  }

  /** An error on one side is ignored if the other side decides. */
  #logic(operands: readonly CelExpression[], decides: boolean): Closure {
    const left = this.compile(operands[0]!)
    const right = this.compile(operands[1]!)
    return (frame) => {
      let failure: CelRuntimeError | undefined
      try {
        const value = left(frame)
        if (value === decides) return decides
        if (typeof value !== 'boolean') failure = noSuchOverload()
      } catch (error) {
        failure = absorbed(error)
      }
      if (!failure) {
        const value = right(frame)
        if (typeof value !== 'boolean') throw noSuchOverload()
        return value
      }
      try {
        if (right(frame) === decides) return decides
      } catch (error) {
        absorbed(error)
      }
      throw failure
    }
  }

  #conditional(operands: readonly CelExpression[]): Closure {
    const [condition, whenTrue, whenFalse] = operands.map((operand) => this.compile(operand))
    return (frame) => {
      const value = condition!(frame)
      if (value === true) return whenTrue!(frame)
      if (value === false) return whenFalse!(frame)
      throw noSuchOverload()
    }
  }

  #index(operands: readonly CelExpression[], isOptional: boolean): Closure {
    const operand = this.compile(operands[0]!)
    const index = this.compile(operands[1]!)
    const cost = this.#qualifierCost(operands[0]!)
    return (frame) => {
      const value = operand(frame)
      const key = index(frame)
      pay(frame, cost)
      if (value instanceof CelOptional) {
        if (value.value === undefined) return optionalNone
        return optionalLookup(find(value.value, key))
      }
      const found = find(value, key)
      if (isOptional) return optionalLookup(found)
      if (found !== undefined) return found
      throw missing(value, key)
    }
  }

  #optionalSelect(node: CelCall): Closure {
    const operand = this.compile(node.args[0]!)
    const [, name] = node.args
    const field = name?.kind === 'literal' ? (name.value as string) : ''
    const cost = this.#qualifierCost(node.args[0]!)
    return (frame) => {
      const value = operand(frame)
      pay(frame, cost)
      const target = value instanceof CelOptional ? value.value : value
      return target === undefined ? optionalNone : optionalLookup(findField(target, field))
    }
  }

  #optionalOr(operands: readonly CelExpression[], name: 'or' | 'orValue'): Closure {
    const [optional, other] = operands.map((operand) => this.compile(operand))
    return (frame) => {
      const value = optional!(frame)
      if (!(value instanceof CelOptional)) throw noSuchOverload()
      if (value.value === undefined) return other!(frame)
      return name === 'or' ? value : value.value
    }
  }

  /** A constructed object is a type and its fields, by name. */
  #struct(node: StructExpression): Closure {
    const type = this.#checked.types.get(node)!
    const fields = node.fields.map(({ name, value, isOptional }) => ({ name, run: this.compile(value), isOptional }))
    return (frame) => {
      const content = new Map<string, CelValue>()
      for (const { name, run, isOptional } of fields) {
        const value = run(frame)
        if (!isOptional) content.set(name, value)
        else if (!(value instanceof CelOptional)) {
          throw new CelRuntimeError(
            `cannot initialize optional entry '${name}' from non-optional value ${showValue(value)}`,
          )
        } else if (value.value !== undefined) content.set(name, value.value)
      }
      pay(frame, structCost)
      return new CelOpaque(type, content)
    }
  }

  #list(node: ListExpression): Closure {
    const elements = node.elements.map(({ value, isOptional }) => ({ run: this.compile(value), isOptional }))
    return (frame) => {
      const values: CelValue[] = []
      for (const { run, isOptional } of elements) {
        const value = run(frame)
        if (!isOptional) values.push(value)
        else if (!(value instanceof CelOptional)) {
          throw new CelRuntimeError(
            `cannot initialize optional list element from non-optional value ${showValue(value)}`,
          )
        } else if (value.value !== undefined) values.push(value.value)
      }
      pay(frame, listCost)
      return new CelArray(values)
    }
  }

  #map(node: MapExpression): Closure {
    const entries = node.entries.map(({ key, value, isOptional }) => ({
      key: this.compile(key),
      value: this.compile(value),
      isOptional,
    }))
    return (frame) => {
      const pairs: (readonly [CelValue, CelValue])[] = []
      for (const entry of entries) {
        const key = entry.key(frame)
        const value = entry.value(frame)
        if (!entry.isOptional) pairs.push([key, value])
        else if (!(value instanceof CelOptional)) {
          throw new CelRuntimeError(
            `cannot initialize optional entry '${showValue(key)}' from non-optional value ${showValue(value)}`,
          )
        } else if (value.value !== undefined) pairs.push([key, value.value])
      }
      pay(frame, mapCost)
      return CelEntries.of(pairs)
    }
  }

  #declare(name: string): number {
    const slot = this.slots++
    this.#scope = { parent: this.#scope, name, slot }
    return slot
  }

  #fold(node: Fold): Closure {
    const outer = this.#scope
    const range = this.compile(node.range)
    if (node.macro === 'bind') {
      const init = this.compile(node.init)
      const slot = this.#declare(node.accumulator)
      const body = this.compile(node.body)
      this.#scope = outer
      return (frame) => {
        frame.values[slot] = init(frame)
        return body(frame)
      }
    }
    const first = this.#declare(node.variable)
    const second = node.variable2 === undefined ? undefined : this.#declare(node.variable2)
    const filter = node.filter && this.compile(node.filter)
    const body = this.compile(node.body)
    this.#scope = outer
    const loop = second === undefined ? overElements(range, first) : overPairs(range, first, second)
    switch (node.macro) {
      case 'all':
        return quantifier(loop, body, false, 3)
      case 'exists':
        return quantifier(loop, body, true, 4)
      case 'exists_one':
        return (frame) => {
          let count = 0
          loop(frame, () => {
            const value = body(frame)
            if (value === true) {
              count++
              pay(frame, 2)
            } else if (value !== false) throw noSuchOverload()
            return true
          })
          pay(frame, 2)
          return count === 1
        }
      case 'map':
        return (frame) => {
          const values: CelValue[] = []
          loop(frame, () => {
            if (passes(filter, frame)) {
              values.push(body(frame))
              pay(frame, listCost + 2)
            }
            return true
          })
          pay(frame, 1)
          return new CelArray(values)
        }
      default:
        return mapInsertion(node.macro, loop, filter, body, first)
    }
  }
}

const conversions = new Set([
  'bool',
  'bytes',
  'double',
  'duration',
  'dyn',
  'int',
  'string',
  'timestamp',
  'type',
  'uint',
])
const attributeCalls = new Set(['_[_]', '_[?_]', '_?._', '_?_:_'])
const patternCalls = new Set(['matches', 'find', 'findAll'])

function completeOf<T>(values: readonly (T | undefined)[]): readonly T[] | undefined {
  return values.every((value): value is T & {} => value !== undefined) ? values : undefined
}

/** Values whose type the checker can rely on: not dyn, and no element of anything that may hold others. */
function isSettled({ types }: CheckedExpression, node: CelExpression): boolean {
  const type = types.get(node)
  return (
    type !== undefined && type.kind !== 'dyn' && type.kind !== 'variable' && type.kind !== 'list' && type.kind !== 'map'
  )
}
