/**
 * What a request asks for, read from its method and URL alone. Nothing is looked up: a resource that is not served has
 * attributes too, and who may not ask for it is told so, and not that it is missing.
 */
import { checkPathSegment } from '../../kube/name.ts'
import { parseFields } from '../../kube/selector.ts'
import type { Attributes } from './identity.ts'

const verbOfMethod: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  HEAD: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
}

/** Old ways to say a verb: in front of the resource. */
const verbsInPath = new Set(['proxy', 'watch'])

/** What follows the name of a namespace and is no resource in it. */
const ofNamespace = new Set(['status', 'finalize'])

/** `path` is without its query, and as it was sent: an escaped slash is part of a name, as it is for routing. */
export function attributesOf(method: string, path: string, query: URLSearchParams): Attributes {
  const segments = segmentsOf(path)
  const parts = withoutEnds(segments)
  const [root] = parts
  if ((root !== 'api' && root !== 'apis') || parts.length < (root === 'api' ? 3 : 4)) {
    return { verb: method.toLowerCase(), path: segments.join('/') }
  }
  const [group, version = '', ...rest] = root === 'api' ? ['', ...parts.slice(1)] : parts.slice(1)
  const isOld = verbsInPath.has(rest[0]!) && rest.length > 1
  const said = isOld ? rest.shift()! : (verbOfMethod[method] ?? '')
  const namespace = rest[0] === 'namespaces' ? rest[1] : undefined
  const isInside = namespace !== undefined && rest.length > 2 && !ofNamespace.has(rest[2]!)
  const [resource = '', name, sub] = isInside ? rest.slice(2) : rest
  const subresource = said === 'proxy' ? undefined : sub
  const plain = { group: group!, version, resource, subresource, namespace }
  if (name) return { ...plain, verb: said, name }
  if (said === 'get') {
    return { ...plain, verb: isWatch(query.get('watch')) ? 'watch' : 'list', name: nameIn(query.get('fieldSelector')) }
  }
  return { ...plain, verb: said === 'delete' ? 'deletecollection' : said, name: undefined }
}

/** A path that cannot be decoded names nothing, and is asked about as it is. */
function segmentsOf(path: string): readonly string[] {
  try {
    return path.split('/').map(decodeURIComponent)
  } catch {
    return [path]
  }
}

/** Slashes at either end do not count. */
function withoutEnds(segments: readonly string[]): readonly string[] {
  const from = segments.findIndex((one) => one !== '')
  return from < 0 ? [] : segments.slice(from, segments.findLastIndex((one) => one !== '') + 1)
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
