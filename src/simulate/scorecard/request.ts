/** A request that the operator sent, read as what it does: a verb on a resource. */
import type { TransportRequest } from '../../transport/transport.ts'
import type { Resource } from '../../kube/kind.ts'

/** What a path says of a resource. */
export interface ResourceName {
  readonly group: string
  readonly plural: string
}

export interface Request {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly body: string | undefined
  readonly status: number
  /** Which of the operator's processes sent it. */
  readonly process: number
  /** The verb that access is asked for: `list`, `watch`, `patch`. Empty for what is no resource. */
  readonly verb: string
  /** The object that it is about; of a list only the resource is known. */
  readonly target: NamedTarget | undefined
  readonly resource: ResourceName | undefined
  readonly subresource: string
}

/** An object as a path names it. */
export interface NamedTarget {
  readonly resource: ResourceName
  readonly name: string
  readonly namespace: string | undefined
}

/** An object in the cluster. */
export interface ScorecardTarget extends NamedTarget {
  readonly resource: Resource
}

/** Whether two names mean one object, whatever the version. */
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

/** Asks for a change. Events are told apart from what is being done: they are not meant. */
export function isWriteRequest({ method, resource }: Request): boolean {
  return method !== 'GET' && resource !== undefined && resource.plural !== 'events'
}

/** `patch configmaps default/sample` */
export function shownRequest({ verb, target, resource, subresource }: Request): string {
  const name = target ? ` ${target.namespace === undefined ? '' : `${target.namespace}/`}${target.name}` : ''
  return `${verb} ${resource?.plural ?? ''}${subresource === '' ? '' : `/${subresource}`}${name}`
}

/** Goes over the wire for itself: watches and lists are how caches are kept. */
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
