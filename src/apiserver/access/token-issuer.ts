/**
 * The tokens of service accounts: JSON Web Tokens that the server signs itself, with a key that never leaves it.
 *
 * A token is believed by its signature, and by nothing it says before that is checked: the algorithm is ours, whatever
 * its header claims. Whether the account it speaks for is still there is asked elsewhere, at every request.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { MusterError } from '../../kube/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'

export interface TokenIssuerOptions {
  /** Private key in PEM: EC on the curve P-256, or RSA. @default a new EC key, made when first needed */
  readonly key?: string | undefined
  /** Who tokens are from, and whom they are for unless they say otherwise. */
  readonly issuer: string
}

export interface TokenIssuer {
  readonly issuer: string
  /** The claims as a signed token. */
  sign(claims: JsonObject): string
  /** The claims of a token that this issuer signed; undefined for all else. Times and audiences are not looked at. */
  open(token: string): JsonObject | undefined
  algorithm(): 'ES256' | 'RS256'
  /** For those who want to check signatures themselves: what `/openid/v1/jwks` answers. */
  keySet(): JsonObject
}

interface Signer {
  readonly algorithm: 'ES256' | 'RS256'
  readonly keyId: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

/** Signatures checked already. A token is a bearer's for an hour or more, and checking takes longer than most requests. */
const rememberedTokens = 1000

export function createTokenIssuer({ key, issuer }: TokenIssuerOptions): TokenIssuer {
  let made: Signer | undefined
  const signer = (): Signer => (made ??= signerOf(key))
  const opened = new Map<string, JsonObject>()

  return {
    issuer,
    sign(claims) {
      const { algorithm, keyId, privateKey } = signer()
      const head = encode({ alg: algorithm, kid: keyId })
      const signed = `${head}.${encode({ ...claims, iss: issuer })}`
      return `${signed}.${sign('sha256', Buffer.from(signed), keyOptions(privateKey)).toString('base64url')}`
    },
    open(token) {
      const parts = token.split('.')
      if (parts.length !== 3) return undefined
      // Remembered by digest: a dump of this map is no heap of tokens.
      const digest = createHash('sha256').update(token).digest('base64')
      const known = opened.get(digest)
      if (known) return known
      const claims = openToken(parts as [string, string, string], issuer, signer)
      if (!claims) return undefined
      if (opened.size >= rememberedTokens) opened.delete(opened.keys().next().value!)
      opened.set(digest, claims)
      return claims
    },
    algorithm: () => signer().algorithm,
    keySet() {
      const { algorithm, keyId, publicKey } = signer()
      const { kty, ...members } = publicKey.export({ format: 'jwk' }) as JsonObject
      return {
        keys: [{ use: 'sig', kty: kty!, kid: keyId, ...crvOf(members), alg: algorithm, ...without(members, 'crv') }],
      }
    },
  }
}

function openToken(
  [head, body, signature]: readonly [string, string, string],
  issuer: string,
  signer: () => Signer,
): JsonObject | undefined {
  const claims = decode(body)
  // Somebody else's token: not worth a key.
  if (claims?.['iss'] !== issuer) return undefined
  const { algorithm, keyId, publicKey } = signer()
  const header = decode(head)
  if (header?.['alg'] !== algorithm || (header['kid'] !== undefined && header['kid'] !== keyId)) return undefined
  // Headers that must be understood, and are not.
  if (header['crit'] !== undefined) return undefined
  const isOurs = verify(
    'sha256',
    Buffer.from(`${head}.${body}`),
    keyOptions(publicKey),
    Buffer.from(signature, 'base64url'),
  )
  return isOurs ? claims : undefined
}

/** A signature of JOSE is two plain numbers; RSA keys have no use for the option. */
function keyOptions(key: KeyObject): { readonly key: KeyObject; readonly dsaEncoding: 'ieee-p1363' } {
  return { key, dsaEncoding: 'ieee-p1363' }
}

/**
 * The key in a PEM text. Where it is from is said in front of what is wrong with it; nothing of the text is.
 * @throws SigningKeyInvalid
 */
export function readSigningKey(pem: string, place: string): KeyObject {
  const wrong = (why: string): MusterError => new MusterError('SigningKeyInvalid', `${place} ${why}.`)
  if (pem.trim() === '') throw wrong('is empty')
  let key: KeyObject
  try {
    key = createPrivateKey(pem)
  } catch {
    throw wrong('holds no private key in PEM')
  }
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key
  if (type === 'rsa' || (type === 'ec' && details?.namedCurve === 'prime256v1')) return key
  throw wrong('holds a key that is neither RSA nor EC on the curve P-256')
}

function signerOf(pem: string | undefined): Signer {
  const privateKey =
    pem === undefined
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
      : readSigningKey(pem, 'the signing key')
  const publicKey = createPublicKey(privateKey)
  const der = publicKey.export({ type: 'spki', format: 'der' })
  return {
    algorithm: privateKey.asymmetricKeyType === 'rsa' ? 'RS256' : 'ES256',
    keyId: createHash('sha256').update(der).digest('base64url'),
    privateKey,
    publicKey,
  }
}

function encode(value: JsonObject): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function decode(part: string): JsonObject | undefined {
  if (!/^[\w-]+$/.test(part)) return undefined
  try {
    const value = JSON.parse(Buffer.from(part, 'base64url').toString()) as Json
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function crvOf({ crv }: JsonObject): JsonObject {
  return crv === undefined ? {} : { crv }
}

function without(object: JsonObject, name: string): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => key !== name))
}
