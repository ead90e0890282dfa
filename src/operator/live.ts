/**
 * Access beyond the cluster state: a command in a container, an HTTP call to an application. Available only when the
 * operator runs live; in an offline run it fails. Callers must be idempotent: a step may run again.
 */
import { operatorErrors } from './errors.ts'
import { MusterError } from '../kube/muster-error.ts'
import type { ObjectName } from './view/view.ts'

export interface LiveCommandOptions {
  /** @default the Pod's first container */
  readonly container?: string
  readonly stdin?: string
  /** @default 30_000 */
  readonly timeoutMs?: number
}

export interface CommandResult {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

export interface HttpCall {
  /** @default "GET" */
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON, unless it is text. */
  readonly body?: unknown
  /** For each attempt. @default 10_000 */
  readonly timeoutMs?: number
  /**
   * Attempts after the first, for calls that failed on the way or were answered with 429, 502, 503 or 504.
   * @default 2 for GET, PUT and DELETE; none for POST and PATCH, which may not be repeated
   */
  readonly retries?: number
  /**
   * Origins that a redirect may lead to, beside the origin of `url`. Headers and body stay with the origin of `url`: another
   * origin gets a request without them, and a redirect that keeps the body (307, 308) does not lead there at all.
   * @default every origin, but none over plain HTTP for a call over HTTPS
   */
  readonly redirectTo?: readonly string[]
}

export interface HttpAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  json(): unknown
}

export interface Live {
  /** False without a cluster: the functions below then fail with `NeedsCluster`. */
  readonly available: boolean
  /** Runs a command to completion. A non-zero exit code is a result, not an error. */
  exec(pod: ObjectName, command: readonly string[], options?: LiveCommandOptions): Promise<CommandResult>
  /**
   * Follows up to five redirects. An answer of any status is a result.
   * @throws Unreachable after the last attempt without an answer, OutsideRefused for a redirect that is not followed
   */
  http(call: HttpCall): Promise<HttpAnswer>
}

/** The `Live` of an offline run. */
export const offline: Live = {
  available: false,
  exec: (pod) =>
    Promise.reject(new MusterError(operatorErrors.NeedsCluster, `A command in Pod ${pod.name} needs a cluster.`)),
  http: ({ url }) =>
    Promise.reject(new MusterError(operatorErrors.NeedsCluster, `A call to ${originOf(url)} needs a network.`)),
}

/** Without query and credentials, for messages. */
export function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : 'an address that is none'
}
