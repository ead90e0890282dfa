/** Access to values: fields, keys, indexes, and their presence. */
import { CelRuntimeError } from '../value/error.ts'
import { formatGoFloat } from '../../go/go-text.ts'
import { showValue } from '../value/show.ts'
import {
  CelDouble,
  type CelInt,
  CelList,
  CelMap,
  CelOptional,
  CelUint,
  type CelValue,
  isInt,
  optionalNone,
  typeOfValue,
} from '../value/value.ts'

export function optionalLookup(value: CelValue | undefined): CelOptional {
  return value === undefined ? optionalNone : new CelOptional(value)
}

/** undefined: absent. An optional returns an optional. */
export function select(value: CelValue, field: string): CelValue {
  if (value instanceof CelOptional) {
    return value.value === undefined ? optionalNone : optionalLookup(findField(value.value, field))
  }
  if (value instanceof CelMap) {
    const found = value.find(field)
    if (found !== undefined) return found
  } else if (value instanceof CelList) {
    throw new CelRuntimeError(`unsupported index type 'string' in list`)
  }
  throw new CelRuntimeError(`no such key: ${field}`)
}

export function findField(value: CelValue, field: string): CelValue | undefined {
  if (value instanceof CelMap) return value.find(field)
  if (value instanceof CelList) throw new CelRuntimeError(`unsupported index type 'string' in list`)
  return undefined
}

export function isPresent(value: CelValue, field: string): boolean {
  if (value instanceof CelOptional) return value.value !== undefined && isPresent(value.value, field)
  return findField(value, field) !== undefined
}

export function find(value: CelValue, key: CelValue): CelValue | undefined {
  if (value instanceof CelMap) return value.find(key)
  if (!(value instanceof CelList)) return undefined
  const index = indexOf(key)
  if (index < 0 || index >= value.size) return undefined
  // A list of a schema requires an int.
  if (value.equals && !isInt(key)) throw new CelRuntimeError(`unsupported index: ${showValue(key)}`)
  return value.at(Number(index))
}

/** Any integral number is a valid index. */
function indexOf(key: CelValue): CelInt {
  if (isInt(key)) return key
  if (key instanceof CelUint) return key.value
  if (key instanceof CelDouble) {
    if (Number.isInteger(key.value) && Math.abs(key.value) < 2 ** 63) return key.value
    throw new CelRuntimeError(`unsupported index value ${formatGoFloat(key.value)} in list`)
  }
  throw new CelRuntimeError(`unsupported index type '${typeOfValue(key).name}' in list`)
}

export function missing(value: CelValue, key: CelValue): CelRuntimeError {
  return new CelRuntimeError(
    value instanceof CelList ? `index out of bounds: ${showValue(key)}` : `no such key: ${showValue(key)}`,
  )
}
