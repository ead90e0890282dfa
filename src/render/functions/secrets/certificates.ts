/** Keys and certificates. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { signCertificate, encodedSubject } from '../../../pki/x509.ts'
import { derInteger, readDer, sequence } from '../../../pki/der.ts'
import { pemBlocks } from '../../../kube/text/pem.ts'
import type { RenderMeter } from '../../template/budget.ts'
import { type CallContext, goFunction, type GoFunction } from '../../template/function-type.ts'
import { formatPlain } from '../../template/format-value.ts'
import { GoError } from '../../template/go-error.ts'
import { bytesText } from '../../template/text-bytes.ts'
import { GoObject } from '../../template/values.ts'
import { decodeBase64 } from '../encoding/base-encodings.ts'

type List = readonly unknown[]

function certificate(cert: string, key: string): GoObject {
  return new GoObject('sprig.certificate', { fields: { Cert: cert, Key: key } })
}

/** A pair of PEM texts, created once for each call site. */
function pairFor(name: string, args: List, context: CallContext, create: () => readonly [string, string]): GoObject {
  const [cert = '', key = ''] = context.services.generate<readonly string[]>(name, args, create)
  return certificate(cert, key)
}

export const certificateFunctions: readonly (readonly [string, GoFunction])[] = [
  [
    'genPrivateKey',
    goFunction('string', ([type]: [string], { services, budget }) => {
      if (!keyTypes.has(type)) return `Unknown type ${type}`
      return services.generate('genPrivateKey', [type], () => newKey(type, budget))
    }),
  ],
  ['buildCustomCert', goFunction('string string', ([cert, key]: [string, string]) => customCertificate(cert, key))],
  ...generating('genCA', 'string int', ([name, days]: [string, bigint]) => ({ name, days, isAuthority: true })),
  ...generating(
    'genSelfSignedCert',
    'string list list int',
    ([name, ips, dns, days]: [string, List, List, bigint]) => ({
      name,
      days,
      ips,
      dns,
    }),
  ),
  ...generating(
    'genSignedCert',
    'string list list int sprig.certificate',
    ([name, ips, dns, days, authority]: [string, List, List, bigint, GoObject]) => ({
      name,
      days,
      ips,
      dns,
      authority,
    }),
  ),
]

interface Request {
  readonly name: string
  readonly days: bigint
  readonly ips?: List
  readonly dns?: List
  readonly isAuthority?: boolean
  /** Without it the certificate signs itself. */
  readonly authority?: GoObject
}

/** A function, and its variant that is given a private key. */
function generating(
  name: string,
  signature: string,
  read: (args: never) => Request,
): readonly (readonly [string, GoFunction])[] {
  return [
    [
      name,
      goFunction(signature, (args: List, context) => {
        const request = checked(read(args as never))
        return pairFor(name, args, context, () => issue(request, newKey('rsa-2048', context.budget), context))
      }),
    ],
    [
      `${name}WithKey`,
      goFunction(`${signature} string`, (args: List, context) => {
        const pem = String(args.at(-1))
        try {
          readKey(pem)
        } catch (error) {
          throw error instanceof GoError ? new GoError(`parsing private key: ${error.message}`) : error
        }
        const request = checked(read(args as never))
        return pairFor(`${name}WithKey`, args, context, () => issue(request, pem, context))
      }),
    ],
  ]
}

/** @throws GoError for an address or a name that is none, or an authority that cannot sign */
function checked(request: Request): Request {
  if (request.authority) signerOf(request.authority)
  for (const ip of request.ips ?? []) {
    if (typeof ip !== 'string') throw new GoError(`error parsing ip: ${formatPlain(ip)} is not a string`)
    if (isIP(ip) === 0) throw new GoError(`error parsing ip: ${ip}`)
  }
  for (const name of request.dns ?? []) {
    if (typeof name !== 'string') {
      throw new GoError(`error processing alternate dns name: ${formatPlain(name)} is not a string`)
    }
  }
  return request
}

const dayMs = 86_400_000

function issue(request: Request, keyPem: string, { services }: CallContext): readonly [string, string] {
  const privateKey = readKey(keyPem)
  const signer = request.authority ? signerOf(request.authority) : undefined
  const from = services.now()
  const cert = signCertificate({
    subject: { commonName: request.name },
    publicKey: createPublicKey(privateKey),
    issuer: { name: signer?.name, privateKey: signer?.privateKey ?? privateKey },
    serial: services.randomBytes(15),
    from,
    until: from + Number(request.days) * dayMs,
    isAuthority: request.isAuthority ?? false,
    dnsNames: (request.dns ?? []) as readonly string[],
    ips: (request.ips ?? []) as readonly string[],
  })
  return [cert, keyPem]
}

interface Signer {
  /** The encoded subject of its certificate. */
  readonly name: Buffer
  readonly privateKey: KeyObject
}

function signerOf(authority: GoObject): Signer {
  const [cert, key] = [String(authority.fields['Cert']), String(authority.fields['Key'])]
  if (firstBlock(cert) === undefined) throw new GoError('unable to decode certificate')
  let name: Buffer
  try {
    name = encodedSubject(new X509Certificate(cert).raw)
  } catch {
    throw new GoError('error parsing certificate: decodedSignerCert.Bytes: x509: malformed certificate')
  }
  try {
    return { name, privateKey: readKey(key) }
  } catch (error) {
    throw error instanceof GoError ? new GoError(`error parsing private key: ${error.message}`) : error
  }
}

function firstBlock(text: string): { readonly type: string } | undefined {
  for (const block of pemBlocks(text)) return block
  return undefined
}

/** @throws GoError */
function readKey(pem: string): KeyObject {
  const block = firstBlock(pem)
  if (!block) throw new GoError('no PEM data in input')
  if (!block.type.endsWith('PRIVATE KEY')) throw new GoError(`no private key data in PEM block of type ${block.type}`)
  try {
    return createPrivateKey(pem)
  } catch {
    throw new GoError('decoding PEM as PKCS#8: x509: failed to parse private key')
  }
}

function customCertificate(certText: string, keyText: string): GoObject {
  const decode = (text: string, what: string): string => {
    try {
      return bytesText(decodeBase64(text))
    } catch (error) {
      throw error instanceof GoError ? new GoError(`unable to decode base64 ${what}`) : error
    }
  }
  const cert = decode(certText, 'certificate')
  const key = decode(keyText, 'private key')
  if (firstBlock(cert) === undefined) throw new GoError('unable to decode certificate')
  if (!isCertificate(cert)) {
    throw new GoError('error parsing certificate: decodedCert.Bytes: x509: malformed certificate')
  }
  try {
    readKey(key)
  } catch (error) {
    throw error instanceof GoError ? new GoError(`error parsing private key: ${error.message}`) : error
  }
  return certificate(cert, key)
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0
  } catch {
    return false
  }
}

const keyTypes: ReadonlySet<string> = new Set(['', 'rsa', 'dsa', 'ecdsa', 'ed25519'])

/** A private key in PEM: in the format that belongs to its type. */
/** Steps of the budget, by the time that they take on average. */
const keySteps: Readonly<Record<string, number>> = { dsa: 200_000, rsa: 200_000, 'rsa-2048': 30_000 }

function newKey(type: string, budget: RenderMeter): string {
  budget.step(keySteps[type] ?? 1000)
  switch (type) {
    case 'dsa':
      return newDsaKey()
    case 'ecdsa':
      return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
        type: 'sec1',
        format: 'pem',
      })
    case 'ed25519':
      return generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })
    default: {
      const modulusLength = type === 'rsa-2048' ? 2048 : 4096
      const { privateKey } = generateKeyPairSync('rsa', { modulusLength })
      return privateKey.export({ type: 'pkcs1', format: 'pem' })
    }
  }
}

/** The traditional format of DSA keys: version, parameters, public and private value. */
function newDsaKey(): string {
  const { privateKey, publicKey } = generateKeyPairSync('dsa', { modulusLength: 2048, divisorLength: 256 })
  const members = (der: Buffer): readonly { readonly content: Buffer; readonly whole: Buffer }[] =>
    readDer(readDer(der)![0]!.content)!
  const [, algorithm, secret] = members(privateKey.export({ type: 'pkcs8', format: 'der' }))
  const parameters = readDer(readDer(algorithm!.content)![1]!.content)!.map(({ whole }) => whole)
  const [, open] = members(publicKey.export({ type: 'spki', format: 'der' }))
  const body = sequence(derInteger(Buffer.from([0])), ...parameters, open!.content.subarray(1), secret!.content)
  const text = body.toString('base64').replaceAll(/.{1,64}/g, '$&\n')
  return `-----BEGIN DSA PRIVATE KEY-----\n${text}-----END DSA PRIVATE KEY-----\n`
}
