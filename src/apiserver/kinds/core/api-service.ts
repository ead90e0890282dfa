/** APIServices: which server serves a version of a group. */
import type { UntypedObject } from '../../../kube/object.ts'
import type { APIService } from '../../../kube/types/apiregistration/v1.ts'
import { draftOf, fillAbsent, finished, ensurePart, part } from '../strategy/draft.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { dns1035Label, dnsSubdomain } from '../../../kube/validation/name-validation.ts'
import { eachInvalid, invalidField, type Problems, requiredField } from '../../../kube/validation/field-error.ts'
import { checkServicePort } from '../values/webhook-client.ts'

function prepare(object: UntypedObject): UntypedObject {
  const draft = draftOf(object)
  ensurePart(draft, 'status')
  return finished(draft)
}

function* check(object: UntypedObject): Iterable<Problems[number]> {
  const { spec, metadata } = object as unknown as APIService
  const { group = '', version = '', service, caBundle = '', insecureSkipTLSVerify: isTrusting = false } = spec ?? {}
  const { groupPriorityMinimum: groupPriority = 0, versionPriority = 0 } = spec ?? {}
  const expected = `${version}.${group}`
  const why = `must be \`spec.version+"."+spec.group\`: "${expected}"`
  const { name, generateName } = metadata ?? {}
  if (generateName && generateName !== expected) yield invalidField('metadata.generateName', generateName, why)
  if (name && name !== expected) yield invalidField('metadata.name', name, why)
  if (group === '' && version !== 'v1') {
    yield requiredField('spec.group', 'only v1 may have an empty group and it better be legacy kube')
  }
  if (group !== '') yield* eachInvalid('spec.group', group, dnsSubdomain(group))
  yield* eachInvalid('spec.version', version, dns1035Label(version))
  if (groupPriority <= 0 || groupPriority > 20_000) {
    yield invalidField('spec.groupPriorityMinimum', groupPriority, 'must be positive and less than 20000')
  }
  if (versionPriority <= 0 || versionPriority > 1000) {
    yield invalidField('spec.versionPriority', versionPriority, 'must be positive and less than 1000')
  }
  const trusting = 'spec.insecureSkipTLSVerify'
  if (service) {
    if (!service.namespace) yield requiredField('spec.service.namespace')
    if (!service.name) yield requiredField('spec.service.name')
    yield* checkServicePort(service.port, 'spec.service.port')
    if (isTrusting && caBundle !== '')
      yield invalidField(trusting, isTrusting, 'may not be true if caBundle is present')
    return
  }
  if (caBundle !== '') {
    const length = `${Buffer.byteLength(caBundle, 'base64')} bytes`
    yield invalidField('spec.caBundle', length, 'local APIServices may not have a caBundle')
  }
  if (isTrusting) yield invalidField(trusting, isTrusting, 'local APIServices may not have insecureSkipTLSVerify')
}

export const apiServiceRules: KindRules = {
  defaults(object) {
    const draft = draftOf(object)
    fillAbsent(part(part(draft, 'spec'), 'service'), { port: 443 })
    return finished(draft)
  },
  prepareCreate: prepare,
  validateCreate: (object) => [...check(object)],
  validateUpdate: (object) => [...check(object)],
}
