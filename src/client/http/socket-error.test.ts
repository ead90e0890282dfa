import { describe, expect, it } from 'vitest'
import { MusterError } from '../../kube/errors.ts'
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
  ])('calls %s %s, names the place and keeps the text of the system out', (code, name) => {
    const error = socketError(withCode(code), 'prod (10.0.0.1:6443)', 'before the response arrived')
    expect(error.name).toBe(name)
    expect(error.message).toMatch(/^prod \(10\.0\.0\.1:6443\): .*\.$/)
    expect(error.message).not.toContain('secret')
  })

  it('says what was under way when a connection is lost without a word', () => {
    const error = socketError(undefined, 'prod', 'before the response arrived')
    expect(error.message).toBe('prod: the connection was lost before the response arrived.')
  })

  it('leaves alone what is an error of ours already', () => {
    const own = new MusterError('TransportClosed', 'closed.')
    expect(socketError(own, 'prod', 'now')).toBe(own)
  })
})
