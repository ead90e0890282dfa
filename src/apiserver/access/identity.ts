/**
 * Who asks, and what for: the two halves of every access decision.
 *
 * Authentication turns the credentials of a request into an `Identity`; routing turns its method and path into
 * `Attributes`; authorisation answers whether the one may do the other. Neither type knows how it came about, so a
 * review can ask about a user who is not there.
 */

/** A user, as RBAC, admission and audit see it. */
export interface Identity {
  readonly username: string
  /** Tells apart users who bore one name at different times. Certificates have none. */
  readonly uid?: string
  readonly groups: readonly string[]
  /** What else the authenticator knows: the pod of a service account's token, scopes of a login. */
  readonly extra: ReadonlyMap<string, readonly string[]>
}

/** What is asked of a resource: `get pods/log web-1 in default`. */
export interface ResourceAttributes {
  /** get list watch create update patch delete deletecollection, or a verb of its own such as `impersonate`. */
  readonly verb: string
  /** The API group; empty for the core group. */
  readonly group: string
  readonly version: string
  /** The plural, lower case. */
  readonly resource: string
  readonly subresource?: string | undefined
  /** Absent for cluster-scoped resources, and for all namespaces. */
  readonly namespace?: string | undefined
  readonly name?: string | undefined
}

/** What is asked of a path that is no resource: `get /healthz`. */
export interface PathAttributes {
  /** The lower-case HTTP method. */
  readonly verb: string
  readonly path: string
}

export type Attributes = ResourceAttributes | PathAttributes

/** Users and groups that the server itself knows. */
export const wellKnown = {
  anonymous: 'system:anonymous',
  unauthenticated: 'system:unauthenticated',
  authenticated: 'system:authenticated',
  /** Members may do everything; no rule is asked. */
  masters: 'system:masters',
  serviceAccounts: 'system:serviceaccounts',
} as const

const serviceAccountPrefix = 'system:serviceaccount:'

/** The user name of a service account. */
export function serviceAccountUser(namespace: string, name: string): string {
  return `${serviceAccountPrefix}${namespace}:${name}`
}

/** The service account behind a user name, if that is one. */
export function serviceAccountOf(username: string): { readonly namespace: string; readonly name: string } | undefined {
  if (!username.startsWith(serviceAccountPrefix)) return undefined
  const [namespace, name, ...rest] = username.slice(serviceAccountPrefix.length).split(':')
  return namespace && name && rest.length === 0 ? { namespace, name } : undefined
}

/** The groups that every service account of a namespace is in. */
export function serviceAccountGroups(namespace: string): readonly string[] {
  return [wellKnown.serviceAccounts, `${wellKnown.serviceAccounts}:${namespace}`]
}

/** Who a caller inside the process is unless it says otherwise: the one who owns the server. */
export const administrator: Identity = {
  username: 'kubernetes-admin',
  groups: [wellKnown.masters, wellKnown.authenticated],
  extra: new Map(),
}

/** Whoever shows no credential, where that is allowed. */
export const anonymous: Identity = {
  username: wellKnown.anonymous,
  groups: [wellKnown.unauthenticated],
  extra: new Map(),
}
