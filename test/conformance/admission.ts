/** What cases about admission share: a real server takes a moment until it sees a new webhook or policy. */
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { onTestFinished } from 'vitest'
import { type Json, type JsonObject, parseJson, stringifyJson } from '../../src/kube/json.ts'
import { ca, listen, serverPair } from '../loopback.ts'
import { type Answer, at, type Server } from './server.ts'

export const registration = '/apis/admissionregistration.k8s.io/v1'
export const bundle: string = Buffer.from(ca.cert).toString('base64')

/** Asks until it holds. */
export async function until(holds: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = performance.now() + 20_000
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`still not so: ${what}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Creates an object of the cluster, and removes it when the test ends. */
export async function putCluster(server: Server, path: string, body: object): Promise<JsonObject> {
  const made = await server.must('POST', path, { body })
  const name = at(made, 'metadata', 'name') as string
  onTestFinished(async () => void (await server.call('DELETE', `${path}/${name}`)))
  return made
}

type Given = Json | { readonly status: number; readonly text: string }

export type Answerer = (request: JsonObject, review: JsonObject) => Given | Promise<Given>

export interface Receiver {
  readonly url: string
  /** The requests that came in, in order; probes are left out. */
  readonly asked: JsonObject[]
  readonly behave: (answerer: Answerer) => void
  /** The number of probes so far. */
  readonly probes: () => number
}

/** Names of objects that only find out whether the server knows a webhook by now. */
export const probeName = 'probe'

/** A webhook on loopback. It allows every request until the test sets another answer. */
export async function receiver(): Promise<Receiver> {
  const asked: JsonObject[] = []
  let probes = 0
  let answerer: Answerer = () => ({ allowed: true })
  const respond = async (body: string, response: ServerResponse): Promise<void> => {
    const review = parseJson(body) as JsonObject
    const request = review['request'] as JsonObject
    const isProbe = request['name'] === probeName
    if (isProbe) probes++
    else asked.push(request)
    const given = isProbe ? { allowed: true } : await answerer(request, review)
    const { status, text } = given as { readonly status?: unknown; readonly text?: string }
    response.setHeader('content-type', text === undefined ? 'application/json' : 'text/plain')
    if (text !== undefined) {
      response.statusCode = status as number
      response.end(text)
      return
    }
    const { raw, ...rest } = given as JsonObject
    const whole = {
      apiVersion: review['apiVersion']!,
      kind: 'AdmissionReview',
      response: { uid: request['uid']!, ...rest },
    }
    response.end(stringifyJson(raw === undefined ? whole : raw))
  }
  const hook = createServer({ cert: serverPair.cert, key: serverPair.key }, (incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => void chunks.push(chunk))
    incoming.on('end', () => void respond(Buffer.concat(chunks).toString(), response))
  })
  const port = await listen(hook)
  return {
    url: `https://127.0.0.1:${port}/admit`,
    asked,
    behave: (next) => void (answerer = next),
    probes: () => probes,
  }
}

export interface Hooked extends Receiver {
  readonly namespace: string
  /** Config maps of the namespace. */
  readonly path: string
}

export const configMapRule: object = {
  operations: ['*'],
  apiGroups: [''],
  apiVersions: ['v1'],
  resources: ['configmaps'],
}

/** A namespace with a webhook of its own, known to the server. */
export async function hooked(
  server: Server,
  kind: 'mutating' | 'validating',
  webhook: object = {},
  given?: { readonly receiver: Receiver; readonly namespace: string; readonly name?: string },
): Promise<Hooked> {
  const hook = given?.receiver ?? (await receiver())
  const namespace = given?.namespace ?? (await server.namespace())
  const before = hook.probes()
  await putCluster(server, `${registration}/${kind}webhookconfigurations`, {
    metadata: { name: given?.name ?? server.unique('hooks') },
    webhooks: [
      {
        name: 'hook.example.com',
        clientConfig: { url: hook.url, caBundle: bundle },
        rules: [configMapRule],
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        ...webhook,
      },
      // Notices when the configuration is known.
      {
        name: 'probe.example.com',
        clientConfig: { url: hook.url, caBundle: bundle },
        rules: [{ ...configMapRule, operations: ['CREATE'] }],
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
        objectSelector: { matchLabels: { probe: 'yes' } },
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  })
  const path = `/api/v1/namespaces/${namespace}/configmaps`
  const probe = { metadata: { name: probeName, labels: { probe: 'yes' } }, data: { x: '1' } }
  await until(async () => {
    await server.call('POST', `${path}?dryRun=All`, { body: probe })
    return hook.probes() > before
  }, 'the webhook is asked')
  return { ...hook, namespace, path }
}

/** The patch of a webhook's answer. */
export function patch(...operations: readonly object[]): JsonObject {
  return {
    allowed: true,
    patchType: 'JSONPatch',
    patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
  }
}

/** What was said about a write: its code and message, or its data; and the warnings. */
export function said(server: Server, { status, headers, body }: Answer): Json {
  const warning = headers['warning']
  const told = status >= 300 ? body : { data: at(body, 'data') ?? null, labels: at(body, 'metadata', 'labels') ?? null }
  const text = stringifyJson(server.maskedJson({ status, told, ...(warning && { warning }) }))
  return parseJson(text.replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT'))
}
