/** Results of mutating policies: objects to merge, and JSON patch operations. */
import type { Json } from '../../json.ts'
import { CelRuntimeError } from '../value/error.ts'
import { type CelFunction, byLength, functionNamed } from './function.ts'
import { formatCelDuration, formatTimestamp } from '../value/time.ts'
import { type CelType, dynType, objectTypeNamed, objectTypeOf, stringType } from '../value/type.ts'
import {
  CelDouble,
  CelDuration,
  CelList,
  CelMap,
  CelOpaque,
  CelTimestamp,
  CelUint,
  type CelValue,
  typeOfValue,
} from '../value/value.ts'

/** The type of a whole object; its parts are `Object.spec` and so on. */
export const patchObjectType: CelType = objectTypeNamed('Object')

export const jsonPatchType: CelType = objectTypeOf('JSONPatch', {
  op: stringType,
  path: stringType,
  from: stringType,
  value: dynType,
})

/** For {@link CelEnvironment.makes}. */
export function patchTypes(name: string): CelType | undefined {
  if (name === jsonPatchType.name) return jsonPatchType
  return name === patchObjectType.name || name.startsWith('Object.') ? objectTypeNamed(name) : undefined
}

export const patchFunctions: readonly CelFunction[] = [
  functionNamed('jsonpatch.escapeKey', [
    {
      id: 'string_jsonpatch_escapeKey_string',
      params: [stringType],
      result: stringType,
      call: ([key]) => (key as string).replaceAll('~', '~0').replaceAll('/', '~1'),
      cost: byLength(0, 0.1),
    },
  ]),
]

function keyText(key: CelValue): string {
  if (typeof key === 'string') return key
  throw new CelRuntimeError(`map key is of type ${typeOfValue(key).name}, not string`)
}

/** A value as JSON. Parts of an object must have the type of their place. */
export function jsonOfMade(value: CelValue, place?: string): Json {
  if (value instanceof CelOpaque && value.content instanceof Map) {
    const { name } = value.type
    if (place !== undefined && name !== place) {
      const why = `unexpected type name "${name}", expected "${place}", which matches field name path from root Object type`
      throw new CelRuntimeError(`type mismatch: ${why}`)
    }
    const fields = value.content as ReadonlyMap<string, CelValue>
    // The value of a patch operation is named relative to its path.
    const below = (field: string): string | undefined => (name === jsonPatchType.name ? undefined : `${name}.${field}`)
    return Object.fromEntries(Array.from(fields, ([field, part]) => [field, jsonOfMade(part, below(field))]))
  }
  if (value instanceof CelList) return Array.from(value, (element) => jsonOfMade(element, place))
  if (value instanceof CelMap) {
    return Object.fromEntries(
      Array.from(value.keys(), (key) => [keyText(key), jsonOfMade(value.find(key)!, place)] as const),
    )
  }
  if (value instanceof CelDouble) return value.value
  if (value instanceof CelUint) return Number(value.value)
  if (value instanceof CelTimestamp) return formatTimestamp(value)
  if (value instanceof CelDuration) return formatCelDuration(value)
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (typeof value !== 'object' || value === null) return value
  throw new CelRuntimeError(`no JSON for a value of type ${typeOfValue(value).name}`)
}
