/**
 * Asking a webhook: one JSON document is posted, another one comes back. Admission and the conversion of custom objects
 * both do it. Where the webhook is a service of the cluster, its address is looked up there: the embedded cluster has
 * no network of its own, so a Service leads to the addresses in its endpoints, or to wherever `hosts` says.
 */
import { type Json, parseJson, stringifyJson } from '../kube/json.ts'
import { quoteGo } from '../kube/go-text.ts'
import type { Storage } from './storage.ts'

/** As a CRD and a webhook configuration say it. */
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
  /** PEM in base64; the system's authorities where there is none. */
  readonly caBundle?: string | undefined
}

/** Raises a {@link WebhookError} when there is no answer, or none of use. */
export type WebhookCaller = (config: WebhookClientConfig, body: Json, timeoutMs: number) => Promise<Json>

/** Why a webhook could not be asked, in words that continue "failed calling webhook: …". */
export class WebhookError extends Error {}

export interface WebhookCallerOptions {
  readonly storage: Storage
  /** Where services are in truth: `name.namespace.svc` or `name.namespace.svc:port` to `host:port`. */
  readonly hosts?: ReadonlyMap<string, string> | undefined
}

/** What a webhook may answer, as on the real server. */
const maxAnswerBytes = 3 * 1024 * 1024

export function createWebhookCaller({ storage, hosts }: WebhookCallerOptions): WebhookCaller {
  return async (config, body, timeoutMs) => {
    const target = withTimeout(targetOf(config, storage, hosts), timeoutMs)
    const text = await post(target, stringifyJson(body), timeoutMs)
    try {
      return parseJson(text)
    } catch {
      throw new WebhookError('the answer is no valid JSON')
    }
  }
}

/** The webhook is told how long it has. */
function withTimeout(target: Target, timeoutMs: number): Target {
  const query = `${target.path.includes('?') ? '&' : '?'}timeout=${timeoutMs / 1000}s`
  return { ...target, url: target.url + query, path: target.path + query }
}

interface Target {
  /** As messages show it. */
  readonly url: string
  readonly host: string
  readonly port: number
  readonly path: string
  readonly serverName: string
  readonly ca: string | undefined
}

function targetOf(config: WebhookClientConfig, storage: Storage, hosts: WebhookCallerOptions['hosts']): Target {
  const bundle = config.caBundle ? Buffer.from(config.caBundle, 'base64').toString() : ''
  const ca = bundle.trim() === '' ? undefined : bundle
  if (config.url !== undefined) {
    const url = new URL(config.url)
    const port = url.port === '' ? 443 : Number(url.port)
    const host = url.hostname.replace(/^\[|\]$/g, '')
    return { url: config.url, host, port, path: url.pathname + url.search, serverName: host, ca }
  }
  const { service } = config
  if (!service) throw new WebhookError('neither a URL nor a service is given')
  const { namespace, name, path = '/', port = 443 } = service
  const serverName = `${name}.${namespace}.svc`
  const url = `https://${serverName}:${port}${path}`
  const mapped = hosts?.get(`${serverName}:${port}`) ?? hosts?.get(serverName)
  const address = mapped ?? endpointOf(storage, namespace, name, port)
  if (address === undefined) {
    const known = storage.table('services').get(namespace, name)
    const why = known ? `no endpoints available for service ${quoteGo(name)}` : `service ${quoteGo(name)} not found`
    throw new WebhookError(`Post ${quoteGo(url)}: ${why}`)
  }
  const at = address.lastIndexOf(':')
  return { url, host: address.slice(0, at), port: Number(address.slice(at + 1)), path, serverName, ca }
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

/** `host:port` of the first address behind a service. */
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

async function post(target: Target, body: string, timeoutMs: number): Promise<string> {
  const { url, host, port, path, serverName, ca } = target
  const { request } = await import('node:https')
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const fail = (why: string): void => reject(new WebhookError(`Post ${quoteGo(url)}: ${why}`))
  const signal = AbortSignal.timeout(timeoutMs)
  const outgoing = request(
    {
      host,
      port,
      path,
      method: 'POST',
      // An address needs no name to be recognised by.
      ...(/^[\d.]+$|:/.test(serverName) ? {} : { servername: serverName }),
      ca,
      signal,
      agent: false,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, */*',
        'content-length': Buffer.byteLength(body),
        'user-agent': 'kube-apiserver-admission',
      },
    },
    (response) => {
      const chunks: Buffer[] = []
      let size = 0
      response.on('data', (chunk: Buffer) => {
        size += chunk.length
        if (size > maxAnswerBytes) outgoing.destroy(new Error(`the answer is larger than ${maxAnswerBytes} bytes`))
        else chunks.push(chunk)
      })
      response.on('error', (error) => fail(error.message))
      response.on('end', () => {
        const { statusCode = 0, statusMessage = '' } = response
        if (statusCode >= 200 && statusCode < 300) resolve(Buffer.concat(chunks).toString())
        else reject(new WebhookError(`the server rejected our request: ${statusCode} ${statusMessage}`))
      })
    },
  )
  outgoing.on('error', (error) => fail(signal.aborted ? 'context deadline exceeded' : reasonOf(error, host, port)))
  outgoing.end(body)
  return await promise
}

/** The usual mishaps in Go's words. */
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
    default:
      return error.message
  }
}
