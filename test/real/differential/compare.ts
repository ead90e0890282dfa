/**
 * When two answers are the same. What no two servers share (uids, times, versions, what they allocate) is masked; what
 * differs for a reason that docs/embedded-limits.md gives is taken out by a rule of its own, with its name.
 */
import { equalJson, isJsonObject, type Json, type JsonObject, stringifyJson } from '../../../src/kube/json.ts'
import { isJsonArray } from '../../../src/kube/json-member.ts'
import { readYaml } from '../../../src/kube/yaml/yaml.ts'

export interface Answer {
  readonly status: number
  readonly contentType: string
  readonly warning: string
  readonly date: string
  /** JSON as it is, everything else as text. */
  readonly body: Json
}

export function sameAnswer(a: Answer, b: Answer): boolean {
  return equalJson(comparable(a), comparable(b))
}

export function comparable({ status, contentType, warning, body }: Answer): Json {
  // YAML is compared as what it says: where Go breaks long lines, the embedded server does not.
  const said = contentType === 'application/yaml' && typeof body === 'string' ? readYaml(body) : body
  return { status, contentType, warning: maskedText(warning), body: limited(masked(said)) }
}

/** One documented difference each: what of a refusal's message is not compared. */
const limits: readonly { readonly name: string; readonly pattern: RegExp; readonly shown: string }[] = [
  {
    // An apply that does not fit its schema quotes the value as Go's debugger shows it, pointers and all.
    name: 'apply quotes values in a form of Go',
    pattern: /(: expected (?:map|list|string|numeric \(int or float\)|boolean|any scalar), got )[^\n]*/g,
    shown: '$1VALUE',
  },
  {
    // The object in the order of Go's maps and structs, and then what one of three converters says of it.
    name: 'a patch that leaves no object of its kind quotes it',
    pattern: /(patch: Invalid value: )"(?:\{|map\[).*/s,
    shown: '$1QUOTED',
  },
  {
    // Types that are a string by another name (`v1.LimitType`) are not told apart in the schema.
    name: 'a value of the wrong type names the type of Go',
    pattern: /(json: cannot unmarshal [\w. -]+ into Go struct field \S+ of type )\S+$/,
    shown: '$1TYPE',
  },
  {
    name: 'an immutable field is quoted as the struct of the server',
    pattern: /(Invalid value: )\{.*?\}(: field is immutable)/g,
    shown: '$1QUOTED$2',
  },
  {
    // The embedded server shows them, too, for pods and claims, but cannot tell nil from empty.
    name: 'what changed is shown as a difference of internal structs',
    pattern: /\n(?:@@ [\s\S]*)?\]?$/,
    shown: '',
  },
  {
    name: 'an apply that cannot be converted quotes one of three converters',
    pattern:
      /(failed to convert new object .* to proper version: unable to convert unstructured object to [^:]*: )(?:cannot convert|json: ).*/,
    shown: '$1WHY',
  },
  {
    // To a struct of Go both are empty, and which of them it was is lost on the way here.
    name: 'an empty map or list is quoted as null',
    pattern: /((?:Invalid|Unsupported) value: |": )(?:\{\}|\[\])/g,
    shown: '$1null',
  },
  {
    name: 'an unknown directive of a strategic patch is quoted as a map of Go',
    pattern:
      /(?:unknown patch type|the strategic merge patch|the list \S+ has elements|list element types are not identical|map: map\[).*/s,
    shown: 'PATCH TYPE',
  },
  {
    // The embedded server gives the reason without the body, which may hold secrets.
    name: 'a body that cannot be parsed is not quoted',
    pattern:
      /^(?:the object provided is unrecognized \(must be of type \w+\): couldn't get version\/kind; json parse error: (?:unexpected end of JSON input|invalid character).*|error decoding patch: error converting YAML to JSON.*|the body of the request is no valid JSON)$/s,
    shown: 'UNREADABLE',
  },
]

/** Go iterates over maps in random order and stops at an unknown field: which errors of an apply it reports is random. */
function withoutFaults(message: string): string {
  const [, head, faults = ''] = /^(failed to create typed patch object \(.*?\): )(.*)$/s.exec(message) ?? []
  return head && /^errors:|field not declared in schema/.test(faults) ? `${head}FAULTS` : message
}

function limited(body: Json): Json {
  if (!isJsonObject(body) || body['kind'] !== 'Status' || typeof body['message'] !== 'string') return body
  const rules = (text: string): string =>
    limits.reduce((current, { pattern, shown: word }) => current.replace(pattern, word), text)
  const details = body['details']
  const causes =
    isJsonObject(details) && isJsonArray(details['causes']) ? (details['causes'] as readonly JsonObject[]) : []
  const told = causes.map((cause) => ({
    ...cause,
    message: rules(`${cause['field'] as string}: ${cause['message'] as string}`),
  }))
  // The order of several errors is not defined: it follows Go's maps, and handwritten and generated rules mix.
  const [head = ''] = body['message'].split(/(?<= is invalid: )\[/, 1)
  const message = causes.length > 1 ? head : rules(withoutFaults(body['message']))
  const ordered = told.toSorted((a, b) => (a.message < b.message ? -1 : 1))
  return {
    ...body,
    message,
    ...(causes.length > 0 && { details: { ...(details as JsonObject), causes: ordered } }),
  }
}

const volatile: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UID'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, 'TIME'],
  [/\b10\.0\.\d+\.\d+\b(?!\/)/g, 'CLUSTER-IP'],
  [/\b([Gg]en-)[a-z0-9]{5}\b/g, '$1NAME'],
  // In cells of tables.
  [/:3[0-2]\d{3}\/(TCP|UDP)/g, ':PORT/$1'],
  // In YAML, and in messages that quote it.
  // The beginning of a body may end in the midst of one.
  [/(\\?"uid\\?":\\?")[0-9a-f-]+(?= \.\.\.)/g, '$1UID'],
  [/(\\?"resourceVersion\\?":\\?")\d+/g, '$1NUMBER'],
  [/((?:resourceVersion|nodePort|healthCheckNodePort): "?)\d+/g, '$1NUMBER'],
  [/(in record|in the precondition) \(\d+\)/g, '$1 (VERSION)'],
]

function maskedText(text: string): string {
  return volatile.reduce((current, [pattern, word]) => current.replaceAll(pattern, word), text)
}

function masked(value: Json, key = ''): Json {
  if (typeof value === 'string') {
    if (key === 'resourceVersion' && /^\d+$/.test(value)) return value === '0' ? '0' : 'VERSION'
    if (key === 'continue' && value !== '') return 'CONTINUE'
    return maskedText(value)
  }
  if (typeof value === 'number' && /nodePort$/i.test(key)) return 'NODE-PORT'
  if (isJsonArray(value)) {
    const items = value.map((item) => masked(item, key === 'cells' ? key : ''))
    // They stand in the order of their times, to the second, which two servers do not see begin at once.
    return key === 'managedFields' ? items.toSorted((a, b) => (entryKey(a) < entryKey(b) ? -1 : 1)) : items
  }
  if (!isJsonObject(value)) return value
  const members = Object.entries(value).map(([name, member]): [string, Json] => [name, masked(member ?? null, name)])
  const object = Object.fromEntries(members) as JsonObject
  return object['kind'] === 'Table' ? withoutAges(object) : object
}

function entryKey(entry: Json): string {
  const { manager, operation, apiVersion, subresource, time } = isJsonObject(entry) ? entry : {}
  return stringifyJson([manager ?? '', operation ?? '', apiVersion ?? '', subresource ?? '', time ?? ''])
}

/** How old a row is, is a matter of the moment. */
function withoutAges(table: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(table).replaceAll(/"(?:\d+[smhdy])+"|"<invalid>"/g, '"AGE"')) as JsonObject
}

/** Where two values differ: `/metadata/labels/a`, with both. At most `limit` places. */
export function differences(a: Json | undefined, b: Json | undefined, limit = 6, place = ''): readonly string[] {
  if (equalJson(a, b)) return []
  if (isJsonObject(a) && isJsonObject(b)) {
    const names = [...new Set([...Object.keys(a), ...Object.keys(b)])]
    return names.flatMap((name) => differences(a[name], b[name], limit, `${place}/${name}`)).slice(0, limit)
  }
  if (isJsonArray(a) && isJsonArray(b)) {
    const longer = a.length > b.length ? a : b
    return longer.flatMap((_item, index) => differences(a[index], b[index], limit, `${place}/${index}`)).slice(0, limit)
  }
  return [`${place}\n    embedded: ${shown(a)}\n    real:     ${shown(b)}`]
}

function shown(value: Json | undefined): string {
  const text =
    value === undefined
      ? '(absent)'
      : JSON.stringify(value, (_key, one: unknown) => (typeof one === 'bigint' ? Number(one) : one))
  return text.length > 500 ? `${text.slice(0, 330)} … ${text.slice(-160)}` : text
}
