/**
 * Type variables and their bindings. Checking `[1].map(x, x + y)` has to infer types: a call of a generic function gets fresh
 * variables, and each comparison of types may bind some. A failed comparison binds nothing.
 */
import { type CelType, dynType, formatType, isDynamic, sameType } from '../value/type.ts'

export class Substitution {
  #bindings: ReadonlyMap<string, CelType> = new Map()

  /** Whether `from` is assignable to `to`; binds variables if so. */
  assign(from: CelType, to: CelType): boolean {
    return this.assignAll([from], [to])
  }

  assignAll(from: readonly CelType[], to: readonly CelType[]): boolean {
    const attempt = new Map(this.#bindings)
    if (!areAssignable(attempt, from, to)) return false
    this.#bindings = attempt
    return true
  }

  /** The type with all bindings substituted; unbound variables become dyn if `unknownIsDyn`. */
  resolve(type: CelType, unknownIsDyn = false): CelType {
    return substitute(this.#bindings, type, unknownIsDyn)
  }
}

type Bindings = Map<string, CelType>

export function substitute(bindings: ReadonlyMap<string, CelType>, type: CelType, unknownIsDyn: boolean): CelType {
  if (type.kind === 'variable') {
    const bound = bindings.get(type.name)
    if (bound) return substitute(bindings, bound, unknownIsDyn)
    return unknownIsDyn ? dynType : type
  }
  if (type.parameters.length === 0) return type
  const parameters = type.parameters.map((parameter) => substitute(bindings, parameter, unknownIsDyn))
  return parameters.every((parameter, index) => parameter === type.parameters[index]) ? type : { ...type, parameters }
}

function areAssignable(bindings: Bindings, from: readonly CelType[], to: readonly CelType[]): boolean {
  return from.length === to.length && from.every((type, index) => isAssignable(bindings, type, to[index]!))
}

const isWild = (type: CelType): boolean => type.kind === 'dyn' || type.kind === 'error'

function isAssignable(bindings: Bindings, from: CelType, to: CelType): boolean {
  if (to.kind === 'variable') {
    const bound = bindVariable(bindings, from, to)
    if (bound !== undefined) return bound
  }
  if (from.kind === 'variable') return bindVariable(bindings, to, from) ?? false
  if (isWild(from) || isWild(to)) return true
  if (from.kind === 'null') return isNullable(to)
  if (to.kind === 'null') return isNullable(from)
  switch (from.kind) {
    case 'type':
      return to.kind === 'type'
    case 'list':
    case 'map':
    case 'opaque':
      return from.kind === to.kind && from.name === to.name && areAssignable(bindings, from.parameters, to.parameters)
    default:
      return from.kind === to.kind && from.name === to.name
  }
}

/** Types that accept null: those that are not plain values. */
function isNullable({ kind }: CelType): boolean {
  return kind === 'null' || kind === 'opaque' || kind === 'object' || kind === 'duration' || kind === 'timestamp'
}

/** undefined: the variable is free, but cannot be bound to `type`, because it is a part of it. */
function bindVariable(bindings: Bindings, type: CelType, variable: CelType): boolean | undefined {
  if (sameType(type, variable)) return true
  const bound = bindings.get(variable.name)
  if (bound) {
    if (sameType(type, bound)) return true
    if (!isAssignable(bindings, type, bound)) return false
    const general = mostGeneral(type, bound)
    if (!occursIn(bindings, variable, general)) bindings.set(variable.name, general)
    return true
  }
  if (occursIn(bindings, variable, type)) return undefined
  bindings.set(variable.name, type)
  return true
}

function occursIn(bindings: ReadonlyMap<string, CelType>, variable: CelType, type: CelType): boolean {
  if (type.kind === 'variable') {
    if (type.name === variable.name) return true
    const bound = bindings.get(type.name)
    return bound !== undefined && occursIn(bindings, variable, bound)
  }
  return type.parameters.some((parameter) => occursIn(bindings, variable, parameter))
}

/** Of two compatible types, the more general one. */
export function mostGeneral(a: CelType, b: CelType): CelType {
  return saysLess(a, b) ? a : b
}

function saysLess(a: CelType, b: CelType): boolean {
  if (isDynamic(a) || a.kind === 'variable') return true
  if (isDynamic(b) || b.kind === 'variable') return false
  if (a.kind !== b.kind) return false
  switch (a.kind) {
    case 'type':
      return true
    case 'list':
    case 'map':
    case 'opaque':
      return (
        a.name === b.name &&
        a.parameters.length === b.parameters.length &&
        a.parameters.every((parameter, index) => saysLess(parameter, b.parameters[index]!))
      )
    default:
      return formatType(a) === formatType(b)
  }
}
