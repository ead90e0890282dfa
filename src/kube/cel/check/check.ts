/**
 * The type checker: gives every node its type and every call its possible overloads. Errors are collected, and checking
 * continues where possible: an author sees all of them at once.
 */
import type {
  CelCall,
  CelExpression,
  Fold,
  ListExpression,
  MapExpression,
  Select,
  StructExpression,
} from '../syntax/expression.ts'
import type { CelEnvironment } from './environment.ts'
import type { CelFunction, CelOverload } from '../library/function.ts'
import { celFunctions, celTypeNames } from '../library/library.ts'
import { patchFunctions } from '../library/patch.ts'
import type { Issue } from '../syntax/source.ts'
import {
  type CelType,
  boolType,
  dynType,
  errorType,
  formatType,
  intType,
  isDynamic,
  isOptionalType,
  listOf,
  mapOf,
  optionalOf,
  sameType,
  typeOfType,
  typeVariable,
} from '../value/type.ts'
import { Substitution, mostGeneral, substitute } from './unify.ts'
import { typeOfValue } from '../value/value.ts'

interface CheckScope {
  readonly parent: CheckScope | undefined
  readonly names: ReadonlyMap<string, CelType>
}

/** The resolution of a name or call. */
export type CheckedReference =
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'type'; readonly type: CelType }
  | {
      readonly kind: 'call'
      readonly name: string
      readonly overloads: readonly CelOverload[]
      readonly isStatic: boolean
    }

export interface CheckedExpression {
  readonly types: ReadonlyMap<CelExpression, CelType>
  readonly references: ReadonlyMap<CelExpression, CheckedReference>
}

export function checkCel(
  root: CelExpression,
  variables: ReadonlyMap<string, CelType>,
  issues: Issue[],
  makes?: CelEnvironment['makes'],
): CheckedExpression {
  const checker = new Checker(variables, issues, makes)
  checker.check(root)
  return checker.finish()
}

class Checker {
  readonly #issues: Issue[]
  readonly #types = new Map<CelExpression, CelType>()
  readonly #references = new Map<CelExpression, CheckedReference>()
  readonly #substitution = new Substitution()
  readonly #makes: CelEnvironment['makes']
  #scope: CheckScope
  #variableCount = 0

  constructor(variables: ReadonlyMap<string, CelType>, issues: Issue[], makes: CelEnvironment['makes']) {
    this.#makes = makes
    this.#scope = { parent: undefined, names: variables }
    this.#issues = issues
  }

  finish(): CheckedExpression {
    const types = new Map(Array.from(this.#types, ([node, type]) => [node, this.#substitution.resolve(type, true)]))
    return { types, references: this.#references }
  }

  check(node: CelExpression): CelType {
    const type = this.#typeOf(node)
    this.#types.set(node, type)
    return type
  }

  #issue(at: number, message: string): CelType {
    this.#issues.push({ at, message })
    return errorType
  }

  #undeclared(at: number, name: string): CelType {
    return this.#issue(at, `undeclared reference to '${name}' (in container '')`)
  }

  #mismatch(at: number, expected: CelType, found: CelType): CelType {
    return this.#issue(at, `expected type '${formatType(expected)}' but found '${formatType(found)}'`)
  }

  #typeOf(node: CelExpression): CelType {
    switch (node.kind) {
      case 'literal':
        return typeOfValue(node.value)
      case 'ident':
        return this.#name(node, node.name) ?? this.#undeclared(node.at, node.name)
      case 'select':
        return this.#select(node)
      case 'call':
        return this.#call(node)
      case 'list':
        return this.#list(node)
      case 'map':
        return this.#map(node)
      case 'struct':
        return this.#struct(node)
      default:
        return this.#fold(node)
    }
  }

  /** A variable or a type; a leading dot skips local variables. */
  #name(node: CelExpression, name: string): CelType | undefined {
    const plain = name.startsWith('.') ? name.slice(1) : name
    let scope: CheckScope = this.#scope
    if (name.startsWith('.')) while (scope.parent) scope = scope.parent
    for (let current: CheckScope | undefined = scope; current; current = current.parent) {
      const type = current.names.get(plain)
      if (type) {
        this.#references.set(node, { kind: 'variable', name: plain })
        return type
      }
    }
    const type = celTypeNames.get(plain)
    if (!type) return undefined
    this.#references.set(node, { kind: 'type', type })
    return typeOfType(type)
  }

  #select(node: Select): CelType {
    const path = node.isTest ? undefined : qualifiedCelName(node)
    const named = path === undefined ? undefined : this.#qualified(node, path)
    if (named) return named
    const type = this.#field(node.at, node.operand, node.field, false)
    return node.isTest ? boolType : this.#substitution.resolve(type)
  }

  /** `a.b` may be one qualified name, unless `a` is a local variable. */
  #qualified(node: CelExpression, path: string): CelType | undefined {
    const first = path.replace(/^\./, '').split('.')[0]!
    for (let scope: CheckScope | undefined = this.#scope; scope?.parent; scope = scope.parent) {
      if (!path.startsWith('.') && scope.names.has(first)) return undefined
    }
    return this.#name(node, path)
  }

  #field(at: number, operand: CelExpression, field: string, isOptional: boolean): CelType {
    const operandType = this.#substitution.resolve(this.check(operand))
    const wasOptional = isOptionalType(operandType)
    const target = wasOptional ? operandType.parameters[0]! : operandType
    const result = this.#fieldOf(at, target, field)
    return wasOptional || isOptional ? optionalOf(result) : result
  }

  #fieldOf(at: number, target: CelType, field: string): CelType {
    switch (target.kind) {
      case 'map':
        return target.parameters[1]!
      case 'object':
        if (!target.fields) return this.#issue(at, `unexpected failed resolution of '${target.name}'`)
        return fieldType(target, field) ?? this.#issue(at, `undefined field '${field}'`)
      case 'variable':
        this.#substitution.assign(dynType, target)
        return dynType
      case 'dyn':
      case 'error':
        return dynType
      default:
        this.#issue(at, `type '${formatType(target)}' does not support field selection`)
        return dynType
    }
  }

  #call(node: CelCall): CelType {
    if (node.name === '_?._') {
      const field = node.args[1]!
      const type = this.#field(node.at, node.args[0]!, field.kind === 'literal' ? (field.value as string) : '', true)
      this.check(field)
      return this.#substitution.resolve(type)
    }
    for (const arg of node.args) this.check(arg)
    if (!node.target) return this.#resolve(node, this.#functionNamed(node.name), undefined)
    const prefix = qualifiedCelName(node.target)
    const spaced = prefix === undefined ? undefined : this.#functionNamed(`${prefix}.${node.name}`)
    if (spaced) return this.#resolve(node, spaced, undefined)
    this.check(node.target)
    return this.#resolve(node, this.#functionNamed(node.name), node.target)
  }

  #functionNamed(name: string): CelFunction | undefined {
    const plain = name.startsWith('.') ? name.slice(1) : name
    return celFunctions.get(plain) ?? (this.#makes && patchFunctions.find((fn) => fn.name === plain))
  }

  #resolve(node: CelCall, fn: CelFunction | undefined, target: CelExpression | undefined): CelType {
    if (!fn) return this.#undeclared(node.at, node.name)
    const operands = target ? [target, ...node.args] : node.args
    const argTypes = operands.map((operand) => this.#types.get(operand)!)
    if (fn.name === '_&&_' || fn.name === '_||_') return this.#logic(node, fn, argTypes)
    const matching: CelOverload[] = []
    let result: CelType | undefined
    for (const overload of fn.overloads) {
      if ((overload.member === true) !== (target !== undefined)) continue
      const { params, result: returns } = this.#instantiate(overload)
      if (!this.#substitution.assignAll(argTypes, params)) continue
      matching.push(overload)
      const type = this.#substitution.resolve(returns)
      if (result === undefined) result = type
      else if (!isDynamic(result) && !sameType(type, result)) result = dynType
    }
    if (result === undefined) {
      const shown = argTypes.map((type) => formatType(this.#substitution.resolve(type, true)))
      const signature = target ? `${shown[0]!}.(${shown.slice(1).join(', ')})` : `(${shown.join(', ')})`
      return this.#issue(node.at, `found no matching overload for '${fn.name}' applied to '${signature}'`)
    }
    this.#references.set(node, { kind: 'call', name: fn.name, overloads: matching, isStatic: target === undefined })
    return result
  }

  #logic(node: CelCall, fn: CelFunction, argTypes: readonly CelType[]): CelType {
    let result = boolType
    argTypes.forEach((type, index) => {
      if (!this.#substitution.assign(type, boolType)) result = this.#mismatch(node.args[index]!.at, boolType, type)
    })
    this.#references.set(node, { kind: 'call', name: fn.name, overloads: fn.overloads, isStatic: true })
    return result
  }

  /** The signature with fresh type variables. */
  #instantiate({ params, result }: CelOverload): { readonly params: readonly CelType[]; readonly result: CelType } {
    const fresh = new Map<string, CelType>()
    const note = (type: CelType): void => {
      if (type.kind === 'variable' && !fresh.has(type.name)) fresh.set(type.name, this.#freshVariable())
      type.parameters.forEach(note)
    }
    params.forEach(note)
    note(result)
    if (fresh.size === 0) return { params, result }
    return { params: params.map((type) => substitute(fresh, type, false)), result: substitute(fresh, result, false) }
  }

  #freshVariable(): CelType {
    return typeVariable(`_var${this.#variableCount++}`)
  }

  #join(previous: CelType | undefined, current: CelType): CelType {
    if (previous === undefined) return current
    // Mixed types are rejected later, where it is known whether they are arguments of `format`.
    return this.#substitution.assign(previous, current) ? mostGeneral(previous, current) : dynType
  }

  /** The type of an element that is given as an optional. */
  #unwrap(node: CelExpression, type: CelType): CelType {
    if (isOptionalType(type)) return type.parameters[0]!
    if (!isDynamic(type)) this.#mismatch(node.at, optionalOf(type), type)
    return type
  }

  #list(node: ListExpression): CelType {
    let type: CelType | undefined
    for (const { value, isOptional } of node.elements) {
      const found = this.check(value)
      type = this.#join(type, isOptional ? this.#unwrap(value, found) : found)
    }
    return listOf(type ?? this.#freshVariable())
  }

  #map(node: MapExpression): CelType {
    let keyType: CelType | undefined
    let valueType: CelType | undefined
    for (const { key, value, isOptional } of node.entries) {
      keyType = this.#join(keyType, this.check(key))
      const found = this.check(value)
      valueType = this.#join(valueType, isOptional ? this.#unwrap(value, found) : found)
    }
    return mapOf(keyType ?? this.#freshVariable(), valueType ?? this.#freshVariable())
  }

  /** Only types of the environment can be constructed: no other type that an author can name has fields to set. */
  #struct(node: StructExpression): CelType {
    const made = this.#makes?.(node.typeName.replace(/^\./, ''))
    if (made) {
      for (const { at, name, value, isOptional } of node.fields) {
        const found = this.check(value)
        const field = isOptional ? this.#unwrap(value, found) : found
        const wanted = made.fields ? made.fields.get(name)?.type : dynType
        if (!wanted || !this.#substitution.assign(wanted, field)) {
          const [expected, provided] = [wanted ? formatType(wanted) : '', formatType(field)]
          this.#issue(at, `expected type of field '${name}' is '${expected}' but provided type is '${provided}'`)
        }
      }
      return made
    }
    const type = celTypeNames.get(node.typeName.replace(/^\./, ''))
    if (!type) return this.#undeclared(node.at, node.typeName)
    for (const { value } of node.fields) this.check(value)
    return this.#issue(node.at, `'${type.name}' is not a message type`)
  }

  #fold(node: Fold): CelType {
    const rangeType = this.#substitution.resolve(this.check(node.range))
    const accuType = this.check(node.init)
    const outer = this.#scope
    this.#scope = { parent: outer, names: new Map([[node.accumulator, accuType]]) }
    const [first, second] = this.#elementTypes(node, rangeType)
    const loop = this.#scope
    const names = new Map([[node.variable, first]])
    if (node.variable2 !== undefined) names.set(node.variable2, second)
    this.#scope = { parent: loop, names }
    this.#assert(node.condition, boolType)
    this.#assert(node.step, accuType)
    this.#scope = loop
    const result = this.check(node.result)
    this.#scope = outer
    return this.#substitution.resolve(result)
  }

  #elementTypes(node: Fold, range: CelType): readonly [CelType, CelType] {
    const isPair = node.variable2 !== undefined
    switch (range.kind) {
      case 'list':
        return isPair ? [intType, range.parameters[0]!] : [range.parameters[0]!, errorType]
      case 'map':
        return [range.parameters[0]!, range.parameters[1]!]
      case 'dyn':
      case 'error':
      case 'variable':
        this.#substitution.assign(dynType, range)
        return [dynType, dynType]
      default: {
        const shown = formatType(range)
        const message = `expression of type '${shown}' cannot be range of a comprehension (must be list, map, or dynamic)`
        return [this.#issue(node.range.at, message), errorType]
      }
    }
  }

  #assert(node: CelExpression, type: CelType): void {
    const found = this.check(node)
    if (!this.#substitution.assign(type, found)) this.#mismatch(node.at, type, found)
  }
}

/** Reserved words are allowed after a dot: `self.namespace`. */
function fieldType(type: CelType, field: string): CelType | undefined {
  const found = (type.fields?.get(field) ?? type.fields?.get(`__${field}__`))?.type
  return found?.kind === 'preserved' ? undefined : found
}

/** `a.b.c` of identifiers only. */
function qualifiedCelName(node: CelExpression): string | undefined {
  if (node.kind === 'ident') return node.name
  if (node.kind !== 'select' || node.isTest) return undefined
  const prefix = qualifiedCelName(node.operand)
  return prefix === undefined ? undefined : `${prefix}.${node.field}`
}
