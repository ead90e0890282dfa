/**
 * Authentication: from the credentials of a request to an `Identity`.
 *
 * A request has a client certificate, which the listener has verified and passes beside the request, a static token, a
 * service account token, or no credentials. An invalid credential ends the request with 401, even where anonymous
 * requests are allowed.
 */
import { hash, timingSafeEqual } from 'node:crypto'
import type { TransportRequest } from '../../transport/transport.ts'
import { unauthorized } from '../errors/status-error.ts'
import type { Storage } from '../storage/storage.ts'
import { administrator, anonymous, type Identity, wellKnown } from './identity.ts'
import { holderOf, type TokenHolder } from './service-account-token.ts'
import type { TokenIssuer } from './token-issuer.ts'

/** The user of a static token. */
export interface TokenUser {
  readonly username: string
  readonly uid?: string | undefined
  readonly groups?: readonly string[] | undefined
}

/** What the transport knows about the client; never from a header, which every client can set. */
export interface Peer {
  /** The client certificate that the listener verified; `unverified` if it is invalid. */
  readonly certificate?: PeerCertificate | 'unverified' | undefined
}

export interface PeerCertificate {
  readonly commonName: string
  readonly organizations: readonly string[]
  /** SHA-256 of the certificate, in lower-case hexadecimal digits. */
  readonly fingerprint: string
}

/**
 * The user of a request without credentials. `administrator` only applies to in-process callers: over a listener it
 * means `refused`.
 */
export type Strangers = 'administrator' | 'anonymous' | 'refused'

interface AuthenticatorOptions {
  readonly storage: Storage
  readonly issuer: TokenIssuer
  /** Static tokens. */
  readonly tokens: ReadonlyMap<string, TokenUser>
  readonly strangers: Strangers
  readonly now: () => number
}

export interface Authenticator {
  /** Throws 401. A request without a peer is in-process. */
  authenticate(headers: TransportRequest['headers'], peer?: Peer): Identity
  /** The user of a token that is valid for one of these audiences (none: for this server). */
  reviewToken(token: string, audiences: readonly string[]): TokenHolder
}

export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { storage, issuer, strangers, now } = options
  const known = knownTokens(options.tokens)
  const ownAudiences = [issuer.issuer]

  // Tokens that have been verified before. A map compares the key only if the complete hash matches.
  const shown = new Map<string, Identity>()

  /** Compares the digests of all tokens, so that timing reveals neither content nor length. */
  const findStatic = (token: string): Identity | undefined => {
    const before = shown.get(token)
    if (before) return before
    const digest = digestOf(token)
    let found: Identity | undefined
    for (const one of known) if (timingSafeEqual(one.digest, digest)) found = one.identity
    if (found) shown.set(token, found)
    return found
  }

  const reviewToken = (token: string, audiences: readonly string[]): TokenHolder => {
    const wanted = audiences.length > 0 ? audiences : ownAudiences
    const shared = ownAudiences.filter((one) => wanted.includes(one))
    const identity = shared.length > 0 ? findStatic(token) : undefined
    if (identity) return { identity, audiences: shared }
    const claims = issuer.open(token)
    if (!claims) return { error: invalidToken }
    const holder = holderOf(claims, wanted, storage, now())
    return 'error' in holder ? { error: `[${invalidToken}, ${holder.error}]` } : holder
  }

  return {
    authenticate(headers, peer) {
      const certificate = peer?.certificate
      if (certificate !== undefined && certificate !== 'unverified') return certificateHolder(certificate)
      const token = bearerToken(headers['authorization'])
      if (token !== undefined) {
        const holder = reviewToken(token, ownAudiences)
        // The reason is not revealed to an unauthenticated client.
        if ('error' in holder) throw unauthorized()
        return holder.identity
      }
      if (certificate === 'unverified') throw unauthorized()
      if (strangers === 'anonymous') return anonymous
      if (strangers === 'administrator' && !peer) return administrator
      throw unauthorized()
    },
    reviewToken,
  }
}

/** The message of an authenticator that does not know the token; one that knows it adds a reason. */
const invalidToken = 'invalid bearer token'

interface KnownToken {
  readonly digest: Buffer
  readonly identity: Identity
}

// All clusters of a server share the same tokens.
const digested = new WeakMap<AuthenticatorOptions['tokens'], readonly KnownToken[]>()

function knownTokens(tokens: AuthenticatorOptions['tokens']): readonly KnownToken[] {
  const known = digested.get(tokens)
  if (known) return known
  const made = [...tokens].map(([token, user]) => ({ digest: digestOf(token), identity: identityOf(user) }))
  digested.set(tokens, made)
  return made
}

function digestOf(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}

function identityOf({ username, uid, groups = [] }: TokenUser): Identity {
  return { username, ...(uid !== undefined && { uid }), groups: withAuthenticated(groups), extra: new Map() }
}

function certificateHolder({ commonName, organizations, fingerprint }: PeerCertificate): Identity {
  // A certificate without a common name has no user.
  if (commonName === '') throw unauthorized()
  const extra = new Map([['authentication.kubernetes.io/credential-id', [`X509SHA256=${fingerprint}`]]])
  return { username: commonName, groups: withAuthenticated(organizations), extra }
}

function withAuthenticated(groups: readonly string[]): readonly string[] {
  return groups.includes(wellKnown.authenticated) ? groups : [...groups, wellKnown.authenticated]
}

/** The token of an `Authorization: Bearer …` header; undefined for other schemes and for an empty token. */
function bearerToken(header: string | readonly string[] | undefined): string | undefined {
  const text = typeof header === 'string' ? header : (header?.[0] ?? '')
  const [scheme = '', token] = text.trim().split(' ', 3)
  return scheme.toLowerCase() === 'bearer' && token ? token : undefined
}
