/**
 * A certificate authority for server and client certificates. The embedded server creates its own at start; a client with its
 * certificate (it is in the kubeconfig) can verify that it talks to this very process.
 *
 * A certificate is a subject, a public key, its usages and validity, and a signature over all of that.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto'
import {
  bits,
  derBoolean,
  explicit,
  implicit,
  derInteger,
  octets,
  oid,
  readDer,
  sequence,
  set,
  time,
  utf8,
} from './der.ts'

/** Both in PEM. */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

/** The validity of a certificate, in milliseconds since the epoch. */
export interface Validity {
  readonly from: number
  readonly until: number
}

export interface CertificateSubject {
  /** For a client: the name of the user. */
  readonly commonName: string
  /** For a client: the user's groups. */
  readonly organizations?: readonly string[] | undefined
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
  const cert = certificate(issuer, {
    ...validity,
    name: issuer.name,
    publicKey: issuer.keys.publicKey,
    extensions: [basicConstraints(true), keyUsage(usage.certSign | usage.digitalSignature)],
  })
  return authorityOf(issuer, cert)
}

/** An authority that was created before and stored. Throws the error of node:crypto if it is invalid. */
export function openCertificateAuthority({ cert, key }: Certificate): CertificateAuthority {
  const privateKey = createPrivateKey(key)
  const keys: Keys = { privateKey, publicKey: createPublicKey(privateKey) }
  return authorityOf({ name: subjectOf(new X509Certificate(cert).raw), keys }, cert)
}

function authorityOf(issuer: Issuer, cert: string): CertificateAuthority {
  const certify: CertificateAuthority['certify'] = (publicKey, request) =>
    certificate(issuer, {
      ...request,
      name: distinguishedName(request),
      publicKey,
      extensions: [
        basicConstraints(false),
        keyUsage(usage.digitalSignature),
        extendedKeyUsage(request.purpose === 'server' ? oids.serverAuth : oids.clientAuth),
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
      if (!shown.keyUsage?.includes(oids.clientAuth)) return false
      return shown.validFromDate.getTime() <= now && now <= shown.validToDate.getTime()
    },
    issue(request) {
      const keys = newKeys()
      return { cert: certify(keys.publicKey, request), key: privatePem(keys) }
    },
    certify,
  }
}

/** The encoded bytes: chains are verified by comparing bytes. Version, serial, algorithm, issuer and validity precede it. */
function subjectOf(der: Buffer): Buffer {
  const [whole] = readDer(der) ?? []
  const [body] = readDer(whole?.content ?? Buffer.alloc(0)) ?? []
  return readDer(body?.content ?? Buffer.alloc(0))?.[5]?.whole ?? Buffer.alloc(0)
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

interface Body extends Validity {
  readonly name: Buffer
  readonly publicKey: KeyObject
  readonly extensions: readonly Buffer[]
}

function certificate(issuer: Issuer, { name, publicKey, from, until, extensions }: Body): string {
  const algorithm = sequence(oid(oids.ecdsaWithSha256))
  const key = publicKey.export({ type: 'spki', format: 'der' })
  const issuerKey = issuer.keys.publicKey.export({ type: 'spki', format: 'der' })
  const body = sequence(
    explicit(0, derInteger(Buffer.from([2]))),
    // A serial number is positive: its top bit stays clear.
    derInteger(Buffer.concat([Buffer.from([0x40]), randomBytes(15)])),
    algorithm,
    issuer.name,
    sequence(time(from), time(until)),
    name,
    key,
    explicit(
      3,
      sequence(
        ...extensions,
        extension(oids.subjectKeyId, octets(keyId(key))),
        extension(oids.authorityKeyId, sequence(implicit(0, keyId(issuerKey)))),
      ),
    ),
  )
  const signature = sign('sha256', body, issuer.keys.privateKey)
  return toPem('CERTIFICATE', sequence(body, algorithm, bits(signature)))
}

function toPem(label: string, der: Buffer): string {
  return `-----BEGIN ${label}-----\n${der.toString('base64').replaceAll(/.{1,64}/g, '$&\n')}-----END ${label}-----\n`
}

const oids = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  subjectKeyId: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAlternatives: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyId: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
} as const

/** Bits of the extension, counted from the top of its first byte. */
const usage = { digitalSignature: 0x80, certSign: 0x04 } as const

function distinguishedName({ commonName, organizations = [] }: CertificateSubject): Buffer {
  const part = (type: string, value: string): Buffer => set(sequence(oid(type), utf8(value)))
  return sequence(...organizations.map((name) => part(oids.organization, name)), part(oids.commonName, commonName))
}

function extension(type: string, value: Buffer, critical = false): Buffer {
  return sequence(oid(type), ...(critical ? [derBoolean(true)] : []), octets(value))
}

function basicConstraints(isAuthority: boolean): Buffer {
  return extension(oids.basicConstraints, sequence(...(isAuthority ? [derBoolean(true)] : [])), true)
}

function keyUsage(flags: number): Buffer {
  return extension(oids.keyUsage, bits(Buffer.from([flags]), 31 - Math.clz32(flags & -flags)), true)
}

function extendedKeyUsage(purpose: string): Buffer {
  return extension(oids.extendedKeyUsage, sequence(oid(purpose)))
}

function subjectAlternatives({ dnsNames = [], ips = [] }: CertificateRequest): readonly Buffer[] {
  if (dnsNames.length + ips.length === 0) return []
  const names = [
    ...dnsNames.map((name) => implicit(2, Buffer.from(name))),
    ...ips.map((ip) => implicit(7, addressBytes(ip))),
  ]
  return [extension(oids.subjectAlternatives, sequence(...names))]
}

function addressBytes(ip: string): Buffer {
  // node:net's own check costs 30 ms on first use, a sixth of a start.
  if (!ip.includes(':')) return Buffer.from(ip.split('.').map(Number))
  const words = (part: string | undefined): string[] => (part ? part.split(':') : [])
  const [head, tail] = ip.split('::')
  const [before, after] = [words(head), words(tail)]
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0')
  return Buffer.from([...before, ...zeros, ...after].map((word) => word.padStart(4, '0')).join(''), 'hex')
}

/** SHA-1 identifies a key here; nothing depends on its strength. */
function keyId(spki: Buffer): Buffer {
  return createHash('sha1').update(spki).digest()
}
