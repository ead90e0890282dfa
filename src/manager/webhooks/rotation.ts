/**
 * The certificates of the webhook server, and their rotation. A pure function of the certificates and the time: a
 * simulated year takes a test no time.
 *
 * A certificate authority signs the serving certificate; API servers trust the bundle. A serving certificate must be
 * trusted by API servers that still have an older bundle, and an authority must stay in the bundle while a replica may
 * still serve a certificate of it:
 *
 *     authority A ──── two thirds of its lifetime ──▶ B is created and added to the bundle, A still signs
 *                 ──── every configuration has B, and API servers had time to use it ──▶ B signs
 *                 ──── A expires ──▶ A is removed from the bundle
 *
 * So at no time is an untrusted certificate in use. A serving certificate is renewed at two thirds of its own lifetime;
 * its authority is trusted already.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import {
  type Certificate,
  createCertificateAuthority,
  openCertificateAuthority,
} from '../../pki/certificate-authority.ts'

/** The content of the Secret. */
export interface Certificates {
  /** Signs serving certificates. */
  readonly authority: Certificate
  /** Signs in the future, once it is trusted everywhere. */
  readonly next: Certificate | undefined
  /** Authorities that no longer sign, but may have signed a certificate that a replica still serves. */
  readonly retired: readonly string[]
  readonly serving: Certificate
}

export interface Lifetimes {
  /** @default 365 days */
  readonly authorityMs: number
  /** @default 90 days */
  readonly servingMs: number
  /** How long API servers may take to use a stored configuration. @default a minute */
  readonly settleMs: number
  /** How far certificates are backdated, for machines whose clocks are behind. @default an hour */
  readonly backdateMs: number
}

const dayMs = 24 * 3_600_000

export const defaultLifetimes: Lifetimes = {
  authorityMs: 365 * dayMs,
  servingMs: 90 * dayMs,
  settleMs: 60_000,
  backdateMs: 3_600_000,
}

export interface RotationInput {
  readonly now: number
  readonly lifetimes: Lifetimes
  /** DNS names and IP addresses of the server. */
  readonly names: readonly string[]
  /** Every configuration has had the whole bundle for `settleMs`. */
  readonly isPublished: boolean
}

/**
 * The `caBundle`, in PEM. It depends on the set of authorities and not on which of them signs: a switch publishes
 * nothing.
 */
export function bundleOf({ authority, next, retired }: Certificates): string {
  return [authority.cert, ...(next ? [next.cert] : []), ...retired].toSorted().join('')
}

/** The certificates as they should be now: the same object where nothing is due. */
export function rotate(current: Certificates | undefined, input: RotationInput): Certificates {
  const { now, lifetimes } = input
  if (!current) return fresh([], input)
  const spent = spans(current.authority.cert, lifetimes)
  const retired = current.retired.filter((cert) => spans(cert, lifetimes).until > now)
  const isLost = spent.until <= now && !current.next
  // Everything has expired during a long downtime: start over.
  if (isLost) return fresh(retired, input)
  const promoted = promote({ ...current, retired }, input, spent)
  const next =
    promoted.next ?? (now >= spans(promoted.authority.cert, lifetimes).renewAt ? newAuthority(input) : undefined)
  const serving = isServable(promoted, input)
    ? promoted.serving
    : newServing(promoted.authority, namesFor(promoted, input), input)
  const isSame =
    promoted.authority === current.authority &&
    next === current.next &&
    serving === current.serving &&
    retired.length === current.retired.length
  return isSame ? current : { authority: promoted.authority, next, retired: promoted.retired, serving }
}

/** When the next step is due by time alone. */
export function dueAt({ authority, next, retired, serving }: Certificates, lifetimes: Lifetimes): number {
  const { renewAt, lastAt } = spans(authority.cert, lifetimes)
  return Math.min(
    next ? lastAt : renewAt,
    spans(serving.cert, lifetimes).renewAt,
    ...retired.map((cert) => spans(cert, lifetimes).until),
  )
}

function fresh(retired: readonly string[], input: RotationInput): Certificates {
  const authority = newAuthority(input)
  return { authority, next: undefined, retired, serving: newServing(authority, input.names, input) }
}

function promote(current: Certificates, { now, isPublished }: RotationInput, { lastAt, until }: Spans): Certificates {
  const { authority, next, retired } = current
  // An unreachable cluster must not block the rotation until everything has expired.
  if (!next || !(isPublished || now >= lastAt)) return current
  return { ...current, authority: next, next: undefined, retired: until > now ? [authority.cert, ...retired] : retired }
}

interface Spans {
  readonly renewAt: number
  /** The last moment for a change without interruption. */
  readonly lastAt: number
  readonly until: number
}

function spans(cert: string, { backdateMs }: Lifetimes): Spans {
  const { validFromDate, validToDate } = new X509Certificate(cert)
  const [from, until] = [validFromDate.getTime() + backdateMs, validToDate.getTime()]
  return { renewAt: from + ((until - from) * 2) / 3, lastAt: from + (until - from) * 0.9, until }
}

function newAuthority({ now, lifetimes }: RotationInput): Certificate {
  const { cert, key } = createCertificateAuthority({
    // Unique names, so that a chain is never ambiguous.
    commonName: `muster-webhooks-${new Date(now).toISOString()}`,
    from: now - lifetimes.backdateMs,
    until: now + lifetimes.authorityMs,
  })
  return { cert, key }
}

function newServing(authority: Certificate, names: readonly string[], { now, lifetimes }: RotationInput): Certificate {
  return openCertificateAuthority(authority).issue({
    commonName: 'muster-webhooks',
    purpose: 'server',
    dnsNames: names.filter((name) => !isAddress(name)),
    ips: names.filter(isAddress),
    from: now - lifetimes.backdateMs,
    until: Math.min(now + lifetimes.servingMs, spans(authority.cert, lifetimes).until),
  })
}

function isAddress(name: string): boolean {
  return name.includes(':') || /^\d{1,3}(?:\.\d{1,3}){3}$/.test(name)
}

function isServable({ authority, serving }: Certificates, { now, names, lifetimes }: RotationInput): boolean {
  const [issuer, served] = [new X509Certificate(authority.cert), new X509Certificate(serving.cert)]
  return (
    served.checkIssued(issuer) &&
    now < spans(serving.cert, lifetimes).renewAt &&
    names.every((name) => (isAddress(name) ? served.checkIP(name) : served.checkHost(name)) !== undefined)
  )
}

/**
 * Names that another replica needs stay for the lifetime of the certificate: two releases side by side with different
 * addresses must not keep replacing it.
 */
function namesFor({ serving }: Certificates, { now, names, lifetimes }: RotationInput): readonly string[] {
  const { subjectAltName = '', validToDate } = new X509Certificate(serving.cert)
  const isOld = now >= spans(serving.cert, lifetimes).renewAt || validToDate.getTime() <= now
  if (isOld) return names
  const had = subjectAltName.split(', ').map((name) => name.slice(name.indexOf(':') + 1))
  return [...new Set([...names, ...had.filter((name) => name !== '')])]
}

/** Whether all parts are present and valid: the Secret may have been damaged. */
export function isCompleteBundle({ authority, next, retired, serving }: Certificates): boolean {
  try {
    const issuers = [authority, ...(next ? [next] : [])].map((one) => {
      const cert = new X509Certificate(one.cert)
      if (!cert.ca || !cert.checkPrivateKey(createPrivateKey(one.key))) throw new Error('not a pair')
      return cert
    })
    for (const cert of retired) issuers.push(new X509Certificate(cert))
    const served = new X509Certificate(serving.cert)
    return (
      served.checkPrivateKey(createPrivateKey(serving.key)) && issuers.some((issuer) => served.verify(issuer.publicKey))
    )
  } catch {
    return false
  }
}
