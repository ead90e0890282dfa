/** Values and types in messages, as Go prints them. */
import { formatGoFloat } from '../../go/go-text.ts'
import { CelDouble, CelTypeValue, CelUint, type CelValue, typeOfValue } from './value.ts'

/** A value in a message. */
export function showValue(value: CelValue): string {
  if (typeof value !== 'object' || value === null) return String(value)
  if (value instanceof CelDouble) return formatGoFloat(value.value)
  if (value instanceof CelUint) return value.value.toString()
  if (value instanceof CelTypeValue) return value.type.name
  return typeOfValue(value).name
}

/** The server names the Go type of a value that cannot be iterated. */
export function goTypeOf(value: CelValue): string {
  const name = typeOfValue(value).name
  const names: Readonly<Record<string, string>> = {
    int: 'types.Int',
    uint: 'types.Uint',
    double: 'types.Double',
    bool: 'types.Bool',
    string: 'types.String',
    bytes: 'types.Bytes',
    null_type: 'types.Null',
    'google.protobuf.Timestamp': 'types.Timestamp',
    'google.protobuf.Duration': 'types.Duration',
    optional_type: '*types.Optional',
    type: '*types.Type',
  }
  return names[name] ?? name
}
