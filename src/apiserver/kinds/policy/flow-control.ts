/**
 * FlowSchemas and PriorityLevelConfigurations: priority and fairness of requests. They are stored here, but not
 * enforced.
 */
import type { UntypedObject } from '../../../kube/object.ts'
import type {
  FlowSchema,
  LimitResponse,
  PolicyRulesWithSubjects,
  PriorityLevelConfiguration,
  QueuingConfiguration,
  ResourcePolicyRule,
  Subject,
} from '../../../kube/types/flowcontrol/v1.ts'
import { structForm } from '../../codec/struct-form.ts'
import { draftOf, fillAbsent, fillZeros, finished, ensurePart, part } from '../strategy/draft.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { dnsLabel, dnsSubdomain } from '../../../kube/validation/name-validation.ts'
import {
  eachInvalid,
  forbiddenField,
  invalidField,
  type Problems,
  requiredField,
  unsupported,
} from '../../../kube/validation/field-error.ts'
import type { SentObject } from '../strategy/sent.ts'

const lastPrecedence = 10_000
const distinguishers = ['ByNamespace', 'ByUser']

function* checkSchema(object: UntypedObject): Iterable<Problems[number]> {
  const { spec, metadata } = object as unknown as SentObject<FlowSchema>
  const { matchingPrecedence: precedence = 0, priorityLevelConfiguration: level, rules = [] } = spec ?? {}
  const field = 'spec.matchingPrecedence'
  if (precedence <= 0) yield invalidField(field, precedence, 'must be a positive value')
  if (precedence > lastPrecedence) yield invalidField(field, precedence, `must not be greater than ${lastPrecedence}`)
  if (precedence === 1 && metadata?.name !== 'exempt') {
    yield invalidField(field, precedence, "only the schema named 'exempt' may have matchingPrecedence 1")
  }
  const method = spec?.distinguisherMethod
  if (method && !distinguishers.includes(method.type ?? '')) {
    yield unsupported('spec.distinguisherMethod.type', { Type: method.type ?? '' }, distinguishers)
  }
  const name = level?.name ?? ''
  if (name === '') yield requiredField('spec.priorityLevelConfiguration.name', 'must reference a priority level')
  else yield* eachInvalid('spec.priorityLevelConfiguration.name', name, dnsSubdomain(name))
  for (const [index, rule] of rules.entries()) yield* checkRule(rule, `spec.rules[${index}]`)
}

function* checkRule(rule: SentObject<PolicyRulesWithSubjects>, at: string): Iterable<Problems[number]> {
  const { subjects = [], resourceRules = [], nonResourceRules = [] } = rule
  if (subjects.length === 0) yield requiredField(`${at}.subjects`, 'subjects must contain at least one value')
  for (const [index, subject] of subjects.entries()) yield* checkSubject(subject, `${at}.subjects[${index}]`)
  if (resourceRules.length + nonResourceRules.length === 0) {
    yield requiredField(at, 'at least one of resourceRules and nonResourceRules has to be non-empty')
  }
  for (const [index, own] of resourceRules.entries()) yield* checkResourceRule(own, `${at}.resourceRules[${index}]`)
  for (const [index, { verbs = [], nonResourceURLs: urls = [] }] of nonResourceRules.entries()) {
    const place = `${at}.nonResourceRules[${index}]`
    yield* checkWild(verbs, `${place}.verbs`, 'verbs must contain at least one value', 'verbs')
    yield* checkWild(
      urls,
      `${place}.nonResourceURLs`,
      'nonResourceURLs must contain at least one value',
      'non-resource URLs',
    )
  }
}

function* checkWild(
  items: readonly string[],
  field: string,
  missing: string,
  what: string,
): Iterable<Problems[number]> {
  if (items.length === 0) yield requiredField(field, missing)
  else if (items.length > 1 && items.includes('*')) {
    yield invalidField(field, items, `if '*' is present, must not specify other ${what}`)
  }
}

function* checkResourceRule(rule: SentObject<ResourcePolicyRule>, at: string): Iterable<Problems[number]> {
  const { verbs = [], apiGroups = [], resources = [], namespaces = [], clusterScope = false } = rule
  yield* checkWild(verbs, `${at}.verbs`, 'verbs must contain at least one value', 'verbs')
  yield* checkWild(apiGroups, `${at}.apiGroups`, 'resource rules must supply at least one api group', 'api groups')
  yield* checkWild(resources, `${at}.resources`, 'resource rules must supply at least one resource', 'resources')
  if (namespaces.length === 0 && !clusterScope) {
    const why = 'resource rules that are not cluster scoped must supply at least one namespace'
    yield requiredField(`${at}.namespaces`, why)
  } else if (namespaces.includes('*')) {
    yield* checkWild(namespaces, `${at}.namespaces`, '', 'namespaces')
  } else {
    const lead = "each member of this list must be '*' or a DNS-1123 label; "
    for (const [index, name] of namespaces.entries()) {
      for (const remark of dnsLabel(name)) yield invalidField(`${at}.namespaces[${index}]`, name, lead + remark)
    }
  }
}

/** By kind of subject, its member. */
const subjectMembers = { ServiceAccount: 'serviceAccount', User: 'user', Group: 'group' } as const

function* checkSubject(subject: SentObject<Subject>, at: string): Iterable<Problems[number]> {
  const { kind = '' } = subject
  if (!Object.hasOwn(subjectMembers, kind)) {
    yield unsupported(`${at}.kind`, kind, Object.keys(subjectMembers).toSorted())
    return
  }
  const member = subjectMembers[kind as keyof typeof subjectMembers]
  const own = subject[member]
  if (!own) yield requiredField(`${at}.${member}`, `${member} is required when subject kind is '${kind}'`)
  else {
    if (!own.name) yield requiredField(`${at}.${member}.name`)
    else if (member === 'serviceAccount' && own.name !== '*') {
      yield* eachInvalid(`${at}.${member}.name`, own.name, dnsSubdomain(own.name))
    }
    if (member === 'serviceAccount' && !subject.serviceAccount?.namespace) {
      yield requiredField(`${at}.${member}.namespace`, 'must specify namespace for service account')
    }
  }
  for (const [other, name] of Object.entries(subjectMembers)) {
    if (other === kind || subject[name] === undefined) continue
    yield forbiddenField(`${at}.${name}`, `${name} is forbidden when subject kind is not '${other}'`)
  }
}

export const flowSchemaRules: KindRules = {
  defaults(object) {
    const draft = draftOf(object)
    fillZeros(ensurePart(draft, 'spec'), { matchingPrecedence: 1000 })
    return finished(draft)
  },
  prepareCreate: structForm,
  validateCreate: (object) => [...checkSchema(object)],
  validateUpdate: (object) => [...checkSchema(object)],
}

function* checkLevel(object: UntypedObject): Iterable<Problems[number]> {
  const { spec, metadata } = object as unknown as SentObject<PriorityLevelConfiguration>
  const { type = '', limited, exempt } = spec ?? {}
  if ((metadata?.name === 'exempt') !== (type === 'Exempt')) {
    yield invalidField('spec.type', type, "must be 'Exempt' if and only if `name` is 'exempt'")
  }
  const share = limited?.lendablePercent ?? 0
  if (limited && type === 'Limited') {
    if ((limited.nominalConcurrencyShares ?? 0) < 0) {
      const why = 'must be a non-negative integer'
      yield invalidField('spec.limited.nominalConcurrencyShares', limited.nominalConcurrencyShares, why)
    }
    if (share < 0 || share > 100) {
      yield invalidField('spec.limited.lendablePercent', share, 'must be between 0 and 100, inclusive')
    }
  }
  if (type !== '' && type !== 'Exempt' && type !== 'Limited')
    yield unsupported('spec.type', type, ['Exempt', 'Limited'])
  if (type !== 'Limited' && limited) yield forbiddenField('spec.limited', '')
  if (type === 'Limited' && exempt) yield forbiddenField('spec.exempt', '')
  if (type === 'Limited' && !limited) yield requiredField('spec.limited')
  if (type === '') yield requiredField('spec.type')
  if (limited) yield* checkResponse(limited.limitResponse, 'spec.limited.limitResponse', type === 'Limited')
}

const maxQueues = 10_000_000
const maxEntropy = 60

function* checkResponse(
  response: SentObject<LimitResponse> | undefined,
  at: string,
  isLimited: boolean,
): Iterable<Problems[number]> {
  const { type = '', queuing } = response ?? {}
  if (type === '') yield requiredField(`${at}.type`)
  else if (isLimited && type !== 'Queue' && type !== 'Reject') {
    yield unsupported(`${at}.type`, type, ['Queue', 'Reject'])
  }
  if (isLimited && type === 'Queue' && queuing) yield* checkQueues(queuing, `${at}.queuing`)
  if (type === 'Queue' && !queuing) yield requiredField(`${at}.queuing`)
  if (type === 'Reject' && queuing) yield forbiddenField(`${at}.queuing`, '')
}

function* checkQueues(
  { queues = 0, handSize: hand = 0, queueLengthLimit: limit = 0 }: SentObject<QueuingConfiguration>,
  at: string,
): Iterable<Problems[number]> {
  if (limit <= 0) yield invalidField(`${at}.queueLengthLimit`, limit, 'must be positive')
  if (queues <= 0) yield invalidField(`${at}.queues`, queues, 'must be positive')
  else if (queues > maxQueues) yield invalidField(`${at}.queues`, queues, `must not be greater than ${maxQueues}`)
  const field = `${at}.handSize`
  if (hand <= 0) yield invalidField(field, hand, 'must be positive')
  else if (hand > queues) yield invalidField(field, hand, `should not be greater than queues (${queues})`)
  else if (Math.ceil(Math.log2(queues) * hand) > maxEntropy) {
    const what = `required entropy bits of deckSize ${queues} and handSize ${hand}`
    yield invalidField(field, hand, `${what} should not be greater than ${maxEntropy}`)
  }
}

export const priorityLevelConfigurationRules: KindRules = {
  defaults(object) {
    const draft = draftOf(object)
    const spec = part(draft, 'spec')
    fillAbsent(part(spec, 'exempt'), { nominalConcurrencyShares: 0, lendablePercent: 0 })
    const limited = part(spec, 'limited')
    fillAbsent(limited, { nominalConcurrencyShares: 30, lendablePercent: 0 })
    fillZeros(part(part(limited, 'limitResponse'), 'queuing'), { handSize: 8, queues: 64, queueLengthLimit: 50 })
    return finished(draft)
  },
  prepareCreate: structForm,
  validateCreate: (object) => [...checkLevel(object)],
  validateUpdate: (object) => [...checkLevel(object)],
}
