/**
 * Signs and verifies service account tokens: JSON Web Tokens, with a key that never leaves the server.
 *
 * The signature is verified with the server's own algorithm, whatever the token's header claims. Whether the service
 * account still exists is checked at every request, in `service-account-token.ts`.
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
import { apiserverErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'

interface TokenIssuerOptions {
  /** Private key in PEM: EC on the curve P-256, or RSA. @default a new EC key, made when first needed */
  readonly key?: string | undefined
  /** The issuer of the tokens, and their default audience. */
  readonly issuer: string
}

export interface TokenIssuer {
  readonly issuer: string
  /** Signs the claims. */
  sign(claims: JsonObject): string
  /** The claims of a token that this issuer signed; undefined for others. Does not check times or audiences. */
  open(token: string): JsonObject | undefined
  algorithm(): 'ES256' | 'RS256'
  /** The public keys, served at `/openid/v1/jwks`, for clients that verify tokens themselves. */
  keySet(): JsonObject
}

interface Signer {
  readonly algorithm: 'ES256' | 'RS256'
  readonly keyId: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

/**
 * Size of the cache of verified tokens. A token is used for an hour or more, and verification costs more than a
 * request.
 */
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
      // Keyed by digest, so that the cache holds no tokens.
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
  // A token of another issuer: do not create a key for it.
  if (claims?.['iss'] !== issuer) return undefined
  const { algorithm, keyId, publicKey } = signer()
  const header = decode(head)
  if (header?.['alg'] !== algorithm || (header['kid'] !== undefined && header['kid'] !== keyId)) return undefined
  // Critical header parameters (RFC 7515) are not supported.
  if (header['crit'] !== undefined) return undefined
  const isOurs = verify(
    'sha256',
    Buffer.from(`${head}.${body}`),
    keyOptions(publicKey),
    Buffer.from(signature, 'base64url'),
  )
  return isOurs ? claims : undefined
}

/** JOSE signatures are r and s without DER; RSA ignores the option. */
function keyOptions(key: KeyObject): { readonly key: KeyObject; readonly dsaEncoding: 'ieee-p1363' } {
  return { key, dsaEncoding: 'ieee-p1363' }
}

/**
 * Parses a private key in PEM. Errors begin with `place`, and never quote the text.
 * @throws SigningKeyInvalid
 */
export function readSigningKey(pem: string, place: string): KeyObject {
  const wrong = (why: string): MusterError => new MusterError(apiserverErrors.SigningKeyInvalid, `${place} ${why}.`)
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
