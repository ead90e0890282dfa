import { describe, expect, it } from 'vitest'
import { transportErrors } from '../../transport/errors.ts'
import { clientErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { Ending } from './ending.ts'
import {
  type ClientExchange,
  type ExchangeOutcome,
  type Unanswered,
  plainHeaders,
  sendSafely,
  wireHeaders,
  wirePath,
} from './exchange.ts'
import type { Method } from '../../transport/transport.ts'

const exchange = (method: Method): ClientExchange => ({
  method,
  path: '/x',
  headers: {},
  body: undefined,
  ending: new Ending(undefined, new Set()),
})

const answer = { status: 200, headers: {}, body: (async function* () {})() }
const lost: Unanswered = { unanswered: 'lost', error: new MusterError(transportErrors.ConnectionLost, 'lost.') }
const refused: Unanswered = {
  unanswered: 'refused',
  error: new MusterError(transportErrors.ConnectionLost, 'refused.'),
}
const distrusted: ExchangeOutcome = {
  unanswered: 'lost',
  error: new MusterError(clientErrors.CertificateInvalid, 'refused.'),
}

/** The outcomes one after the other, and how many were asked for. */
function script(...outcomes: readonly ExchangeOutcome[]): {
  readonly send: () => Promise<ExchangeOutcome>
  readonly sent: number
} {
  const made = {
    sent: 0,
    send: () => Promise.resolve(outcomes[Math.min(made.sent++, outcomes.length - 1)]!),
  }
  return made
}

describe('sendSafely', () => {
  it('repeats a rejected request, whatever its method', async () => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
      const server = script(refused, refused, answer)
      expect(await sendSafely(exchange(method), server.send)).toBe(answer)
      expect(server.sent).toBe(3)
    }
  })

  it('repeats a lost request only when it is a GET', async () => {
    expect(await sendSafely(exchange('GET'), script(lost, answer).send)).toBe(answer)
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'] as const) {
      const server = script(lost, answer)
      await expect(sendSafely(exchange(method), server.send)).rejects.toThrow('lost.')
      expect(server.sent).toBe(1)
    }
  })

  it('does not repeat permanent failures', async () => {
    const server = script(distrusted, answer)
    await expect(sendSafely(exchange('GET'), server.send)).rejects.toThrow('refused.')
    expect(server.sent).toBe(1)
  })

  it('gives up after a few attempts', async () => {
    for (const [outcome, attempts] of [
      [refused, 20],
      [lost, 5],
    ] as const) {
      const server = script(outcome)
      await expect(sendSafely(exchange('GET'), server.send)).rejects.toBe(outcome.error)
      expect(server.sent).toBe(attempts)
    }
  })

  it('does not repeat a request that has ended', async () => {
    const ended = exchange('GET')
    const server = script(lost, answer)
    const sent = sendSafely(ended, server.send)
    ended.ending.end(new Error('given up'))
    await expect(sent).rejects.toThrow('given up')
    expect(server.sent).toBe(1)
  })
})

describe('wireHeaders', () => {
  it('merges sets, keeps ASCII and encodes the rest as UTF-8', () => {
    expect(wireHeaders({ a: 'overruled', c: '1' }, { a: 'x y\tz', b: ['jürgen', '漢'] })).toEqual({
      c: '1',
      a: 'x y\tz',
      b: [Buffer.from('jürgen').toString('latin1'), Buffer.from('漢').toString('latin1')],
    })
  })

  it('rejects control characters without quoting the value', () => {
    for (const value of ['Bearer secret\n', 'secret\r\nx: y', 'secret\0', 'secret\u007f']) {
      expect(() => wireHeaders({ authorization: value })).toThrow(
        'the header authorization holds control characters, which HTTP cannot carry.',
      )
    }
  })
})

describe('wirePath', () => {
  it('accepts only encoded paths', () => {
    expect(wirePath('/api/v1/pods?labelSelector=a%3Db')).toBe('/api/v1/pods?labelSelector=a%3Db')
    for (const path of ['/a b', '/a\nb', '/ü', 'relative', '']) expect(() => wirePath(path)).toThrow('not encoded')
  })
})

describe('plainHeaders', () => {
  it('joins several values and drops pseudo-headers', () => {
    expect(plainHeaders({ ':status': 200, warning: ['a', 'b'], age: '1', gone: undefined })).toEqual({
      warning: 'a, b',
      age: '1',
    })
  })
})
