/**
 * Dynamic resource allocation: DeviceClass, ResourceClaim, ResourceClaimTemplate, DeviceTaintRule. Only the most common
 * mistakes are validated.
 */
import { equalJson, type Json } from '../../../kube/json.ts'
import type { UntypedObject } from '../../../kube/object.ts'
import type {
  DeviceClass,
  DeviceRequest,
  ResourceClaim,
  ResourceClaimSpec,
  ResourceClaimTemplate,
} from '../../../kube/types/resource/v1.ts'
import { structForm } from '../../codec/struct-form.ts'
import { type Draft, draftOf, fillZeros, finished, part, parts } from '../strategy/draft.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { dnsLabel, dnsSubdomain } from '../../../kube/validation/name-validation.ts'
import {
  duplicate,
  eachInvalid,
  immutableDetail,
  invalidField,
  type Problems,
  requiredField,
} from '../../../kube/validation/field-error.ts'
import type { SentObject } from '../strategy/sent.ts'
import { repetitions } from '../../../kube/validation/repetition.ts'

function defaultClaim(spec: Draft | undefined): void {
  for (const request of parts(part(spec, 'devices'), 'requests')) {
    for (const own of [part(request, 'exactly'), ...parts(request, 'firstAvailable')]) {
      fillZeros(own, { allocationMode: 'ExactCount' })
      if (own?.['allocationMode'] === 'ExactCount') fillZeros(own, { count: 1 })
    }
  }
}

function* checkClaim(spec: SentObject<ResourceClaimSpec> | undefined, at: string): Iterable<Problems[number]> {
  const requests = spec?.devices?.requests ?? []
  const repeated = repetitions(requests, ({ name }) => name)
  for (const [index, request] of requests.entries()) {
    const place = `${at}.devices.requests[${index}]`
    if (!request.name) yield requiredField(`${place}.name`)
    else {
      yield* eachInvalid(`${place}.name`, request.name, dnsLabel(request.name))
      if (repeated.has(index)) yield duplicate(`${place}.name`, request.name)
    }
    yield* checkRequest(request, place)
  }
}

function* checkRequest(
  { exactly, firstAvailable = [] }: SentObject<DeviceRequest>,
  at: string,
): Iterable<Problems[number]> {
  if (!exactly && firstAvailable.length === 0) {
    yield requiredField(at, 'exactly one of `exactly` or `firstAvailable` is required')
  } else if (exactly && firstAvailable.length > 0) {
    yield invalidField(
      at,
      null,
      'exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set',
    )
  }
  if (!exactly) return
  const { deviceClassName: name } = exactly
  if (!name) yield requiredField(`${at}.exactly.deviceClassName`)
  else yield* eachInvalid(`${at}.exactly.deviceClassName`, name, dnsSubdomain(name))
}

function fixedSpec(object: UntypedObject, live: UntypedObject): Problems {
  return equalJson(object['spec'] as Json, live['spec'] as Json) ? [] : [invalidField('spec', null, immutableDetail)]
}

export const resourceClaimRules: KindRules = {
  defaults(object) {
    const draft = draftOf(object)
    defaultClaim(part(draft, 'spec'))
    return finished(draft)
  },
  prepareCreate: structForm,
  validateCreate: (object) => [...checkClaim((object as unknown as SentObject<ResourceClaim>).spec, 'spec')],
  validateUpdate: fixedSpec,
}

export const resourceClaimTemplateRules: KindRules = {
  defaults(object) {
    const draft = draftOf(object)
    defaultClaim(part(part(draft, 'spec'), 'spec'))
    return finished(draft)
  },
  validateCreate: (object) => [
    ...checkClaim((object as unknown as SentObject<ResourceClaimTemplate>).spec?.spec, 'spec.spec'),
  ],
  validateUpdate: fixedSpec,
}

function checkClass(object: UntypedObject): Problems {
  const { selectors = [] } = (object as unknown as SentObject<DeviceClass>).spec ?? {}
  return selectors.flatMap(({ cel }, index) => (cel ? [] : [requiredField(`spec.selectors[${index}].cel`)]))
}

export const deviceClassRules: KindRules = {
  defaults: structForm,
  validateCreate: checkClass,
  validateUpdate: checkClass,
}

export const deviceTaintRuleRules: KindRules = {
  defaults: structForm,
  prepareCreate: (object, { now }) => withTaintTimes(object, now),
  prepareUpdate: (object, _live, { now }) => withTaintTimes(object, now),
}

/** Taints with `timeAdded` set. */
function withTaintTimes(object: UntypedObject, timeAdded: string): UntypedObject {
  const { spec } = object as { readonly spec?: { readonly taint?: { readonly timeAdded?: string } } }
  if (!spec?.taint || spec.taint.timeAdded) return object
  return { ...object, spec: { ...spec, taint: { ...spec.taint, timeAdded } } }
}
