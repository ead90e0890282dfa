/**
 * The claims of a service account token, and their validation: the service account must exist with the same uid, and so
 * must the Pod, Secret or Node that the token is bound to. Deleting either invalidates the token at once.
 */
import { isJsonArray } from '../../kube/json-member.ts'
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import type { Storage, StoredObject } from '../storage/storage.ts'
import { type Identity, serviceAccountGroups, serviceAccountUser, wellKnown } from './identity.ts'
import { quoteAll } from './policy-rule.ts'

/** The object that a token is bound to. */
export interface Bound {
  readonly name: string
  /** Missing if the Pod's node is not registered. */
  readonly uid?: string | undefined
}

export interface TokenSubject {
  readonly namespace: string
  readonly serviceaccount: Bound
  readonly pod?: Bound | undefined
  readonly secret?: Bound | undefined
  readonly node?: Bound | undefined
}

interface TokenTerms {
  readonly audiences: readonly string[]
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly expiresIn: number
  /** Seconds after which the use of an extended token is reported. */
  readonly warnAfter?: number | undefined
  readonly id: string
}

/** Tolerated clock skew. */
const leewaySeconds = 60

export function claimsOf(subject: TokenSubject, { audiences, now, expiresIn, warnAfter, id }: TokenTerms): JsonObject {
  const seconds = Math.floor(now / 1000)
  const { namespace, serviceaccount, pod, secret, node } = subject
  const ref = ({ name, uid }: Bound): JsonObject => ({ name, ...(uid !== undefined && { uid }) })
  return {
    aud: audiences,
    exp: seconds + expiresIn,
    iat: seconds,
    jti: id,
    'kubernetes.io': {
      namespace,
      ...(node && { node: ref(node) }),
      ...(pod && { pod: ref(pod) }),
      ...(secret && { secret: ref(secret) }),
      serviceaccount: ref(serviceaccount),
      ...(warnAfter !== undefined && { warnafter: seconds + warnAfter }),
    },
    nbf: seconds,
    sub: serviceAccountUser(namespace, serviceaccount.name),
  }
}

/** The user of a token, or why it is invalid. */
export type TokenHolder =
  | { readonly identity: Identity; readonly audiences: readonly string[] }
  | { readonly error: string }

/** Validates the claims of a token with a valid signature; it must be for one of the `wanted` audiences. */
export function holderOf(claims: JsonObject, wanted: readonly string[], storage: Storage, now: number): TokenHolder {
  const named = claims['aud']
  const audiences = typeof named === 'string' ? [named] : isJsonArray(named) ? named.filter(isText) : []
  const shared = audiences.filter((one) => wanted.includes(one))
  if (shared.length === 0) {
    return { error: `token audiences ${quoteAll(audiences)} is invalid for the target audiences ${quoteAll(wanted)}` }
  }
  const timeError = checkTimes(claims, now / 1000)
  if (timeError) return { error: timeError }
  const subject = subjectOf(claims['kubernetes.io'])
  if (!subject)
    return { error: 'service account token claims could not be validated due to unexpected validation error' }
  const subjectError = checkSubject(subject, storage, now)
  return subjectError ? { error: subjectError } : { identity: identityOf(subject, claims['jti']), audiences: shared }
}

function checkTimes({ exp, nbf, iat }: JsonObject, seconds: number): string | undefined {
  if (typeof nbf === 'number' && seconds + leewaySeconds < nbf) return 'service account token is not valid yet'
  // Every token that this server signs expires.
  if (typeof exp !== 'number' || seconds - leewaySeconds > exp) return 'service account token has expired'
  if (typeof iat === 'number' && seconds + leewaySeconds < iat) return 'service account token is issued in the future'
  return undefined
}

function checkSubject(subject: TokenSubject, storage: Storage, now: number): string | undefined {
  const { namespace, serviceaccount, secret, pod, node } = subject
  const find = (table: string, home: string | undefined, { name }: Bound): StoredObject | undefined =>
    storage.table(table).get(home, name)
  const isDeleted = ({ metadata }: StoredObject): boolean =>
    metadata.deletionTimestamp !== undefined && Date.parse(metadata.deletionTimestamp) < now - leewaySeconds * 1000

  const account = find('serviceaccounts', namespace, serviceaccount)
  if (!account) return `serviceaccounts "${serviceaccount.name}" not found`
  if (account.metadata.uid !== serviceaccount.uid) {
    return `service account UID (${account.metadata.uid}) does not match claim (${serviceaccount.uid ?? ''})`
  }
  if (isDeleted(account)) return `service account ${namespace}/${serviceaccount.name} has been deleted`

  const bound = [
    ['secret', 'secrets', namespace, secret],
    ['pod', 'pods', namespace, pod],
    // The node of a Pod is informational: only the Pod is checked.
    ['node', 'nodes', undefined, pod ? undefined : node],
  ] as const
  for (const [word, table, home, ref] of bound) {
    if (!ref) continue
    const object = find(table, home, ref)
    if (!object || isDeleted(object)) return 'service account token has been invalidated'
    if (object.metadata.uid !== ref.uid) {
      return `${word} UID (${object.metadata.uid}) does not match service account ${word} ref claim (${ref.uid ?? ''})`
    }
  }
  return undefined
}

function identityOf({ namespace, serviceaccount, pod, node }: TokenSubject, id: Json | undefined): Identity {
  const extra = new Map<string, readonly string[]>()
  const add = (key: string, value: string | undefined): void => {
    if (value) extra.set(`authentication.kubernetes.io/${key}`, [value])
  }
  add('credential-id', isText(id) && id !== '' ? `JTI=${id}` : undefined)
  add('node-name', node?.name)
  add('node-uid', node?.uid)
  add('pod-name', pod?.name)
  add('pod-uid', pod?.uid)
  return {
    username: serviceAccountUser(namespace, serviceaccount.name),
    uid: serviceaccount.uid!,
    groups: [...serviceAccountGroups(namespace), wellKnown.authenticated],
    extra,
  }
}

function subjectOf(claim: Json | undefined): TokenSubject | undefined {
  if (!isJsonObject(claim)) return undefined
  const { namespace } = claim
  const [serviceaccount, pod, secret, node] = ['serviceaccount', 'pod', 'secret', 'node'].map((name) =>
    boundOf(claim[name]),
  )
  if (!isText(namespace) || !serviceaccount?.uid) return undefined
  return { namespace, serviceaccount, pod, secret, node }
}

function boundOf(value: Json | undefined): Bound | undefined {
  if (!isJsonObject(value) || !isText(value['name'])) return undefined
  return { name: value['name'], uid: isText(value['uid']) ? value['uid'] : undefined }
}

function isText(value: Json | undefined): value is string {
  return typeof value === 'string'
}
