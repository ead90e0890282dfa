/**
 * The certificates of the webhook server, and when they change. A function of what there is and the time: it does no I/O,
 * so a year of it takes a test no time.
 *
 * An authority signs the certificate that is served; API servers trust the bundle. Whatever is served must be trusted by
 * whoever may still have an older bundle, and whatever is trusted may be needed by whoever still serves something older:
 *
 *     authority A ──── two thirds of its life ──▶ B is made and joins the bundle, A still signs
 *                 ──── B was seen in every configuration, and API servers had time to see it, too ──▶ B signs
 *                 ──── A runs out ──▶ A leaves the bundle
 *
 * So at no moment is there a certificate in use that is not trusted. A served certificate is renewed at two thirds of its
 * own life; its authority being trusted already, that is all there is to it.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import {
  type Certificate,
  createCertificateAuthority,
  openCertificateAuthority,
} from '../../pki/certificate-authority.ts'

/** What the Secret holds. */
export interface Certificates {
  /** Signs. */
  readonly authority: Certificate
  /** Will sign, once it is trusted everywhere. */
  readonly next: Certificate | undefined
  /** Certificates of authorities that sign no more, but may have signed what somebody still serves. */
  readonly retired: readonly string[]
  readonly serving: Certificate
}

export interface Lifetimes {
  /** @default a year */
  readonly authorityMs: number
  /** @default 90 days */
  readonly servingMs: number
  /** How long API servers may take to use a configuration that they have stored. @default a minute */
  readonly settleMs: number
  /** How far certificates are dated back, for machines whose clocks are behind. @default an hour */
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
  /** What API servers call the server: DNS names and IP addresses. */
  readonly names: readonly string[]
  /** Every configuration has had the whole bundle for `settleMs`. */
  readonly isPublished: boolean
}

/** What is to be trusted: the `caBundle`, in PEM. It depends on who is in it, not on who signs: then nothing is published. */
export function bundleOf({ authority, next, retired }: Certificates): string {
  return [authority.cert, ...(next ? [next.cert] : []), ...retired].toSorted().join('')
}

/** The certificates as they should be now: the very same where nothing is due. */
export function rotate(current: Certificates | undefined, input: RotationInput): Certificates {
  const { now, lifetimes } = input
  if (!current) return fresh([], input)
  const spent = spans(current.authority.cert, lifetimes)
  const retired = current.retired.filter((cert) => spans(cert, lifetimes).until > now)
  const isLost = spent.until <= now && !current.next
  // It slept through all of it. There is nothing left that anybody could trust.
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

/** When something is due by time alone. */
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
  // A cluster that cannot be reached cannot hold the others back until nothing is valid any more.
  if (!next || !(isPublished || now >= lastAt)) return current
  return { ...current, authority: next, next: undefined, retired: until > now ? [authority.cert, ...retired] : retired }
}

interface Spans {
  readonly renewAt: number
  /** The last moment at which a change is still a quiet one. */
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
    // Each has a name of its own, so that a chain is never ambiguous.
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
 * Names that another replica needs stay for the life of the certificate: two releases that disagree about the address,
 * running side by side, do not take turns in replacing it.
 */
function namesFor({ serving }: Certificates, { now, names, lifetimes }: RotationInput): readonly string[] {
  const { subjectAltName = '', validToDate } = new X509Certificate(serving.cert)
  const isOld = now >= spans(serving.cert, lifetimes).renewAt || validToDate.getTime() <= now
  if (isOld) return names
  const had = subjectAltName.split(', ').map((name) => name.slice(name.indexOf(':') + 1))
  return [...new Set([...names, ...had.filter((name) => name !== '')])]
}

/** Whether all of it is what it should be: whoever kept it may have damaged it. */
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
