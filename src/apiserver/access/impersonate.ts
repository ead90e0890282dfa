/**
 * Acting as somebody else: `Impersonate-User` and its companions, for those who may.
 *
 * There are two kinds of permission. The old one is the verb `impersonate` on users, groups, service accounts, uids and
 * extras: whoever holds it may do as the other all that the other may. The constrained one asks twice: whether this
 * user may be impersonated (`impersonate:user-info`), and for this very request (`impersonate-on:user-info:list`).
 * Constrained ones are tried first; when nothing is allowed, the first refusal is the answer.
 */
import type { TransportRequest } from '../../transport/transport.ts'
import { formatGoValue } from '../../kube/go-text.ts'
import { checkDnsSubdomain } from '../../kube/name.ts'
import { badRequest, StatusError } from '../errors/status-error.ts'
import { accessForbidden } from './forbidden.ts'
import {
  type Attributes,
  type Identity,
  type ResourceAttributes,
  serviceAccountGroups,
  serviceAccountOf,
  wellKnown,
} from './identity.ts'
import type { Rbac } from './rbac.ts'

type Headers = TransportRequest['headers']

/** Somebody as the headers say it; nothing is added yet. */
interface Wanted {
  readonly username: string
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: ReadonlyMap<string, readonly string[]>
}

const extraPrefix = 'impersonate-extra-'
const nodePrefix = 'system:node:'
const nodesGroup = 'system:nodes'

export function isImpersonating(headers: Headers): boolean {
  for (const name in headers) if (name.startsWith('impersonate-')) return true
  return false
}

/** Who a request is made as: the requester, or whom it impersonates. Raises 403 when it may not. */
export function impersonate(rbac: Rbac, requester: Identity, headers: Headers, asked: Attributes): Identity {
  const wanted = wantedBy(headers)
  if (!wanted) return requester
  let refused: StatusError | undefined
  for (const mode of modesFor(wanted, requester)) {
    try {
      return mode === 'legacy'
        ? actAs(rbac, requester, wanted, undefined)
        : actAsFor(rbac, requester, wanted, mode, asked)
    } catch (error) {
      if (!(error instanceof StatusError)) throw error
      refused ??= error
    }
  }
  throw refused!
}

function wantedBy(headers: Headers): Wanted | undefined {
  if (!isImpersonating(headers)) return undefined
  const username = valuesOf(headers['impersonate-user'])[0] ?? ''
  const uid = valuesOf(headers['impersonate-uid'])[0] ?? ''
  const groups = valuesOf(headers['impersonate-group'])
  const extra = new Map<string, readonly string[]>()
  for (const [name, value] of Object.entries(headers)) {
    if (name.startsWith(extraPrefix))
      extra.set(unescaped(name.slice(extraPrefix.length).toLowerCase()), valuesOf(value))
  }
  if (username !== '') return { username, uid, groups, extra }
  if (uid === '' && groups.length === 0 && extra.size === 0) return undefined
  throw badRequest(`requested ${inGo({ username, uid, groups, extra })} without impersonating a user name`)
}

function valuesOf(header: string | readonly string[] | undefined): readonly string[] {
  return header === undefined ? [] : typeof header === 'string' ? [header] : header
}

function unescaped(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}

/** The real server prints its own data here. */
function inGo({ username, uid, groups, extra }: Wanted): string {
  const strings = (values: readonly string[]): string => `[]string{${values.map(formatGoValue).join(', ')}}`
  const members = [...extra].map(([key, values]) => `${formatGoValue(key)}:${strings(values)}`).toSorted()
  const shownGroups = groups.length > 0 ? strings(groups) : '[]string(nil)'
  const shownExtra = extra.size > 0 ? `map[string][]string{${members.join(', ')}}` : 'map[string][]string(nil)'
  return `&user.DefaultInfo{Name:${formatGoValue(username)}, UID:${formatGoValue(uid)}, Groups:${shownGroups}, Extra:${shownExtra}}`
}

type Mode = 'associated-node' | 'arbitrary-node' | 'serviceaccount' | 'user-info'

/** The ways in which this user may be impersonated, the narrowest first. */
function modesFor(wanted: Wanted, requester: Identity): readonly (Mode | 'legacy')[] {
  const { username, uid, groups, extra } = wanted
  const isNameAlone = uid === '' && groups.length === 0 && extra.size === 0
  const node = nodeOf(username)
  if (node !== undefined)
    return isNameAlone
      ? [...(isAt(requester, node) ? ['associated-node' as const] : []), 'arbitrary-node', 'legacy']
      : ['legacy']
  if (serviceAccountOf(username)) return isNameAlone ? ['serviceaccount', 'legacy'] : ['legacy']
  return ['user-info', 'legacy']
}

function nodeOf(username: string): string | undefined {
  const name = username.startsWith(nodePrefix) ? username.slice(nodePrefix.length) : ''
  return name !== '' && checkDnsSubdomain(name).length === 0 ? name : undefined
}

/** A service account whose pod runs on this node. */
function isAt({ username, extra }: Identity, node: string): boolean {
  const at = extra.get('authentication.kubernetes.io/node-name')
  return serviceAccountOf(username) !== undefined && at?.length === 1 && at[0] === node
}

function actAsFor(rbac: Rbac, requester: Identity, wanted: Wanted, mode: Mode, asked: Attributes): Identity {
  check(rbac, requester, { ...asked, verb: `impersonate-on:${mode}:${asked.verb}` })
  return actAs(rbac, requester, wanted, mode)
}

const authenticationGroup = { group: 'authentication.k8s.io', version: 'v1' } as const

function actAs(rbac: Rbac, requester: Identity, wanted: Wanted, mode: Mode | undefined): Identity {
  const verb = mode === undefined ? 'impersonate' : `impersonate:${mode}`
  const home = mode === undefined ? { group: '', version: 'v1' } : authenticationGroup
  const { username, uid, groups, extra } = wanted

  const account = serviceAccountOf(username)
  const node = mode === undefined ? undefined : nodeOf(username)
  let user: ResourceAttributes = { ...home, verb, resource: 'users', name: username }
  if (account) user = { ...home, verb, resource: 'serviceaccounts', ...account }
  // The association was checked already: permission to use it is for any node.
  else if (node !== undefined)
    user = { ...home, verb, resource: 'nodes', name: mode === 'associated-node' ? '*' : node }
  check(rbac, requester, user)
  if (uid !== '') check(rbac, requester, { ...authenticationGroup, verb, resource: 'uids', name: uid })
  checkGroups(rbac, requester, groups, { ...home, verb, resource: 'groups' }, mode !== undefined)
  for (const [key, values] of extra) {
    for (const value of values) {
      check(rbac, requester, { ...authenticationGroup, verb, resource: 'userextras', subresource: key, name: value })
    }
  }

  const own = groups.length > 0 ? groups : account ? serviceAccountGroups(account.namespace) : node ? [nodesGroup] : []
  return { username, ...(uid !== '' && { uid }), groups: withStanding(username, own), extra }
}

function checkGroups(
  rbac: Rbac,
  requester: Identity,
  groups: readonly string[],
  asked: ResourceAttributes,
  isConstrained: boolean,
): void {
  if (isConstrained) {
    if (groups.includes('')) {
      throw accessForbidden(requester, asked, 'impersonating the empty string group is not allowed')
    }
    if (groups.includes(wellKnown.masters)) {
      const masters = { ...asked, name: wellKnown.masters }
      throw accessForbidden(requester, masters, `impersonating the ${wellKnown.masters} group is not allowed`)
    }
  }
  for (const name of groups) check(rbac, requester, { ...asked, name })
}

/** Everybody is either authenticated or not, unless the groups that were asked for say it already. */
function withStanding(username: string, groups: readonly string[]): readonly string[] {
  const standing = username === wellKnown.anonymous ? wellKnown.unauthenticated : wellKnown.authenticated
  const isSaid = groups.includes(standing) || groups.includes(wellKnown.unauthenticated)
  return isSaid ? groups : [...groups, standing]
}

function check(rbac: Rbac, requester: Identity, asked: Attributes): void {
  const { allowed, reason } = rbac.decide(requester, asked)
  if (!allowed) throw accessForbidden(requester, asked, reason)
}
