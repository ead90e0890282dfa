/**
 * The requested action, from the method and target alone. The catalog is not consulted: a request for a resource that
 * is not served gets 403, not 404, if the user has no permission for it.
 */
import { checkPathSegment } from '../../kube/meta/name.ts'
import { parseFields } from '../../kube/selector/selector.ts'
import type { RequestTarget } from './request-target.ts'
import type { Attributes } from './identity.ts'

const verbOfMethod: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  HEAD: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
}

export function attributesOf(method: string, { path, query, resource: asked }: RequestTarget): Attributes {
  if (!asked) return { verb: method.toLowerCase(), path }
  const { group, version, namespace, resource, name } = asked
  const said = asked.verb ?? verbOfMethod[method] ?? ''
  // Further segments belong to the subresource.
  const subresource = said === 'proxy' ? undefined : asked.subresource[0]
  const plain = { group, version, resource, subresource, namespace }
  if (name) return { ...plain, verb: said, name }
  if (said === 'get') {
    return { ...plain, verb: isWatch(query.get('watch')) ? 'watch' : 'list', name: nameIn(query.get('fieldSelector')) }
  }
  return { ...plain, verb: said === 'delete' ? 'deletecollection' : said, name: undefined }
}

/** Parses a boolean parameter: `?watch` alone is true. */
function isWatch(value: string | null): boolean {
  return value !== null && value.toLowerCase() !== 'false' && value !== '0'
}

/** A list restricted to one object by name is authorized like access to that object. */
function nameIn(fieldSelector: string | null): string | undefined {
  if (!fieldSelector) return undefined
  try {
    const wanted = parseFields(fieldSelector).find(
      ({ path, operator }) => path === 'metadata.name' && operator !== '!=',
    )
    return wanted && checkPathSegment(wanted.value).length === 0 ? wanted.value : undefined
  } catch {
    return undefined
  }
}
