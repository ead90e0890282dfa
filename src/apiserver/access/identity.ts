/**
 * The two inputs of authorization: the user and the requested action.
 *
 * Authentication turns credentials into an `Identity`; `request-attributes.ts` turns method and path into `Attributes`;
 * authorization decides whether the identity may perform the action. Neither type depends on a request, so an access
 * review can build both.
 */

/** A user, as RBAC, admission and audit see it. */
export interface Identity {
  readonly username: string
  /** Distinguishes users of the same name at different times. Certificates have none. */
  readonly uid?: string
  readonly groups: readonly string[]
  /** Additional attributes: the Pod of a service account token, scopes of a login. */
  readonly extra: ReadonlyMap<string, readonly string[]>
}

/** An action on a resource: `get pods/log web-1 in default`. */
export interface ResourceAttributes {
  /** get list watch create update patch delete deletecollection, or a special verb such as `impersonate`. */
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

/** An action on a non-resource path: `get /healthz`. */
interface PathAttributes {
  /** The lower-case HTTP method. */
  readonly verb: string
  readonly path: string
}

export type Attributes = ResourceAttributes | PathAttributes

/** Users and groups with a meaning to the server itself. */
export const wellKnown = {
  anonymous: 'system:anonymous',
  unauthenticated: 'system:unauthenticated',
  authenticated: 'system:authenticated',
  /** Members bypass RBAC. */
  masters: 'system:masters',
  serviceAccounts: 'system:serviceaccounts',
} as const

const serviceAccountPrefix = 'system:serviceaccount:'

/** The user name of a service account. */
export function serviceAccountUser(namespace: string, name: string): string {
  return `${serviceAccountPrefix}${namespace}:${name}`
}

/** The service account of a user name; undefined for other users. */
export function serviceAccountOf(username: string): { readonly namespace: string; readonly name: string } | undefined {
  if (!username.startsWith(serviceAccountPrefix)) return undefined
  const [namespace, name, ...rest] = username.slice(serviceAccountPrefix.length).split(':')
  return namespace && name && rest.length === 0 ? { namespace, name } : undefined
}

/** The groups of the service accounts of a namespace. */
export function serviceAccountGroups(namespace: string): readonly string[] {
  return [wellKnown.serviceAccounts, `${wellKnown.serviceAccounts}:${namespace}`]
}

/** The user of in-process callers without credentials. */
export const administrator: Identity = {
  username: 'kubernetes-admin',
  groups: [wellKnown.masters, wellKnown.authenticated],
  extra: new Map(),
}

/** The user of requests without credentials, where these are allowed. */
export const anonymous: Identity = {
  username: wellKnown.anonymous,
  groups: [wellKnown.unauthenticated],
  extra: new Map(),
}
