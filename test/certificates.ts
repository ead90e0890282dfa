/**
 * Certificates for tests, made in memory: a CA, and server or client certificates that it signs, valid or expired on
 * demand. X.509 is DER (tag, length, content) all the way down; the few tags needed are written here, and node:crypto
 * makes the keys and signatures.
 */
import { type KeyObject, createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

/** PEM, as files and kubeconfigs hold them. */
export interface PemPair {
  readonly cert: string
  readonly key: string
}

export interface CertificateRequest {
  /** The user's name for a client certificate. */
  readonly commonName: string
  /** The user's groups for a client certificate. */
  readonly organizations?: readonly string[] | undefined
  readonly dnsNames?: readonly string[] | undefined
  /** IPv4, or IPv6 in any of its spellings. */
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
  const name = distinguishedName(options.commonName ?? 'test-ca')
  const keys = newKeys()
  const cert = certificate({
    subject: name,
    subjectKey: keys.publicKey,
    issuer: name,
    issuerKeys: keys,
    ...validity(options),
    extensions: [basicConstraints(true), keyUsage(usage.certSign | usage.digitalSignature)],
  })
  return {
    cert,
    key: privatePem(keys.privateKey),
    issue(request) {
      const own = newKeys()
      const alternatives = subjectAlternatives(request)
      return {
        cert: certificate({
          subject: distinguishedName(request.commonName, request.organizations),
          subjectKey: own.publicKey,
          issuer: name,
          issuerKeys: keys,
          ...validity(request),
          extensions: [
            basicConstraints(false),
            keyUsage(usage.digitalSignature),
            extendedKeyUsage(request.server ? oids.serverAuth : oids.clientAuth),
            ...(alternatives ? [alternatives] : []),
          ],
        }),
        key: privatePem(own.privateKey),
      }
    },
  }
}

/** A key pair for signing tokens: PKCS#8 and SPKI in PEM. */
export function makeSigningKeys(): { readonly publicKey: string; readonly privateKey: string } {
  const { publicKey, privateKey } = newKeys()
  return { publicKey: publicKey.export({ type: 'spki', format: 'pem' }), privateKey: privatePem(privateKey) }
}

interface Keys {
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

const newKeys = (): Keys => generateKeyPairSync('ec', { namedCurve: 'P-256' })

const privatePem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' })

function validity(given: { readonly notBefore?: Date | undefined; readonly notAfter?: Date | undefined }): {
  readonly notBefore: Date
  readonly notAfter: Date
} {
  const hour = 3_600_000
  return {
    notBefore: given.notBefore ?? new Date(Date.now() - hour),
    notAfter: given.notAfter ?? new Date(Date.now() + 24 * hour),
  }
}

function certificate(parts: {
  readonly subject: Buffer
  readonly subjectKey: KeyObject
  readonly issuer: Buffer
  readonly issuerKeys: Keys
  readonly notBefore: Date
  readonly notAfter: Date
  readonly extensions: readonly Buffer[]
}): string {
  const algorithm = sequence(oid(oids.ecdsaWithSha256))
  const subjectKey = parts.subjectKey.export({ type: 'spki', format: 'der' })
  const issuerKey = parts.issuerKeys.publicKey.export({ type: 'spki', format: 'der' })
  const body = sequence(
    explicit(0, integer(Buffer.from([2]))),
    // The top bit stays clear: a serial number is positive.
    integer(Buffer.concat([Buffer.from([0x40]), randomBytes(15)])),
    algorithm,
    parts.issuer,
    sequence(time(parts.notBefore), time(parts.notAfter)),
    parts.subject,
    subjectKey,
    explicit(
      3,
      sequence(
        ...parts.extensions,
        extension(oids.subjectKeyId, octets(keyId(subjectKey))),
        extension(oids.authorityKeyId, sequence(implicit(0, keyId(issuerKey)))),
      ),
    ),
  )
  const signature = sign('sha256', body, parts.issuerKeys.privateKey)
  const base64 = sequence(body, algorithm, bits(signature)).toString('base64')
  return `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{1,64}/g, '$&\n')}-----END CERTIFICATE-----\n`
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

/** Bits of the KeyUsage extension, counted from the top of its first byte. */
const usage = { digitalSignature: 0x80, certSign: 0x04 } as const

function distinguishedName(commonName: string, organizations: readonly string[] = []): Buffer {
  const part = (type: string, value: string): Buffer => set(sequence(oid(type), tagged(0x0c, Buffer.from(value))))
  return sequence(...organizations.map((name) => part(oids.organization, name)), part(oids.commonName, commonName))
}

const extension = (type: string, value: Buffer, critical = false): Buffer =>
  sequence(oid(type), ...(critical ? [boolean(true)] : []), octets(value))

const basicConstraints = (isCa: boolean): Buffer =>
  extension(oids.basicConstraints, sequence(...(isCa ? [boolean(true)] : [])), true)

function keyUsage(flags: number): Buffer {
  const unused = 31 - Math.clz32(flags & -flags)
  return extension(oids.keyUsage, tagged(0x03, Buffer.from([unused, flags])), true)
}

const extendedKeyUsage = (purpose: string): Buffer => extension(oids.extendedKeyUsage, sequence(oid(purpose)))

function subjectAlternatives({ dnsNames = [], ips = [] }: CertificateRequest): Buffer | undefined {
  if (dnsNames.length + ips.length === 0) return undefined
  return extension(
    oids.subjectAlternatives,
    sequence(...dnsNames.map((name) => implicit(2, Buffer.from(name))), ...ips.map((ip) => implicit(7, ipBytes(ip)))),
  )
}

function ipBytes(ip: string): Buffer {
  if (!ip.includes(':')) return Buffer.from(ip.split('.').map(Number))
  const words = (part: string | undefined): string[] => (part ? part.split(':') : [])
  const [head, tail] = ip.split('::')
  const [before, after] = [words(head), words(tail)]
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0')
  return Buffer.from([...before, ...zeros, ...after].map((word) => word.padStart(4, '0')).join(''), 'hex')
}

const keyId = (spki: Buffer): Buffer => createHash('sha1').update(spki).digest()

function tagged(tag: number, content: Buffer): Buffer {
  const length = content.length
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content])
  const bytes = Buffer.from(length.toString(16).padStart(length > 0xff ? 4 : 2, '0'), 'hex')
  return Buffer.concat([Buffer.from([tag, 0x80 | bytes.length]), bytes, content])
}

const sequence = (...parts: readonly Buffer[]): Buffer => tagged(0x30, Buffer.concat(parts))
const set = (...parts: readonly Buffer[]): Buffer => tagged(0x31, Buffer.concat(parts))
const integer = (bytes: Buffer): Buffer => tagged(0x02, bytes)
const boolean = (value: boolean): Buffer => tagged(0x01, Buffer.from([value ? 0xff : 0]))
const octets = (bytes: Buffer): Buffer => tagged(0x04, bytes)
const bits = (bytes: Buffer): Buffer => tagged(0x03, Buffer.concat([Buffer.from([0]), bytes]))
const explicit = (number: number, content: Buffer): Buffer => tagged(0xa0 | number, content)
const implicit = (number: number, content: Buffer): Buffer => tagged(0x80 | number, content)

/** UTCTime until 2049, GeneralizedTime after: RFC 5280 asks for exactly that. */
function time(date: Date): Buffer {
  const text = date.toISOString().replace(/[-:T]|\.\d+/g, '')
  return date.getUTCFullYear() < 2050 ? tagged(0x17, Buffer.from(text.slice(2))) : tagged(0x18, Buffer.from(text))
}

function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  const bytes = [first * 40 + second]
  for (const number of rest) {
    const digits = [number & 0x7f]
    for (let left = number >>> 7; left > 0; left >>>= 7) digits.unshift((left & 0x7f) | 0x80)
    bytes.push(...digits)
  }
  return tagged(0x06, Buffer.from(bytes))
}
