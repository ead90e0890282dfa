/** ValidatingWebhookConfigurations and MutatingWebhookConfigurations: defaults and validation. */
import type { UntypedObject } from '../../kube/object.ts'
import type { MutatingWebhook, MutatingWebhookConfiguration } from '../../kube/types/admissionregistration/v1.ts'
import {
  checkConditions,
  checkRule,
  defaultRules,
  failurePolicies,
  matchPolicies,
  reinvocationPolicies,
} from './admission-rule.ts'
import { draftOf, fillAbsent, finished, part, parts } from '../kinds/strategy/draft.ts'
import type { KindRules } from '../kinds/strategy/kind-rules.ts'
import { checkLabelSelector } from '../kinds/values/label-selector.ts'
import { dns1035Label, dnsSubdomain } from '../../kube/validation/name-validation.ts'
import {
  duplicate,
  eachInvalid,
  invalidField,
  type Problems,
  requiredField,
  unsupported,
} from '../../kube/validation/field-error.ts'
import type { SentObject } from '../kinds/strategy/sent.ts'
import { checkWebhookService, checkWebhookUrl } from '../kinds/values/webhook-client.ts'
import { repeatedValues, repetitions } from '../../kube/validation/repetition.ts'

const hooksOf = (object: UntypedObject): readonly SentObject<MutatingWebhook>[] =>
  (object as unknown as SentObject<MutatingWebhookConfiguration>).webhooks ?? []

function defaults(object: UntypedObject): UntypedObject {
  const draft = draftOf(object)
  for (const hook of parts(draft, 'webhooks')) {
    fillAbsent(hook, {
      failurePolicy: 'Fail',
      matchPolicy: 'Equivalent',
      namespaceSelector: {},
      objectSelector: {},
      timeoutSeconds: 10,
      ...(object.kind === 'MutatingWebhookConfiguration' && { reinvocationPolicy: 'Never' }),
    })
    fillAbsent(part(part(hook, 'clientConfig'), 'service'), { port: 443 })
    defaultRules(hook, 'rules')
  }
  return finished(draft)
}

const harmless = ['None', 'NoneOnDryRun']
const anyEffects = ['None', 'NoneOnDryRun', 'Some', 'Unknown']
const reviewVersions = ['v1', 'v1beta1']

/** Validation rules that are newer than a stored configuration do not apply to its updates (ratcheting). */
interface Leniency {
  readonly effects: boolean
  readonly versions: boolean
  readonly names: boolean
}

function* check(object: UntypedObject, lenient: Leniency): Iterable<Problems[number]> {
  const hooks = hooksOf(object)
  const repeated = repetitions(hooks, ({ name }) => name)
  for (const [index, hook] of hooks.entries()) {
    const at = `webhooks[${index}]`
    yield* checkHook(hook, at, lenient)
    yield* checkVersions(hook.admissionReviewVersions ?? [], `${at}.admissionReviewVersions`, lenient)
    const isRepeated = hook.name && repeated.has(index)
    if (isRepeated && !lenient.names) yield duplicate(`${at}.name`, hook.name)
  }
}

function* checkHook(hook: SentObject<MutatingWebhook>, at: string, lenient: Leniency): Iterable<Problems[number]> {
  const { failurePolicy, matchPolicy, sideEffects, timeoutSeconds: timeout, reinvocationPolicy } = hook
  yield* checkName(hook.name, `${at}.name`)
  for (const [index, rule] of (hook.rules ?? []).entries()) yield* checkRule(rule, `${at}.rules[${index}]`)
  if (failurePolicy !== undefined && !failurePolicies.includes(failurePolicy)) {
    yield unsupported(`${at}.failurePolicy`, failurePolicy, failurePolicies)
  }
  if (matchPolicy !== undefined && !matchPolicies.includes(matchPolicy)) {
    yield unsupported(`${at}.matchPolicy`, matchPolicy, matchPolicies)
  }
  const effects = lenient.effects ? anyEffects : harmless
  if (sideEffects === undefined) yield requiredField(`${at}.sideEffects`, `must specify one of ${effects.join(', ')}`)
  else if (!effects.includes(sideEffects)) yield unsupported(`${at}.sideEffects`, sideEffects, effects)
  if (timeout !== undefined && (timeout > 30 || timeout < 1)) {
    yield invalidField(`${at}.timeoutSeconds`, timeout, 'the timeout value must be between 1 and 30 seconds')
  }
  yield* checkLabelSelector(hook.namespaceSelector, `${at}.namespaceSelector`)
  yield* checkLabelSelector(hook.objectSelector, `${at}.objectSelector`)
  if (reinvocationPolicy !== undefined && !reinvocationPolicies.includes(reinvocationPolicy)) {
    yield unsupported(`${at}.reinvocationPolicy`, reinvocationPolicy, reinvocationPolicies)
  }
  const { url, service } = hook.clientConfig ?? {}
  if ((url === undefined) === (service === undefined)) {
    yield requiredField(`${at}.clientConfig`, 'exactly one of url or service is required')
  } else if (url !== undefined) yield* checkWebhookUrl(url, `${at}.clientConfig.url`)
  else yield* checkWebhookService(service!, `${at}.clientConfig.service`)
  yield* checkConditions(hook.matchConditions ?? [], `${at}.matchConditions`)
}

function checkName(name: string | undefined, field: string): Problems {
  if (!name) return [requiredField(field)]
  const messages = dnsSubdomain(name)
  if (messages.length > 0) return [invalidField(field, name, messages.join(','))]
  if (name.split('.').length >= 3) return []
  return [invalidField(field, name, 'should be a domain with at least three segments separated by dots')]
}

function* checkVersions(versions: readonly string[], field: string, lenient: Leniency): Iterable<Problems[number]> {
  const one = reviewVersions.join(', ')
  if (versions.length === 0) {
    yield requiredField(field, `must specify one of ${one}`)
    return
  }
  const repeated = repeatedValues(versions)
  for (const [index, version] of versions.entries()) {
    if (repeated.has(index)) yield invalidField(`${field}[${index}]`, version, 'duplicate version')
    else yield* eachInvalid(`${field}[${index}]`, version, dns1035Label(version))
  }
  if (!lenient.versions && !versions.some((version) => reviewVersions.includes(version))) {
    yield invalidField(field, versions, `must include at least one of ${one}`)
  }
}

function leniencyFor(live: UntypedObject): Leniency {
  const hooks = hooksOf(live)
  const isKnown = ({ admissionReviewVersions: versions = [] }: SentObject<MutatingWebhook>): boolean =>
    versions.some((version) => reviewVersions.includes(version))
  return {
    effects: !hooks.every(({ sideEffects = '' }) => harmless.includes(sideEffects)),
    versions: !hooks.every(isKnown),
    names: new Set(hooks.map(({ name }) => name)).size < hooks.length,
  }
}

export const webhookConfigurationRules: KindRules = {
  defaults,
  validateCreate: (object) => [...check(object, { effects: false, versions: false, names: false })],
  validateUpdate: (object, live) => [...check(object, leniencyFor(live))],
}
