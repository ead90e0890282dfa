/** One request as the verbs see it: where it goes, who sent it, and how its answer shall look. */
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
  /** Said to the client beside whatever the answer is. */
  readonly warnings: Set<string>
}

/** The object that the URL names, as it is stored. */
export function existing({ state, route }: ApiCall): StoredObject {
  const { served, namespace, name = '' } = route
  const object = findObject(state, served, namespace, name)
  if (!object) throw notFound(served, name)
  return object
}

/** As a boolean parameter of a query is read: whatever does not say no says yes. */
export function isTrueParameter(value: string | null): boolean {
  return value !== null && value !== '0' && value.toLowerCase() !== 'false'
}

/** The answer to a get. */
export async function getObject(call: ApiCall): Promise<TransportResponse> {
  const { route, dressing } = call
  checkVerb(route, 'get')
  return await answer(200, await dressObject(existing(call), dressing), dressing.syntax)
}

export function checkVerb({ served }: Route, verb: string): void {
  if (!served.verbs.includes(verb)) throw methodNotAllowed()
}
