/**
 * CertificateSigningRequests. Who asks is not what a client says but who it is; and what was asked for is for good, so
 * that an approval means what was seen.
 */
import { equalJson, type Json } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { CertificateSigningRequest, CertificateSigningRequestCondition } from '../../kube/types/certificates/v1.ts'
import { draftOf, finished, madePart } from './draft.ts'
import type { KindRules } from './kind-rules.ts'
import { dnsSubdomain } from './name-format.ts'
import { duplicate, forbidden, invalid, type Problems, required, unsupported } from './problem.ts'
import type { Sent } from './sent.ts'
import { structForm } from '../struct-form.ts'

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
const requestBlock = /-----BEGIN CERTIFICATE REQUEST-----\s[\s\S]*?-----END CERTIFICATE REQUEST-----/

function* checkSpec(object: UntypedObject): Iterable<Problems[number]> {
  const {
    request = '',
    usages: own = [],
    signerName = '',
    expirationSeconds: seconds,
  } = (object as unknown as Sent<CertificateSigningRequest>).spec ?? {}
  if (!requestBlock.test(Buffer.from(request, 'base64').toString())) {
    yield invalid('spec.request', request, 'PEM block type must be CERTIFICATE REQUEST')
  }
  if (own.length === 0) yield required('spec.usages')
  for (const [index, usage] of own.entries()) {
    if (!usages.includes(usage)) yield unsupported(`spec.usages[${index}]`, usage, usages)
  }
  for (const [index, usage] of own.entries()) {
    if (own.indexOf(usage) < index) yield duplicate(`spec.usages[${index}]`, usage)
  }
  yield* checkSigner(signerName, 'spec.signerName')
  if (seconds !== undefined && seconds < shortest) {
    yield invalid('spec.expirationSeconds', seconds, 'may not specify a duration less than 600 seconds (10 minutes)')
  }
}

function* checkSigner(name: string, field: string): Iterable<Problems[number]> {
  const [domain = '', ...path] = name.split('/')
  if (name === '') yield required(field)
  else if (name === 'kubernetes.io/legacy-unknown') {
    yield invalid(field, name, 'the legacy signerName is not allowed via this API version')
  } else if (path.length !== 1) {
    yield invalid(field, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")
  } else {
    const wrong = dnsSubdomain(domain)
    for (const remark of wrong) yield invalid(field, domain, `validating label "${domain}": ${remark}`)
    if (wrong.length === 0 && !domain.includes('.')) {
      yield invalid(field, domain, 'should be a domain with at least two segments separated by dots')
    }
    for (const remark of dnsSubdomain(path[0]!)) yield invalid(field, path[0], remark)
  }
}

const conditionsOf = (object: UntypedObject): readonly Sent<CertificateSigningRequestCondition>[] =>
  (object as unknown as Sent<CertificateSigningRequest>).status?.conditions ?? []

const field = 'status.conditions'
const final = ['Approved', 'Denied', 'Failed']

function* checkConditions(conditions: readonly Sent<CertificateSigningRequestCondition>[]): Iterable<Problems[number]> {
  const types = conditions.map(({ type }) => type)
  for (const [index, { type = '', status }] of conditions.entries()) {
    const allowed = final.includes(type) ? ['True'] : ['False', 'True', 'Unknown']
    if (!type) yield required(`${field}[${index}].type`)
    if (!status) yield required(`${field}[${index}].status`)
    else if (!allowed.includes(status)) yield unsupported(`${field}[${index}].status`, status, allowed)
    if (types.indexOf(type) < index) yield duplicate(`${field}[${index}].type`, type)
  }
}

/** What was decided is not undone; and only `/approval` decides. */
function* checkDecisions(object: UntypedObject, live: UntypedObject, decides: boolean): Iterable<Problems[number]> {
  const of = (source: UntypedObject, type: string): readonly Json[] =>
    conditionsOf(source).filter((condition) => condition.type === type)
  for (const type of final) {
    const now = of(object, type)
    const before = of(live, type)
    if (now.length < before.length) yield forbidden(field, `updates may not remove a condition of type "${type}"`)
  }
  for (const type of decides ? [] : ['Approved', 'Denied']) {
    const now = of(object, type)
    const before = of(live, type)
    if (now.length > before.length) yield forbidden(field, `updates may not add a condition of type "${type}"`)
    else if (now.length === before.length && !equalJson(now, before)) {
      yield forbidden(field, `updates may not modify a condition of type "${type}"\n`)
    }
  }
}

export const certificateSigningRequestRules: KindRules = {
  defaults: structForm,
  prepareCreate(object, { user }) {
    const draft = draftOf(object)
    const spec = madePart(draft, 'spec')
    for (const member of ['username', 'uid', 'groups', 'extra']) delete spec[member]
    spec['username'] = user.username
    if (user.uid) spec['uid'] = user.uid
    if (user.groups.length > 0) spec['groups'] = user.groups
    if (user.extra && user.extra.size > 0) spec['extra'] = Object.fromEntries(user.extra)
    draft['status'] = {}
    return finished(draft)
  },
  prepareUpdate: (object, live) => ({ ...object, spec: live['spec'] }),
  validateCreate: (object) => [...checkSpec(object)],
  validateUpdate: (object, live) => [
    ...checkSpec(object),
    ...checkConditions(conditionsOf(object)),
    ...checkDecisions(object, live, false),
  ],
  validateStatus: (object, live) => [...checkConditions(conditionsOf(object)), ...checkDecisions(object, live, false)],
}
