/** Functions for JSON, YAML, TOML and base64. */
import { describeError, isMusterError } from '../../kube/muster-error.ts'
import { isJsonObject } from '../../kube/json.ts'
import { readYamlDocuments } from '../../kube/yaml/yaml.ts'
import { type FunctionTable, goFunction, type GoFunction } from '../template/function-type.ts'
import { GoError } from '../template/go-error.ts'
import { bytesText, textBytes } from '../template/text-bytes.ts'
import { type GoMap, goKindOf, nilList, nilMap, setMapMember } from '../template/values.ts'
import { decodeBase32, decodeBase64, encodeBase32 } from './encoding/base-encodings.ts'
import { readGoJson } from './encoding/json-reader.ts'
import { type JsonStyle, writeGoJson } from './encoding/json-writer.ts'
import { readToml } from './encoding/toml-reader.ts'
import { writeToml } from './encoding/toml-writer.ts'
import { writeHelmYaml } from './encoding/yaml-writer.ts'

type Values = readonly unknown[]

const compact: JsonStyle = { escapesHtml: true }
const pretty: JsonStyle = { escapesHtml: true, indent: '  ' }
const raw: JsonStyle = { escapesHtml: false }

/** A function that writes a value, and fails if it cannot be written. */
function writer(write: (value: unknown) => string): GoFunction {
  return goFunction('any', ([value]: Values) => write(value))
}

/** A function that writes nothing if the value cannot be written. */
function lenient(write: (value: unknown) => string): GoFunction {
  return goFunction('any', ([value]: Values) => {
    try {
      return write(value)
    } catch (error) {
      if (error instanceof GoError) return ''
      throw error
    }
  })
}

function reader(read: (text: string) => unknown): GoFunction {
  return goFunction('string', ([text]: [string]) => read(text))
}

const json = (style: JsonStyle) => (value: unknown) => writeGoJson(value, style)
const yaml = (value: unknown): string => writeHelmYaml(value, { isPretty: false }).replace(/\n$/, '')

export const encodingFunctions: FunctionTable = new Map<string, GoFunction>([
  ['toJson', lenient(json(compact))],
  ['mustToJson', writer(json(compact))],
  ['toPrettyJson', lenient(json(pretty))],
  ['mustToPrettyJson', writer(json(pretty))],
  ['toRawJson', writer(json(raw))],
  ['mustToRawJson', writer(json(raw))],
  ['fromJson', reader((text) => errorIn(() => asMap(readGoJson(text))))],
  ['mustFromJson', reader(readGoJson)],
  ['fromJsonArray', reader((text) => errorOf(() => asList(readGoJson(text))))],
  ['toYaml', lenient(yaml)],
  ['mustToYaml', writer(yaml)],
  ['toYamlPretty', lenient((value) => writeHelmYaml(value, { isPretty: true }).replace(/\n$/, ''))],
  ['fromYaml', reader((text) => errorIn(() => fromYaml(text, (value) => asMap(value ?? {}))))],
  ['fromYamlArray', reader((text) => errorOf(() => fromYaml(text, (value) => asList(value ?? []))))],
  ['toToml', goFunction('any', ([value]: Values) => toml(notNil(value)))],
  ['mustToToml', writer((value) => writeToml(notNil(value)))],
  ['fromToml', reader((text) => errorIn(() => readToml(text)))],
  ['b64enc', reader((text) => textBytes(text).toString('base64'))],
  ['b64dec', reader((text) => messageOf(() => bytesText(decodeBase64(text))))],
  ['b32enc', reader((text) => encodeBase32(textBytes(text)))],
  ['b32dec', reader((text) => messageOf(() => bytesText(decodeBase32(text))))],
])

function notNil(value: unknown): unknown {
  if ((value ?? null) === null) throw new GoError('reflect: call of reflect.Value.Type on zero Value')
  return value
}

function toml(value: unknown): string {
  return messageOf(() => writeToml(value))
}

function messageOf(work: () => string): string {
  try {
    return work()
  } catch (error) {
    if (error instanceof GoError) return error.message
    throw error
  }
}

/** The key `Error` holds what is wrong. */
function errorIn(work: () => GoMap): GoMap {
  try {
    return work()
  } catch (error) {
    if (error instanceof GoError) return { Error: error.message }
    throw error
  }
}

/** The only element is what is wrong. */
function errorOf(work: () => unknown[]): unknown[] {
  try {
    return work()
  } catch (error) {
    if (error instanceof GoError) return [error.message]
    throw error
  }
}

const jsonKinds: Readonly<Record<string, string>> = { slice: 'array', map: 'object', float64: 'number' }

function mismatch(value: unknown, type: string): GoError {
  const kind = goKindOf(value)
  return new GoError(`json: cannot unmarshal ${jsonKinds[kind] ?? kind} into Go value of type ${type}`)
}

function asMap(value: unknown): GoMap {
  if (value === null) return nilMap()
  if (goKindOf(value) !== 'map') throw mismatch(value, 'map[string]interface {}')
  return value as GoMap
}

function asList(value: unknown): unknown[] {
  if (value === null) return nilList()
  if (!Array.isArray(value)) throw mismatch(value, '[]interface {}')
  return value
}

function fromYaml<Result>(text: string, convert: (value: unknown) => Result): Result {
  let value: unknown
  try {
    value = floats(readYamlDocuments(text, { keepsEnd: true })[0] ?? null)
  } catch (error) {
    if (!isMusterError(error)) throw error
    throw new GoError(`error converting YAML to JSON: yaml: ${describeProblem(error)}`)
  }
  try {
    return convert(value)
  } catch (error) {
    if (!(error instanceof GoError)) throw error
    throw new GoError(`error unmarshaling JSON: while decoding JSON: ${error.message}`)
  }
}

function describeProblem(error: unknown): string {
  return error instanceof Error ? error.message.replace(/\.$/, '') : describeError(error)
}

/** Long integers are floats here; documents do not share parts, because templates change them. */
function floats(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(floats)
  if (!isJsonObject(value)) return value
  const map: GoMap = {}
  for (const key of Object.keys(value)) setMapMember(map, key, floats(value[key]))
  return map
}
