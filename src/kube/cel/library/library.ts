/** All functions that Kubernetes provides to expressions, by name. One name may come from several libraries. */
import { addressFunctions, cidrType, ipType } from './address.ts'
import { authorizerFunctions } from './authorizer.ts'
import type { CelFunction, CelOverload } from './function.ts'
import { listFunctions } from './lists.ts'
import { namedFormatFunctions } from './named-format.ts'
import { optionalFunctions } from './optional.ts'
import { quantityFunctions } from './quantity.ts'
import { regexFunctions } from './regex.ts'
import { semverFunctions } from './semver.ts'
import { standardFunctions } from './standard.ts'
import { stringFunctions } from './strings.ts'
import { urlFunctions } from './url.ts'
import {
  type CelType,
  boolType,
  bytesType,
  doubleType,
  durationType,
  intType,
  listType,
  mapType,
  nullType,
  optionalType,
  stringType,
  timestampType,
  typeType,
  uintType,
} from '../value/type.ts'

/** In this order: the standard library comes first where the first overload decides. */
const libraries: readonly (readonly CelFunction[])[] = [
  standardFunctions,
  urlFunctions,
  regexFunctions,
  listFunctions,
  authorizerFunctions,
  optionalFunctions,
  quantityFunctions,
  stringFunctions,
  addressFunctions,
  namedFormatFunctions,
  semverFunctions,
]

function collect(): ReadonlyMap<string, CelFunction> {
  const byName = new Map<string, readonly CelOverload[]>()
  for (const { name, overloads } of libraries.flat()) byName.set(name, [...(byName.get(name) ?? []), ...overloads])
  return new Map(Array.from(byName, ([name, overloads]) => [name, { name, overloads }]))
}

export const celFunctions: ReadonlyMap<string, CelFunction> = collect()

/** Names of types: `type(x) == int`. */
export const celTypeNames: ReadonlyMap<string, CelType> = new Map([
  ['bool', boolType],
  ['bytes', bytesType],
  ['double', doubleType],
  ['duration', durationType],
  ['google.protobuf.Duration', durationType],
  ['google.protobuf.Timestamp', timestampType],
  ['int', intType],
  ['list', listType],
  ['map', mapType],
  ['null_type', nullType],
  ['optional_type', optionalType],
  ['string', stringType],
  ['timestamp', timestampType],
  ['type', typeType],
  ['uint', uintType],
  ...[ipType, cidrType].map((type) => [type.name, type] as const),
])
