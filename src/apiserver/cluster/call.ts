/** One API request as the verbs see it: its route, its user, and the representation of its response. */
import type { TransportRequest, TransportResponse } from '../../transport/transport.ts'
import type { Identity } from '../access/identity.ts'
import { methodNotAllowed, notFound } from '../errors/status-error.ts'
import { answer, type Dressing, dressObject } from '../representation/representation.ts'
import type { Route } from '../catalog/route.ts'
import { type ClusterState, findObject } from './state.ts'
import type { StoredObject } from '../storage/storage.ts'

export interface ApiCall {
  readonly state: ClusterState
  readonly request: TransportRequest
  readonly route: Route
  readonly query: URLSearchParams
  readonly dressing: Dressing
  readonly user: Identity
  /** Sent with the response, whether success or error. */
  readonly warnings: Set<string>
}

/** The stored object that the URL names. Throws NotFound. */
export function existing({ state, route }: ApiCall): StoredObject {
  const { served, namespace, name = '' } = route
  const object = findObject(state, served, namespace, name)
  if (!object) throw notFound(served, name)
  return object
}

/** Parses a boolean query parameter: everything but `false` and `0` is true. */
export function isTrueParameter(value: string | null): boolean {
  return value !== null && value !== '0' && value.toLowerCase() !== 'false'
}

/** Handles a get. */
export async function getObject(call: ApiCall): Promise<TransportResponse> {
  const { route, dressing } = call
  checkVerb(route, 'get')
  return await answer(200, await dressObject(existing(call), dressing), dressing.syntax)
}

export function checkVerb({ served }: Route, verb: string): void {
  if (!served.verbs.includes(verb)) throw methodNotAllowed()
}
