/**
 * Values that an operator generates once and keeps in a Secret: passwords and certificates. They belong into `initial` of a
 * dependent with the policy `create-only`: the object is created with them, and they are not asked for again. Under the
 * simulator and in declarative tests they derive from the seed.
 */
import { randomBytes, X509Certificate } from 'node:crypto'
import { createCertificateAuthority } from '../../pki/certificate-authority.ts'

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
/** The largest multiple of the alphabet's size below 256: bytes beyond would favour the first letters. */
const fair = 256 - (256 % alphabet.length)

export interface PasswordOptions {
  /** @default 32 */
  readonly length?: number
}

/** Letters and digits: safe in URLs, shells and configuration files. */
export function generatePassword({ length = 32 }: PasswordOptions = {}): string {
  let password = ''
  while (password.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < fair && password.length < length) password += alphabet.charAt(byte % alphabet.length)
    }
  }
  return password
}

export interface GeneratedCertificateOptions {
  /** The first name of the server. */
  readonly commonName: string
  /** All names that clients use. @default the common name */
  readonly dnsNames?: readonly string[]
  /** The time of the run: `now` of the context. */
  readonly now: number
  /** @default 365 */
  readonly days?: number
}

/** All in PEM. */
export interface GeneratedCertificate {
  /** The certificate of the authority, which clients trust; its key is not kept. */
  readonly ca: string
  readonly cert: string
  readonly key: string
}

const dayMs = 86_400_000
/** Clocks of clients may be behind. */
const skewMs = 300_000

/** The certificate of a server and of the authority that signed it, both new. */
export function generateCertificate(options: GeneratedCertificateOptions): GeneratedCertificate {
  const { commonName, dnsNames = [commonName], now, days = 365 } = options
  const validity = { from: now - skewMs, until: now + days * dayMs }
  const authority = createCertificateAuthority({ commonName: `${commonName} CA`, ...validity })
  const { cert, key } = authority.issue({ commonName, dnsNames, purpose: 'server', ...validity })
  return { ca: authority.cert, cert, key }
}

/**
 * Whether a certificate in a Secret (`object.data?.['tls.crt']`, base64) must be replaced: it is missing, unreadable, or less
 * than a third of its time is left.
 */
export function isExpiring(data: string | undefined, now: number): boolean {
  try {
    const { validFromDate, validToDate } = new X509Certificate(Buffer.from(data ?? '', 'base64'))
    const [from, until] = [validFromDate.getTime(), validToDate.getTime()]
    return until - now < (until - from) / 3
  } catch {
    return true
  }
}
