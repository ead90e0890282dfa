/**
 * Verifies the host name of a webhook's certificate with Go's rules and messages: subject alternative names count, the
 * common name does not.
 */
import { isIP } from 'node:net'
import { checkServerIdentity, type PeerCertificate } from 'node:tls'

/** Why the certificate is not valid for this host; undefined if it is. */
export function hostnameProblem(host: string, certificate: PeerCertificate): Error | undefined {
  const problem = checkServerIdentity(host, certificate)
  const names = alternativeNames(certificate)
  if (!problem && names.length > 0) return undefined
  return new Error(`tls: failed to verify certificate: x509: ${wordsFor(host, certificate, names)}`)
}

interface AlternativeName {
  readonly type: string
  readonly value: string
}

function alternativeNames({ subjectaltname = '' }: PeerCertificate): readonly AlternativeName[] {
  return subjectaltname
    .split(', ')
    .filter((entry) => entry !== '')
    .map((entry) => {
      const colon = entry.indexOf(':')
      return { type: entry.slice(0, colon), value: entry.slice(colon + 1) }
    })
}

function wordsFor(host: string, certificate: PeerCertificate, names: readonly AlternativeName[]): string {
  const { CN: commonName } = certificate.subject ?? {}
  if (names.length === 0 && commonName === host) {
    return 'certificate relies on legacy Common Name field, use SANs instead'
  }
  const isAddress = isIP(host) !== 0
  const type = isAddress ? 'IP Address' : 'DNS'
  const valid = names.filter((name) => name.type === type).map(({ value }) => value)
  if (isAddress && valid.length === 0) {
    return `cannot validate certificate for ${host} because it doesn't contain any IP SANs`
  }
  if (valid.length === 0) return `certificate is not valid for any names, but wanted to match ${host}`
  return `certificate is valid for ${valid.join(', ')}, not ${host}`
}
