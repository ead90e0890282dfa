/**
 * The client for admission and conversion webhooks: posts one JSON document and returns the response. The embedded
 * cluster has no network of its own, so a webhook's Service is resolved to an address in its Endpoints, or by `hosts`.
 */
import type { ClientRequest } from 'node:http'
import type { RequestOptions } from 'node:https'
import type { Clock } from '../../clock/clock.ts'
import { type Json, parseJson, stringifyJson } from '../../kube/json.ts'
import { quoteGo } from '../../kube/go/go-text.ts'
import { bodyProblem } from '../../transport/body-bounds.ts'
import type { Storage } from '../storage/storage.ts'
import { partsOfUrl, pathOfService } from './webhook-address.ts'

/** `clientConfig` of a CRD or a webhook configuration. */
export interface WebhookClientConfig {
  readonly url?: string | undefined
  readonly service?:
    | {
        readonly namespace: string
        readonly name: string
        readonly path?: string | undefined
        readonly port?: number | undefined
      }
    | undefined
  /** PEM in base64. @default the system's root certificates */
  readonly caBundle?: string | undefined
}

/** Calls a webhook. Rejects with a {@link WebhookError} if there is no valid response. */
export type WebhookCaller = (config: WebhookClientConfig, body: Json, timeoutMs: number) => Promise<Json>

/** Why a call failed; the message follows "failed calling webhook: ". */
export class WebhookError extends Error {}

interface WebhookCallerOptions {
  readonly storage: Storage
  readonly clock: Clock
  /** Overrides the address of services: `name.namespace.svc` or `name.namespace.svc:port` to `host:port`. */
  readonly hosts?: ReadonlyMap<string, string> | undefined
}

/** Limit for responses, as in kube-apiserver. */
const maxAnswerBytes = 3 * 1024 * 1024

export function createWebhookCaller({ storage, clock, hosts }: WebhookCallerOptions): WebhookCaller {
  return async (config, body, timeoutMs) => {
    const target = targetOf(config, storage, hosts, `timeout=${timeoutMs / 1000}s`)
    const text = await post(target, stringifyJson(body), timeoutMs, clock)
    const answer = parsed(text)
    if (bodyProblem(answer) !== undefined) throw new WebhookError('the response is nested too deeply')
    return answer
  }
}

function parsed(text: string): Json {
  try {
    return parseJson(text)
  } catch {
    throw new WebhookError('the response is not valid JSON')
  }
}

interface Target {
  /** The URL in error messages. */
  readonly url: string
  /** The Host header. */
  readonly authority: string
  readonly host: string
  readonly port: number
  readonly path: string
  readonly serverName: string
  readonly ca: string | undefined
}

/** `urlQuery` tells the webhook its timeout. */
function targetOf(
  config: WebhookClientConfig,
  storage: Storage,
  hosts: WebhookCallerOptions['hosts'],
  urlQuery: string,
): Target {
  const bundle = config.caBundle ? Buffer.from(config.caBundle, 'base64').toString() : ''
  const ca = bundle.trim() === '' ? undefined : bundle
  if (config.url !== undefined) {
    const url = URL.parse(config.url)
    if (!url) throw new WebhookError(`Post ${quoteGo(config.url)}: not a valid URL`)
    const port = url.port === '' ? 443 : Number(url.port)
    const host = url.hostname.replace(/^\[|\]$/g, '')
    const { authority, path } = partsOfUrl(config.url)
    const target = `${path}?${urlQuery}`
    return { url: `${url.protocol}//${authority}${target}`, authority, host, port, path: target, serverName: host, ca }
  }
  const { service } = config
  if (!service) throw new WebhookError('the client config has neither a URL nor a service')
  const { namespace, name, port = 443 } = service
  const serverName = `${name}.${namespace}.svc`
  const authority = `${serverName}:${port}`
  const path = `${pathOfService(service.path ?? '')}?${urlQuery}`
  const url = `https://${authority}${path}`
  const mapped = hosts?.get(`${serverName}:${port}`) ?? hosts?.get(serverName)
  const address = mapped ?? endpointOf(storage, namespace, name, port)
  if (address === undefined) {
    const known = storage.table('services').get(namespace, name)
    const why = known ? `no endpoints available for service ${quoteGo(name)}` : `service ${quoteGo(name)} not found`
    throw new WebhookError(`Post ${quoteGo(url)}: ${why}`)
  }
  const at = address.lastIndexOf(':')
  const [host, endpointPort] = [address.slice(0, at), Number(address.slice(at + 1))]
  return { url, authority, host, port: endpointPort, path, serverName, ca }
}

interface ServicePort {
  readonly name?: string
  readonly port: number
  readonly targetPort?: number | string
}

interface EndpointSubset {
  readonly addresses?: readonly { readonly ip: string }[]
  readonly ports?: readonly { readonly name?: string; readonly port: number }[]
}

/** `host:port` of the first endpoint of a service. */
function endpointOf(storage: Storage, namespace: string, name: string, port: number): string | undefined {
  const service = storage.table('services').get(namespace, name) as { readonly spec?: unknown } | undefined
  const { ports = [], externalName } = (service?.spec ?? {}) as {
    readonly ports?: readonly ServicePort[]
    readonly externalName?: string
  }
  if (externalName) return `${externalName}:${port}`
  const served = ports.find((one) => one.port === port)
  const endpoints = storage.table('endpoints').get(namespace, name) as { readonly subsets?: unknown } | undefined
  for (const { addresses = [], ports: open = [] } of (endpoints?.subsets ?? []) as readonly EndpointSubset[]) {
    const found = open.find((one) => (one.name ?? '') === (served?.name ?? '')) ?? open[0]
    if (addresses[0] && found) return `${addresses[0].ip}:${found.port}`
  }
  return undefined
}

async function post(target: Target, body: string, timeoutMs: number, clock: Clock): Promise<string> {
  const { url, authority, host, port, path, serverName, ca } = target
  const { request } = await import('node:https')
  const { hostnameProblem } = await import('./webhook-certificate.ts')
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const fail = (why: string): void => reject(new WebhookError(`Post ${quoteGo(url)}: ${why}`))
  let tooMuch: string | undefined
  const late = new AbortController()
  const { signal } = late
  const timer = clock.after(timeoutMs, () => late.abort())
  const options: RequestOptions = {
    host,
    port,
    path,
    method: 'POST',
    // SNI is for names only.
    ...(/^[\d.]+$|:/.test(serverName) ? {} : { servername: serverName }),
    ca,
    // Every certificate of the bundle is trusted as it is: a root, an intermediate, or the webhook's own.
    allowPartialTrustChain: true,
    checkServerIdentity: hostnameProblem,
    signal,
    agent: false,
    headers: {
      host: authority,
      'content-type': 'application/json',
      accept: 'application/json, */*',
      'content-length': Buffer.byteLength(body),
      'user-agent': 'kube-apiserver-admission',
    },
  }
  const start = (): ClientRequest =>
    request(options, (response) => {
      const chunks: Buffer[] = []
      let size = 0
      response.on('data', (chunk: Buffer) => {
        size += chunk.length
        chunks.push(chunk)
        if (size <= maxAnswerBytes) return
        tooMuch = `the response is larger than ${maxAnswerBytes} bytes`
        response.destroy(new Error(tooMuch))
      })
      response.on('error', broke)
      response.on('end', () => {
        const { statusCode = 0 } = response
        const text = Buffer.concat(chunks).toString()
        if (statusCode >= 200 && statusCode < 300) resolve(text)
        else reject(new WebhookError(rejection(statusCode, text.trim())))
      })
    })
  const broke = (error: Error): void =>
    fail(signal.aborted ? 'context deadline exceeded' : (tooMuch ?? reasonOf(error, host, port)))
  try {
    // An invalid path or CA bundle fails here, before anything is sent.
    const outgoing = start()
    outgoing.on('error', broke)
    outgoing.end(body)
    return await promise
  } catch (error) {
    if (error instanceof WebhookError) throw error
    throw new WebhookError(`Post ${quoteGo(url)}: ${(error as Error).message}`)
  } finally {
    timer.cancel()
  }
}

/** The messages of client-go for status codes other than success. */
const rejections: ReadonlyMap<number, string> = new Map([
  [400, 'the server rejected our request for an unknown reason'],
  [401, 'the server has asked for the client to provide credentials'],
  [404, 'the server could not find the requested resource'],
  [405, 'the server does not allow this method on the requested resource'],
  [409, 'the server reported a conflict'],
  [422, 'the server rejected our request due to an error in our request'],
  [429, 'the server has received too many requests and has asked us to try again later'],
  [503, 'the server is currently unable to handle the request'],
  [504, 'the server was unable to return a response in the time allotted, but may still be processing the request'],
])

function rejection(code: number, text: string): string {
  if (code === 403 || code === 406 || code === 415) return text
  const known = rejections.get(code)
  if (known !== undefined) return known
  if (code >= 500) return `an error on the server (${quoteGo(text)}) has prevented the request from succeeding`
  return `the server responded with the status code ${code} but did not return more information`
}

/** Go's messages for common network and TLS errors. */
function reasonOf(error: Error & { readonly code?: string }, host: string, port: number): string {
  switch (error.code) {
    case 'ECONNREFUSED':
      return `dial tcp ${host.includes(':') ? `[${host}]` : host}:${port}: connect: connection refused`
    case 'ENOTFOUND':
      return `dial tcp: lookup ${host}: no such host`
    case 'ECONNRESET':
      return 'EOF'
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
      return 'tls: failed to verify certificate: x509: certificate signed by unknown authority'
    case 'INVALID_PURPOSE':
      return 'tls: failed to verify certificate: x509: certificate specifies an incompatible key usage'
    case 'CERT_HAS_EXPIRED':
    case 'CERT_NOT_YET_VALID':
      return 'tls: failed to verify certificate: x509: certificate has expired or is not yet valid'
    default:
      return error.message
  }
}
