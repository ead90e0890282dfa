/** ConfigMaps: text and bytes by key, at most a mebibyte in all, and optionally immutable. */
import { equalJson, type Json } from '../../../kube/json.ts'
import type { UntypedObject } from '../../../kube/object.ts'
import type { ConfigMap } from '../../../kube/types/core/v1.ts'
import { structForm } from '../../codec/struct-form.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { configKey } from '../../../kube/validation/name-validation.ts'
import {
  eachInvalid,
  forbiddenField,
  invalidField,
  type Problems,
  tooLong,
} from '../../../kube/validation/field-error.ts'

/** The largest content of a ConfigMap or Secret, in bytes. */
export const maxDataBytes = 1_048_576

/** The number of bytes that a base64 string encodes. */
export function decodedLength(encoded: string): number {
  return Buffer.byteLength(encoded, 'base64')
}

/** Fields that cannot change once `immutable` is set, `immutable` itself first. */
export function checkImmutableData(object: UntypedObject, live: UntypedObject, members: readonly string[]): Problems {
  if (live['immutable'] !== true) return []
  const why = 'field is immutable when `immutable` is set'
  return ['immutable', ...members]
    .filter((member) => !equalJson(object[member] as Json | undefined, live[member] as Json | undefined))
    .map((member) => forbiddenField(member, why))
}

function* check(object: UntypedObject): Iterable<Problems[number]> {
  const { data = {}, binaryData = {} } = object as unknown as ConfigMap
  let total = 0
  for (const [key, text] of Object.entries(data)) {
    yield* eachInvalid(`data[${key}]`, key, configKey(key))
    if (Object.hasOwn(binaryData, key))
      yield invalidField(`data[${key}]`, key, 'duplicate of key present in binaryData')
    total += Buffer.byteLength(text)
  }
  for (const [key, bytes] of Object.entries(binaryData)) {
    yield* eachInvalid(`binaryData[${key}]`, key, configKey(key))
    total += decodedLength(bytes)
  }
  // The real server's path of the whole object.
  if (total > maxDataBytes) yield tooLong('[]', maxDataBytes)
}

export const configMapRules: KindRules = {
  defaults: structForm,
  validateCreate: (object) => [...check(object)],
  validateUpdate: (object, live) => [...checkImmutableData(object, live, ['data', 'binaryData']), ...check(object)],
}
