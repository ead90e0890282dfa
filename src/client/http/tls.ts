/**
 * TLS: trust, client certificates, and the error messages of both.
 *
 * Node verifies a server after the handshake in any case. Here it reports the result instead of closing the socket, because
 * only an open socket still has the certificate that a good message names; {@link verifyServer} then decides, and no byte is
 * sent before that.
 */
import type { X509Certificate } from 'node:crypto'
import type { SecureContext, TLSSocket } from 'node:tls'
import { clientErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { ClientCertificate, TlsSettings } from '../connection.ts'

/** Takes a few milliseconds with the trust store of a machine: created once, then shared by all connections. */
export function secureContext(
  settings: TlsSettings,
  certificate: ClientCertificate | undefined,
  place: string,
): SecureContext {
  const { createSecureContext } = process.getBuiltinModule('node:tls')
  const trust = settings.ca === undefined ? machineTrust() : settings.ca
  try {
    return createSecureContext({
      // As in Go: every certificate of the bundle is trusted by itself, even the server's own.
      ...(settings.insecureSkipVerify ? {} : { ca: trust as string | string[], allowPartialTrustChain: true }),
      ...(certificate ? { cert: certificate.cert, key: certificate.key } : {}),
    })
  } catch {
    // OpenSSL's message may quote the input.
    throw new MusterError(clientErrors.CertificateInvalid, `${place}: ${whyUnusable(certificate)}.`)
  }
}

/** The trust store of this machine; the one built into Node where there is none, as in small containers. */
export function machineTrust(): readonly string[] {
  const { getCACertificates } = process.getBuiltinModule('node:tls')
  const own = getCACertificates('system')
  return own.length > 0 ? own : getCACertificates('default')
}

function whyUnusable(certificate: ClientCertificate | undefined): string {
  if (!certificate) return 'the CA cannot be read as PEM'
  const { createPrivateKey } = process.getBuiltinModule('node:crypto')
  const parsed = parseCertificate(certificate.cert)
  if (!parsed) return 'the client certificate cannot be read as PEM'
  try {
    const belongs = parsed.checkPrivateKey(createPrivateKey(certificate.key))
    return belongs
      ? 'the client certificate cannot be used'
      : `the client key does not belong to the client certificate (${subjectOf(parsed)})`
  } catch {
    return 'the client key cannot be read as PEM without a password'
  }
}

/** Servers reject an expired client certificate with unclear errors: it is checked before. */
export function checkClientCertificate(certificate: ClientCertificate, now: number, place: string): void {
  const parsed = parseCertificate(certificate.cert)
  if (!parsed || Date.parse(parsed.validTo) > now) return
  throw new MusterError(
    clientErrors.CertificateExpired,
    `${place}: the client certificate (${subjectOf(parsed)}) was valid until ${date(parsed.validTo)}.`,
  )
}

/** Why this server is not trusted; undefined if it is. */
export function verifyServer(
  socket: TLSSocket,
  settings: TlsSettings,
  at: { readonly host: string; readonly place: string; readonly now: number },
): MusterError | undefined {
  if (socket.authorized || settings.insecureSkipVerify) return undefined
  const { host, place, now } = at
  // Declared as an Error; actually it is the code.
  const code = String(socket.authorizationError)
  const cause = new Error(code)
  const leaf = socket.getPeerX509Certificate()
  const whose = `the server's certificate${leaf ? ` (${subjectOf(leaf)})` : ''}`
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const names = leaf?.subjectAltName ?? 'none'
    return new MusterError(
      clientErrors.CertificateNameMismatch,
      `${place}: ${whose} is not for ${host}; its names: ${names}.`,
      {
        cause,
      },
    )
  }
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    return new MusterError(clientErrors.CertificateExpired, `${place}: ${expiry(leaf, settings.ca, now)}.`, { cause })
  }
  const why = untrusted[code] ?? code.toLowerCase().replaceAll('_', ' ')
  const ca =
    settings.ca === undefined
      ? 'no CA is configured, and this machine does not trust it'
      : parseCertificate(settings.ca)
        ? `the configured CA did not sign it`
        : 'the configured CA cannot be read as PEM'
  return new MusterError(clientErrors.CertificateUntrusted, `${place}: ${whose} is not trusted (${why}): ${ca}.`, {
    cause,
  })
}

const untrusted: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'signed by a CA that is not known here',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'signed by a CA that is not known here',
  UNABLE_TO_GET_ISSUER_CERT: 'signed by a CA that is not known here',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'signed by a CA that is not known here',
}

/** Which certificate of the chain is expired or not yet valid: the server's, an intermediate one, or the CA. */
function expiry(leaf: X509Certificate | undefined, ca: string | undefined, now: number): string {
  const chain: { readonly role: string; readonly certificate: X509Certificate }[] = []
  let certificate = leaf
  for (let depth = 0; certificate && depth < 10; depth++) {
    chain.push({ role: depth === 0 ? "the server's certificate" : 'the certificate of its issuer', certificate })
    certificate = certificate.issuerCertificate
  }
  const configured = ca === undefined ? undefined : parseCertificate(ca)
  if (configured) chain.push({ role: 'the configured CA', certificate: configured })
  for (const { role, certificate: one } of chain) {
    if (Date.parse(one.validTo) <= now) return `${role} (${subjectOf(one)}) was valid until ${date(one.validTo)}`
    if (Date.parse(one.validFrom) > now) return `${role} (${subjectOf(one)}) is valid from ${date(one.validFrom)} on`
  }
  return 'a certificate of the server has expired'
}

function parseCertificate(pem: string): X509Certificate | undefined {
  const crypto = process.getBuiltinModule('node:crypto')
  try {
    return new crypto.X509Certificate(pem)
  } catch {
    return undefined
  }
}

/** `O=system:masters, CN=admin`, from one part per line. */
function subjectOf(certificate: X509Certificate): string {
  return certificate.subject?.replaceAll('\n', ', ') ?? 'without a subject'
}

function date(text: string): string {
  return new Date(text).toISOString()
}
