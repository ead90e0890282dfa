/**
 * Socket and TLS errors as messages that tell a user what to do. They are recognised by the codes of Node and OpenSSL; the
 * original text is never passed on whole, because its content is unknown.
 */
import { clientErrors } from '../errors.ts'
import { errorCode } from '../../system/error-code.ts'
import { transportErrors } from '../../transport/errors.ts'
import { type ErrorDefinition, MusterError } from '../../kube/muster-error.ts'

interface Meaning {
  readonly error: ErrorDefinition
  readonly text: string
}

const unreachable = (text: string): Meaning => ({ error: clientErrors.Unreachable, text })
const unknownHost = (text: string): Meaning => ({ error: clientErrors.HostNotFound, text })
const notTls: Meaning = {
  error: clientErrors.ProtocolError,
  text: 'the server does not speak TLS on this port; if it serves plain HTTP, write http:// instead of https://',
}

const meanings: Readonly<Record<string, Meaning>> = {
  ECONNREFUSED: unreachable('nothing listens there (connection refused)'),
  ETIMEDOUT: unreachable('no answer to the attempt to connect'),
  EHOSTUNREACH: unreachable('no route to this host'),
  ENETUNREACH: unreachable('no route to this network'),
  EHOSTDOWN: unreachable('the host is down'),
  ENETDOWN: unreachable('the network is down'),
  EADDRNOTAVAIL: unreachable('this address cannot be reached from here'),
  EACCES: unreachable('this machine does not allow the connection'),
  EPERM: unreachable('this machine does not allow the connection'),
  ENOTFOUND: unknownHost('the name has no address'),
  EAI_AGAIN: unknownHost('the name server does not answer'),
  EAI_FAIL: unknownHost('the name server failed'),
  EAI_NODATA: unknownHost('the name has no address'),
  EAI_NONAME: unknownHost('the name has no address'),
  ERR_SSL_WRONG_VERSION_NUMBER: notTls,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: notTls,
  ERR_SSL_RECORD_LAYER_FAILURE: notTls,
  ERR_SSL_HTTP_REQUEST: notTls,
}

/** Alerts by which a server rejects a client certificate. With TLS 1.3 they arrive after the handshake. */
const refusedCertificate =
  /ALERT_(?:CERTIFICATE_REQUIRED|BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_REVOKED|CERTIFICATE_UNKNOWN|UNKNOWN_CA|ACCESS_DENIED|DECRYPT_ERROR)/

/** The error of a socket to `place`; `when` names the phase: "before the response arrived". */
export function socketError(error: unknown, place: string, when: string): MusterError {
  if (error instanceof MusterError) return error
  const code = errorCode(error) ?? ''
  const meaning = meanings[code] ?? alertMeaning(code) ?? parserMeaning(code)
  if (meaning) return new MusterError(meaning.error, `${place}: ${meaning.text}.`, { cause: error })
  const suffix = code ? ` (${code})` : ''
  return new MusterError(transportErrors.ConnectionLost, `${place}: the connection was lost ${when}${suffix}.`, {
    cause: error,
  })
}

function alertMeaning(code: string): Meaning | undefined {
  const [, alert] = code.split('ALERT_')
  if (!alert) return undefined
  const words = alert.toLowerCase().replaceAll('_', ' ')
  if (alert === 'CERTIFICATE_REQUIRED') {
    return {
      error: clientErrors.CertificateInvalid,
      text: 'the server asks for a client certificate, and none is configured',
    }
  }
  if (alert === 'CERTIFICATE_EXPIRED') {
    return { error: clientErrors.CertificateExpired, text: 'the server says that the client certificate has expired' }
  }
  if (refusedCertificate.test(code)) {
    return { error: clientErrors.CertificateInvalid, text: `the server refuses the client certificate (${words})` }
  }
  return { error: clientErrors.ProtocolError, text: `the server refuses the TLS handshake (${words})` }
}

/** Errors of the HTTP parsers for bytes that are not HTTP. */
function parserMeaning(code: string): Meaning | undefined {
  if (code.startsWith('HPE_')) {
    return {
      error: clientErrors.ProtocolError,
      text: 'the response is not HTTP; if the server speaks TLS, write https:// instead of http://',
    }
  }
  return code === 'ERR_HTTP2_ERROR'
    ? { error: clientErrors.ProtocolError, text: 'the response is not valid HTTP/2' }
    : undefined
}
