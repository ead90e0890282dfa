/**
 * The connections of a listener that unauthenticated clients can reach. Their number is limited, but a new connection
 * is never rejected: it replaces the oldest unauthenticated one. A health probe is unauthenticated and sends its
 * request at once, so it is answered long before its connection is the oldest.
 *
 * Some places are reserved: authenticated clients that wait for changes never occupy all of them.
 */

/** The part of a socket that the pool uses. */
interface PooledConnection {
  destroy(): unknown
}

interface ConnectionPoolOptions {
  /** Connections at once. */
  readonly places: number
  /** Places that authenticated connections leave free; at least 1, or a new connection would replace itself. */
  readonly reserved: number
}

export interface ConnectionPool<C extends PooledConnection> {
  /** Adds a connection. If the pool is full, the oldest unauthenticated connection is destroyed. */
  join(connection: C): void
  /**
   * A request with a valid token starts on a connection, which keeps its place from now on. If authenticated
   * connections use all their places, an idle one of them is destroyed. Returns undefined if none is idle, otherwise
   * the function to call at the end of the request.
   */
  begin(connection: C): (() => void) | undefined
  /** The connection is closed. */
  leave(connection: C): void
}

export function connectionPool<C extends PooledConnection>(options: ConnectionPoolOptions): ConnectionPool<C> {
  const { places, reserved } = options
  /** Oldest first. */
  const unauthenticated = new Set<C>()
  /** With the number of requests in progress. */
  const authenticated = new Map<C, number>()

  function leave(connection: C): void {
    unauthenticated.delete(connection)
    authenticated.delete(connection)
  }

  function drop(connection: C): void {
    // Removed at once: many connections may arrive before the socket emits `close`.
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
      // It may have been closed while its token was checked.
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
