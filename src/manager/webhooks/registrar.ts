/**
 * Keeps what one cluster knows about webhooks as it should be. It writes what differs and nothing else; it hears of
 * changes by watches, so that at rest it asks nothing.
 *
 * Several replicas register the same. One that is behind must not undo what another has published: so a write is made on
 * a state that was read before the Secret was. Whoever changed the registration since then knew a newer Secret, and the
 * write fails.
 *
 * A manager that may change every registration watches all of a kind, and keeps the bundles of those that it does not host.
 * One that may not (the role of `muster generate rbac` grants them by name) watches its own by name, and nothing else.
 */
import type { SharedCache } from '../../cache/shared-cache.ts'
import type { Subscription } from '../../cache/subscription.ts'
import type { Client } from '../../client/client.ts'
import type { Clock } from '../../clock/clock.ts'
import { isMusterError } from '../../kube/errors.ts'
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

/** A cluster, as far as webhooks are concerned. */
export interface WebhookCluster {
  readonly client: Client
  readonly cache: SharedCache
}

export interface Registrar {
  /** Brings the cluster nearer to what `wanted` says; of its writes the next call sees the outcome. */
  settle(wanted: DesiredRegistration): Promise<SettledRegistration>
  close(): void
}

export interface DesiredRegistration {
  /** All operators that register here, those without webhooks, too. */
  readonly operators: ReadonlySet<string>
  readonly registrations: readonly Registration[]
  /** PEM: what everything that trusts these certificates is to have. */
  readonly bundle: string
  /** The same from what the Secret says at the moment of the call; undefined when it says nothing. */
  again(): Promise<Pick<DesiredRegistration, 'registrations' | 'bundle'> | undefined>
}

export interface SettledRegistration {
  /** Everything was as wanted: nothing had to be written. */
  readonly isCurrent: boolean
  /** When to try again, where something failed or is being fought over. */
  readonly retryAt: number | undefined
}

export interface RegistrarOptions {
  readonly cluster: WebhookCluster
  readonly clock: Clock
  /** The certificates that registrations trust, see {@link certificatesLabel}. */
  readonly id: string
  /** Something has changed. */
  readonly onChange: () => void
  readonly onProblem: (where: string, error: unknown) => void
}

const consumer = 'webhooks'
/** Between two corrections of an object to the same state: somebody may be undoing them. */
const wait = { firstMs: 1000, mostMs: 300_000, forgetMs: 600_000 } as const

interface Correction {
  /** What it was corrected to: another wish is another matter, and does not wait. */
  readonly wish: string
  readonly at: number
  readonly waitMs: number
}

interface Due {
  readonly key: string
  readonly wish: string
  work(): Promise<void>
}

export function startRegistrar({ cluster, clock, id, onChange, onProblem }: RegistrarOptions): Registrar {
  const { client, cache } = cluster
  const writer = cache.writer(consumer)
  /** By plural, then by name; all of the kind have the name `all`. */
  const subscriptions = new Map<string, Map<string, Subscription>>()
  const corrections = new Map<string, Correction>()
  /** By plural: whether every object of the kind may be changed. */
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
      // CRDs are large, and there are many: only what we write is kept of them.
      ...(isOfCrds && { detail: ['spec.conversion'] }),
      ...(name !== all ? { fields: `metadata.name=${name}` } : !isOfCrds && { labels: { matchLabels: managedBy } }),
    })
    ofKind.set(name, made)
  }

  /** Watches what is to be kept, and says whether all of it is known. */
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
    return new Map(watching.flatMap((one) => one.list().map((object) => [object.metadata.name ?? '', object] as const)))
  }

  const lastOf = ({ key, wish }: Due): Correction | undefined => {
    const last = corrections.get(key)
    return last?.wish === wish && clock.now() - last.at <= wait.forgetMs ? last : undefined
  }
  const retryAt = (due: Due): number => {
    const last = lastOf(due)
    return last ? last.at + last.waitMs : -Infinity
  }
  const note = (due: Due): void => {
    const waitMs = Math.min((lastOf(due)?.waitMs ?? wait.firstMs / 2) * 2, wait.mostMs)
    corrections.set(due.key, { wish: due.wish, at: clock.now(), waitMs })
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
    // What the cluster has is not known yet; we are woken when it is.
    if (!(await watch(wanted))) return unsettled
    const lives = new Map(resources.map((resource) => [resource, liveOf(resource)]))
    const due: Due[] = []
    for (const registration of registrations) {
      const { key, resource, object, isWhole } = registration
      const live = lives.get(resource)?.get(object.metadata.name!)
      // A CRD that is not there converts nothing; when it comes, its event wakes us.
      if (live ? registration.isCurrent(live) : !isWhole) continue
      due.push({ key, wish: stringifyJson(object), work: () => correct(registration, wanted) })
    }
    const keys = new Set(registrations.map(({ key }) => key))
    const own = new Set([...operators].map(configurationName))
    for (const [resource, objects] of lives) {
      for (const live of objects.values()) {
        const key = `${formatResource(resource)} ${live.metadata.name}`
        if (keys.has(key) || live.metadata.labels?.[certificatesLabel] !== id) continue
        const other = withBundle(resource, live, bundle)
        if (own.has(live.metadata.name!)) due.push({ key, wish: 'gone', work: () => remove(resource, live) })
        else if (!other.isCurrent(live)) due.push({ key, wish: bundle, work: () => correct(other, wanted) })
      }
    }
    let next = Infinity
    for (const one of due) {
      if (clock.now() >= retryAt(one)) {
        note(one)
        try {
          await one.work()
        } catch (error) {
          // Another replica was faster: what it wrote is on its way here.
          if (!isMusterError(error, 'Conflict', 'NotFound')) onProblem(one.key, error)
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

/** No object is called that. */
const all = ''

/** An operator that has configurations of one kind may have had some of the other, which then have to go. */
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

/** Asked, not tried: a refusal would stand in the audit log of the server. */
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
    if (isMusterError(error, 'Forbidden', 'NotFound')) return false
    throw error
  }
}

async function found(client: Client, resource: Resource, name: string): Promise<UntypedObject | undefined> {
  try {
    return await client.get(resource, { name })
  } catch (error) {
    if (isMusterError(error, 'NotFound')) return undefined
    throw error
  }
}
