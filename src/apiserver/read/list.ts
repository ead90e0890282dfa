/**
 * List: all objects of a resource at one revision, or a page of them. A continue token holds the revision of the first
 * page and the last key returned, so all pages together are one consistent list, as long as the history lasts.
 */
import type { ListMeta, UntypedObject } from '../../kube/object.ts'
import { isJsonObject, type Json, parseJson } from '../../kube/json.ts'
import { forbiddenField, unsupported } from '../../kube/validation/field-error.ts'
import {
  badRequest,
  type Cause,
  expired,
  invalidOptions,
  type StatusError,
  tooLargeVersion,
} from '../errors/status-error.ts'
import type { Route } from '../catalog/route.ts'
import { selectionOf } from '../catalog/selection.ts'
import type { ClusterState } from '../cluster/state.ts'
import type { StoredObject } from '../storage/storage.ts'

export interface Page {
  readonly objects: readonly UntypedObject[]
  readonly metadata: ListMeta
}

interface ContinueToken {
  /** Undefined: the latest, for an inconsistent continuation after the history of the first page is gone. */
  readonly revision: number | undefined
  readonly after: string
  /** When the first page was read. */
  readonly since: number
}

/** kube-apiserver compacts etcd every five minutes: a list that takes longer cannot continue at its revision. */
const maxListMs = 5 * 60_000

export function listObjects(state: ClusterState, { served, namespace }: Route, query: URLSearchParams): Page {
  checkListOptions(query)
  const selection = selectionOf(served, query)
  const limit = numberIn(query, 'limit') ?? 0
  numberIn(query, 'timeoutSeconds')
  const token = readToken(query.get('continue'))
  const table = state.storage.table(served.table)
  const now = state.clock.now()
  const revision = token ? (token.revision ?? state.storage.revision) : revisionOf(state, query)
  // A token from another server, or from before a restart without a journal.
  if (revision > state.storage.revision) throw tooLargeVersion(revision, state.storage.revision)
  const isOld = token !== undefined && now - token.since > maxListMs && revision < state.storage.revision
  const all = isOld ? undefined : table.objectsAt(revision, namespace)
  if (!all) throw tooOld(token)
  const rest = token ? all.filter((object) => keyOf(object) > token.after) : all
  const matching = selection.isEverything ? rest : rest.filter((object) => selection.matches(object))
  const objects = limit > 0 ? matching.slice(0, limit) : matching
  // There is a next page if any object follows, whether it matches the selector or not.
  const isCut = limit > 0 && objects.length === limit && rest.at(-1) !== objects.at(-1)
  return {
    objects,
    metadata: {
      resourceVersion: String(revision),
      ...(isCut && { continue: writeToken({ revision, after: keyOf(objects.at(-1)!), since: sinceOf(token, now) }) }),
      // With a selector kube-apiserver does not know the count.
      ...(isCut && selection.isEverything && { remainingItemCount: matching.length - objects.length }),
    },
  }
}

/** A list that continues at the latest revision counts as new from there on. */
function sinceOf(token: ContinueToken | undefined, now: number): number {
  return token?.revision === undefined ? now : token.since
}

function tooOld(token: ContinueToken | undefined): StatusError {
  if (!token) return expired('The resourceVersion for the provided list is too old.')
  const restart = 'You can start a new list without the continue parameter'
  const goOn = 'or use the continue token in this response to retrieve the remainder of the results'
  const price =
    'Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list'
  return expired(
    `The provided continue parameter is too old to display a consistent list result. ${restart}, ${goOn}. ${price}.`,
    writeToken({ ...token, revision: undefined }),
  )
}

/** The revision to list at: the latest, unless an exact one is requested. */
function revisionOf({ storage }: ClusterState, query: URLSearchParams): number {
  const asked = versionIn(query)
  if (asked === undefined) return storage.revision
  if (asked > storage.revision) throw tooLargeVersion(asked, storage.revision)
  const isExact = query.get('resourceVersionMatch') === 'Exact' || isLegacyExact(query)
  return isExact && asked > 0 ? asked : storage.revision
}

/** Without resourceVersionMatch, a limit with a resourceVersion means an exact match. */
function isLegacyExact(query: URLSearchParams): boolean {
  return !query.get('resourceVersionMatch') && Boolean(query.get('limit')) && query.get('resourceVersion') !== '0'
}

function checkListOptions(query: URLSearchParams): void {
  const match = query.get('resourceVersionMatch') ?? ''
  const version = query.get('resourceVersion') ?? ''
  const causes: Cause[] = []
  const field = 'resourceVersionMatch'
  if (match !== '') {
    if (version === '') {
      causes.push(forbiddenField(field, 'resourceVersionMatch is forbidden unless resourceVersion is provided'))
    }
    if (query.get('continue')) {
      causes.push(forbiddenField(field, 'resourceVersionMatch is forbidden when continue is provided'))
    }
    if (match !== 'Exact' && match !== 'NotOlderThan') {
      causes.push(unsupported(field, match, ['Exact', 'NotOlderThan', '']))
    }
    if (match === 'Exact' && version === '0') {
      causes.push(forbiddenField(field, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    }
  }
  if (query.get('sendInitialEvents') !== null) {
    causes.push(forbiddenField('sendInitialEvents', 'sendInitialEvents is forbidden for list'))
  }
  if (causes.length > 0) throw invalidOptions('ListOptions', causes)
  if (query.get('continue') && version !== '' && version !== '0') {
    throw badRequest('specifying resource version is not allowed when using continue')
  }
}

/** The resourceVersion parameter: opaque to clients, a number to the server. */
export function versionIn(query: URLSearchParams): number | undefined {
  const text = query.get('resourceVersion')
  if (text === null || text === '') return undefined
  if (!/^\d{1,15}$/.test(text)) {
    const why = `resourceVersion: Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`
    throw badRequest(`invalid resource version: ${why}`)
  }
  return Number(text)
}

export function numberIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  if (!/^-?\d{1,15}$/.test(text)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`)
  return Number(text)
}

function keyOf({ metadata }: StoredObject | UntypedObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`
}

const tokenVersion = 'meta.k8s.io/v1'
/** Encodes "the latest revision"; zero would be an invalid token. */
const latest = -1

function writeToken({ revision, after, since }: ContinueToken): string {
  const token = { v: tokenVersion, rv: revision ?? latest, start: after, since }
  return Buffer.from(JSON.stringify(token)).toString('base64url')
}

function readToken(text: string | null): ContinueToken | undefined {
  if (!text) return undefined
  let token: Json = null
  try {
    token = parseJson(Buffer.from(text, 'base64url').toString())
  } catch {
    // Reported below, like a token of the wrong shape.
  }
  const { v, rv, start, since } = isJsonObject(token) ? token : {}
  const isOurs = v === tokenVersion && Number.isSafeInteger(rv) && (Number(rv) > 0 || rv === latest)
  if (!isOurs || typeof start !== 'string' || start === '') {
    throw badRequest('invalid continue token: continue key is not valid')
  }
  const revision = rv === latest ? undefined : Number(rv)
  return { revision, after: start, since: typeof since === 'number' ? since : 0 }
}
