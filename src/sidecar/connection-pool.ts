/**
 * The connections of a listener that unauthenticated clients can reach. The number of connections is bounded, and the bound
 * never keeps a new connection out: the oldest unauthenticated connection makes room. A health probe is unauthenticated
 * too, and sends its request at once, so the probe is answered long before its connection is the oldest.
 *
 * Some places are never taken by authenticated connections: clients with a token that wait for changes leave room for the probe.
 */

/** What the pool needs of a socket. */
export interface PooledConnection {
  destroy(): unknown
}

export interface ConnectionPoolOptions {
  /** Connections at once. */
  readonly places: number
  /** Places that authenticated connections leave to others; at least 1, or a new connection would make room for itself. */
  readonly reserved: number
}

export interface ConnectionPool<C extends PooledConnection> {
  /** Takes a connection in. Where no place is free, the oldest unauthenticated connection is destroyed. */
  join(connection: C): void
  /**
   * A request with a valid token begins on a connection, which keeps its place from now on. Where authenticated connections
   * have all of their places, an idle one of them is destroyed. Returns undefined when none is idle, else the function to call when the request has ended.
   */
  begin(connection: C): (() => void) | undefined
  /** The connection is closed. */
  leave(connection: C): void
}

export function connectionPool<C extends PooledConnection>(options: ConnectionPoolOptions): ConnectionPool<C> {
  const { places, reserved } = options
  /** Oldest first. */
  const unauthenticated = new Set<C>()
  /** With the number of requests that each is waiting for. */
  const authenticated = new Map<C, number>()

  function leave(connection: C): void {
    unauthenticated.delete(connection)
    authenticated.delete(connection)
  }

  function drop(connection: C): void {
    // Not only when the socket says that it is closed: many connections may come before it does.
    leave(connection)
    connection.destroy()
  }

  const idle = (): C | undefined => authenticated.entries().find(([, requests]) => requests === 0)?.[0]

  return {
    join(connection) {
      unauthenticated.add(connection)
      const [oldest] = unauthenticated
      if (unauthenticated.size + authenticated.size > places) drop(oldest!)
    },
    begin(connection) {
      // It may have been closed while its token was checked: what has left does not come back.
      if (!unauthenticated.has(connection) && !authenticated.has(connection)) return () => undefined
      if (!authenticated.has(connection)) {
        if (authenticated.size >= places - reserved) {
          const other = idle()
          if (!other) return undefined
          drop(other)
        }
        unauthenticated.delete(connection)
      }
      authenticated.set(connection, (authenticated.get(connection) ?? 0) + 1)
      return () => {
        const requests = authenticated.get(connection)
        if (requests !== undefined) authenticated.set(connection, requests - 1)
      }
    },
    leave,
  }
}
