/** Arguments of functions: Go checks that a value can be assigned to the type of the parameter. */
import type { ParameterType } from './function-type.ts'
import { anyListType, anyMapType, GoInteger, GoObject, isMap, nilList, nilMap, typeOf, underlying } from './values.ts'

/** What is wrong with an argument. */
export class WrongArgument {
  readonly problem: string

  constructor(problem: string) {
    this.problem = problem
  }
}

export function typeName(type: ParameterType): string {
  switch (type) {
    case 'any':
      return 'interface {}'
    case 'value':
      return 'reflect.Value'
    case 'map':
      return anyMapType
    case 'list':
      return anyListType
    default:
      return type
  }
}

/** Whether nil is a value of the type. */
export function acceptsNil(type: ParameterType): boolean {
  return type === 'any' || type === 'value' || type === 'map' || type === 'list'
}

export function nilOf(type: ParameterType): unknown {
  if (type === 'value') return undefined
  if (type === 'map') return nilMap()
  return type === 'list' ? nilList() : null
}

/** The value as an argument of this type. */
export function assign(value: unknown, type: ParameterType): unknown {
  if (value === undefined) {
    return acceptsNil(type) ? nilOf(type) : new WrongArgument(`invalid value; expected ${typeName(type)}`)
  }
  if (isAssignable(value, type)) return value
  const got = value === null ? 'interface {}' : typeOf(value)
  return new WrongArgument(`wrong type for value; expected ${typeName(type)}; got ${got}`)
}

function isAssignable(value: unknown, type: ParameterType): boolean {
  switch (type) {
    case 'any':
    case 'value':
      return true
    case 'string':
      return typeof value === 'string'
    case 'int':
      return typeof value === 'bigint'
    case 'float64':
      return typeof value === 'number'
    case 'bool':
      return typeof value === 'boolean'
    case 'map':
      return isMap(value) && underlying(typeOf(value)) === anyMapType
    case 'list':
      return Array.isArray(value) && underlying(typeOf(value)) === anyListType
    default:
      return (value instanceof GoObject || value instanceof GoInteger) && value.type === type
  }
}
