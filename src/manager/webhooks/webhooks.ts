/**
 * Serves and registers the webhooks of hosted operators: certificates in a Secret, a server that uses them, and
 * registrations in API servers. It works in passes, each from the Secret to the registrations and back; a pass that
 * finds no difference writes nothing, and then no requests are sent until something changes or is due.
 */
import type { Clock } from '../../clock/clock.ts'
import { createAccessReviewer } from './access-reviews.ts'
import { clientErrors } from '../../client/errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import { Secret } from '../../kube/kinds.ts'
import { type KeptCertificates, readCertificates, type SecretName, writeCertificates } from './certificate-secret.ts'
import { type Registrar, startRegistrar, type DesiredRegistration, type WebhookCluster } from './registrar.ts'
import { repeat } from './repeat.ts'
import { certificatesId, registrationNames, type Registration, registrationsOf } from './registration.ts'
import { bundleOf, type Certificates, defaultLifetimes, dueAt, type Lifetimes, rotate } from './rotation.ts'
import type { OperatorWebhooks, WebhookAddress, WebhookHost } from './webhook-host.ts'
import type { WebhookListenAddress, WebhookServer } from './webhook-server.ts'

export interface WebhooksOptions {
  /** Answers reviews. */
  readonly host: WebhookHost
  readonly clock: Clock
  /** The cluster of the Secret, and the default cluster for registrations. */
  readonly cluster: WebhookCluster
  /** Holds the certificates. All replicas share it; it is created if missing. */
  readonly secret: SecretName
  /** The address for API servers. A URL with port 0 gets the actual port. */
  readonly address: WebhookAddress
  /** @default none: only an API server in this process calls */
  readonly listen?: WebhookListenAddress | undefined
  readonly lifetimes?: Partial<Lifetimes> | undefined
  /** Receives errors that will be retried. @default ignored */
  readonly onProblem?: ((where: string, error: unknown) => void) | undefined
}

export interface Webhooks {
  /** Serves and registers an operator's webhooks, or replaces them. @throws InvalidWebhook */
  set(operator: string, declared: OperatorWebhooks, cluster?: WebhookCluster): void
  /**
   * Removes them: first the registrations, then the handlers. Conversions stay registered: without them, stored objects
   * could not be read at other versions.
   */
  delete(operator: string): Promise<void>
  /**
   * Resolves when everything that was set is registered, or only the given operator's: an unreachable cluster blocks
   * the others' for ever.
   */
  settled(operator?: string): Promise<void>
  /** As registered. */
  readonly address: WebhookAddress
  close(): Promise<void>
}

/** Retry interval for an unreachable cluster. */
const retryMs = 5000
/** Retry interval for a Secret that another replica writes at the same time. */
const contendedMs = 100

interface Place {
  readonly registrar: Registrar
  readonly operators: Set<string>
  /** Everything was as desired at the last pass. */
  isCurrent: boolean
}

/** A caller of `settled`. */
interface Waiter {
  readonly operator: string | undefined
  /** The number of the last change that it waits for. */
  readonly change: number
  readonly done: PromiseWithResolvers<void>
}

/** @throws CertificatesForeign, and errors of reading or creating the Secret */
export async function startWebhooks(options: WebhooksOptions): Promise<Webhooks> {
  const { host, clock, cluster: home, secret, listen, onProblem = () => undefined } = options
  const lifetimes: Lifetimes = { ...defaultLifetimes, ...options.lifetimes }
  const names = registrationNames(options.address)
  let { address } = options
  const places = new Map<WebhookCluster, Place>()
  let server: WebhookServer | undefined
  let served: Certificates['serving'] | undefined
  /** The bundle that every registration has, and since when. */
  let published: { readonly bundle: string; readonly since: number } | undefined
  const waiting = new Set<Waiter>()
  /** Counts changes: a pass that began before a change does not include it. */
  let changes = 0
  /** Operators with earlier declarations that are still served. */
  const changed = new Set<string>()

  const read = (): Promise<KeptCertificates> => readCertificates(home.client, secret)

  const serve = (serving: Certificates['serving']): void => {
    if (served && served.cert === serving.cert) return
    served = serving
    server?.use(serving)
  }

  const registrations = ({ operators }: Place, bundle: string): readonly Registration[] =>
    [...operators].flatMap((operator) =>
      registrationsOf(operator, host.operators.get(operator) ?? {}, { address, bundle, secret }),
    )

  /** Whether all clusters were as desired, and when to retry if not. */
  const publish = async (bundle: string): Promise<{ readonly isCurrent: boolean; readonly retryAt: number }> => {
    let isCurrent = true
    let retryAt = Infinity
    for (const place of places.values()) {
      const wantedWith = (text: string): Omit<DesiredRegistration, 'again'> => ({
        operators: place.operators,
        registrations: registrations(place, text),
        bundle: text,
      })
      const again = async (): Promise<Omit<DesiredRegistration, 'again'> | undefined> => {
        const { certificates } = await read()
        return certificates && wantedWith(bundleOf(certificates))
      }
      try {
        const settled = await place.registrar.settle({ ...wantedWith(bundle), again })
        place.isCurrent = settled.isCurrent
        isCurrent &&= settled.isCurrent
        retryAt = Math.min(retryAt, settled.retryAt ?? Infinity)
      } catch (error) {
        // An unreachable cluster does not block the others.
        onProblem('registration', error)
        place.isCurrent = false
        isCurrent = false
        retryAt = Math.min(retryAt, clock.now() + retryMs)
      }
    }
    return { isCurrent, retryAt }
  }

  /** One pass; returns when the next is due. */
  const pass = async (): Promise<number> => {
    const change = changes
    const { certificates, resourceVersion } = await read()
    let retryAt = Infinity
    if (certificates) {
      serve(certificates.serving)
      const bundle = bundleOf(certificates)
      const outcome = await publish(bundle)
      retryAt = outcome.retryAt
      if (!outcome.isCurrent || change !== changes) published = undefined
      else if (published?.bundle !== bundle) published = { bundle, since: clock.now() }
      answer(change)
    }
    const now = clock.now()
    const trustedAt = published ? published.since + lifetimes.settleMs : Infinity
    const wanted = rotate(certificates, { now, lifetimes, names, isPublished: now >= trustedAt })
    if (wanted !== certificates) {
      const isWritten = await write(wanted, resourceVersion)
      return isWritten ? now : now + contendedMs
    }
    if (now >= trustedAt) {
      for (const operator of changed) host.forget(operator)
      changed.clear()
    }
    return Math.min(retryAt, dueAt(wanted, lifetimes), wanted.next || changed.size > 0 ? trustedAt : Infinity)
  }

  /** Resolves callers whose clusters are current and whose changes this pass included. */
  const answer = (change: number): void => {
    for (const waiter of waiting) {
      const { operator } = waiter
      const concerned = [...places.values()].filter((place) => operator === undefined || place.operators.has(operator))
      if (waiter.change > change || !concerned.every(({ isCurrent }) => isCurrent)) continue
      waiting.delete(waiter)
      waiter.done.resolve()
    }
  }

  /** False when another replica was faster; its certificates are as good. */
  const write = async (wanted: Certificates, resourceVersion: string | undefined): Promise<boolean> => {
    try {
      await writeCertificates(home.client, secret, wanted, resourceVersion)
      return true
    } catch (error) {
      if (!isMusterError(error, clientErrors.Conflict, clientErrors.AlreadyExists)) throw error
      return false
    }
  }

  const rounds = repeat(clock, pass, (error) => onProblem('certificates', error))
  const placeOf = (cluster: WebhookCluster): Place => {
    const known = places.get(cluster)
    if (known) return known
    const registrar = startRegistrar({ cluster, clock, id: certificatesId(secret), onChange: rounds.wake, onProblem })
    const place: Place = { registrar, operators: new Set(), isCurrent: false }
    places.set(cluster, place)
    return place
  }

  // The first certificate, before the server listens.
  const firstCertificate = async (): Promise<Certificates['serving']> => {
    await pass()
    return served ?? (await firstCertificate())
  }
  const certificate = await firstCertificate()
  if (listen) {
    const { startWebhookServer } = await import('./webhook-server.ts')
    server = await startWebhookServer({ host, clock, listen, certificate })
    address = withPort(address, server.port)
  }
  const watch = home.cache.subscribe(Secret, {
    consumer: 'webhooks',
    namespaces: [secret.namespace],
    fields: `metadata.name=${secret.name}`,
    // Metadata is enough to notice a change: private keys are not cached.
    detail: 'metadata',
    onEvent: rounds.wake,
  })
  placeOf(home)
  rounds.wake()

  const changing = (operator: string): void => {
    changes++
    published = undefined
    changed.add(operator)
    rounds.wake()
  }
  const settled = async (operator?: string): Promise<void> => {
    const waiter = { operator, change: ++changes, done: Promise.withResolvers<void>() }
    waiting.add(waiter)
    rounds.wake()
    await waiter.done.promise
  }
  /** Closes the registrar of a cluster without operators. */
  const leaveEmpty = (): void => {
    for (const [cluster, { registrar, operators }] of places) {
      if (cluster === home || operators.size > 0) continue
      registrar.close()
      places.delete(cluster)
    }
  }

  return {
    set(operator, declared, cluster = home) {
      const { webhooks, conversions } = declared
      const reviewer = webhooks?.some(({ access }) => access) ? createAccessReviewer(cluster.client) : undefined
      host.set(operator, {
        ...(webhooks && { webhooks }),
        ...(conversions && { conversions }),
        ...(reviewer && { reviewer }),
      })
      for (const { operators } of places.values()) operators.delete(operator)
      placeOf(cluster).operators.add(operator)
      // The operator's former cluster, or an earlier connection to the same one: its registrations there stay.
      leaveEmpty()
      changing(operator)
    },
    async delete(operator) {
      const { conversions = [] } = host.operators.get(operator) ?? {}
      if (conversions.length > 0) host.set(operator, { conversions })
      else host.delete(operator)
      changing(operator)
      await settled(operator)
      if (conversions.length === 0) for (const { operators } of places.values()) operators.delete(operator)
      leaveEmpty()
    },
    settled,
    address,
    async close() {
      rounds.stop()
      for (const { done } of waiting) done.resolve()
      watch.close()
      for (const { registrar } of places.values()) registrar.close()
      await server?.close()
    },
  }
}

function withPort(address: WebhookAddress, port: number): WebhookAddress {
  return 'url' in address ? { url: address.url.replace(/:0$/, `:${port}`) } : address
}
