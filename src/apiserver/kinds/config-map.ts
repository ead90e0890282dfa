/** ConfigMaps: text and bytes by key, a mebibyte in all, and for good when they say so. */
import { equalJson, type Json } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { ConfigMap } from '../../kube/types/core/v1.ts'
import { structForm } from '../codec/struct-form.ts'
import type { KindRules } from './kind-rules.ts'
import { configKey } from '../../kube/validation/name-validation.ts'
import { eachInvalid, forbiddenField, invalidField, type Problems, tooLong } from '../../kube/validation/field-error.ts'

/** Of the contents of a ConfigMap or Secret, in bytes. */
export const mostData = 1_048_576

/** How many bytes base64 stands for. */
export function decodedLength(encoded: string): number {
  return Buffer.byteLength(encoded, 'base64')
}

/** What is not to change once `immutable` is set, `immutable` itself first. */
export function checkSealed(object: UntypedObject, live: UntypedObject, members: readonly string[]): Problems {
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
  // The real server's path to the whole object.
  if (total > mostData) yield tooLong('[]', mostData)
}

export const configMapRules: KindRules = {
  defaults: structForm,
  validateCreate: (object) => [...check(object)],
  validateUpdate: (object, live) => [...checkSealed(object, live, ['data', 'binaryData']), ...check(object)],
}
