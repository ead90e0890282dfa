import { describe, expect, it } from 'vitest'
import { defineErrors, describeError, isMusterError, MusterError } from './muster-error.ts'

const { NotFound, Gone, Conflict } = defineErrors({
  NotFound: { code: 'MUS1', retry: 'terminal', meaning: 'It is missing.', cure: 'Create it.' },
  Gone: { code: 'MUS2', retry: 'terminal', meaning: 'It is gone.', cure: 'List again.' },
  Conflict: { code: 'MUS3', retry: 'conflict', meaning: 'It changed.', cure: 'Read it again.' },
})

describe('an error', () => {
  it('has code and class, and describes itself with cause, place, cure and code', () => {
    const error = new MusterError(NotFound, 'pods "web" not found.', { retryAfterMs: 5 })
    expect(error).toMatchObject({ name: 'NotFound', code: 'MUS1', retry: 'terminal', retryAfterMs: 5 })
    expect(describeError(error)).toBe('MUS1 NotFound: pods "web" not found. Create it. See docs/errors.md#mus1')
    expect(describeError(new TypeError('a bug'))).toBe('a bug')
    expect(describeError('text')).toBe('text')
  })

  it('is distinguished by its definition', () => {
    const error = new MusterError(Gone, 'too old')
    expect(isMusterError(error)).toBe(true)
    expect(isMusterError(error, Conflict, Gone)).toBe(true)
    expect(isMusterError(error, Conflict)).toBe(false)
    expect(isMusterError(new Error('Gone'), Gone)).toBe(false)
  })

  it('may be repeated with another message', () => {
    const error = new MusterError(new MusterError(Conflict, 'secret'), 'hidden')
    expect(error).toMatchObject({ name: 'Conflict', code: 'MUS3', retry: 'conflict', message: 'hidden' })
    expect(describeError(error)).toContain('Read it again.')
  })
})
