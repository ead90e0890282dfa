/**
 * A Lease as data, and the four requests that are made of it. Each is sent once: who holds a lease has a rhythm of its
 * own, and a request repeated behind its back would come at the wrong moment.
 *
 * A change names the uid and the version that it is based on, so that it meets `Conflict` when anybody was faster. (The
 * uid, too: a PUT may create Leases, and must not bring back one that was deleted.)
 */
import { whereabouts } from '../../client/api-error.ts'
import { readJson } from '../../client/body.ts'
import type { Client, RawRequest } from '../../client/client.ts'
import { MusterError } from '../../kube/errors.ts'
import { isJsonObject, stringifyJson } from '../../kube/json.ts'
import { type Resource, resourcePath } from '../../kube/kind.ts'
import type { Lease } from '../../kube/types/coordination/v1.ts'

export const leaseResource: Resource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
}

export interface LeaseName {
  readonly namespace: string
  readonly name: string
}

export interface LeaseTimes {
  /** How long others leave a holder in peace after they last saw it renew. Whole seconds. @default 15_000 */
  readonly leaseDurationMs: number
  /** How long a holder goes on after the last renewal that it knows to have succeeded. @default 10_000 */
  readonly renewDeadlineMs: number
  /** Between two renewals, and between two looks at a lease that somebody else holds. @default 2_000 */
  readonly retryPeriodMs: number
}

export const defaultLeaseTimes: LeaseTimes = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 }

/** How much later than asked for a look may come: those who wait for one lease must not come together for ever. */
export const spread = 0.2

/** Times that leave a holder room to renew, and others room to be sure that it has stopped. */
export function leaseTimes(
  given: { readonly [time in keyof LeaseTimes]?: number | undefined },
  what: string,
): LeaseTimes {
  const {
    leaseDurationMs = defaultLeaseTimes.leaseDurationMs,
    renewDeadlineMs = defaultLeaseTimes.renewDeadlineMs,
    retryPeriodMs = defaultLeaseTimes.retryPeriodMs,
  } = given
  const refuse = (why: string): never => {
    throw new MusterError('InvalidConfiguration', `${what}: ${why}.`)
  }
  if (!(retryPeriodMs > 0)) refuse(`retryPeriodMs must be greater than 0, not ${retryPeriodMs}`)
  if (!(renewDeadlineMs > retryPeriodMs * (1 + spread)))
    refuse(`renewDeadlineMs must be greater than ${1 + spread} times retryPeriodMs, not ${renewDeadlineMs}`)
  if (!(leaseDurationMs > renewDeadlineMs))
    refuse(`leaseDurationMs must be greater than renewDeadlineMs, not ${leaseDurationMs}`)
  if (!Number.isSafeInteger(leaseDurationMs / 1000))
    refuse(`leaseDurationMs must be whole seconds, not ${leaseDurationMs}`)
  return { leaseDurationMs, renewDeadlineMs, retryPeriodMs }
}

/** How long a lease lasts by its own word. */
export function durationOf(lease: Lease, fallbackMs: number): number {
  const seconds = lease.spec?.leaseDurationSeconds
  return typeof seconds === 'number' && seconds > 0 ? seconds * 1000 : fallbackMs
}

/** `2026-01-01T00:00:00.000000Z`: the form of times in Leases. */
export function microTime(now: number, micros = 0): string {
  return `${new Date(now).toISOString().slice(0, -1)}${String(micros).padStart(3, '0')}Z`
}

export interface SendOptions {
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

export interface LeaseRequests {
  /** @throws NotFound */
  read(ref: LeaseName, options: SendOptions): Promise<Lease>
  /** @throws AlreadyExists */
  create(lease: Lease, options: SendOptions): Promise<Lease>
  /** On the state that `lease.metadata` names. @throws Conflict, NotFound */
  update(lease: Lease, options: SendOptions): Promise<Lease>
  /** The lease in this very state. @throws Conflict, NotFound */
  remove(lease: Lease, options: SendOptions): Promise<void>
}

export function leaseRequests(client: Client): LeaseRequests {
  const ask = async (method: RawRequest['method'], path: string, body: object | undefined, options: SendOptions) => {
    const raw: RawRequest = { method, path, ...options, ...(body && { body: stringifyJson(body) }), retry: false }
    const answer = await readJson((await client.request(raw)).body, whereabouts(raw))
    if (!isJsonObject(answer)) throw new MusterError('UnexpectedAnswer', `${whereabouts(raw)}: no object came.`)
    return answer as unknown as Lease
  }
  const pathOf = ({ namespace = '', name = '' }: Lease['metadata']): string =>
    resourcePath(leaseResource, { namespace, name })
  const written = '?fieldManager=muster-leases'
  return {
    read: (ref, options) => ask('GET', pathOf(ref), undefined, options),
    create: (lease, options) => {
      const collection = resourcePath(leaseResource, { namespace: lease.metadata.namespace })
      return ask('POST', `${collection}${written}`, lease, options)
    },
    update: (lease, options) => {
      // Who owns which field is the server's to tell, and half of what goes over the wire.
      const { managedFields: _, ...metadata } = lease.metadata
      return ask('PUT', `${pathOf(metadata)}${written}`, { ...lease, metadata }, options)
    },
    remove: async (lease, options) => {
      const { uid, resourceVersion } = lease.metadata
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid, resourceVersion } }
      await ask('DELETE', pathOf(lease.metadata), body, options)
    },
  }
}
