/**
 * Webhooks of hosted operators, kept reachable: certificates in a Secret, a server that uses them, and API servers that
 * are told. It works in passes, each from the Secret to the registrations and back; a pass that finds everything in order
 * writes nothing, and then nothing is asked until something changes or falls due.
 */
import type { Clock } from '../../clock/clock.ts'
import { isMusterError } from '../../kube/errors.ts'
import { Secret } from '../../operator/kinds.ts'
import { type KeptCertificates, readCertificates, type SecretName, writeCertificates } from './certificate-secret.ts'
import { type Registrar, startRegistrar, type DesiredRegistration, type WebhookCluster } from './registrar.ts'
import { repeat } from './repeat.ts'
import { certificatesId, registrationNames, type Registration, registrationsOf } from './registration.ts'
import { bundleOf, type Certificates, defaultLifetimes, dueAt, type Lifetimes, rotate } from './rotation.ts'
import type { OperatorWebhooks, WebhookAddress, WebhookHost } from './webhook-host.ts'
import type { WebhookListenAddress, WebhookServer } from './webhook-server.ts'

export interface WebhooksOptions {
  /** Who answers. */
  readonly host: WebhookHost
  readonly clock: Clock
  /** Where the Secret is, and where operators register unless they say otherwise. */
  readonly cluster: WebhookCluster
  /** Holds the certificates. All replicas share it; it is made when missing. */
  readonly secret: SecretName
  /** Where API servers find us. A URL with port 0 gets the one that is listened on. */
  readonly address: WebhookAddress
  /** @default nowhere: only an API server in this process asks */
  readonly listen?: WebhookListenAddress | undefined
  readonly lifetimes?: Partial<Lifetimes> | undefined
  /** Hears what went wrong and will be tried again. @default nobody */
  readonly onProblem?: ((where: string, error: unknown) => void) | undefined
}

export interface Webhooks {
  /** Hosts an operator's webhooks, or replaces those that it had. @throws InvalidWebhook */
  set(operator: string, declared: OperatorWebhooks, cluster?: WebhookCluster): void
  /**
   * Takes them back: API servers stop asking first, then nobody answers any more. Conversions stay registered: without
   * one, objects would be shown as what they are not.
   */
  delete(operator: string): Promise<void>
  /**
   * Resolves when everything that was set is registered, or what one operator has set: a cluster that is away keeps those
   * of others waiting for ever.
   */
  settled(operator?: string): Promise<void>
  /** As API servers are told. */
  readonly address: WebhookAddress
  close(): Promise<void>
}

/** When a cluster that cannot be reached is tried again. */
const retryMs = 5000
/** And the Secret, when another replica writes it, too. */
const contendedMs = 100

interface Place {
  readonly registrar: Registrar
  readonly operators: Set<string>
  /** As it should be, when last looked at. */
  isCurrent: boolean
}

/** Somebody who waits for what he set. */
interface Waiter {
  readonly operator: string | undefined
  /** What he knows was asked for by then. */
  readonly wish: number
  readonly done: PromiseWithResolvers<void>
}

/** @throws CertificatesForeign, and whatever keeps the Secret from being read or made */
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
  /** Counts what was asked for: a round that began before knows nothing of it. */
  let wishes = 0
  /** Operators that had other webhooks before. */
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

  /** Whether all clusters were as they should be, and when to look again where not. */
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
        // One cluster that is away does not keep the others waiting.
        onProblem('registration', error)
        place.isCurrent = false
        isCurrent = false
        retryAt = Math.min(retryAt, clock.now() + retryMs)
      }
    }
    return { isCurrent, retryAt }
  }

  /** One round; returns when the next is due. */
  const pass = async (): Promise<number> => {
    const wish = wishes
    const { certificates, resourceVersion } = await read()
    let retryAt = Infinity
    if (certificates) {
      serve(certificates.serving)
      const bundle = bundleOf(certificates)
      const outcome = await publish(bundle)
      retryAt = outcome.retryAt
      if (!outcome.isCurrent || wish !== wishes) published = undefined
      else if (published?.bundle !== bundle) published = { bundle, since: clock.now() }
      answer(wish)
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

  /** Those who wait for places that are current, and were known to this round. */
  const answer = (wish: number): void => {
    for (const waiter of waiting) {
      const { operator } = waiter
      const concerned = [...places.values()].filter((place) => operator === undefined || place.operators.has(operator))
      if (waiter.wish > wish || !concerned.every(({ isCurrent }) => isCurrent)) continue
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
      if (!isMusterError(error, 'Conflict', 'AlreadyExists')) throw error
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

  // The first certificates, before anybody could ask.
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
    // That it changed is enough to know: keys are not kept in a cache.
    detail: 'metadata',
    onEvent: rounds.wake,
  })
  placeOf(home)
  rounds.wake()

  const changing = (operator: string): void => {
    wishes++
    published = undefined
    changed.add(operator)
    rounds.wake()
  }
  const settled = async (operator?: string): Promise<void> => {
    const waiter = { operator, wish: ++wishes, done: Promise.withResolvers<void>() }
    waiting.add(waiter)
    rounds.wake()
    await waiter.done.promise
  }
  /** A cluster where nobody registers anything any more is let go. */
  const leaveEmpty = (): void => {
    for (const [cluster, { registrar, operators }] of places) {
      if (cluster === home || operators.size > 0) continue
      registrar.close()
      places.delete(cluster)
    }
  }

  return {
    set(operator, declared, cluster = home) {
      host.set(operator, declared)
      for (const { operators } of places.values()) operators.delete(operator)
      placeOf(cluster).operators.add(operator)
      // The same cluster as it was reached before, or one that this operator has left: what it had there stays there.
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
