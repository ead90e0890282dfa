import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { describeError, MusterError } from '../kube/muster-error.ts'
import type { Status } from '../kube/object.ts'
import { ApiError, apiError, isHeldByBudget, statusError } from './api-error.ts'
import { bodyOf } from './body.ts'

const now = Date.UTC(2026, 0, 1)
const request = { method: 'GET', path: '/api/v1/namespaces/a/pods/b?command=hunter2' }

async function errorOf(
  httpStatus: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = { 'content-type': 'application/json' },
): Promise<ApiError> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return await apiError(request, { status: httpStatus, headers, body: bodyOf(Buffer.from(text)) }, now)
}

function status(code: number, reason: string, details: Status['details'] = {}, message = 'because'): Status {
  return { apiVersion: 'v1', kind: 'Status', status: 'Failure', code, reason, details, message }
}

describe('a Status', () => {
  const cases: readonly (readonly [number, string, string])[] = [
    [400, 'BadRequest', 'BadRequest'],
    [401, 'Unauthorized', 'Unauthorized'],
    [403, 'Forbidden', 'Forbidden'],
    [404, 'NotFound', 'NotFound'],
    [405, 'MethodNotAllowed', 'MethodNotAllowed'],
    [406, 'NotAcceptable', 'NotAcceptable'],
    [409, 'AlreadyExists', 'AlreadyExists'],
    [409, 'Conflict', 'Conflict'],
    [410, 'Gone', 'Gone'],
    [410, 'Expired', 'Gone'],
    [413, 'RequestEntityTooLarge', 'RequestTooLarge'],
    [415, 'UnsupportedMediaType', 'UnsupportedMediaType'],
    [422, 'Invalid', 'Invalid'],
    [429, 'TooManyRequests', 'TooManyRequests'],
    [500, 'InternalError', 'ServerError'],
    [500, 'ServerTimeout', 'ServerTimeout'],
    [503, 'ServiceUnavailable', 'ServiceUnavailable'],
    [504, 'Timeout', 'ServerTimeout'],
    [418, 'SomethingNew', 'BadRequest'],
    [599, '', 'ServerError'],
  ]
  it.each(cases)('%i %s is %s', async (code, reason, name) => {
    const error = await errorOf(code, status(code, reason, { name: 'b', kind: 'pods' }))
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toBeInstanceOf(MusterError)
    expect(error).toMatchObject({ name, httpStatus: code, message: 'GET /api/v1/namespaces/a/pods/b: because' })
    expect(error.status.reason).toBe(reason)
  })

  it('of an apply conflict names the managers', async () => {
    const causes = [{ reason: 'FieldManagerConflict', message: 'conflict with "kubectl"', field: '.spec.replicas' }]
    const error = await errorOf(409, status(409, 'Conflict', { name: 'b', causes }))
    expect(error).toMatchObject({ name: 'ApplyConflict', retry: 'conflict' })
    expect(error.status.details?.causes?.[0]?.field).toBe('.spec.replicas')
  })

  it('distinguishes a missing object from a missing kind', async () => {
    expect((await errorOf(404, status(404, 'NotFound', { name: 'b', kind: 'pods' }))).name).toBe('NotFound')
    expect((await errorOf(404, status(404, 'NotFound', {}))).name).toBe('KindNotServed')
    const plain = await errorOf(404, '404 page not found\n', { 'content-type': 'text/plain' })
    expect(plain).toMatchObject({
      name: 'KindNotServed',
      message: 'GET /api/v1/namespaces/a/pods/b: the server serves no such resource.',
    })
    expect((await errorOf(404, { paths: ['/api'] })).name).toBe('KindNotServed')
  })

  it('contains the retry delay, in its header or its details', async () => {
    const json = { 'content-type': 'application/json' }
    const throttled = status(429, 'TooManyRequests', { retryAfterSeconds: 3 })
    expect((await errorOf(429, throttled)).retryAfterMs).toBe(3_000)
    expect((await errorOf(429, throttled, { ...json, 'retry-after': '7' })).retryAfterMs).toBe(7_000)
    const date = new Date(now + 9_000).toUTCString()
    expect((await errorOf(503, '', { 'retry-after': date })).retryAfterMs).toBe(9_000)
    expect((await errorOf(503, '', { 'retry-after': 'soon' })).retryAfterMs).toBeUndefined()
    expect((await errorOf(429, status(429, 'TooManyRequests', {}))).retryAfterMs).toBeUndefined()
  })

  it('of a disruption budget is distinguished from overload', async () => {
    const causes = [{ reason: 'DisruptionBudget', message: 'needs 2 healthy pods' }]
    expect(isHeldByBudget(await errorOf(429, status(429, 'TooManyRequests', { causes })))).toBe(true)
    expect(isHeldByBudget(await errorOf(429, status(429, 'TooManyRequests')))).toBe(false)
  })

  it('in a watch event needs no HTTP response', () => {
    expect(statusError(status(410, 'Expired', {}, 'too old resource version'))).toMatchObject({
      name: 'Gone',
      httpStatus: 410,
      message: 'too old resource version',
    })
    expect(statusError({ apiVersion: 'v1', kind: 'Status' })).toMatchObject({ name: 'ServerError', httpStatus: 500 })
  })

  it('with members of the wrong type is still a known error', async () => {
    const odd = { kind: 'Status', message: 5, reason: [], details: { causes: 'x', retryAfterSeconds: 'y' }, code: 'z' }
    expect(await errorOf(409, odd)).toMatchObject({ name: 'Conflict', httpStatus: 409, retryAfterMs: undefined })
    expect((await errorOf(422, { kind: 'Status', details: null })).name).toBe('Invalid')
  })
})

describe('a response without a Status', () => {
  const html = { 'content-type': 'text/html' }

  it('is classified by its code: empty, truncated, HTML or plain', async () => {
    expect((await errorOf(503, '')).message).toBe('GET /api/v1/namespaces/a/pods/b: HTTP 503 with an empty body.')
    expect(await errorOf(500, '{"kind":"Status","mess')).toMatchObject({ name: 'ServerError' })
    expect(await errorOf(502, '<html><head><title>502 Bad Gateway</title>', html)).toMatchObject({
      name: 'ServiceUnavailable',
      message: 'GET /api/v1/namespaces/a/pods/b: HTTP 502 with a page of HTML: 502 Bad Gateway.',
    })
    expect(await errorOf(404, '<html>nginx</html>', html)).toMatchObject({ name: 'UnexpectedAnswer' })
    expect(await errorOf(302, '', { location: 'https://login.example' })).toMatchObject({ name: 'UnexpectedAnswer' })
    expect(await errorOf(407, '', {})).toMatchObject({ name: 'ProxyFailed' })
    expect(await errorOf(413, 'too large', {})).toMatchObject({ name: 'RequestTooLarge' })
  })

  it('is quoted briefly, on one line and without likely secrets', async () => {
    const { message } = await errorOf(500, `panic\u001B[31m\n\nAuthorization: Bearer s3cr3t.${'x'.repeat(5_000)}`, {})
    expect(message).toContain('panic')
    expect(message).not.toContain('s3cr3t')
    expect(message).not.toContain('\n')
    expect(message).not.toContain('\u001B')
    expect(message.length).toBeLessThan(400)
  })

  it('is read up to a limit', async () => {
    let read = 0
    async function* endless(): AsyncGenerator<Uint8Array, void, void> {
      for (;;) {
        read += 65_536
        yield Buffer.alloc(65_536, 'x')
      }
    }
    const error = await apiError(request, { status: 500, headers: {}, body: endless() }, now)
    expect(error.name).toBe('ServerError')
    expect(read).toBeLessThanOrEqual(2 ** 20 + 65_536)
  })
})

describe('an error', () => {
  it('never contains the query of its request, nor parts of the body that the server quotes', async () => {
    const quoting =
      'cannot decode: error found in #10 byte of ...|word":"hunter2"|..., bigger context ...|{"password":"hunter2"}|...'
    const error = await errorOf(400, status(400, 'BadRequest', {}, quoting))
    for (const text of [error.message, describeError(error), inspect(error), JSON.stringify(error)]) {
      expect(text).not.toContain('hunter2')
    }
    expect(error.message).toContain('cannot decode')
  })
})
