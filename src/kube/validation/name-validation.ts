/**
 * Name formats, with the messages of the real server. `src/kube/meta/name.ts` has the same formats with messages for operator
 * authors; here every word is part of the protocol.
 */

/** The messages; empty if the name is valid. */
export type FormatCheck = (text: string) => readonly string[]

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const subdomain = String.raw`${label}(\.${label})*`
const label1035 = '[a-z]([-a-z0-9]*[a-z0-9])?'
const wildcard = String.raw`\*\.${subdomain}`
const qualified = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'
const qualifiedRule =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
const labelText = `(${qualified})?`
const key = '[-._a-zA-Z0-9]+'
const path = String.raw`[A-Za-z0-9/\-._~%!$&'()*+,;=:]+`

const whole = (source: string): RegExp => new RegExp(`^${source}$`)
const labelPattern = whole(label)
const subdomainPattern = whole(subdomain)
const label1035Pattern = whole(label1035)
const wildcardPattern = whole(wildcard)
const qualifiedPattern = whole(qualified)
const labelTextPattern = whole(labelText)
const keyPattern = whole(key)
const pathPattern = whole(path)

/** How the server explains a pattern. */
export function patternRemark(rule: string, pattern: string, ...examples: readonly string[]): string {
  const shown = examples.map((example) => `'${example}', `).join(' or ')
  return `${rule} (${shown && `e.g. ${shown}`}regex used for validation is '${pattern}')`
}

const limited = (text: string, limit: number, unit = 'characters'): readonly string[] =>
  Buffer.byteLength(text) > limit ? [`must be no more than ${limit} ${unit}`] : []

export const dnsLabel: FormatCheck = (text) => {
  const long = limited(text, 63)
  if (labelPattern.test(text)) return long
  if (subdomainPattern.test(text)) return [...long, 'must not contain dots']
  const rule =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character"
  return [...long, patternRemark(rule, label, 'my-name', '123-abc')]
}

export const dnsSubdomain: FormatCheck = (text) => {
  const long = limited(text, 253)
  if (subdomainPattern.test(text)) return long
  const rule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character"
  return [...long, patternRemark(rule, subdomain, 'example.com')]
}

/** A DNS name, case-insensitive. */
export const caselessSubdomain: FormatCheck = (text) => {
  const long = limited(text, 253, 'bytes')
  if (subdomainPattern.test(text.toLowerCase())) return long
  const rule =
    "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character"
  return [...long, patternRemark(rule, subdomain, 'Example.com')]
}

export const dns1035Label: FormatCheck = (text) => {
  const long = limited(text, 63)
  if (label1035Pattern.test(text)) return long
  const rule =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character"
  return [...long, patternRemark(rule, label1035, 'my-name', 'abc-123')]
}

export const wildcardSubdomain: FormatCheck = (text) => {
  const long = limited(text, 253)
  if (wildcardPattern.test(text)) return long
  const rule =
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character"
  return [...long, patternRemark(rule, wildcard, '*.example.com')]
}

/** Label keys, finalizers, names of resources. */
export const qualifiedNameProblems: FormatCheck = (text) => {
  const parts = text.split('/')
  const remark = patternRemark(qualifiedRule, qualified, 'MyName', 'my.name', '123-abc')
  if (parts.length > 2) {
    return [`a valid label key ${remark} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`]
  }
  const own = parts.at(-1)!
  const prefix = parts.length === 2 ? parts[0] : undefined
  return [
    ...(prefix === undefined ? [] : prefixRemarks(prefix)),
    ...(own === '' ? ['name part must be non-empty'] : limited(own, 63, 'bytes').map((said) => `name part ${said}`)),
    ...(qualifiedPattern.test(own) ? [] : [`name part ${remark}`]),
  ]
}

function prefixRemarks(prefix: string): readonly string[] {
  if (prefix === '') return ['prefix part must be non-empty']
  const long = limited(prefix, 253, 'bytes')
  const wrong = dnsSubdomain(prefix).find((said) => !said.startsWith('must be no more'))
  return [...long, ...(wrong === undefined ? [] : [wrong])].map((said) => `prefix part ${said}`)
}

export const labelValue: FormatCheck = (text) => {
  const long = limited(text, 63, 'bytes')
  if (labelTextPattern.test(text)) return long
  const rule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
  return [...long, patternRemark(rule, labelText, 'MyValue', 'my_value', '12345')]
}

/** A valid URL path segment: roles, and all other kinds without a name format. */
export const pathSegment: FormatCheck = (text) => {
  if (text === '.' || text === '..') return [`may not be '${text}'`]
  return ['/', '%'].filter((character) => text.includes(character)).map((found) => `may not contain '${found}'`)
}

/** Keys of ConfigMaps and Secrets. */
export const configKey: FormatCheck = (text) => [
  ...limited(text, 253),
  ...(keyPattern.test(text)
    ? []
    : [
        patternRemark(
          "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
          key,
          'key.name',
          'KEY_NAME',
          'key-name',
        ),
      ]),
  ...(text === '.' || text === '..' ? [`must not be '${text}'`] : []),
  ...(text.length > 2 && text.startsWith('..') ? ["must not start with '..'"] : []),
]

/** Port names, as defined by IANA. */
export const portName: FormatCheck = (text) => [
  ...limited(text, 15),
  ...(/^[-a-z0-9]+$/.test(text) ? [] : ['must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)']),
  ...(/[a-z]/.test(text) ? [] : ['must contain at least one letter (a-z)']),
  ...(text.includes('--') ? ['must not contain consecutive hyphens'] : []),
  ...(text.startsWith('-') || text.endsWith('-') ? ['must not begin or end with a hyphen'] : []),
]

/** The path of a URL. */
export const isUrlPath = (text: string): boolean => pathPattern.test(text)
export const urlPathPattern: string = path
