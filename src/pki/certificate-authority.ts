/**
 * A certificate authority for server and client certificates. The embedded server creates its own at start; a client with its
 * certificate (it is in the kubeconfig) can verify that it talks to this very process.
 *
 * A certificate is a subject, a public key, its usages and validity, and a signature over all of that.
 */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  X509Certificate,
} from 'node:crypto'
import {
  basicConstraints,
  type CertificateSubject,
  certificateText,
  distinguishedName,
  extendedKeyUsage,
  keyUsage,
  purposes,
  subjectAlternatives,
  encodedSubject,
  usages,
  type Validity,
} from './x509.ts'

/** Both in PEM. */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

export interface CertificateRequest extends CertificateSubject, Validity {
  readonly purpose: 'server' | 'client'
  /** DNS names of a server. */
  readonly dnsNames?: readonly string[] | undefined
  /** IPv4, or IPv6 in any notation. */
  readonly ips?: readonly string[] | undefined
}

export interface CertificateAuthority extends Certificate {
  /** A new key with a certificate. */
  issue(request: CertificateRequest): Certificate
  /** A certificate for a key that its owner keeps. */
  certify(publicKey: KeyObject, request: CertificateRequest): string
  /** Whether this authority issued the client certificate and it is valid now. The TLS handshake proves possession of the key. */
  isClient(certificate: X509Certificate, now: number): boolean
}

export function createCertificateAuthority({
  commonName,
  ...validity
}: CertificateSubject & Validity): CertificateAuthority {
  const issuer: Issuer = { name: distinguishedName({ commonName }), keys: newKeys() }
  const cert = certificateText({
    issuer: { name: issuer.name, privateKey: issuer.keys.privateKey },
    serial: newSerial(),
    ...validity,
    name: issuer.name,
    publicKey: issuer.keys.publicKey,
    extensions: [basicConstraints(true), keyUsage(usages.certSign | usages.digitalSignature)],
  })
  return authorityOf(issuer, cert)
}

/** An authority that was created before and stored. Throws the error of node:crypto if it is invalid. */
export function openCertificateAuthority({ cert, key }: Certificate): CertificateAuthority {
  const privateKey = createPrivateKey(key)
  const keys: Keys = { privateKey, publicKey: createPublicKey(privateKey) }
  return authorityOf({ name: encodedSubject(new X509Certificate(cert).raw), keys }, cert)
}

function authorityOf(issuer: Issuer, cert: string): CertificateAuthority {
  const certify: CertificateAuthority['certify'] = (publicKey, request) =>
    certificateText({
      issuer: { name: issuer.name, privateKey: issuer.keys.privateKey },
      serial: newSerial(),
      ...request,
      name: distinguishedName(request),
      publicKey,
      extensions: [
        basicConstraints(false),
        keyUsage(usages.digitalSignature),
        extendedKeyUsage(request.purpose === 'server' ? purposes.server : purposes.client),
        ...subjectAlternatives(request),
      ],
    })
  let own: X509Certificate | undefined
  return {
    cert,
    // Computed on demand: rarely needed.
    get key() {
      return privatePem(issuer.keys)
    },
    isClient(shown, now) {
      own ??= new X509Certificate(cert)
      if (!shown.checkIssued(own) || !shown.verify(issuer.keys.publicKey)) return false
      if (!shown.keyUsage?.includes(purposes.client)) return false
      return shown.validFromDate.getTime() <= now && now <= shown.validToDate.getTime()
    },
    issue(request) {
      const keys = newKeys()
      return { cert: certify(keys.publicKey, request), key: privatePem(keys) }
    },
    certify,
  }
}

/** A serial number is positive: its top bit stays clear. */
function newSerial(): Buffer {
  return Buffer.concat([Buffer.from([0x40]), randomBytes(15)])
}

interface Keys {
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

interface Issuer {
  readonly name: Buffer
  readonly keys: Keys
}

function newKeys(): Keys {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' })
}

function privatePem({ privateKey }: Keys): string {
  return privateKey.export({ type: 'pkcs8', format: 'pem' })
}
