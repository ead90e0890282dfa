/** A request of the operator as a verb on a resource. */
import type { TransportRequest } from '../../transport/transport.ts'
import type { Resource } from '../../kube/kind.ts'

/** The resource in a URL path. */
interface ResourceName {
  readonly group: string
  readonly plural: string
}

export interface Request {
  readonly method: string
  /** Including the query. */
  readonly path: string
  readonly body: string | undefined
  readonly status: number
  /** The process that sent it. */
  readonly process: number
  /** The RBAC verb: `list`, `watch`, `patch`. Empty for a non-resource path. */
  readonly verb: string
  /** The target object; undefined for a list. */
  readonly target: NamedTarget | undefined
  readonly resource: ResourceName | undefined
  readonly subresource: string
}

/** An object in a path. */
interface NamedTarget {
  readonly resource: ResourceName
  readonly name: string
  readonly namespace: string | undefined
}

/** An object in the cluster. */
export interface ScorecardTarget extends NamedTarget {
  readonly resource: Resource
}

/** Whether two names refer to one object, at any version. */
export function isSameTarget(one: NamedTarget, other: NamedTarget): boolean {
  return requestKey(one) === requestKey(other)
}

export function requestKey({ resource: { group, plural }, name, namespace = '' }: NamedTarget): string {
  return `${plural}.${group} ${namespace}/${name}`
}

const verbs: Readonly<Record<string, readonly [one: string, many: string]>> = {
  GET: ['get', 'list'],
  POST: ['create', 'create'],
  PUT: ['update', 'update'],
  PATCH: ['patch', 'patch'],
  DELETE: ['delete', 'deletecollection'],
}

export function requestOf({ method, path, body }: TransportRequest, process: number): Request {
  const [place = '', query = ''] = path.split('?')
  const text = typeof body === 'string' ? body : body === undefined ? undefined : Buffer.from(body).toString()
  const sent = { method, path, body: text, status: 0, process }
  const read = readPlace(place)
  if (!read) return { ...sent, verb: '', target: undefined, resource: undefined, subresource: '' }
  const { group, plural, namespace, name, subresource } = read
  const isWatch = /(?:^|&)watch=/.test(query)
  const [one, many] = verbs[method] ?? ['', '']
  const resource = { group, plural }
  const made = method === 'POST' && name === '' ? nameIn(text) : name
  return {
    ...sent,
    verb: isWatch ? 'watch' : name === '' ? many : one,
    resource,
    subresource,
    target: made === '' ? undefined : { resource, name: made, namespace },
  }
}

/** Whether it is a write. Events do not count. */
export function isWriteRequest({ method, resource }: Request): boolean {
  return method !== 'GET' && resource !== undefined && resource.plural !== 'events'
}

/** `patch configmaps default/sample` */
export function shownRequest({ verb, target, resource, subresource }: Request): string {
  const name = target ? ` ${target.namespace === undefined ? '' : `${target.namespace}/`}${target.name}` : ''
  return `${verb} ${resource?.plural ?? ''}${subresource === '' ? '' : `/${subresource}`}${name}`
}

/** Whether it is neither a list nor a watch, which feed the caches. */
export function isCall({ verb }: Request): boolean {
  return verb !== 'watch' && verb !== 'list'
}

function readPlace(path: string):
  | {
      readonly group: string
      readonly plural: string
      readonly namespace: string | undefined
      readonly name: string
      readonly subresource: string
    }
  | undefined {
  const segments = path.split('/').slice(1)
  const parts = path.includes('%') ? segments.map(decodeURIComponent) : segments
  const isCore = parts[0] === 'api'
  const group = isCore ? '' : (parts[1] ?? '')
  const rest = parts.slice(isCore ? 2 : 3)
  const isNamespaced = rest[0] === 'namespaces' && rest.length > 2 && rest[2] !== 'status' && rest[2] !== 'finalize'
  const [plural, name = '', subresource = ''] = isNamespaced ? rest.slice(2) : rest
  if (plural === undefined) return undefined
  return { group, plural, namespace: isNamespaced ? rest[1] : undefined, name, subresource }
}

function nameIn(body: string | undefined): string {
  const object =
    body === undefined ? undefined : (JSON.parse(body) as { readonly metadata?: { readonly name?: string } })
  return object?.metadata?.name ?? ''
}
