/**
 * How a request reaches an API server. Everything above works on this interface and cannot tell HTTP from a
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
  /** Ends the request, and the stream of its answer, at any time. */
  readonly signal?: AbortSignal | undefined
  /** The longest wait for the head of the answer. @default the transport's */
  readonly headTimeoutMs?: number | undefined
}

export interface TransportResponse {
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /**
   * The body as it arrives, decompressed. It must be read to its end or left by `return()`: until then it holds
   * its connection. It throws `ConnectionLost` when cut off and the signal's error when aborted.
   */
  readonly body: AsyncIterable<Uint8Array>
  /** The same, where it was there from the start: for those who pass it on. */
  readonly whole?: Uint8Array | undefined
  /** What `whole` says, frozen, where it has been read before. */
  readonly json?: Json | undefined
}

/** A two-way stream of binary messages: a WebSocket, or its in-process equal. */
export interface MessageStream {
  /** The sub-protocol both sides agreed on. */
  readonly protocol: string
  send(message: Uint8Array): void
  readonly messages: AsyncIterable<Uint8Array>
  close(): void
}

export interface Transport {
  send(request: TransportRequest): Promise<TransportResponse>
  /** Opens a message stream (exec, attach, port-forward) offering these sub-protocols, best first. */
  connect(request: TransportRequest, protocols: readonly string[]): Promise<MessageStream>
  /** What is open now; for metrics and tests. */
  stats(): TransportStats
  /** Ends open streams and connections; later requests fail with `TransportClosed`. */
  close(): Promise<void>
}

export interface TransportStats {
  readonly connections: number
  readonly streams: number
}

/** An API server as a function: what the embedded one is, and what a test writes in ten lines. */
export interface Handler {
  handle(request: TransportRequest): Promise<TransportResponse>
  connect?(request: TransportRequest, protocols: readonly string[]): Promise<MessageStream>
}
