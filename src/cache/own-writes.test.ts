import { describe, expect, it } from 'vitest'
import { isLater, ownWrites } from './own-writes.ts'

describe('own writes', () => {
  it('knows a version only for the one who wrote it', () => {
    const writes = ownWrites()
    writes.begin('a/x', 'me')
    expect(writes.isInFlight('a/x', 'me')).toBe(true)
    expect(writes.isInFlight('a/x', 'you')).toBe(false)
    writes.end('a/x', 'me', '12')
    expect(writes.isInFlight('a/x', 'me')).toBe(false)
    expect(writes.isOwn('a/x', '12', 'me')).toBe(true)
    expect(writes.isOwn('a/x', '12', 'you')).toBe(false)
    expect(writes.isOwn('a/x', '13', 'me')).toBe(false)
    expect(writes.isOwn('a/y', '12', 'me')).toBe(false)
  })

  it('names consumers whose write hides an earlier foreign change, but not their own earlier write', () => {
    const writes = ownWrites()
    for (const version of ['12', '13']) {
      writes.begin('a/x', 'me')
      writes.end('a/x', 'me', version)
    }
    expect(writes.laterWriters('a/x', '11')).toEqual(['me'])
    expect(writes.laterWriters('a/x', '12')).toEqual([])
    expect(writes.laterWriters('a/x', '14')).toEqual([])
  })

  it('keeps nothing once the watch has gone past', () => {
    const writes = ownWrites()
    for (const key of ['a/x', 'b/y']) {
      writes.begin(key, 'me')
      writes.end(key, 'me', '12')
    }
    writes.seen('a/x', '12')
    expect(writes.size()).toBe(1)
    expect(writes.passed('11')).toEqual([])
    expect(writes.passed('12')).toEqual([{ key: 'b/y', consumer: 'me' }])
    expect(writes.size()).toBe(0)
  })

  it('knows which writes of a consumer are pending', () => {
    const writes = ownWrites()
    for (const key of ['a/x', 'b/y', 'c/z']) writes.begin(key, 'me')
    writes.end('b/y', 'me', '12')
    writes.end('c/z', 'me', undefined)
    expect(writes.unsettled('me')).toEqual(['a/x', 'b/y'])
    expect(writes.unsettled('you')).toEqual([])
    writes.seen('b/y', '12')
    expect(writes.unsettled('me')).toEqual(['a/x'])
  })

  it('counts writes in flight, so that two concurrent ones end with the second', () => {
    const writes = ownWrites()
    writes.begin('a/x', 'me')
    writes.begin('a/x', 'me')
    writes.end('a/x', 'me', undefined)
    expect(writes.isInFlight('a/x', 'me')).toBe(true)
    writes.end('a/x', 'me', undefined)
    expect(writes.isInFlight('a/x', 'me')).toBe(false)
    expect(writes.size()).toBe(0)
  })
})

describe('order of versions', () => {
  it('compares decimal versions of any length as numbers', () => {
    expect(isLater('10', '9')).toBe(true)
    expect(isLater('9', '10')).toBe(false)
    expect(isLater('10', '10')).toBe(false)
    expect(isLater('18446744073709551616', '18446744073709551615')).toBe(true)
  })

  it('orders nothing that is not decimal', () => {
    expect(isLater('b', 'a')).toBe(false)
    expect(isLater('12', 'a')).toBe(false)
  })
})
