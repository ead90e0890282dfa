/**
 * A Lease as data, and its four requests. Each is sent once, without retries: the holder of a lease has its own
 * schedule, and a retry would arrive at the wrong moment.
 *
 * An update names the uid and the resourceVersion that it is based on, so that it fails with `Conflict` when another
 * process was faster. (The uid as well: a PUT may create Leases, and must not bring back a deleted one.)
 */
import { whereabouts } from '../../client/api-error.ts'
import { readJson } from '../../client/body.ts'
import type { Client, RawRequest } from '../../client/client.ts'
import { managerErrors } from '../errors.ts'
import { clientErrors } from '../../client/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
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
  /** How long others wait after the last renewal that they saw. Whole seconds. @default 15_000 */
  readonly leaseDurationMs: number
  /** How long a holder continues after its last successful renewal. @default 10_000 */
  readonly renewDeadlineMs: number
  /** Between two renewals, and between two looks at a lease of another holder. @default 2_000 */
  readonly retryPeriodMs: number
}

export const defaultLeaseTimes: LeaseTimes = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 }

/** Jitter: how much later than scheduled a look may come, so that candidates do not stay in step. */
export const spread = 0.2

/** Validated times: a holder has time to renew, and others can be sure that it has stopped. */
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
    throw new MusterError(managerErrors.InvalidConfiguration, `${what}: ${why}.`)
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

/** The duration that the lease itself states. */
export function durationOf(lease: Lease, fallbackMs: number): number {
  const seconds = lease.spec?.leaseDurationSeconds
  return typeof seconds === 'number' && seconds > 0 ? seconds * 1000 : fallbackMs
}

/** `2026-01-01T00:00:00.000000Z`: the format of times in Leases. */
export function microTime(now: number, micros = 0): string {
  return `${new Date(now).toISOString().slice(0, -1)}${String(micros).padStart(3, '0')}Z`
}

interface SendOptions {
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

interface LeaseRequests {
  /** @throws NotFound */
  read(ref: LeaseName, options: SendOptions): Promise<Lease>
  /** @throws AlreadyExists */
  create(lease: Lease, options: SendOptions): Promise<Lease>
  /** Based on the version in `lease.metadata`. @throws Conflict, NotFound */
  update(lease: Lease, options: SendOptions): Promise<Lease>
  /** Deletes the lease in exactly this version. @throws Conflict, NotFound */
  remove(lease: Lease, options: SendOptions): Promise<void>
}

export function leaseRequests(client: Client): LeaseRequests {
  const ask = async (method: RawRequest['method'], path: string, body: object | undefined, options: SendOptions) => {
    const raw: RawRequest = { method, path, ...options, ...(body && { body: stringifyJson(body) }), retry: false }
    const answer = await readJson((await client.request(raw)).body, whereabouts(raw))
    if (!isJsonObject(answer))
      throw new MusterError(clientErrors.UnexpectedAnswer, `${whereabouts(raw)}: no object came.`)
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
      // Managed fields belong to the server, and are half of the body.
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
