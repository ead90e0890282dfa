/**
 * Keeps the webhook registrations of one cluster as desired. It corrects drift and writes nothing else; it is notified
 * by watches, so that it sends no requests at rest.
 *
 * Several replicas register the same webhooks. A replica with an old certificate bundle must not overwrite a newer one:
 * so a write is conditional on a version that was read before the Secret was. If another replica has changed the
 * registration since then, it knew a newer Secret, and the write fails with a conflict.
 *
 * A manager that may patch every registration watches whole kinds, and updates the bundles of operators that it does
 * not host as well. A manager without that right (the role of `muster generate rbac` grants them by name) watches its
 * own by name only.
 */
import type { SharedCache } from '../../cache/shared-cache.ts'
import type { Subscription } from '../../cache/subscription.ts'
import type { Client } from '../../client/client.ts'
import type { Clock } from '../../clock/clock.ts'
import { clientErrors } from '../../client/errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import { stringifyJson } from '../../kube/json.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { fieldManager, managedBy } from './certificate-secret.ts'
import {
  certificatesLabel,
  configurationName,
  definitions,
  mutatingConfigurations,
  type Registration,
  validatingConfigurations,
  withBundle,
} from './registration.ts'

/** A cluster in which webhooks are registered. */
export interface WebhookCluster {
  readonly client: Client
  readonly cache: SharedCache
}

export interface Registrar {
  /** Corrects differences from `wanted`; the next call sees the result of its writes. */
  settle(wanted: DesiredRegistration): Promise<SettledRegistration>
  close(): void
}

export interface DesiredRegistration {
  /** All operators that register here, including those without webhooks. */
  readonly operators: ReadonlySet<string>
  readonly registrations: readonly Registration[]
  /** PEM: the `caBundle` of all registrations that trust these certificates. */
  readonly bundle: string
  /** The same from the current Secret; undefined when there is none. */
  again(): Promise<Pick<DesiredRegistration, 'registrations' | 'bundle'> | undefined>
}

interface SettledRegistration {
  /** Everything was as desired: nothing was written. */
  readonly isCurrent: boolean
  /** When to try again after a failure or a conflict with another client. */
  readonly retryAt: number | undefined
}

interface RegistrarOptions {
  readonly cluster: WebhookCluster
  readonly clock: Clock
  /** The value of {@link certificatesLabel}. */
  readonly id: string
  /** A watched object has changed. */
  readonly onChange: () => void
  readonly onProblem: (where: string, error: unknown) => void
}

const consumer = 'webhooks'
/** Back-off between two corrections of an object to the same state: another client may be reverting them. */
const wait = { firstMs: 1000, mostMs: 300_000, forgetMs: 600_000 } as const

interface Correction {
  /** The state it was corrected to: another desired state does not wait. */
  readonly desired: string
  readonly at: number
  readonly waitMs: number
}

interface Due {
  readonly key: string
  readonly desired: string
  work(): Promise<void>
}

export function startRegistrar({ cluster, clock, id, onChange, onProblem }: RegistrarOptions): Registrar {
  const { client, cache } = cluster
  const writer = cache.writer(consumer)
  /** By plural, then by name; a whole kind has the name `all`. */
  const subscriptions = new Map<string, Map<string, Subscription>>()
  const corrections = new Map<string, Correction>()
  /** By plural: whether every object of the kind may be patched. */
  const wide = new Map<string, boolean>()
  let isClosed = false

  const subscribe = (resource: Resource, name: string): void => {
    const ofKind = subscriptions.get(resource.plural) ?? new Map<string, Subscription>()
    if (isClosed || ofKind.has(name)) return
    subscriptions.set(resource.plural, ofKind)
    const isOfCrds = resource === definitions
    const made = cache.subscribe(resource, {
      consumer,
      onEvent: onChange,
      onFreshness: ({ state }) => {
        if (state === 'synced') onChange()
      },
      // CRDs are large and numerous: only the fields that we write are cached.
      ...(isOfCrds && { detail: ['spec.conversion'] }),
      ...(name !== all ? { fields: `metadata.name=${name}` } : !isOfCrds && { labels: { matchLabels: managedBy } }),
    })
    ofKind.set(name, made)
  }

  /** Watches the desired registrations, and returns whether all of them are loaded. */
  const watch = async ({ registrations }: DesiredRegistration): Promise<boolean> => {
    for (const resource of resources) {
      const { plural } = resource
      if (!wide.has(plural)) wide.set(plural, await mayPatch(client, resource))
      if (wide.get(plural)) subscribe(resource, all)
      else for (const name of ownNames(resource, registrations)) subscribe(resource, name)
    }
    return subscribed().every(({ freshness }) => freshness.state !== 'syncing')
  }
  const subscribed = (): readonly Subscription[] =>
    subscriptions
      .values()
      .flatMap((ofKind) => ofKind.values())
      .toArray()
  /** By name. */
  const liveOf = (resource: Resource): ReadonlyMap<string, UntypedObject> => {
    const watching = [...(subscriptions.get(resource.plural)?.values() ?? [])]
    return new Map(watching.flatMap((one) => one.list().map((object) => [object.metadata.name, object] as const)))
  }

  const lastOf = ({ key, desired }: Due): Correction | undefined => {
    const last = corrections.get(key)
    return last?.desired === desired && clock.now() - last.at <= wait.forgetMs ? last : undefined
  }
  const retryAt = (due: Due): number => {
    const last = lastOf(due)
    return last ? last.at + last.waitMs : -Infinity
  }
  const note = (due: Due): void => {
    const waitMs = Math.min((lastOf(due)?.waitMs ?? wait.firstMs / 2) * 2, wait.mostMs)
    corrections.set(due.key, { desired: due.desired, at: clock.now(), waitMs })
  }

  const correct = async ({ key, resource, object }: Registration, wanted: DesiredRegistration): Promise<void> => {
    const { name } = object.metadata
    const live = await found(client, resource, name!)
    const fresh = await wanted.again()
    if (!fresh) return
    const declared = fresh.registrations.find((one) => one.key === key)
    const now = declared ?? (live && withBundle(resource, live, fresh.bundle))
    if (!now || (live ? now.isCurrent(live) : !now.isWhole)) return
    const { resourceVersion } = live?.metadata ?? {}
    const metadata = { ...now.object.metadata, ...(resourceVersion && { resourceVersion }) }
    await writer.apply(resource, { ...now.object, metadata }, { fieldManager, force: true })
  }

  const remove = async (resource: Resource, { metadata: { name, uid } }: UntypedObject): Promise<void> => {
    await writer.delete(resource, { name: name! }, { ...(uid && { preconditions: { uid } }) })
  }

  const settle: Registrar['settle'] = async (wanted) => {
    const { operators, registrations, bundle } = wanted
    // The live objects are not loaded yet; an event starts the next call.
    if (!(await watch(wanted))) return unsettled
    const lives = new Map(resources.map((resource) => [resource, liveOf(resource)]))
    const due: Due[] = []
    for (const registration of registrations) {
      const { key, resource, object, isWhole } = registration
      const live = lives.get(resource)?.get(object.metadata.name!)
      // A CRD that does not exist converts nothing; when it is created, its event starts the next call.
      if (live ? registration.isCurrent(live) : !isWhole) continue
      due.push({ key, desired: stringifyJson(object), work: () => correct(registration, wanted) })
    }
    const keys = new Set(registrations.map(({ key }) => key))
    const own = new Set([...operators].map(configurationName))
    for (const [resource, objects] of lives) {
      for (const live of objects.values()) {
        const key = `${formatResource(resource)} ${live.metadata.name}`
        if (keys.has(key) || live.metadata.labels?.[certificatesLabel] !== id) continue
        const other = withBundle(resource, live, bundle)
        if (own.has(live.metadata.name!)) due.push({ key, desired: 'gone', work: () => remove(resource, live) })
        else if (!other.isCurrent(live)) due.push({ key, desired: bundle, work: () => correct(other, wanted) })
      }
    }
    let next = Infinity
    for (const one of due) {
      if (clock.now() >= retryAt(one)) {
        note(one)
        try {
          await one.work()
        } catch (error) {
          // Another replica was faster: its write arrives as an event.
          if (!isMusterError(error, clientErrors.Conflict, clientErrors.NotFound)) onProblem(one.key, error)
        }
      }
      next = Math.min(next, retryAt(one))
    }
    return { isCurrent: due.length === 0, retryAt: due.length === 0 ? undefined : next }
  }

  return {
    settle,
    close() {
      isClosed = true
      for (const subscription of subscribed()) subscription.close()
    },
  }
}

const unsettled: SettledRegistration = { isCurrent: false, retryAt: undefined }

const resources = [validatingConfigurations, mutatingConfigurations, definitions] as const

/** No object has this name. */
const all = ''

/** An operator with configurations of one kind may have had some of the other kind, which must be deleted. */
function ownNames(resource: Resource, registrations: readonly Registration[]): ReadonlySet<string> {
  const isOfCrds = resource === definitions
  const own = registrations.filter((registration) => (registration.resource === definitions) === isOfCrds)
  return new Set(own.map(({ object }) => object.metadata.name!))
}

const accessReviews: Resource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'SelfSubjectAccessReview',
  plural: 'selfsubjectaccessreviews',
  namespaced: false,
}

/** By a SelfSubjectAccessReview: a refused request would show in the audit log. */
async function mayPatch(client: Client, { group, plural }: Resource): Promise<boolean> {
  const review: UntypedObject = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    metadata: {},
    spec: { resourceAttributes: { group, resource: plural, verb: 'patch' } },
  }
  try {
    const { status } = (await client.create(accessReviews, review)) as {
      readonly status?: { readonly allowed?: boolean }
    }
    return status?.allowed === true
  } catch (error) {
    if (isMusterError(error, clientErrors.Forbidden, clientErrors.NotFound)) return false
    throw error
  }
}

async function found(client: Client, resource: Resource, name: string): Promise<UntypedObject | undefined> {
  try {
    const object = await client.get(resource, { name })
    return object
  } catch (error) {
    if (isMusterError(error, clientErrors.NotFound)) return undefined
    throw error
  }
}
