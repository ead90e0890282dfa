import { describe, expect, it } from 'vitest'
import { connectionPool } from './connection-pool.ts'

class Connection {
  isOpen = true
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
  destroy(): void {
    this.isOpen = false
  }
}

const named = (...names: readonly string[]): readonly Connection[] => names.map((name) => new Connection(name))
const open = (connections: readonly Connection[]): string =>
  connections
    .filter(({ isOpen }) => isOpen)
    .map(({ name }) => name)
    .join('')

describe('the connections of a listener', () => {
  it('a new one replaces the oldest without a token', () => {
    const pool = connectionPool<Connection>({ places: 3, reserved: 1 })
    const all = named('a', 'b', 'c', 'd', 'e')
    for (const connection of all) pool.join(connection)
    expect(open(all)).toBe('cde')
  })

  it('a closed one frees its slot', () => {
    const pool = connectionPool<Connection>({ places: 2, reserved: 1 })
    const all = named('a', 'b', 'c')
    pool.join(all[0]!)
    pool.join(all[1]!)
    pool.leave(all[0]!)
    pool.join(all[2]!)
    expect(open(all)).toBe('abc')
  })

  it('an authenticated one stays, however many unauthenticated ones arrive', () => {
    const pool = connectionPool<Connection>({ places: 3, reserved: 1 })
    const all = named('a', 'b', 'c', 'd', 'e')
    pool.join(all[0]!)
    pool.begin(all[0]!)!()
    for (const connection of all.slice(1)) pool.join(connection)
    expect(open(all)).toBe('ade')
  })

  it('authenticated ones leave the reserved slots free: an idle one is closed, and without an idle one the request is rejected', () => {
    const pool = connectionPool<Connection>({ places: 3, reserved: 1 })
    const all = named('a', 'b', 'c', 'd')
    for (const connection of all.slice(0, 3)) pool.join(connection)
    const end = pool.begin(all[0]!)!
    expect(pool.begin(all[1]!)).toBeTypeOf('function')
    expect(pool.begin(all[2]!)).toBeUndefined()
    // Further requests of those that have a place are taken.
    pool.begin(all[0]!)!()
    expect(pool.begin(all[2]!)).toBeUndefined()
    end()
    expect(pool.begin(all[2]!)).toBeTypeOf('function')
    pool.join(all[3]!)
    expect(open(all)).toBe('bcd')
  })

  it('one that was closed during authentication takes no slot', () => {
    const pool = connectionPool<Connection>({ places: 2, reserved: 1 })
    const [gone, next] = named('a', 'b')
    pool.join(gone!)
    pool.leave(gone!)
    pool.begin(gone!)!()
    pool.join(next!)
    expect(pool.begin(next!)).toBeTypeOf('function')
    expect(next!.isOpen).toBe(true)
  })
})
