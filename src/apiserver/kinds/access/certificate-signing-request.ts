/**
 * CertificateSigningRequests. The server sets the requester's identity from the authenticated user; and the spec is
 * immutable, so that an approval applies to what the approver has seen.
 */
import { equalJson, type Json } from '../../../kube/json.ts'
import type { UntypedObject } from '../../../kube/object.ts'
import { pemBlocks } from '../../../kube/text/pem.ts'
import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
} from '../../../kube/types/certificates/v1.ts'
import { draftOf, finished, ensurePart } from '../strategy/draft.ts'
import type { KindRules } from '../strategy/kind-rules.ts'

import {
  duplicate,
  forbiddenField,
  invalidField,
  type Problems,
  requiredField,
  unsupported,
} from '../../../kube/validation/field-error.ts'
import type { SentObject } from '../strategy/sent.ts'
import { checkSignerName } from '../values/signer-name.ts'
import { structForm } from '../../codec/struct-form.ts'
import { repeatedValues } from '../../../kube/validation/repetition.ts'

const usages = [
  'any',
  'cert sign',
  'client auth',
  'code signing',
  'content commitment',
  'crl sign',
  'data encipherment',
  'decipher only',
  'digital signature',
  'email protection',
  'encipher only',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'key agreement',
  'key encipherment',
  'microsoft sgc',
  'netscape sgc',
  'ocsp signing',
  's/mime',
  'server auth',
  'signing',
  'timestamping',
]
const shortest = 600

function* checkSpec(object: UntypedObject): Iterable<Problems[number]> {
  const spec = (object as unknown as SentObject<CertificateSigningRequest>).spec ?? {}
  const { request = '', usages: own = [], signerName = '', expirationSeconds: seconds } = spec
  const [block] = pemBlocks(Buffer.from(request, 'base64').toString())
  if (block?.type !== 'CERTIFICATE REQUEST') {
    yield invalidField('spec.request', spec.request ?? null, 'PEM block type must be CERTIFICATE REQUEST')
  }
  if (own.length === 0) yield requiredField('spec.usages')
  for (const [index, usage] of own.entries()) {
    if (!usages.includes(usage)) yield unsupported(`spec.usages[${index}]`, usage, usages)
  }
  for (const index of repeatedValues(own)) yield duplicate(`spec.usages[${index}]`, own[index]!)
  yield* checkSigner(signerName, 'spec.signerName')
  if (seconds !== undefined && seconds < shortest) {
    yield invalidField(
      'spec.expirationSeconds',
      seconds,
      'may not specify a duration less than 600 seconds (10 minutes)',
    )
  }
}

function* checkSigner(name: string, field: string): Iterable<Problems[number]> {
  if (name === 'kubernetes.io/legacy-unknown')
    yield invalidField(field, name, 'the legacy signerName is not allowed via this API version')
  else yield* checkSignerName(name, field)
}

const conditionsOf = (object: UntypedObject): readonly SentObject<CertificateSigningRequestCondition>[] =>
  (object as unknown as SentObject<CertificateSigningRequest>).status?.conditions ?? []

const field = 'status.conditions'
const final = ['Approved', 'Denied', 'Failed']

function* checkConditions(
  conditions: readonly SentObject<CertificateSigningRequestCondition>[],
): Iterable<Problems[number]> {
  const types = conditions.map(({ type }) => type)
  const repeated = repeatedValues(types)
  for (const [index, { type = '', status }] of conditions.entries()) {
    const allowed = final.includes(type) ? ['True'] : ['False', 'True', 'Unknown']
    if (!type) yield requiredField(`${field}[${index}].type`)
    if (!status) yield requiredField(`${field}[${index}].status`)
    else if (!allowed.includes(status)) yield unsupported(`${field}[${index}].status`, status, allowed)
    if (repeated.has(index)) yield duplicate(`${field}[${index}].type`, type)
  }
  if (types.includes('Approved') && types.includes('Denied')) {
    const [yes, no] = ['conditions[{"type": "Approved"}]', 'conditions[{"type": "Denied"}]']
    yield invalidField(field, `{${yes}, ${no}}`, `must specify at most one of: \`${yes}\`, \`${no}\``)
  }
}

/** Conditions with their timestamps set. */
function withTimes(object: UntypedObject, live: UntypedObject, now: string): UntypedObject {
  const before = conditionsOf(live)
  const conditions = conditionsOf(object).map((condition) => withTime(condition, before, now))
  if (conditions.length === 0) return object
  return { ...object, status: { ...(object['status'] as object), conditions } }
}

function withTime(
  condition: SentObject<CertificateSigningRequestCondition>,
  before: readonly SentObject<CertificateSigningRequestCondition>[],
  now: string,
): SentObject<CertificateSigningRequestCondition> {
  const { type, status, lastUpdateTime, lastTransitionTime } = condition
  const known = before.find((one) => one.type === type && one.status === status)
  return {
    ...condition,
    lastUpdateTime: lastUpdateTime ?? now,
    lastTransitionTime: lastTransitionTime ?? known?.lastTransitionTime ?? now,
  }
}

/** A status update cannot approve or deny: those conditions keep their live values. */
function withDecisions(object: UntypedObject, live: UntypedObject): UntypedObject {
  const countOf = (one: UntypedObject, conditionType: string): number =>
    conditionsOf(one).filter(({ type }) => type === conditionType).length
  const decisions = new Set(['Approved', 'Denied'].filter((type) => countOf(object, type) === countOf(live, type)))
  const before = conditionsOf(live)
  const conditions = conditionsOf(object).map((condition) =>
    decisions.has(condition.type ?? '') ? before.find(({ type }) => type === condition.type)! : condition,
  )
  if (conditions.length === 0) return object
  return { ...object, status: { ...(object['status'] as object), conditions } }
}

const certificateOf = (object: UntypedObject): string =>
  (object as unknown as SentObject<CertificateSigningRequest>).status?.certificate ?? ''

/** Why these bytes are not a certificate chain. */
function certificateProblem(certificate: string): string | undefined {
  if (certificate === '') return undefined
  const types = Array.from(pemBlocks(Buffer.from(certificate, 'base64').toString()), ({ type }) => type)
  const other = types.find((type) => type !== 'CERTIFICATE')
  if (other !== undefined) return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(other)}`
  return types.length === 0 ? 'must contain at least one CERTIFICATE PEM block' : undefined
}

/** A certificate is issued once, and only through `/status`. */
function* checkCertificate(object: UntypedObject, live: UntypedObject, maySign: boolean): Iterable<Problems[number]> {
  const [now, before] = [certificateOf(object), certificateOf(live)]
  if (now === before) return
  const certificate = 'status.certificate'
  const why = certificateProblem(before) === undefined ? certificateProblem(now) : undefined
  if (why !== undefined) yield invalidField(certificate, '<certificate data>', why)
  if (!maySign) yield forbiddenField(certificate, 'updates may not set certificate content')
  else if (before !== '') yield forbiddenField(certificate, 'updates may not modify existing certificate content')
}

/** Approval and denial are permanent; and only `/approval` sets them. */
function* checkDecisions(object: UntypedObject, live: UntypedObject, mayDecide: boolean): Iterable<Problems[number]> {
  const of = (source: UntypedObject, type: string): readonly Json[] =>
    conditionsOf(source).filter((condition) => condition.type === type)
  for (const type of final) {
    const now = of(object, type)
    const before = of(live, type)
    if (now.length < before.length) yield forbiddenField(field, `updates may not remove a condition of type "${type}"`)
  }
  for (const type of mayDecide ? [] : ['Approved', 'Denied']) {
    const now = of(object, type)
    const before = of(live, type)
    if (now.length > before.length) yield forbiddenField(field, `updates may not add a condition of type "${type}"`)
    else if (now.length === before.length && !equalJson(now, before)) {
      yield forbiddenField(field, `updates may not modify a condition of type "${type}"\n`)
    }
  }
}

export const certificateSigningRequestRules: KindRules = {
  defaults: structForm,
  prepareCreate(object, { user }) {
    const draft = draftOf(object)
    const spec = ensurePart(draft, 'spec')
    for (const member of ['username', 'uid', 'groups', 'extra']) delete spec[member]
    spec['username'] = user.username
    if (user.uid) spec['uid'] = user.uid
    if (user.groups.length > 0) spec['groups'] = user.groups
    if (user.extra && user.extra.size > 0) spec['extra'] = Object.fromEntries(user.extra)
    draft['status'] = {}
    return finished(draft)
  },
  prepareUpdate: (object, live) => ({ ...object, spec: live['spec'] }),
  prepareStatus: (object, live, { now }) => withTimes(withDecisions(object, live), live, now),
  validateCreate: (object) => [...checkSpec(object)],
  validateUpdate: (object, live) => checkChange(object, live, {}),
  validateStatus: (object, live) => checkChange(object, live, { maySign: true }),
  subresources: {
    approval: {
      prepare: (object, live, { now }) => withTimes(object, live, now),
      validate: (object, live) => checkChange(object, live, { mayDecide: true }),
    },
  },
}

function checkChange(
  object: UntypedObject,
  live: UntypedObject,
  { maySign = false, mayDecide = false }: { readonly maySign?: boolean; readonly mayDecide?: boolean },
): Problems {
  return [
    ...checkSpec(object),
    ...checkConditions(conditionsOf(object)),
    ...checkDecisions(object, live, mayDecide),
    ...checkCertificate(object, live, maySign),
  ]
}
