/**
 * X.509 certificates: a subject, a public key, its usages and validity, and a signature over all of that. The signature's
 * algorithm is that of the issuer's key: ECDSA and RSA with SHA-256, or Ed25519.
 */
import { createHash, createPublicKey, type KeyObject, sign } from 'node:crypto'
import {
  bits,
  derBoolean,
  derInteger,
  explicit,
  implicit,
  octets,
  oid,
  readDer,
  sequence,
  set,
  tagged,
  time,
  utf8,
} from './der.ts'

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

interface AlternativeNames {
  /** DNS names of a server. */
  readonly dnsNames?: readonly string[] | undefined
  /** IPv4, or IPv6 in any notation. */
  readonly ips?: readonly string[] | undefined
}

interface Issuer {
  /** The encoded subject of its own certificate. */
  readonly name: Buffer
  readonly privateKey: KeyObject
}

interface CertificateBody extends Validity {
  readonly issuer: Issuer
  readonly name: Buffer
  readonly publicKey: KeyObject
  /** A positive number, big-endian. */
  readonly serial: Uint8Array
  readonly extensions: readonly Buffer[]
}

/** Signed, in PEM. */
export function certificateText({ issuer, name, publicKey, serial, from, until, extensions }: CertificateBody): string {
  const algorithm = algorithmOf(issuer.privateKey)
  const key = publicKey.export({ type: 'spki', format: 'der' })
  const issuerKey = createPublicKey(issuer.privateKey).export({ type: 'spki', format: 'der' })
  const body = sequence(
    explicit(0, derInteger(Buffer.from([2]))),
    derInteger(serial),
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
  const digest = issuer.privateKey.asymmetricKeyType === 'ed25519' ? null : 'sha256'
  return toPem('CERTIFICATE', sequence(body, algorithm, bits(sign(digest, body, issuer.privateKey))))
}

interface CertificateOptions extends Validity, AlternativeNames {
  readonly subject: CertificateSubject
  readonly publicKey: KeyObject
  /** Without a name the certificate signs itself. */
  readonly issuer: { readonly name: Buffer | undefined; readonly privateKey: KeyObject }
  /** Random bytes. */
  readonly serial: Uint8Array
  readonly isAuthority: boolean
}

/** A certificate for servers and clients alike, in PEM. */
export function signCertificate(options: CertificateOptions): string {
  const name = distinguishedName(options.subject)
  const { digitalSignature, keyEncipherment, certSign } = usages
  return certificateText({
    ...options,
    name,
    issuer: { name: options.issuer.name ?? name, privateKey: options.issuer.privateKey },
    serial: Buffer.concat([Buffer.from([0x40]), options.serial]),
    extensions: [
      keyUsage(keyEncipherment | digitalSignature | (options.isAuthority ? certSign : 0)),
      extendedKeyUsage(purposes.server, purposes.client),
      basicConstraints(options.isAuthority),
      ...subjectAlternatives(options),
    ],
  })
}

function algorithmOf({ asymmetricKeyType }: KeyObject): Buffer {
  if (asymmetricKeyType === 'rsa') return sequence(oid(oids.rsaWithSha256), tagged(0x05, Buffer.alloc(0)))
  return sequence(oid(asymmetricKeyType === 'ed25519' ? oids.ed25519 : oids.ecdsaWithSha256))
}

function toPem(label: string, der: Buffer): string {
  return `-----BEGIN ${label}-----\n${der.toString('base64').replaceAll(/.{1,64}/g, '$&\n')}-----END ${label}-----\n`
}

/** The encoded bytes: chains are verified by comparing bytes. Version, serial, algorithm, issuer and validity precede it. */
export function encodedSubject(der: Buffer): Buffer {
  const [whole] = readDer(der) ?? []
  const [body] = readDer(whole?.content ?? Buffer.alloc(0)) ?? []
  return readDer(body?.content ?? Buffer.alloc(0))?.[5]?.whole ?? Buffer.alloc(0)
}

const oids = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  rsaWithSha256: '1.2.840.113549.1.1.11',
  ed25519: '1.3.101.112',
  subjectKeyId: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAlternatives: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyId: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
} as const

/** What a certificate may be used for. */
export const purposes = { server: '1.3.6.1.5.5.7.3.1', client: '1.3.6.1.5.5.7.3.2' } as const

/** Bits of the extension, counted from the top of its first byte. */
export const usages = { digitalSignature: 0x80, keyEncipherment: 0x20, certSign: 0x04 } as const

export function distinguishedName({ commonName, organizations = [] }: CertificateSubject): Buffer {
  const part = (type: string, value: string): Buffer => set(sequence(oid(type), utf8(value)))
  return sequence(...organizations.map((name) => part(oids.organization, name)), part(oids.commonName, commonName))
}

function extension(type: string, value: Buffer, critical = false): Buffer {
  return sequence(oid(type), ...(critical ? [derBoolean(true)] : []), octets(value))
}

export function basicConstraints(isAuthority: boolean): Buffer {
  return extension(oids.basicConstraints, sequence(...(isAuthority ? [derBoolean(true)] : [])), true)
}

export function keyUsage(flags: number): Buffer {
  return extension(oids.keyUsage, bits(Buffer.from([flags]), 31 - Math.clz32(flags & -flags)), true)
}

export function extendedKeyUsage(...allowed: readonly string[]): Buffer {
  return extension(oids.extendedKeyUsage, sequence(...allowed.map(oid)))
}

export function subjectAlternatives({ dnsNames = [], ips = [] }: AlternativeNames): readonly Buffer[] {
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
