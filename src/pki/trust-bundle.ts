/**
 * A trust bundle: the certificates of the authorities whose clients a server admits, as in the file that
 * `--client-ca-file` of kube-apiserver names. The TLS handshake proves that a client has the key of its certificate; the
 * bundle says whether the certificate itself counts.
 */
import { X509Certificate } from 'node:crypto'
import { pemBlocks } from '../kube/text/pem.ts'

export interface TrustBundle {
  /**
   * Whether the certificate is one of the bundle, or issued by one of them, directly or through certificates that the client
   * sent along, and is valid now and for a client.
   */
  isClient(certificate: X509Certificate, now: number): boolean
}

/** Longer chains are refused, whatever a client sends. */
const longestChain = 8

const clientAuth = '1.3.6.1.5.5.7.3.2'
const anyUsage = '2.5.29.37.0'

/** Undefined if the text has no certificate, or one that cannot be parsed. */
export function readTrustBundle(pem: string): TrustBundle | undefined {
  const roots: X509Certificate[] = []
  for (const { type, text } of pemBlocks(pem)) {
    if (type !== 'CERTIFICATE') continue
    try {
      roots.push(new X509Certificate(text))
    } catch {
      return undefined
    }
  }
  if (roots.length === 0) return undefined

  const isTrusted = (certificate: X509Certificate, now: number): boolean => {
    let shown: X509Certificate | undefined = certificate
    for (let length = 0; shown && length < longestChain; length++) {
      const one: X509Certificate = shown
      if (!isCurrent(one, now)) return false
      // A client may have a self-signed certificate that is its own authority.
      if (roots.some((root) => root.raw.equals(one.raw))) return true
      if (roots.some((root) => isCurrent(root, now) && issued(root, one))) return true
      const next: X509Certificate | undefined = one.issuerCertificate
      shown = next && issued(next, one) ? next : undefined
    }
    return false
  }

  return { isClient: (certificate, now) => isForClients(certificate) && isTrusted(certificate, now) }
}

function issued(issuer: X509Certificate, certificate: X509Certificate): boolean {
  return issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
}

/** A certificate that names no usage has them all. */
function isForClients({ keyUsage }: X509Certificate): boolean {
  return !keyUsage || keyUsage.some((usage) => usage === clientAuth || usage === anyUsage)
}

function isCurrent({ validFromDate, validToDate }: X509Certificate, now: number): boolean {
  return validFromDate.getTime() <= now && now <= validToDate.getTime()
}
