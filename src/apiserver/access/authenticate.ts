/**
 * Who asks: from the credentials of a request to an `Identity`.
 *
 * There are four kinds: a client certificate, which the listener has checked and hands over beside the request; a
 * static token; the token of a service account; and none. A credential that is shown and no good ends the request,
 * even where strangers are welcome: whoever shows one means to be somebody.
 */
import { hash, timingSafeEqual } from 'node:crypto'
import type { TransportRequest } from '../../transport/transport.ts'
import { unauthorized } from '../errors/status-error.ts'
import type { Storage } from '../storage/storage.ts'
import { administrator, anonymous, type Identity, wellKnown } from './identity.ts'
import { holderOf, type TokenHolder } from './service-account-token.ts'
import type { TokenIssuer } from './token-issuer.ts'

/** A user that a static token stands for. */
export interface TokenUser {
  readonly username: string
  readonly uid?: string | undefined
  readonly groups?: readonly string[] | undefined
}

/** What the transport knows of the client: never from a header, which anybody can write. */
export interface Peer {
  /** The certificate that the client showed, if the listener verified it; `unverified` if it could not. */
  readonly certificate?: PeerCertificate | 'unverified' | undefined
}

export interface PeerCertificate {
  readonly commonName: string
  readonly organizations: readonly string[]
  /** SHA-256 of the certificate, in lower-case hexadecimal digits. */
  readonly fingerprint: string
}

/**
 * Who a request without credentials is. `administrator` holds for callers in this process only: over a listener it
 * means `refused`.
 */
export type Strangers = 'administrator' | 'anonymous' | 'refused'

export interface AuthenticatorOptions {
  readonly storage: Storage
  readonly issuer: TokenIssuer
  /** Static tokens. */
  readonly tokens: ReadonlyMap<string, TokenUser>
  readonly strangers: Strangers
  readonly now: () => number
}

export interface Authenticator {
  /** Raises 401. No peer means: from inside this process. */
  authenticate(headers: TransportRequest['headers'], peer?: Peer): Identity
  /** Who bears a token that is for one of these audiences (none: for this server). */
  reviewToken(token: string, audiences: readonly string[]): TokenHolder
}

export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { storage, issuer, strangers, now } = options
  const known = knownTokens(options.tokens)
  const ownAudiences = [issuer.issuer]

  // Those that somebody has shown. A map looks at the text of a key only if all of its hash is right.
  const shown = new Map<string, Identity>()

  /** Every token is compared, and by digest: neither time nor length tells anything of one. */
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
        // Why it is no good is nobody's business who cannot show a good one.
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

/** What every authenticator says that does not know a token; those that know it have a word to add. */
const invalidToken = 'invalid bearer token'

interface KnownToken {
  readonly digest: Buffer
  readonly identity: Identity
}

// All clusters of a server are given the same tokens.
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
  // A certificate without a name is nobody's.
  if (commonName === '') throw unauthorized()
  const extra = new Map([['authentication.kubernetes.io/credential-id', [`X509SHA256=${fingerprint}`]]])
  return { username: commonName, groups: withAuthenticated(organizations), extra }
}

function withAuthenticated(groups: readonly string[]): readonly string[] {
  return groups.includes(wellKnown.authenticated) ? groups : [...groups, wellKnown.authenticated]
}

/** The token of an `Authorization: Bearer …` header; undefined for other schemes, and for an empty one. */
function bearerToken(header: string | readonly string[] | undefined): string | undefined {
  const text = typeof header === 'string' ? header : (header?.[0] ?? '')
  const [scheme = '', token] = text.trim().split(' ', 3)
  return scheme.toLowerCase() === 'bearer' && token ? token : undefined
}
