/** `format.dns1123Label().validate(text)`: the name formats that Kubernetes validates, with its messages. */
import { type CelFunction, fixedCost, functionNamed } from './function.ts'
import { parseDate } from '../value/time.ts'
import { type CelType, listOf, objectTypeNamed, optionalOf, stringType } from '../value/type.ts'
import { urlProblem } from './url.ts'
import { CelArray, CelOpaque, CelOptional, codePoints, optionalNone } from '../value/value.ts'

export const namedFormatType: CelType = objectTypeNamed('kubernetes.NamedFormat')

interface NamedFormat {
  /** The identity of a format for comparisons. */
  readonly text: string
  /** The length of its pattern: part of the cost. */
  readonly patternLength: number
  problems(text: string): readonly string[]
}

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const subdomain = `${label}(\\.${label})*`
const label1035 = '[a-z]([-a-z0-9]*[a-z0-9])?'
const namePart = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'

const labelText = `(${namePart})?`

const wholes: ReadonlyMap<string, RegExp> = new Map(
  [label, subdomain, label1035, namePart, labelText].map((pattern) => [pattern, new RegExp(`^(?:${pattern})$`, 'u')]),
)
const isLike = (pattern: string, text: string): boolean => wholes.get(pattern)!.test(text)
const bytes = (text: string): number => Buffer.byteLength(text)

function unlike(message: string, pattern: string, ...examples: readonly string[]): string {
  return `${message} (e.g. ${examples.map((example) => `'${example}', `).join(' or ')}regex used for validation is '${pattern}')`
}

function dnsLabel(text: string): readonly string[] {
  const problems = bytes(text) > 63 ? ['must be no more than 63 characters'] : []
  if (isLike(label, text)) return problems
  if (isLike(subdomain, text)) return [...problems, 'must not contain dots']
  const rule =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character"
  return [...problems, unlike(rule, label, 'my-name', '123-abc')]
}

function dnsSubdomain(text: string, unit = 'characters'): readonly string[] {
  const problems = bytes(text) > 253 ? [`must be no more than 253 ${unit}`] : []
  if (isLike(subdomain, text)) return problems
  const rule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character"
  return [...problems, unlike(rule, subdomain, 'example.com')]
}

function dns1035Label(text: string): readonly string[] {
  const problems = bytes(text) > 63 ? ['must be no more than 63 characters'] : []
  if (isLike(label1035, text)) return problems
  const rule =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character"
  return [...problems, unlike(rule, label1035, 'my-name', 'abc-123')]
}

const nameRule = unlike(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  namePart,
  'MyName',
  'my.name',
  '123-abc',
)

function qualifiedName(text: string): readonly string[] {
  const parts = text.split('/')
  if (parts.length > 2) {
    return [`a valid label key ${nameRule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`]
  }
  const problems: string[] = []
  const own = parts.at(-1)!
  const prefix = parts.length === 2 ? parts[0]! : undefined
  if (prefix === '') problems.push('prefix part must be non-empty')
  else if (prefix !== undefined)
    problems.push(...dnsSubdomain(prefix, 'bytes').map((problem) => `prefix part ${problem}`))
  if (own === '') problems.push('name part must be non-empty')
  else if (bytes(own) > 63) problems.push('name part must be no more than 63 bytes')
  if (!isLike(namePart, own)) problems.push(`name part ${nameRule}`)
  return problems
}

function labelValue(text: string): readonly string[] {
  const problems = bytes(text) > 63 ? ['must be no more than 63 bytes'] : []
  if (isLike(labelText, text)) return problems
  const rule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
  return [...problems, unlike(rule, labelText, 'MyValue', 'my_value', '12345')]
}

/** The check of a `generateName`: neither the trailing dash nor the character before it is checked. */
const prefixed =
  (check: (text: string) => readonly string[]) =>
  (text: string): readonly string[] =>
    check(text.length > 1 && text.endsWith('-') ? `${text.slice(0, -2)}a` : text)

const unless = (isFine: boolean, problem: string): readonly string[] => (isFine ? [] : [problem])

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/
const uuid = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i
const timeOfDay = /^(\d{2}):(\d{2}):(\d{2})(?:.\d+)?(?:z|[+-]\d{2}:\d{2})$/u

function isDateTime(text: string): boolean {
  const [date = '', time] = text.toLowerCase().split('t')
  const [, hours = '', minutes = '', seconds = ''] = timeOfDay.exec(time ?? '') ?? []
  return hours !== '' && parseDate(date) !== undefined && hours <= '23' && minutes <= '59' && seconds <= '59'
}

const make = (text: string, patternLength: number, problems: NamedFormat['problems']): NamedFormat => ({
  text,
  patternLength,
  problems,
})

const formats: ReadonlyMap<string, NamedFormat> = new Map([
  ['dns1123Label', make('DNS1123Label', 30, dnsLabel)],
  ['dns1123Subdomain', make('DNS1123Subdomain', 60, (text) => dnsSubdomain(text))],
  ['dns1035Label', make('DNS1035Label', 30, dns1035Label)],
  ['qualifiedName', make('QualifiedName', 60, qualifiedName)],
  ['dns1123LabelPrefix', make('DNS1123LabelPrefix', 30, prefixed(dnsLabel))],
  [
    'dns1123SubdomainPrefix',
    make(
      'DNS1123SubdomainPrefix',
      60,
      prefixed((text) => dnsSubdomain(text)),
    ),
  ],
  ['dns1035LabelPrefix', make('DNS1035LabelPrefix', 30, prefixed(dns1035Label))],
  ['labelValue', make('LabelValue', 40, labelValue)],
  [
    'uri',
    make('URI', 1103, (text) => {
      const problem = urlProblem(text)
      return problem === undefined ? [] : [problem]
    }),
  ],
  ['uuid', make('uuid', 82, (text) => unless(uuid.test(text), 'does not match the UUID format'))],
  ['byte', make('byte', 84, (text) => unless(base64.test(text), 'invalid base64'))],
  ['date', make('date', 83, (text) => unless(parseDate(text) !== undefined, 'invalid date'))],
  ['datetime', make('datetime', 83, (text) => unless(isDateTime(text), 'invalid datetime'))],
])

export const namedFormatFunctions: readonly CelFunction[] = [
  functionNamed('validate', [
    {
      id: 'format-validate',
      member: true,
      params: [namedFormatType, stringType],
      result: optionalOf(listOf(stringType)),
      call: ([format, text]) => {
        const problems = ((format as CelOpaque).content as NamedFormat).problems(text as string)
        return problems.length === 0 ? optionalNone : new CelOptional(new CelArray(problems))
      },
      cost: ([format, text]) =>
        Math.ceil((1 + codePoints(text as string)) * 0.1) *
        Math.ceil(((format as CelOpaque).content as NamedFormat).patternLength * 0.25),
    },
  ]),
  functionNamed('format.named', [
    {
      id: 'format-named',
      params: [stringType],
      result: optionalOf(namedFormatType),
      call: ([name]) => {
        const format = formats.get(name as string)
        return format ? new CelOptional(new CelOpaque(namedFormatType, format)) : optionalNone
      },
      cost: fixedCost(1),
    },
  ]),
  ...Array.from(formats, ([key, format]) =>
    functionNamed(`format.${key}`, [
      { id: `format.${key}`, params: [], result: namedFormatType, call: () => new CelOpaque(namedFormatType, format) },
    ]),
  ),
]
