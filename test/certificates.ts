/** Certificates for tests: created by product code, with the system clock, and expired on request. */
import { generateKeyPairSync } from 'node:crypto'
import { type Certificate, createCertificateAuthority } from '../src/pki/certificate-authority.ts'

/** PEM, as in files and kubeconfigs. */
export type PemPair = Certificate

export interface CertificateRequest {
  /** The user's name for a client certificate. */
  readonly commonName: string
  /** The user's groups for a client certificate. */
  readonly organizations?: readonly string[] | undefined
  readonly dnsNames?: readonly string[] | undefined
  readonly ips?: readonly string[] | undefined
  /** @default an hour ago */
  readonly notBefore?: Date | undefined
  /** @default in a day */
  readonly notAfter?: Date | undefined
  /** For a server rather than a client. @default false */
  readonly server?: boolean | undefined
}

export interface CertificateAuthority extends PemPair {
  issue(request: CertificateRequest): PemPair
}

export function makeCa(
  options: { readonly commonName?: string; readonly notBefore?: Date; readonly notAfter?: Date } = {},
): CertificateAuthority {
  const { commonName = 'test-ca' } = options
  const authority = createCertificateAuthority({ commonName, ...validity(options) })
  return {
    cert: authority.cert,
    key: authority.key,
    issue: ({ server = false, ...request }) =>
      authority.issue({ ...request, ...validity(request), purpose: server ? 'server' : 'client' }),
  }
}

/** A key pair for signing tokens: PKCS#8 and SPKI in PEM. */
export function makeSigningKeys(): { readonly publicKey: string; readonly privateKey: string } {
  return generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
}

function validity(given: { readonly notBefore?: Date | undefined; readonly notAfter?: Date | undefined }): {
  readonly from: number
  readonly until: number
} {
  const hour = 3_600_000
  return {
    from: given.notBefore?.getTime() ?? Date.now() - hour,
    until: given.notAfter?.getTime() ?? Date.now() + 24 * hour,
  }
}
