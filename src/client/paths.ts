/** URLs of requests: path and query of a list, a watch or one object. */
import { kubeErrors } from '../kube/errors.ts'
import { MusterError } from '../kube/muster-error.ts'
import { formatResource, type Resource, resourcePath } from '../kube/kind.ts'
import type { ListOptions, ObjectRef, WatchOptions } from './client.ts'

/** Query parameters; `undefined` and `false` are omitted, an array repeats its name. */
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
    // The token contains the version of the first page; servers reject a second one.
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
 * The path of one object. An empty name, or one with `..`, would turn a request for one object into one for the collection:
 * it is rejected, so that no DELETE hits a collection.
 */
export function objectPath(resource: Resource, ref: ObjectRef, subresource?: string): string {
  checkSegment(resource, 'name', ref.name)
  return resourcePath(resource, { namespace: namespaceOf(resource, ref.namespace), name: ref.name, subresource })
}

/** The path of the collection: create, deletecollection. */
export function collectionPath(resource: Resource, namespace: string | undefined): string {
  return resourcePath(resource, { namespace: namespaceOf(resource, namespace) })
}

function namespaceOf(resource: Resource, namespace: string | undefined): string | undefined {
  if (!resource.namespaced) return undefined
  checkSegment(resource, 'namespace', namespace)
  return namespace
}

function checkSegment(resource: Resource, part: 'name' | 'namespace', value: string | undefined): void {
  if (!value) throw new MusterError(kubeErrors.InvalidObject, `${formatResource(resource)}: no ${part} is given.`)
  if (value === '.' || value === '..' || /[/%]/.test(value)) {
    throw new MusterError(
      kubeErrors.InvalidObject,
      `${formatResource(resource)}: ${JSON.stringify(value)} cannot be the ${part} of an object.`,
    )
  }
}
