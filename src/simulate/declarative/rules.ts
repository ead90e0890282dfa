/**
 * What is excluded when two outputs are compared: ignored mutations and masked fields. Both sides pass the same rules,
 * so an expected output may hold an old random value.
 *
 *     ignore:
 *     - resource: leases                        all writes of these
 *     - {resource: certificatesigningrequests, fields: [spec.request]}
 *     masks:
 *     - fields: ['status.conditions[*].lastTransitionTime']
 *     - pattern: 'token-[a-z0-9]{5}'            anywhere in a text
 */
import { simulateErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { isJsonObject, type Json } from '../../kube/json.ts'
import type { ReadMutation } from '../../contract/directory/output-reader.ts'

interface RuleMask {
  /** `deployments`, `deployments.apps`; absent: every resource. */
  readonly resource?: string
  readonly namespace?: string
  readonly name?: string
  /** Paths: members with dots, keys in ["…"], all items of a list as [*]. */
  readonly fields?: readonly string[]
  readonly pattern?: string
}

export interface Rules {
  /** Events are ignored as upstream, unless a test asks for them. */
  readonly ignore: readonly RuleMask[]
  readonly masks: readonly RuleMask[]
}

const noRules: Rules = { ignore: [{ resource: 'events' }, { resource: 'events.events.k8s.io' }], masks: [] }

const ruleKeys = ['resource', 'namespace', 'name', 'fields', 'pattern']

/** @throws InvalidTest */
export function readRules(ignore: readonly Json[], masks: readonly Json[]): Rules {
  return {
    ignore: [...noRules.ignore, ...ignore.map((rule) => readRule(rule, 'ignore'))],
    masks: masks.map((rule) => {
      const mask = readRule(rule, 'masks')
      if (!mask.fields && mask.pattern === undefined) throw invalid('a mask needs fields or a pattern')
      return mask
    }),
  }
}

function readRule(rule: Json, place: string): RuleMask {
  if (!isJsonObject(rule)) throw invalid(`${place} holds something that is no mapping`)
  const wrong = Object.keys(rule).find((key) => !ruleKeys.includes(key))
  if (wrong !== undefined) throw invalid(`${place}: there is no key "${wrong}". There are: ${ruleKeys.join(', ')}`)
  const mask = rule as RuleMask
  for (const field of mask.fields ?? []) parsePath(field)
  if (mask.pattern !== undefined) patternOf(mask.pattern)
  return mask
}

/** Whether a mutation is ignored. */
export function isIgnored(read: ReadMutation, { ignore }: Rules): boolean {
  return ignore.some((rule) => rule.fields === undefined && ruleConcerns(rule, read))
}

function ruleConcerns(rule: RuleMask, { mutation: { type, namespace, name } }: ReadMutation): boolean {
  const qualified = type.group === '' ? type.resource : `${type.resource}.${type.group}`
  return (
    (rule.resource === undefined || rule.resource === qualified || rule.resource === type.resource) &&
    (rule.namespace === undefined || rule.namespace === namespace) &&
    (rule.name === undefined || rule.name === name)
  )
}

const maskedByRules = '(masked)'

/** The content to compare. */
export function reduced(read: ReadMutation, { ignore, masks }: Rules): Json | undefined {
  let { content } = read
  for (const rule of ignore) {
    if (content === undefined || !ruleConcerns(rule, read)) continue
    for (const field of rule.fields ?? []) content = atPath(content, parsePath(field), () => undefined)
  }
  for (const rule of masks) {
    if (content === undefined || !ruleConcerns(rule, read)) continue
    for (const field of rule.fields ?? []) content = atPath(content, parsePath(field), () => maskedByRules)
    if (rule.pattern !== undefined) content = inTexts(content, patternOf(rule.pattern))
  }
  return content
}

type Part = string | typeof everyItem

const everyItem = Symbol('[*]')
const partPattern = /\.?([A-Za-z_][\w-]*)|\["((?:[^"\\]|\\.)*)"\]|\[(\*)\]/y

function parsePath(text: string): readonly Part[] {
  const parts: Part[] = []
  partPattern.lastIndex = 0
  while (partPattern.lastIndex < text.length) {
    const found = partPattern.exec(text)
    if (!found) throw invalid(`"${text}" is no path to a field: write members with dots, keys in ["…"], items as [*]`)
    parts.push(found[3] === undefined ? (found[1] ?? found[2]!) : everyItem)
  }
  return parts
}

/** A copy with the value at the path replaced; undefined removes it. */
function atPath(value: Json, [part, ...rest]: readonly Part[], change: (value: Json) => Json | undefined): Json {
  const next = (inner: Json): Json | undefined => (rest.length === 0 ? change(inner) : atPath(inner, rest, change))
  if (part === everyItem) {
    return Array.isArray(value) ? (value as readonly Json[]).flatMap((item) => next(item) ?? []) : value
  }
  if (!isJsonObject(value) || part === undefined || !Object.hasOwn(value, part)) return value
  const { [part]: inner, ...others } = value
  const changed = next(inner ?? null)
  return changed === undefined ? others : { ...others, [part]: changed }
}

function inTexts(value: Json, pattern: RegExp): Json {
  if (typeof value === 'string') return value.replace(pattern, maskedByRules)
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => inTexts(item, pattern))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, inTexts(inner ?? null, pattern)]))
}

function patternOf(text: string): RegExp {
  try {
    return new RegExp(text, 'gu')
  } catch (error) {
    throw new MusterError(simulateErrors.InvalidTest, `"${text}" is no pattern.`, { cause: error })
  }
}

function invalid(problem: string): MusterError {
  return new MusterError(simulateErrors.InvalidTest, `${problem}.`)
}
