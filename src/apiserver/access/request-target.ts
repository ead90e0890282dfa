/**
 * The target of a request, parsed once. Authorization and routing use the same result, never the text, so no spelling
 * of a path can name one object to the authorizer and another to the handler.
 *
 * The rules are those of kube-apiserver: percent-encoding is decoded before the path is split, so an encoded slash is a
 * slash; nothing is normalized, so `.`, `..` and empty segments are names like any other.
 */
import { trimEnd } from '../../kube/text/trim-end.ts'

export interface RequestTarget {
  /** The logical cluster of `/clusters/<name>`; empty for the one at `/`. */
  readonly cluster: string
  /** Decoded, without the query and without the prefix of the logical cluster. */
  readonly path: string
  readonly query: URLSearchParams
  /** The resource below `/api/<version>` or `/apis/<group>/<version>`; undefined for every other path. */
  readonly resource: ResourcePath | undefined
}

/** A resource, an object or a subresource, whether the server serves it or not. */
export interface ResourcePath {
  readonly group: string
  readonly version: string
  /** The deprecated verbs in front of a resource: `/api/v1/watch/pods`. */
  readonly verb: 'proxy' | 'watch' | undefined
  /** Also set for a namespace itself, as in kube-apiserver. */
  readonly namespace: string | undefined
  /** Whether the path has a namespace before the resource. */
  readonly isInNamespace: boolean
  readonly resource: string
  readonly name: string | undefined
  /** The segments after the name. */
  readonly subresource: readonly string[]
  /** kube-apiserver authorizes `//api/v1/pods` as pods, but serves nothing there. */
  readonly isServable: boolean
}

/** Undefined for a target that is neither a path nor an absolute URL, or cannot be decoded, as in kube-apiserver. */
export function parseTarget(text: string): RequestTarget | undefined {
  const mark = text.indexOf('?')
  const place = withoutAuthority(mark < 0 ? text : text.slice(0, mark))
  const whole = place === undefined ? undefined : decoded(place)
  if (whole === undefined) return undefined
  const { cluster, path } = clusterIn(whole)
  const query = new URLSearchParams(mark < 0 ? '' : text.slice(mark + 1))
  return { cluster, path, query, resource: resourceIn(path) }
}

/** The path of a target. RFC 9112 requires servers to accept absolute URLs; `*` is the server as a whole. */
function withoutAuthority(place: string): string | undefined {
  if (place.startsWith('/') || place === '*') return place
  const [, behindHost, alone] = /^[a-z][a-z\d+.-]*:(?:\/\/[^/\s]*(\/.*)|(\/(?!\/).*))$/i.exec(place) ?? []
  return behindHost ?? alone
}

/** Invalid UTF-8 becomes replacement characters, for the authorizer and the handler alike. */
function decoded(path: string): string | undefined {
  if (controls.test(path)) return undefined
  if (!path.includes('%')) return path
  if (/%(?![\da-f]{2})/i.test(path)) return undefined
  return path.replaceAll(/(?:%[\da-f]{2})+/gi, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString())
}

/** ASCII control characters only: higher ones may be bytes of unescaped UTF-8. */
const controls = /[\p{Cc}--[\u0080-\u009f]]/v

/** `/clusters/blue/api/v1` is `/api/v1` of the cluster blue. */
function clusterIn(path: string): Pick<RequestTarget, 'cluster' | 'path'> {
  const prefix = '/clusters/'
  if (!path.startsWith(prefix)) return { cluster: '', path }
  const end = path.indexOf('/', prefix.length)
  const cluster = path.slice(prefix.length, end < 0 ? undefined : end)
  return cluster === '' ? { cluster, path } : { cluster, path: end < 0 ? '/' : path.slice(end) }
}

/** Subresources of a namespace; any other segment after its name is a resource in it. */
const ofNamespace = new Set(['status', 'finalize'])

function resourceIn(path: string): ResourcePath | undefined {
  const from = path.search(/[^/]/)
  if (from < 0) return undefined
  const segments = trimEnd(path.slice(from), '/').split('/')
  const [root] = segments
  if ((root !== 'api' && root !== 'apis') || segments.length < (root === 'api' ? 3 : 4)) return undefined
  const [group = '', version = ''] = root === 'api' ? ['', segments[1]] : segments.slice(1)
  const rest = segments.slice(root === 'api' ? 2 : 3)
  const isVerb = (rest[0] === 'proxy' || rest[0] === 'watch') && rest.length > 1
  const verb = isVerb ? (rest.shift() as ResourcePath['verb']) : undefined
  const namespace = rest[0] === 'namespaces' ? rest[1] : undefined
  const isInNamespace = namespace !== undefined && rest.length > 2 && !ofNamespace.has(rest[2]!)
  const [resource = '', name, ...subresource] = isInNamespace ? rest.slice(2) : rest
  const isServable = from === 1
  return { group, version, verb, namespace, isInNamespace, resource, name, subresource, isServable }
}
