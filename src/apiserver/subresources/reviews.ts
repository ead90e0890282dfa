/**
 * Reviews: kinds that are evaluated, not stored (SelfSubjectReview, SubjectAccessReview and its variants,
 * SelfSubjectRulesReview, TokenReview). The answer is the request object with a status.
 */
import { invalidShown, requiredValue } from '../../kube/validation/cause.ts'
import { updateObject } from '../../kube/apply/apply.ts'
import { formatTime } from '../../kube/units/duration.ts'
import type { JsonObject } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { badRequest, type Cause, invalid, StatusError } from '../errors/status-error.ts'
import type { ClusterState } from '../cluster/state.ts'
import { ownershipOf, type Writing } from '../write/writing.ts'
import type { Attributes, Identity } from '../access/identity.ts'
import { aggregate } from '../access/rbac.ts'

interface AccessSpec {
  readonly resourceAttributes?: Asked | null
  readonly nonResourceAttributes?: { readonly path?: string; readonly verb?: string } | null
  readonly user?: string
  readonly groups?: readonly string[] | null
  readonly uid?: string
  readonly extra?: Readonly<Record<string, readonly string[]>> | null
}

interface Asked {
  readonly namespace?: string
  readonly verb?: string
  readonly group?: string
  readonly version?: string
  readonly resource?: string
  readonly subresource?: string
  readonly name?: string
  readonly fieldSelector?: Selector | null
  readonly labelSelector?: Selector | null
}

interface Selector {
  readonly rawSelector?: string
  readonly requirements?: readonly unknown[] | null
}

const authorizationGroup = 'authorization.k8s.io'

type Answer = (state: ClusterState, writing: Writing, question: UntypedObject) => UntypedObject

const answers: ReadonlyMap<string, Answer> = new Map<string, Answer>([
  ['SelfSubjectReview', reviewSelf],
  ['SelfSubjectRulesReview', reviewRules],
  ['SelfSubjectAccessReview', reviewAccess],
  ['SubjectAccessReview', reviewAccess],
  ['LocalSubjectAccessReview', reviewAccess],
  ['TokenReview', reviewToken],
])

/** Whether objects of this kind are evaluated instead of stored. */
export function isReview(kind: string): boolean {
  return answers.has(kind)
}

/** `question` is the decoded body. */
export function review(state: ClusterState, writing: Writing, question: UntypedObject): UntypedObject {
  return answers.get(question.kind)!(state, writing, question)
}

/** The managedFields of a review, as of any other object. */
function withManager(state: ClusterState, writing: Writing, question: UntypedObject): UntypedObject {
  return updateObject({ ...ownershipOf(state, writing), live: undefined, updated: question })
}

function reviewSelf({ clock }: ClusterState, { user }: Writing, { kind, apiVersion }: UntypedObject): UntypedObject {
  return {
    kind,
    apiVersion,
    metadata: { creationTimestamp: formatTime(clock.now()) },
    status: { userInfo: userInfo(user) },
  }
}

function reviewRules({ access }: ClusterState, { user }: Writing, question: UntypedObject): UntypedObject {
  const { namespace } = (question['spec'] ?? {}) as { readonly namespace?: string }
  if (!namespace) throw badRequest('no namespace on request')
  const { rules, errors } = access.rbac.rulesFor(user, namespace)
  // A rule applies either to resources or to non-resource URLs.
  const resourceRules = rules.filter(({ resources }) => resources?.length)
  const nonResourceRules = rules.filter(({ nonResourceURLs }) => nonResourceURLs?.length)
  const evaluationError = errors.length > 0 ? { evaluationError: aggregate(errors) } : {}
  const { kind, apiVersion } = question
  const status = { resourceRules, nonResourceRules, incomplete: false, ...evaluationError }
  return { kind, apiVersion, metadata: {}, spec: {}, status }
}

function reviewAccess(state: ClusterState, writing: Writing, question: UntypedObject): UntypedObject {
  const spec = (question['spec'] ?? {}) as AccessSpec
  const local = writing.served.namespaced ? { namespace: writing.namespace! } : {}
  const object = withManager(state, writing, { ...question, metadata: { ...question.metadata, ...local } })
  const causes = checkSpec(object, spec)
  if (causes.length > 0) throw invalidReview(causes)
  const identity = question.kind === 'SelfSubjectAccessReview' ? writing.user : identityIn(spec)
  const { allowed, reason } = state.access.rbac.decide(identity, attributesIn(spec))
  return { ...object, status: { allowed, ...(reason !== '' && { reason }) } }
}

/** The real server has lost the kind at this point, so its message names none. */
function invalidReview(causes: readonly Cause[]): StatusError {
  const { message } = invalid({ group: authorizationGroup, kind: '' }, '', causes)
  return new StatusError(422, 'Invalid', message, { group: authorizationGroup, causes })
}

function checkSpec({ kind, metadata }: UntypedObject, spec: AccessSpec): readonly Cause[] {
  const { resourceAttributes: resource, nonResourceAttributes: path, user, groups } = spec
  const { managedFields: _managed, namespace, ...rest } = metadata
  const isLocal = kind === 'LocalSubjectAccessReview'
  const causes: Cause[] = []
  if (Boolean(resource) === Boolean(path)) {
    const detail = 'exactly one of nonResourceAttributes or resourceAttributes must be specified'
    causes.push(invalidShown('spec', shownPath(path), detail))
  }
  if (kind !== 'SelfSubjectAccessReview' && !user && !groups?.length) {
    causes.push(invalidShown('spec.user', '""', 'at least one of user or group must be specified'))
  }
  for (const name of ['fieldSelector', 'labelSelector'] as const) {
    if (!resource?.[name]) continue
    for (const cause of checkSelector(resource[name], `spec.resourceAttributes.${name}`)) causes.push(cause)
  }
  if (Object.keys(rest).length > 0 || (!isLocal && namespace !== undefined)) {
    const detail = isLocal ? 'must be empty except for namespace' : 'must be empty'
    causes.push(invalidShown('metadata', JSON.stringify(metadata), detail))
  }
  if (isLocal && resource && (resource.namespace ?? '') !== namespace) {
    const value = JSON.stringify(resource.namespace ?? '')
    causes.push(invalidShown('spec.resourceAttributes.namespace', value, 'must match metadata.namespace'))
  }
  if (isLocal && path) {
    causes.push(invalidShown('spec.nonResourceAttributes', shownPath(path), 'disallowed on this kind of request'))
  }
  return causes
}

/** Non-resource attributes as the real server prints its struct. */
function shownPath(attributes: AccessSpec['nonResourceAttributes']): string {
  return attributes ? JSON.stringify({ Path: attributes.path ?? '', Verb: attributes.verb ?? '' }) : 'null'
}

function checkSelector({ rawSelector, requirements }: Selector, field: string): readonly Cause[] {
  if (rawSelector && requirements?.length) {
    const detail = 'may not specified at the same time as requirements'
    return [invalidShown(`${field}.rawSelector`, JSON.stringify(rawSelector), detail)]
  }
  if (rawSelector || requirements?.length) return []
  return [requiredValue(`${field}.requirements`, `when ${field} is specified, requirements or rawSelector is required`)]
}

function identityIn({ user = '', groups, uid, extra }: AccessSpec): Identity {
  return {
    username: user,
    ...(uid !== undefined && { uid }),
    groups: groups ?? [],
    extra: new Map(Object.entries(extra ?? {})),
  }
}

function attributesIn({ resourceAttributes, nonResourceAttributes }: AccessSpec): Attributes {
  if (!resourceAttributes) return { verb: nonResourceAttributes?.verb ?? '', path: nonResourceAttributes?.path ?? '' }
  const { verb = '', group = '', version = '*', resource = '', subresource, namespace, name } = resourceAttributes
  return { verb, group, version, resource, subresource, namespace, name }
}

function reviewToken(state: ClusterState, writing: Writing, question: UntypedObject): UntypedObject {
  const { token, audiences } = (question['spec'] ?? {}) as {
    readonly token?: string
    readonly audiences?: readonly string[] | null
  }
  if (!token) throw badRequest('token is required for TokenReview in authentication')
  const object = withManager(state, writing, question)
  const holder = state.access.reviewToken(token, audiences ?? [])
  if ('error' in holder) return { ...object, status: { user: {}, error: holder.error } }
  const status = { authenticated: true, user: userInfo(holder.identity), audiences: holder.audiences }
  return { ...object, status }
}

function userInfo({ username, uid, groups, extra }: Identity): JsonObject {
  return {
    username,
    ...(uid !== undefined && uid !== '' && { uid }),
    ...(groups.length > 0 && { groups }),
    ...(extra.size > 0 && { extra: Object.fromEntries(extra) }),
  }
}
