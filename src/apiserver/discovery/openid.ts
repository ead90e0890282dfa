/** OpenID discovery: where others learn how to check the tokens of service accounts by themselves. */
import type { TransportRequest, TransportResponse } from '../../transport/transport.ts'
import { answer, mediaRanges } from '../representation/representation.ts'
import type { TokenIssuer } from '../access/token-issuer.ts'

const keysPath = '/openid/v1/jwks'

/** Keys change seldom, and nothing here is secret. */
const cached = { 'cache-control': 'public, max-age=3600' }

/** What is at one of the two paths of discovery; undefined elsewhere. */
export async function openId(
  issuer: TokenIssuer,
  path: string,
  headers: TransportRequest['headers'],
): Promise<TransportResponse | undefined> {
  if (path === keysPath) {
    // Its own media type, unless only plain JSON is wanted.
    const isPlain = mediaRanges(headers['accept'])[0]?.type === 'application/json'
    const type = isPlain ? 'application/json' : 'application/jwk-set+json'
    return await answer(200, issuer.keySet(), 'json', { 'content-type': type, ...cached })
  }
  if (path !== '/.well-known/openid-configuration') return undefined
  const document = {
    issuer: issuer.issuer,
    jwks_uri: `https://${textOf(headers[':authority']) ?? textOf(headers['host']) ?? 'localhost'}${keysPath}`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [issuer.algorithm()],
  }
  return await answer(200, document, 'json', cached)
}

/** Keys are where the client found this document. */
function textOf(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' && header !== '' ? header : undefined
}
