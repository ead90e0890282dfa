/**
 * Access to one cluster: authentication, impersonation and authorization. `admit` does all three, for every request.
 */
import type { TransportRequest } from '../../transport/transport.ts'
import type { Storage } from '../storage/storage.ts'
import { type Authenticator, type Peer, createAuthenticator, type Strangers, type TokenUser } from './authenticate.ts'
import { accessForbidden } from './forbidden.ts'
import { type Attributes, type Identity, wellKnown } from './identity.ts'
import { impersonate, isImpersonating } from './impersonate.ts'
import { createRbac, type Rbac } from './rbac.ts'
import type { RequestTarget } from './request-target.ts'
import { attributesOf } from './request-attributes.ts'
import { createTokenIssuer, type TokenIssuer } from './token-issuer.ts'

export interface ServerAccessOptions {
  /** Static bearer tokens, and their users. @default none */
  readonly tokens?: ReadonlyMap<string, TokenUser> | undefined
  /** Who decides what a user may do: the stored roles and bindings, or all is allowed. @default 'RBAC' */
  readonly authorization?: 'RBAC' | 'AlwaysAllow' | undefined
  /** The user of a request without credentials. @default 'administrator' in-process, 'refused' over a listener */
  readonly strangers?: Strangers | undefined
  /** The issuer of service account tokens. @default "https://kubernetes.default.svc" */
  readonly issuer?: string | undefined
  /** The key that signs them, in PEM. Reuse it so that tokens stay valid after a restart. @default a new one */
  readonly signingKey?: string | undefined
}

export interface Access extends Pick<Authenticator, 'reviewToken'> {
  readonly rbac: Rbac
  readonly issuer: TokenIssuer
  /** The identity that a request runs as. Throws 401 or 403. */
  admit(request: Pick<TransportRequest, 'method' | 'headers'>, target: RequestTarget, peer?: Peer): Identity
  /** Authorizes an action beyond the request's own verb. Throws 403. */
  check(identity: Identity, asked: Attributes): void
}

export function createAccess(storage: Storage, now: () => number, options: ServerAccessOptions = {}): Access {
  const { tokens = new Map(), strangers = 'administrator', issuer: issuerUrl = defaultIssuer, signingKey } = options
  const rbac = options.authorization === 'AlwaysAllow' ? alwaysAllow(createRbac(storage)) : createRbac(storage)
  const issuer = createTokenIssuer({ issuer: issuerUrl, key: signingKey })
  const authenticator = createAuthenticator({ storage, issuer, tokens, strangers, now })

  const check = (identity: Identity, asked: Attributes): void => {
    const { allowed, reason } = rbac.decide(identity, asked)
    if (!allowed) throw accessForbidden(identity, asked, reason)
  }

  return {
    rbac,
    issuer,
    reviewToken: (token, audiences) => authenticator.reviewToken(token, audiences),
    admit({ method, headers }, target, peer) {
      const requester = authenticator.authenticate(headers, peer)
      // Fast path for system:masters: in-process callers do not pay for authorization.
      if (requester.groups.includes(wellKnown.masters) && !isImpersonating(headers)) return requester
      const asked = attributesOf(method, target)
      const identity = impersonate(rbac, requester, headers, asked)
      check(identity, asked)
      return identity
    },
    check,
  }
}

function alwaysAllow(rbac: Rbac): Rbac {
  return { ...rbac, decide: () => ({ allowed: true, reason: '' }) }
}

const defaultIssuer = 'https://kubernetes.default.svc'
