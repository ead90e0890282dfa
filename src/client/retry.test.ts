import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../clock/random.ts'
import { virtualClock } from '../clock/virtual-clock.ts'
import { clientErrors } from './errors.ts'
import { transportErrors } from '../transport/errors.ts'
import { kubeErrors } from '../kube/errors.ts'
import { MusterError } from '../kube/muster-error.ts'
import type { Status } from '../kube/object.ts'
import { ApiError, statusError } from './api-error.ts'
import { defaultRetryPolicy, isRepeatable, retryDelay, withRetries, type RetryableWrite } from './retry.ts'

const random = seededRandom(1)

function status(code: number, reason: string, details: Status['details'] = {}): Status {
  return { apiVersion: 'v1', kind: 'Status', status: 'Failure', code, reason, details, message: reason }
}

function retries(error: unknown, repeatable: boolean, failures = 1): boolean {
  const failure = { error, failures, repeatable, now: 0, deadline: 60_000 }
  return retryDelay(failure, defaultRetryPolicy, random) !== undefined
}

describe('a write is repeatable', () => {
  const named = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }
  const versioned = { ...named, metadata: { name: 'a', resourceVersion: '7' } }
  const cases: readonly (readonly [string, RetryableWrite, boolean])[] = [
    ['apply', { verb: 'patch', type: 'apply', patch: named }, true],
    ['update with resourceVersion', { verb: 'update', object: versioned }, true],
    ['update without', { verb: 'update', object: named }, false],
    ['update with an empty one', { verb: 'update', object: { metadata: { resourceVersion: '' } } }, false],
    ['merge patch with resourceVersion', { verb: 'patch', type: 'merge', patch: versioned }, true],
    ['merge patch without', { verb: 'patch', type: 'merge', patch: named }, false],
    ['strategic patch with resourceVersion', { verb: 'patch', type: 'strategic', patch: versioned }, true],
    ['strategic patch without', { verb: 'patch', type: 'strategic', patch: { spec: {} } }, false],
    [
      'JSON patch that tests resourceVersion',
      { verb: 'patch', type: 'json', patch: [{ op: 'test', path: '/metadata/resourceVersion', value: '7' }] },
      true,
    ],
    [
      'JSON patch that tests something else',
      { verb: 'patch', type: 'json', patch: [{ op: 'test', path: '/spec/replicas', value: 7 }, { op: 'add' }, null] },
      false,
    ],
    ['JSON patch that is invalid', { verb: 'patch', type: 'json', patch: versioned }, false],
    ['delete with uid', { verb: 'delete', preconditions: { uid: 'u' } }, true],
    ['delete with resourceVersion', { verb: 'delete', preconditions: { resourceVersion: '7' } }, true],
    ['delete with empty preconditions', { verb: 'delete', preconditions: {} }, false],
    ['delete without preconditions', { verb: 'delete' }, false],
    ['create', { verb: 'create' }, false],
    ['deletecollection', { verb: 'deleteCollection' }, false],
  ]
  it.each(cases)('%s', (_name, write, wanted) => {
    expect(isRepeatable(write)).toBe(wanted)
    expect(isRepeatable({ ...write, dryRun: true })).toBe(true)
  })
})

describe('a failure', () => {
  it('that leaves the server unchanged may be retried, whatever the request', () => {
    const untouched = [
      new MusterError(clientErrors.Unreachable, ''),
      new MusterError(clientErrors.HostNotFound, ''),
      new MusterError(clientErrors.ProxyFailed, ''),
      statusError(status(429, 'TooManyRequests', { retryAfterSeconds: 1 })),
      statusError(status(429, 'TooManyRequests')),
      statusError(status(503, 'ServiceUnavailable', { retryAfterSeconds: 1 })),
    ]
    for (const error of untouched) expect([error.name, retries(error, false)]).toEqual([error.name, true])
  })

  it('that may have changed the server is retried only for repeatable requests', () => {
    const open = [
      new MusterError(transportErrors.ConnectionLost, ''),
      new MusterError(clientErrors.RequestTimeout, ''),
      statusError(status(500, 'InternalError')),
      statusError(status(500, 'ServerTimeout', { retryAfterSeconds: 2 })),
      statusError(status(504, 'Timeout')),
      statusError(status(503, 'ServiceUnavailable')),
      // Retry-After from a proxy: the API server behind it may have acted.
      new ApiError(clientErrors.ServiceUnavailable, '', {
        status: { apiVersion: 'v1', kind: 'Status' },
        httpStatus: 503,
        retryAfterMs: 1_000,
      }),
    ]
    for (const error of open) {
      expect([error.name, retries(error, true), retries(error, false)]).toEqual([error.name, true, false])
    }
  })

  it('of any other name is final', () => {
    const retried: ReadonlySet<string> = new Set([
      'Unreachable',
      'HostNotFound',
      'ProxyFailed',
      'TooManyRequests',
      'ConnectionLost',
      'RequestTimeout',
      'ServerError',
      'ServerTimeout',
      'ServiceUnavailable',
    ])
    for (const definition of Object.values({ ...kubeErrors, ...transportErrors, ...clientErrors })) {
      const { name } = definition
      expect([name, retries(new MusterError(definition, ''), true)]).toEqual([name, retried.has(name)])
    }
    expect(retries(new TypeError('a bug'), true)).toBe(false)
  })

  it('of an eviction by its budget is the result, and not retried', () => {
    const causes = [{ reason: 'DisruptionBudget', message: 'needs 2' }]
    expect(retries(statusError(status(429, 'TooManyRequests', { causes, retryAfterSeconds: 10 })), true)).toBe(false)
  })

  it('backs off with growing delays, not shorter than the server asks, not past the deadline, with a limit', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10 }),
        fc.option(fc.nat(20_000), { nil: undefined }),
        fc.nat(30_000),
        fc.integer(),
        (failures, retryAfterMs, deadline, seed) => {
          const error = new MusterError(clientErrors.TooManyRequests, '', { retryAfterMs })
          const failure = { error, failures, repeatable: true, now: 0, deadline }
          const wait = retryDelay(failure, defaultRetryPolicy, seededRandom(seed))
          const least = (retryAfterMs ?? 0) + 0.5 * Math.min(250 * 2 ** (failures - 1), 8_000)
          const isFinal = failures >= 5
          expect(wait === undefined || (!isFinal && wait >= least && wait <= least * 3 && wait < deadline)).toBe(true)
          expect(wait !== undefined || isFinal || least * 3 >= deadline).toBe(true)
        },
      ),
    )
  })
})

describe('the retry loop', () => {
  const loopOf = (repeatable: boolean, signal = new AbortController().signal, timeoutMs = 30_000) => {
    const clock = virtualClock()
    const waits: number[] = []
    const deadline = clock.now() + timeoutMs
    const onWait = (ms: number): void => void waits.push(ms)
    return { clock, waits, loop: { policy: defaultRetryPolicy, clock, random, repeatable, deadline, signal, onWait } }
  }

  it('retries until it succeeds', async () => {
    const { clock, waits, loop } = loopOf(true)
    let tries = 0
    const done = withRetries(loop, () =>
      ++tries < 3 ? Promise.reject(new MusterError(transportErrors.ConnectionLost, 'cut')) : Promise.resolve('here'),
    )
    await clock.advance(5_000)
    expect(await done).toBe('here')
    expect(waits).toHaveLength(2)
  })

  it('stops after the allowed attempts with the last error', async () => {
    const { clock, loop } = loopOf(true)
    let tries = 0
    const done = withRetries(loop, () => Promise.reject(new MusterError(clientErrors.ServerError, `try ${++tries}`)))
    done.catch(() => undefined)
    await clock.advance(30_000)
    await expect(done).rejects.toThrow('try 5')
  })

  it('reports that an earlier attempt may have caused a conflict', async () => {
    const { clock, loop } = loopOf(true)
    const failures = [
      new MusterError(transportErrors.ConnectionLost, 'cut'),
      new MusterError(clientErrors.Conflict, 'changed'),
    ]
    const done = withRetries(loop, () => Promise.reject(failures.shift()!))
    done.catch(() => undefined)
    await clock.advance(5_000)
    await expect(done).rejects.toMatchObject({ name: 'Conflict', cause: { name: 'ConnectionLost' } })
  })

  it('does not wait past the deadline', async () => {
    const { waits, loop } = loopOf(true)
    const error = new MusterError(clientErrors.TooManyRequests, 'later', { retryAfterMs: 60_000 })
    await expect(withRetries(loop, () => Promise.reject(error))).rejects.toBe(error)
    expect(waits).toEqual([])
  })

  it('ends at once when aborted while it waits', async () => {
    const abort = new AbortController()
    const { clock, loop } = loopOf(true, abort.signal)
    let tries = 0
    const done = withRetries(loop, () => {
      tries++
      return Promise.reject(new MusterError(clientErrors.TooManyRequests, '', { retryAfterMs: 10_000 }))
    })
    done.catch(() => undefined)
    await clock.advance(1_000)
    abort.abort(new Error('enough'))
    await expect(done).rejects.toThrow('enough')
    expect(tries).toBe(1)
  })
})
