/** OpenID discovery: how clients verify service account tokens themselves. */
import type { TransportRequest, TransportResponse } from '../../transport/transport.ts'
import { answer, mediaRanges } from '../representation/representation.ts'
import type { TokenIssuer } from '../access/token-issuer.ts'

const keysPath = '/openid/v1/jwks'

/** Keys rarely change, and the documents are public. */
const cached = { 'cache-control': 'public, max-age=3600' }

/** The response at one of the two OpenID paths; undefined elsewhere. */
export async function openId(
  issuer: TokenIssuer,
  path: string,
  headers: TransportRequest['headers'],
): Promise<TransportResponse | undefined> {
  if (path === keysPath) {
    // Its own media type, unless the client prefers plain JSON.
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

/** The URL of the keys has the host by which the client reached this document. */
function textOf(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' && header !== '' ? header : undefined
}
