/**
 * What a request asks for, read from its method and target alone. Nothing is looked up: a resource that is not served has
 * attributes too, and who may not ask for it is told so, and not that it is missing.
 */
import { checkPathSegment } from '../../kube/name.ts'
import { parseFields } from '../../kube/selector.ts'
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
  // What follows a subresource is part of it.
  const subresource = said === 'proxy' ? undefined : asked.subresource[0]
  const plain = { group, version, resource, subresource, namespace }
  if (name) return { ...plain, verb: said, name }
  if (said === 'get') {
    return { ...plain, verb: isWatch(query.get('watch')) ? 'watch' : 'list', name: nameIn(query.get('fieldSelector')) }
  }
  return { ...plain, verb: said === 'delete' ? 'deletecollection' : said, name: undefined }
}

/** As a boolean parameter is read: `?watch` alone is true. */
function isWatch(value: string | null): boolean {
  return value !== null && value.toLowerCase() !== 'false' && value !== '0'
}

/** A list of the one object of a name is allowed to whom that object is. */
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
