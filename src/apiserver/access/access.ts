/**
 * Access to one cluster: every request is somebody's (authentication), perhaps on behalf of somebody else
 * (impersonation), and either allowed or not (authorisation). `admit` is all three, and the door that every request
 * goes through.
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
  /** Static bearer tokens, and whose they are. @default none */
  readonly tokens?: ReadonlyMap<string, TokenUser> | undefined
  /** Who a request without credentials is. @default 'administrator' in this process, 'refused' over a listener */
  readonly strangers?: Strangers | undefined
  /** Who signs the tokens of service accounts. @default "https://kubernetes.default.svc" */
  readonly issuer?: string | undefined
  /** With which key, in PEM: keep it to keep tokens valid over a restart. @default a new one */
  readonly signingKey?: string | undefined
}

export interface Access extends Pick<Authenticator, 'reviewToken'> {
  readonly rbac: Rbac
  readonly issuer: TokenIssuer
  /** Who makes a request, provided that they may: raises 401 or 403. */
  admit(request: Pick<TransportRequest, 'method' | 'headers'>, target: RequestTarget, peer?: Peer): Identity
  /** Raises 403. For what a request asks beyond its own verb. */
  check(identity: Identity, asked: Attributes): void
}

export function createAccess(storage: Storage, now: () => number, options: ServerAccessOptions = {}): Access {
  const { tokens = new Map(), strangers = 'administrator', issuer: issuerUrl = defaultIssuer, signingKey } = options
  const rbac = createRbac(storage)
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
      // Whoever may do everything is not asked what: a program with a cluster of its own should not pay for it.
      if (requester.groups.includes(wellKnown.masters) && !isImpersonating(headers)) return requester
      const asked = attributesOf(method, target)
      const identity = impersonate(rbac, requester, headers, asked)
      check(identity, asked)
      return identity
    },
    check,
  }
}

const defaultIssuer = 'https://kubernetes.default.svc'
