/**
 * The `oidc` auth-provider: an ID token as bearer token, renewed with a refresh token shortly before it expires.
 *
 * The token endpoint comes from the issuer's discovery document. Renewed tokens are kept in memory; if the issuer rotates
 * refresh tokens, `onRenewed` can persist them beyond this process.
 */
import { errorCode } from '../../system/error-code.ts'
import type { Clock } from '../../clock/clock.ts'
import { clientErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { isJsonObject, type JsonObject, parseJson } from '../../kube/json.ts'
import { trimEnd } from '../../kube/text/trim-end.ts'
import { bearer, type BearerHeaders, isHeaderSafe } from './bearer.ts'
import type { Credentials } from '../connection.ts'
import { type Machine, type WebAnswer, type WebRequest } from './machine.ts'
import { redact } from './redaction.ts'
import { type Fetched, renewable } from './renewable.ts'

export interface OidcProvider {
  readonly issuerUrl: string
  readonly clientId: string
  readonly clientSecret?: string | undefined
  readonly idToken?: string | undefined
  readonly refreshToken?: string | undefined
  /** PEM of the CA that signed the issuer's certificate. */
  readonly ca?: string | undefined
  /** Where the provider is configured, for messages. */
  readonly origin: string
}

export interface OidcTokens {
  readonly idToken: string
  readonly refreshToken: string
}

export interface OidcOptions {
  readonly machine: Machine
  readonly clock: Clock
  /** Called with new tokens, before they are used. */
  readonly onRenewed?: ((tokens: OidcTokens) => void | Promise<void>) | undefined
}

/** Renewed this long before expiry, so that the token is valid on arrival despite clock skew. */
const leewayMs = 10_000
const requestTimeoutMs = 30_000

export function oidcCredentials(provider: OidcProvider, options: OidcOptions): Credentials {
  let { refreshToken } = provider
  // The configured token is used once: when another one is needed, it has expired or was rejected.
  let configured = provider.idToken

  const headers = renewable(async () => {
    const idToken = configured
    configured = undefined
    const expiresAt = idToken && expiryOf(idToken)
    if (expiresAt && options.clock.now() < expiresAt - leewayMs) return heldUntil(expiresAt, idToken)
    if (!refreshToken) throw failed(provider, 'the id-token is no longer valid, and there is no refresh-token')
    const tokens = await refresh(provider, refreshToken, options)
    refreshToken = tokens.refreshToken
    await options.onRenewed?.(tokens)
    return heldUntil(expiryOf(tokens.idToken) ?? Number.POSITIVE_INFINITY, tokens.idToken)
  }, options.clock)

  return {
    headers: (signal) => headers.get(signal),
    certificate: () => Promise.resolve(undefined),
    refused: (sent) =>
      refreshToken !== undefined &&
      headers.refuse((held) => sent === undefined || sent['authorization'] === held.authorization),
  }
}

function heldUntil(expiresAt: number, idToken: string): Fetched<BearerHeaders> {
  return { value: bearer(idToken), renewAt: expiresAt - leewayMs, expiresAt }
}

/** The expiry of a JWT; `undefined` if it is not a JWT. The server checks whether it is genuine. */
function expiryOf(jwt: string): number | undefined {
  const payload = jwt.split('.')[1]
  if (payload === undefined || !isHeaderSafe(jwt)) return undefined
  const claims = parseObject(Buffer.from(payload, 'base64url').toString('utf8'))
  const exp = Number(claims?.['exp'])
  return Number.isFinite(exp) ? exp * 1000 : undefined
}

async function refresh(provider: OidcProvider, refreshToken: string, options: OidcOptions): Promise<OidcTokens> {
  const discovery = await discover(provider, options)
  const { clientId, clientSecret = '' } = provider
  const methods = discovery['token_endpoint_auth_methods_supported']
  // The standard's default is the header; the form is for issuers that support nothing else.
  const inForm = clientSecret === '' || (Array.isArray(methods) && !methods.includes('client_secret_basic'))
  const form = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: refreshToken })
  const headers: Record<string, string> = { 'content-type': 'application/x-www-form-urlencoded' }
  if (inForm) {
    form.set('client_id', clientId)
    if (clientSecret !== '') form.set('client_secret', clientSecret)
  } else {
    const pair = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`
    headers['authorization'] = `Basic ${Buffer.from(pair, 'utf8').toString('base64')}`
  }
  const url = discovery['token_endpoint'] as string
  const answer = await ask(provider, options, { method: 'POST', url, headers, body: form.toString() })
  const body = parseObject(answer.body)
  if (answer.status !== 200) {
    const said = [body?.['error'], body?.['error_description']].filter((part) => typeof part === 'string').join(': ')
    const secrets = [refreshToken, clientSecret, provider.idToken ?? '', provider.refreshToken ?? '']
    throw failed(provider, `the issuer answered ${answer.status}${said ? ` (${redact(said, secrets)})` : ''}`)
  }
  const idToken = body?.['id_token']
  if (typeof idToken !== 'string' || !isHeaderSafe(idToken)) {
    throw failed(provider, 'the issuer answered without an id_token: log in with the scope "openid"')
  }
  const next = body?.['refresh_token']
  return { idToken, refreshToken: typeof next === 'string' && next !== '' ? next : refreshToken }
}

async function discover(provider: OidcProvider, options: OidcOptions): Promise<JsonObject> {
  const url = `${trimEnd(provider.issuerUrl, '/')}/.well-known/openid-configuration`
  const answer = await ask(provider, options, { method: 'GET', url })
  if (answer.status !== 200) throw failed(provider, `its discovery document answered ${answer.status}`)
  const discovery = parseObject(answer.body)
  const endpoint = discovery?.['token_endpoint']
  if (!discovery || typeof endpoint !== 'string' || !URL.canParse(endpoint)) {
    throw failed(provider, 'its discovery document names no token_endpoint')
  }
  const { protocol } = new URL(endpoint)
  // The refresh token is sent there: never unencrypted if the issuer itself uses HTTPS.
  if (protocol !== 'https:' && !(protocol === 'http:' && url.startsWith('http:'))) {
    throw failed(provider, 'its discovery document names a token_endpoint that is not https')
  }
  return discovery
}

async function ask(
  provider: OidcProvider,
  { machine, clock }: OidcOptions,
  request: Omit<WebRequest, 'ca' | 'signal'>,
): Promise<WebAnswer> {
  const limit = new AbortController()
  const timer = clock.after(requestTimeoutMs, () => limit.abort())
  try {
    return await machine.request({ ...request, ca: provider.ca, signal: limit.signal })
  } catch (error) {
    const why = limit.signal.aborted ? `no answer within ${requestTimeoutMs / 1000} s` : errorCode(error)
    throw failed(provider, `${new URL(request.url).host} could not be asked (${why ?? 'unknown error'})`)
  } finally {
    timer.cancel()
  }
}

function parseObject(content: string): JsonObject | undefined {
  try {
    const value = parseJson(content)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function failed(provider: OidcProvider, what: string): MusterError {
  return new MusterError(clientErrors.OidcRefreshFailed, `OIDC issuer of ${provider.origin}: ${what}.`)
}
