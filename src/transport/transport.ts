/**
 * How a request reaches an API server. Everything above uses this interface and does not know whether it is HTTP or a
 * function call in the same process.
 */
import type { Json } from '../kube/json.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface TransportRequest {
  readonly method: Method
  /** Absolute path with its query, already encoded: `/api/v1/pods?limit=500`. */
  readonly path: string
  /** Lower-case names. Credentials are added by the transport. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string | Uint8Array | undefined
  /** Aborts the request, and the stream of its response, at any time. */
  readonly signal?: AbortSignal | undefined
  /** Time-out of the response head. @default the transport's */
  readonly headTimeoutMs?: number | undefined
}

export interface TransportResponse {
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /**
   * The body as it arrives, decompressed. It must be read to its end or closed by `return()`: until then it holds its
   * connection. It throws `ConnectionLost` if it is truncated and the signal's error if aborted.
   */
  readonly body: AsyncIterable<Uint8Array>
  /** The complete body, if it was available at once: for callers that pass it on. */
  readonly whole?: Uint8Array | undefined
  /** The parsed and frozen value of `whole`, if it has been parsed before. */
  readonly json?: Json | undefined
}

/** A bidirectional stream of binary messages: a WebSocket, or its in-process equivalent. */
export interface MessageStream {
  /** The negotiated sub-protocol. */
  readonly protocol: string
  send(message: Uint8Array): void
  readonly messages: AsyncIterable<Uint8Array>
  close(): void
}

export interface Transport {
  send(request: TransportRequest): Promise<TransportResponse>
  /** Opens a message stream (exec, attach, port-forward) and offers these sub-protocols in order of preference. */
  connect(request: TransportRequest, protocols: readonly string[]): Promise<MessageStream>
  /** Open connections and streams; for metrics and tests. */
  stats(): TransportStats
  /**
   * Grows when requests go to another server than before. Resource versions of an earlier epoch may belong to another
   * cluster. @default always 0
   */
  epoch?(this: void): number
  /** Closes open streams and connections; later requests fail with `TransportClosed`. */
  close(): Promise<void>
}

export interface TransportStats {
  readonly connections: number
  readonly streams: number
}

/** An API server as a function: the embedded server, or a fake in a test. */
export interface Handler {
  handle(request: TransportRequest): Promise<TransportResponse>
  connect?(request: TransportRequest, protocols: readonly string[]): Promise<MessageStream>
}
