/** A client of the Kubernetes API; see README.md beside this file. */
export { connect, type ConnectOptions } from './connect.ts'
export { type ClientOptions, createClient } from './create-client.ts'
export type {
  Client,
  ClientStats,
  DeleteOptions,
  DiscoveredResource,
  Discovery,
  ExecOptions,
  ExecResult,
  FieldValidation,
  GetOptions,
  ListOptions,
  LogOptions,
  MetadataObject,
  ObjectRef,
  PatchOptions,
  PatchType,
  RawRequest,
  RequestOptions,
  Scale,
  Table,
  TerminalSize,
  TokenRequestOptions,
  WatchEvent,
  WatchOptions,
  WholeListOptions,
  WriteOptions,
} from './client.ts'
export { ApiError, statusError } from './api-error.ts'
export { createFlowControl, type FlowControl, type FlowLimits, type FlowSnapshot } from './flow-control.ts'
export type { RetryPolicy } from './retry.ts'
export type { ServerWarning } from './warning.ts'

export { readJson, readLines, readText } from './body.ts'

export type {
  MessageStream,
  Method,
  Transport,
  TransportRequest,
  TransportResponse,
  TransportStats,
} from '../transport/transport.ts'
export { inProcessTransport } from './in-process.ts'
export type { Handler } from '../transport/transport.ts'
export { httpTransport, type HttpTransportOptions } from './http/http-transport.ts'

export type { Connection, Credentials, Impersonation, TlsSettings } from './connection.ts'
export {
  connectionFromKubeconfig,
  type ConnectionOptions,
  type KubeconfigOptions,
  loadConnection,
  type LoadConnectionOptions,
} from './load-connection.ts'
