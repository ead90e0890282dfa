/** Where the server sends its questions to a webhook, and which certificates it trusts there. */
import { createServer } from 'node:https'
import { describe, expect, it } from 'vitest'
import { type JsonObject, parseJson, stringifyJson } from '../../src/kube/json.ts'
import { type PemPair, makeCa } from '../certificates.ts'
import { ca, listen, serverPair } from '../loopback.ts'
import { bundle, hooked, said } from './admission.ts'
import { defineKind, object } from './custom-kind.ts'
import { at, openServer } from './server.ts'

const server = openServer()

const inBase64 = (...pems: readonly string[]): string => Buffer.from(pems.join('')).toString('base64')

interface Listener {
  readonly port: number
  /** Request targets, without duplicates. */
  readonly targets: Set<string>
}

/** Allows every write, and converts objects by their version alone. */
async function listener({ cert, key }: PemPair): Promise<Listener> {
  const targets = new Set<string>()
  const hook = createServer({ cert, key }, (incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => void chunks.push(chunk))
    incoming.on('end', () => {
      targets.add(incoming.url ?? '')
      const { request, ...review } = parseJson(Buffer.concat(chunks).toString()) as JsonObject
      const { uid, objects = [], desiredAPIVersion } = request as JsonObject
      const convertedObjects = (objects as readonly JsonObject[]).map((one) =>
        Object.assign({}, one, { apiVersion: desiredAPIVersion! }),
      )
      response.setHeader('content-type', 'application/json')
      const answer = { uid: uid!, allowed: true, convertedObjects, result: { status: 'Success' } }
      response.end(stringifyJson({ ...review, response: answer }))
    })
  })
  return { port: await listen(hook), targets }
}

describe('the path of a webhook', () => {
  it.each([
    '',
    '/',
    '/a',
    '/a/',
    '//a//b//',
    '/a/../b/./c',
    '/../a',
    '/a%2Fb',
    '/a%20b',
    "/a!$&'()*+,;=:@~b",
    '/a%C3%A4%25',
    '/ä',
    '/a[b]|c',
  ])('is sent as Go sends it: %j', async (path) => {
    const { port, targets } = await listener(serverPair)
    const clientConfig = { url: `https://127.0.0.1:${port}${path}`, caBundle: bundle }
    const { path: configMaps } = await hooked(server, 'validating', { clientConfig })
    await server.must('POST', configMaps, { body: { metadata: { name: 'a' } } })
    expect([...targets]).toMatchSnapshot()
  })

  it('of a conversion is sent the same way', async () => {
    const { port, targets } = await listener(serverPair)
    const version = (name: string, storage: boolean): object => ({
      name,
      storage,
      served: true,
      schema: { openAPIV3Schema: object({}) },
    })
    const clientConfig = { url: `https://127.0.0.1:${port}//convert//`, caBundle: inBase64(serverPair.cert) }
    const conversion = { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], clientConfig } }
    const kind = await defineKind(server, object({}), {
      versions: [version('v1', true), version('v2', false)],
      spec: { conversion },
    })
    const path = kind.path('v2')
    await server.must('POST', path, { body: kind.object({ metadata: { name: 'a' } }, 'v2') })
    expect([...targets]).toEqual(['/convert?timeout=30s'])
  })
})

describe('the certificate of a webhook', () => {
  const other = makeCa({ commonName: 'other-ca' })
  const named = ca.issue({ commonName: 'api-server', dnsNames: ['elsewhere.example.com'], server: true })
  const unnamed = ca.issue({ commonName: '127.0.0.1', server: true })
  const hour = 3_600_000
  const expired = ca.issue({
    commonName: 'old',
    ips: ['127.0.0.1'],
    server: true,
    notBefore: new Date(Date.now() - 2 * hour),
    notAfter: new Date(Date.now() - hour),
  })
  const forClients = ca.issue({ commonName: 'client', ips: ['127.0.0.1'] })

  it.each<readonly [string, PemPair, string]>([
    ['by its authority', serverPair, inBase64(ca.cert)],
    ['by itself', serverPair, inBase64(serverPair.cert)],
    ['by itself among others', serverPair, inBase64(other.cert, serverPair.cert)],
    ['by another authority', serverPair, inBase64(other.cert)],
    ['by another certificate of the same authority', serverPair, inBase64(named.cert)],
    ['by itself, for another name', named, inBase64(named.cert)],
    ['by its authority, for another name', named, inBase64(ca.cert)],
    ['by itself, for no name', unnamed, inBase64(unnamed.cert)],
    ['by itself, for clients', forClients, inBase64(forClients.cert)],
  ])('verified %s', async (_how, pair, caBundle) => {
    const { port } = await listener(pair)
    const clientConfig = { url: `https://127.0.0.1:${port}/`, caBundle }
    const { path } = await hooked(server, 'validating', { clientConfig })
    expect(said(server, await server.call('POST', path, { body: { metadata: { name: 'a' } } }))).toMatchSnapshot()
  })

  it('must not have expired, even if the bundle contains it', async () => {
    const { port } = await listener(expired)
    const clientConfig = { url: `https://127.0.0.1:${port}/`, caBundle: inBase64(expired.cert) }
    const { path } = await hooked(server, 'validating', { clientConfig })
    const answer = await server.call('POST', path, { body: { metadata: { name: 'a' } } })
    expect(at(answer.body, 'message')).toContain('x509: certificate has expired or is not yet valid')
  })
})
