import { describe, expect, it } from 'vitest'
import { clientErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { socketError } from './socket-error.ts'

const withCode = (code: string): Error => Object.assign(new Error('as the system says, with a secret in it'), { code })

describe('socketError', () => {
  it.each([
    ['ECONNREFUSED', 'Unreachable'],
    ['ETIMEDOUT', 'Unreachable'],
    ['EHOSTUNREACH', 'Unreachable'],
    ['ENETUNREACH', 'Unreachable'],
    ['ENOTFOUND', 'HostNotFound'],
    ['EAI_AGAIN', 'HostNotFound'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'ProtocolError'],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'CertificateInvalid'],
    ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', 'CertificateInvalid'],
    ['ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE', 'CertificateInvalid'],
    ['ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED', 'CertificateExpired'],
    ['ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE', 'ProtocolError'],
    ['HPE_INVALID_CONSTANT', 'ProtocolError'],
    ['ERR_HTTP2_ERROR', 'ProtocolError'],
    ['ECONNRESET', 'ConnectionLost'],
    ['EPIPE', 'ConnectionLost'],
    ['ERR_HTTP2_STREAM_ERROR', 'ConnectionLost'],
  ])("classifies %s as %s, names the address and omits the system's text", (code, name) => {
    const error = socketError(withCode(code), 'prod (10.0.0.1:6443)', 'before the response arrived')
    expect(error.name).toBe(name)
    expect(error.message).toMatch(/^prod \(10\.0\.0\.1:6443\): .*\.$/)
    expect(error.message).not.toContain('secret')
  })

  it('describes the operation when a connection is lost', () => {
    const error = socketError(undefined, 'prod', 'before the response arrived')
    expect(error.message).toBe('prod: the connection was lost before the response arrived.')
  })

  it('keeps a MusterError', () => {
    const own = new MusterError(clientErrors.TransportClosed, 'closed.')
    expect(socketError(own, 'prod', 'now')).toBe(own)
  })
})
