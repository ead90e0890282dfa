/**
 * Impersonation: `Impersonate-User` and the related headers.
 *
 * There are two kinds of permission. The legacy one is the verb `impersonate` on users, groups, service accounts, uids
 * and extras: it allows every action of the impersonated user. The constrained one needs two permissions: to
 * impersonate this user (`impersonate:user-info`), and to do so for this action (`impersonate-on:user-info:list`).
 * Constrained modes are tried first; if none is allowed, the first error is returned.
 */
import type { TransportRequest } from '../../transport/transport.ts'
import { formatGoValue } from '../../kube/go/go-text.ts'
import { checkDnsSubdomain } from '../../kube/meta/name.ts'
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

/** The impersonated user as in the headers, without derived groups. */
interface ImpersonatedUser {
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

/** The identity that a request runs as: the requester, or the user it impersonates. Throws 403. */
export function impersonate(rbac: Rbac, requester: Identity, headers: Headers, asked: Attributes): Identity {
  const target = impersonatedUser(headers)
  if (!target) return requester
  let refused: StatusError | undefined
  for (const mode of modesFor(target, requester)) {
    try {
      return mode === 'legacy'
        ? actAs(rbac, requester, target, undefined)
        : actAsForRequest(rbac, requester, target, mode, asked)
    } catch (error) {
      if (!(error instanceof StatusError)) throw error
      refused ??= error
    }
  }
  throw refused!
}

function impersonatedUser(headers: Headers): ImpersonatedUser | undefined {
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

/** kube-apiserver prints a Go struct here. */
function inGo({ username, uid, groups, extra }: ImpersonatedUser): string {
  const strings = (values: readonly string[]): string => `[]string{${values.map(formatGoValue).join(', ')}}`
  const members = [...extra].map(([key, values]) => `${formatGoValue(key)}:${strings(values)}`).toSorted()
  const shownGroups = groups.length > 0 ? strings(groups) : '[]string(nil)'
  const shownExtra = extra.size > 0 ? `map[string][]string{${members.join(', ')}}` : 'map[string][]string(nil)'
  return `&user.DefaultInfo{Name:${formatGoValue(username)}, UID:${formatGoValue(uid)}, Groups:${shownGroups}, Extra:${shownExtra}}`
}

type Mode = 'associated-node' | 'arbitrary-node' | 'serviceaccount' | 'user-info'

/** The modes in which this user may be impersonated, the narrowest first. */
function modesFor(target: ImpersonatedUser, requester: Identity): readonly (Mode | 'legacy')[] {
  const { username, uid, groups, extra } = target
  const isNameAlone = uid === '' && groups.length === 0 && extra.size === 0
  const node = nodeOf(username)
  if (node !== undefined)
    return isNameAlone
      ? [...(runsOn(requester, node) ? ['associated-node' as const] : []), 'arbitrary-node', 'legacy']
      : ['legacy']
  if (serviceAccountOf(username)) return isNameAlone ? ['serviceaccount', 'legacy'] : ['legacy']
  return ['user-info', 'legacy']
}

function nodeOf(username: string): string | undefined {
  const name = username.startsWith(nodePrefix) ? username.slice(nodePrefix.length) : ''
  return name !== '' && checkDnsSubdomain(name).length === 0 ? name : undefined
}

/** Whether the requester is a service account whose Pod runs on this node. */
function runsOn({ username, extra }: Identity, node: string): boolean {
  const at = extra.get('authentication.kubernetes.io/node-name')
  return serviceAccountOf(username) !== undefined && at?.length === 1 && at[0] === node
}

function actAsForRequest(
  rbac: Rbac,
  requester: Identity,
  target: ImpersonatedUser,
  mode: Mode,
  asked: Attributes,
): Identity {
  check(rbac, requester, { ...asked, verb: `impersonate-on:${mode}:${asked.verb}` })
  return actAs(rbac, requester, target, mode)
}

const authenticationGroup = { group: 'authentication.k8s.io', version: 'v1' } as const

function actAs(rbac: Rbac, requester: Identity, target: ImpersonatedUser, mode: Mode | undefined): Identity {
  const verb = mode === undefined ? 'impersonate' : `impersonate:${mode}`
  const home = mode === undefined ? { group: '', version: 'v1' } : authenticationGroup
  const { username, uid, groups, extra } = target

  const account = serviceAccountOf(username)
  const node = mode === undefined ? undefined : nodeOf(username)
  let user: ResourceAttributes = { ...home, verb, resource: 'users', name: username }
  if (account) user = { ...home, verb, resource: 'serviceaccounts', ...account }
  // The association with the node has been checked: the permission is for any node.
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
  return { username, ...(uid !== '' && { uid }), groups: withAuthenticationGroup(username, own), extra }
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

/** Adds system:authenticated or system:unauthenticated, unless the requested groups have one of them. */
function withAuthenticationGroup(username: string, groups: readonly string[]): readonly string[] {
  const group = username === wellKnown.anonymous ? wellKnown.unauthenticated : wellKnown.authenticated
  const isGiven = groups.includes(group) || groups.includes(wellKnown.unauthenticated)
  return isGiven ? groups : [...groups, group]
}

function check(rbac: Rbac, requester: Identity, asked: Attributes): void {
  const { allowed, reason } = rbac.decide(requester, asked)
  if (!allowed) throw accessForbidden(requester, asked, reason)
}
