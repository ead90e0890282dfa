import { describe, expect, it } from 'vitest'
import { EchoFilter } from './echo-filter.ts'

const filter = (): EchoFilter<{ readonly version: string }> => new EchoFilter(({ version }) => [version])

describe('an echo filter', () => {
  it('withholds changes from a writer while its write is in flight, and from no other', () => {
    const echoes = filter()
    const change = { version: '12' }
    echoes.begin('me', 'a/x')
    expect(echoes.withholds('me', 'a/x', change)).toBe(true)
    expect(echoes.withholds('you', 'a/x', change)).toBe(false)
    expect(echoes.withholds('me', 'a/y', change)).toBe(false)
    expect(echoes.writers('a/x')).toEqual(['me'])
    echoes.end('me', 'a/x', '12')
    expect(echoes.withholds('me', 'a/x', change)).toBe(false)
    expect(echoes.isEmpty).toBe(true)
  })

  it('distinguishes own changes from foreign ones by exact versions, in any order', () => {
    const echoes = filter()
    echoes.begin('me', 'a/x')
    for (const version of ['11', '12', '13']) echoes.withholds('me', 'a/x', { version })
    expect(echoes.end('me', 'a/x', '12')).toEqual({
      foreign: [{ version: '11' }, { version: '13' }],
      own: [{ version: '12' }],
    })
  })

  it('takes every change for foreign if the outcome of the write is unknown', () => {
    const echoes = filter()
    echoes.begin('me', 'a/x')
    echoes.withholds('me', 'a/x', { version: '12' })
    expect(echoes.end('me', 'a/x', undefined)).toEqual({ foreign: [{ version: '12' }], own: [] })
  })

  it('waits for the last of several concurrent writes', () => {
    const echoes = filter()
    echoes.begin('me', 'a/x')
    echoes.begin('me', 'a/x')
    const change = { version: '13' }
    echoes.withholds('me', 'a/x', change)
    echoes.withholds('me', 'a/x', change)
    expect(echoes.end('me', 'a/x', '12')).toBeUndefined()
    expect([...echoes.withheldFrom('me')]).toEqual([['a/x', [change]]])
    expect(echoes.end('me', 'a/x', '13')).toEqual({ foreign: [], own: [change] })
    expect(echoes.isEmpty).toBe(true)
  })
})
