/** Identities: a kind (GVK, as in a manifest) and a resource (GVR, as in a URL). */
export interface GroupVersion {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
}

export interface GroupVersionKind extends GroupVersion {
  readonly kind: string
}

/** A resource as the API server serves it. */
export interface Resource extends GroupVersionKind {
  /** The plural in the URL: `pods`, `deployments`. */
  readonly plural: string
  readonly namespaced: boolean
}

/** `apps/v1` → group and version; `v1` is the core group. */
export function parseApiVersion(apiVersion: string): GroupVersion {
  const slash = apiVersion.indexOf('/')
  return slash < 0
    ? { group: '', version: apiVersion }
    : { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) }
}

export function formatApiVersion({ group, version }: GroupVersion): string {
  return group === '' ? version : `${group}/${version}`
}

export function kindOf(object: { readonly apiVersion: string; readonly kind: string }): GroupVersionKind {
  return { ...parseApiVersion(object.apiVersion), kind: object.kind }
}

/** `deployments.apps/v1`, `pods/v1`: the resource as text, for keys, metrics and messages. */
export function formatResource({ plural, group, version }: Omit<Resource, 'kind' | 'namespaced'>): string {
  return group === '' ? `${plural}/${version}` : `${plural}.${group}/${version}`
}

/** The URL path of a resource, of one object, or of a subresource of it. */
export function resourcePath(
  resource: Omit<Resource, 'kind'>,
  at: {
    readonly namespace?: string | undefined
    readonly name?: string | undefined
    readonly subresource?: string | undefined
  } = {},
): string {
  const root = resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`
  const scope = resource.namespaced && at.namespace ? `/namespaces/${encodeURIComponent(at.namespace)}` : ''
  const name = at.name === undefined ? '' : `/${encodeURIComponent(at.name)}`
  return `${root}${scope}/${resource.plural}${name}${at.subresource ? `/${at.subresource}` : ''}`
}
