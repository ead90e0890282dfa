/**
 * Secrets: bytes by key. `stringData` is write-only and is merged into `data`. The type is immutable, and Kubernetes'
 * own types require certain keys. Error messages never contain a Secret's data.
 */
import type { JsonObject } from '../../../kube/json.ts'
import type { UntypedObject } from '../../../kube/object.ts'
import type { Secret } from '../../../kube/types/core/v1.ts'
import { checkImmutableData, decodedLength, maxDataBytes } from './config-map.ts'
import { draftOf, fillZeros, finished, part } from '../strategy/draft.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { configKey } from '../../../kube/validation/name-validation.ts'
import {
  eachInvalid,
  immutableDetail,
  invalidField,
  type Problems,
  requiredField,
  tooLong,
} from '../../../kube/validation/field-error.ts'

function defaults(object: UntypedObject): UntypedObject {
  const draft = draftOf(object)
  fillZeros(draft, { type: 'Opaque' })
  const plain = part(draft, 'stringData')
  if (plain) {
    const encoded = Object.entries(plain).map(([key, text]) => [key, Buffer.from(text as string).toString('base64')])
    // Any string may be a key, `__proto__` too.
    draft['data'] = Object.fromEntries([...Object.entries(part(draft, 'data') ?? {}), ...encoded]) as JsonObject
    delete draft['stringData']
  }
  return finished(draft)
}

function* check(object: UntypedObject): Iterable<Problems[number]> {
  const { data = {}, type, metadata } = object as unknown as Secret
  let total = 0
  for (const [key, bytes] of Object.entries(data)) {
    yield* eachInvalid(`data[${key}]`, key, configKey(key))
    total += decodedLength(bytes)
  }
  if (total > maxDataBytes) yield tooLong('data', maxDataBytes)
  const missing = (key: string): boolean => !Object.hasOwn(data, key)
  switch (type) {
    case 'kubernetes.io/service-account-token': {
      const key = 'kubernetes.io/service-account.name'
      if (!metadata?.annotations?.[key]) yield requiredField(`metadata.annotations[${key}]`)
      break
    }
    case 'kubernetes.io/dockercfg':
      yield* checkJson(data, '.dockercfg')
      break
    case 'kubernetes.io/dockerconfigjson':
      yield* checkJson(data, '.dockerconfigjson')
      break
    case 'kubernetes.io/basic-auth':
      if (missing('username') && missing('password'))
        yield* [requiredField('data[username]'), requiredField('data[password]')]
      break
    case 'kubernetes.io/ssh-auth':
      if (missing('ssh-privatekey') || data['ssh-privatekey'] === '') yield requiredField('data[ssh-privatekey]')
      break
    case 'kubernetes.io/tls':
      for (const key of ['tls.crt', 'tls.key']) if (missing(key)) yield requiredField(`data[${key}]`)
      break
    default:
  }
}

function checkJson(data: Readonly<Record<string, string>>, key: string): Problems {
  const field = `data[${key}]`
  if (!Object.hasOwn(data, key)) return [requiredField(field)]
  const text = Buffer.from(data[key]!, 'base64').toString().trimStart()
  const why = jsonProblem(text)
  return why === undefined ? [] : [invalidField(field, '<secret contents redacted>', why)]
}

/** Go's message about invalid JSON: it shows only the first character. */
function jsonProblem(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (value === null || (typeof value === 'object' && !Array.isArray(value))) return undefined
    const kind = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value
    return `json: cannot unmarshal ${kind} into Go value of type map[string]interface {}`
  } catch {
    if (text === '') return 'unexpected end of JSON input'
    if (/^[^[{"\d\-tfn]/.test(text)) return `invalid character '${text[0]}' looking for beginning of value`
    return 'unexpected end of JSON input'
  }
}

export const secretRules: KindRules = {
  defaults,
  validateCreate: (object) => [...check(object)],
  validateUpdate: (object, live) => [
    ...(object['type'] === live['type'] ? [] : [invalidField('type', object['type'], immutableDetail)]),
    ...checkImmutableData(object, live, ['data']),
    ...check(object),
  ],
}
