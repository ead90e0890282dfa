/** The URLs of requests: where a list, a watch or one object is, and the query that says which part of it. */
import { MusterError } from '../kube/errors.ts'
import { formatResource, type Resource, resourcePath } from '../kube/kind.ts'
import type { ListOptions, ObjectRef, WatchOptions } from './client.ts'

/** Query parameters; `undefined` and `false` are left out, a list repeats its name. */
export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>

export function withQuery(path: string, query: Query): string {
  let text = ''
  const add = (name: string, value: string): void => {
    text += `${text === '' ? '?' : '&'}${name}=${encodeURIComponent(value)}`
  }
  for (const name in query) {
    const value = query[name]
    if (value === undefined || value === false) continue
    if (typeof value === 'object') for (const one of value) add(name, one)
    else add(name, String(value))
  }
  return path + text
}

/** One page of a list. Without a limit, the whole list. */
export function listPath(
  resource: Resource,
  options: Omit<ListOptions, 'signal' | 'timeoutMs'> = {},
  query: Query = {},
): string {
  const isFirst = !options.continue
  return withQuery(resourcePath(resource, { namespace: options.namespace }), {
    labelSelector: options.labelSelector || undefined,
    fieldSelector: options.fieldSelector || undefined,
    limit: options.limit || undefined,
    continue: options.continue || undefined,
    // The token holds the version of the first page; servers refuse to be told twice.
    resourceVersion: isFirst ? options.resourceVersion : undefined,
    resourceVersionMatch: isFirst ? options.resourceVersionMatch : undefined,
    ...query,
  })
}

export function watchPath(resource: Resource, options: Omit<WatchOptions, 'signal' | 'timeoutMs'> = {}): string {
  return withQuery(resourcePath(resource, { namespace: options.namespace }), {
    watch: true,
    labelSelector: options.labelSelector || undefined,
    fieldSelector: options.fieldSelector || undefined,
    resourceVersion: options.resourceVersion,
    resourceVersionMatch: options.resourceVersionMatch ?? (options.sendInitialEvents ? 'NotOlderThan' : undefined),
    allowWatchBookmarks: options.allowBookmarks,
    sendInitialEvents: options.sendInitialEvents,
    timeoutSeconds: options.timeoutSeconds,
  })
}

/**
 * The path of one object. A name that is empty or climbs the path would turn a request for one object into one for
 * all of them: better no request than a DELETE of a collection.
 */
export function objectPath(resource: Resource, ref: ObjectRef, subresource?: string): string {
  checkSegment(resource, 'name', ref.name)
  return resourcePath(resource, { namespace: namespaceOf(resource, ref.namespace), name: ref.name, subresource })
}

/** The path that objects are created under, and collections deleted from. */
export function collectionPath(resource: Resource, namespace: string | undefined): string {
  return resourcePath(resource, { namespace: namespaceOf(resource, namespace) })
}

function namespaceOf(resource: Resource, namespace: string | undefined): string | undefined {
  if (!resource.namespaced) return undefined
  checkSegment(resource, 'namespace', namespace)
  return namespace
}

function checkSegment(resource: Resource, part: 'name' | 'namespace', value: string | undefined): void {
  if (!value) throw new MusterError('InvalidObject', `${formatResource(resource)}: no ${part} is given.`)
  if (value === '.' || value === '..' || /[/%]/.test(value)) {
    throw new MusterError(
      'InvalidObject',
      `${formatResource(resource)}: ${JSON.stringify(value)} cannot be the ${part} of an object.`,
    )
  }
}
