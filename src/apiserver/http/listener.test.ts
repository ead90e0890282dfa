import { Agent, type RequestOptions, request as requestHttp1 } from 'node:https'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makeCa } from '../../../test/certificates.ts'
import { configMap, configMaps } from '../../../test/embedded.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { readText } from '../../client/body.ts'
import type { Client } from '../../client/client.ts'
import { createClient } from '../../client/create-client.ts'
import { httpTransport } from '../../client/http/http-transport.ts'
import { parseJson } from '../../kube/json.ts'
import type { ServerAccessOptions } from '../access/access.ts'
import type { Certificate } from '../../pki/certificate-authority.ts'
import { administrator } from '../access/identity.ts'
import { createApiServer } from '../server/api-server.ts'
import { type ServerListener, startListener } from './listener.ts'

const token = 'a-token-for-this-test'

const tokens = new Map([[token, administrator]])

async function started(access: ServerAccessOptions = {}): Promise<ServerListener> {
  const server = createApiServer({ clock: systemClock, access: { tokens, ...access } })
  const listener = await startListener(server, { clock: systemClock })
  onTestFinished(() => listener.close())
  return listener
}

function clientOf({ url, ca }: ServerListener, authorization: string | undefined = `Bearer ${token}`): Client {
  const credentials = {
    headers: (): Promise<Record<string, string>> => Promise.resolve(authorization === '' ? {} : { authorization }),
    certificate: () => Promise.resolve(undefined),
    refused: () => false,
  }
  const connection = { name: 'embedded', server: url, tls: { ca }, credentials, namespace: 'default' }
  const client = createClient({ transport: httpTransport(connection, { clock: systemClock, env: {} }) })
  onTestFinished(() => client.close())
  return client
}

const whoAmI = '/apis/authentication.k8s.io/v1/selfsubjectreviews'

interface Reviewed {
  readonly status?: { readonly userInfo?: object } | undefined
}

/** The username, or the status of the error. */
function whoOverHttp1({ url, ca }: ServerListener, options: RequestOptions): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  const headers = { 'content-type': 'application/json', ...(options.headers as object) }
  const request = requestHttp1(`${url}${whoAmI}`, { ...options, ca, method: 'POST', headers }, (response) => {
    const chunks: Buffer[] = []
    response.on('data', (chunk: Buffer) => chunks.push(chunk))
    response.on('end', () => {
      const body = parseJson(Buffer.concat(chunks).toString()) as Reviewed
      resolve(response.statusCode === 201 ? body.status?.userInfo : response.statusCode)
    })
  })
  request.once('error', reject).end('{}')
  return promise
}

async function whoOverHttp2({ url, ca }: ServerListener, certificate: Certificate): Promise<unknown> {
  const credentials = {
    headers: (): Promise<Record<string, string>> => Promise.resolve({}),
    certificate: () => Promise.resolve({ id: 'carol', ...certificate }),
    refused: () => false,
  }
  const connection = { name: 'embedded', server: url, tls: { ca }, credentials, namespace: 'default' }
  const transport = httpTransport(connection, { clock: systemClock, env: {} })
  onTestFinished(() => transport.close())
  const headers = { 'content-type': 'application/json' }
  const { body } = await transport.send({ method: 'POST', path: whoAmI, headers, body: '{}' })
  return (parseJson(await readText(body)) as Reviewed).status?.userInfo
}

describe('a listener', () => {
  it('serves clients, watches included, until it is closed', async () => {
    const listener = await started()
    const client = clientOf(listener)
    const events = client.watch(configMaps)[Symbol.asyncIterator]()
    const first = events.next()
    await client.create(configMaps, configMap('a', { text: 'ü'.repeat(100_000) }))
    expect(await first).toMatchObject({ done: false, value: { type: 'ADDED', object: { metadata: { name: 'a' } } } })
    // An end, not an error: the client resumes from the last resourceVersion elsewhere.
    const [last] = await Promise.all([events.next(), listener.close()])
    expect(last.done).toBe(true)
  })

  it('rejects requests without a token', async () => {
    const listener = await started()
    for (const authorization of ['', `Bearer ${token}x`, `Basic ${token}`, 'Bearer']) {
      const { transport } = clientOf(listener, authorization)
      const { status, body } = await transport.send({ method: 'GET', path: '/version', headers: {} })
      expect(status).toBe(401)
      expect(parseJson(await readText(body))).toMatchObject({ kind: 'Status', reason: 'Unauthorized', code: 401 })
    }
  })

  it('authenticates clients by its certificates, over both protocols and in resumed sessions', async () => {
    const listener = await started()
    const certificate = listener.clientCertificate({ commonName: 'carol', organizations: ['one', 'two'] })
    const expected = { username: 'carol', groups: ['one', 'two', 'system:authenticated'] }
    expect(await whoOverHttp2(listener, certificate)).toMatchObject(expected)
    const agent = new Agent({ keepAlive: false })
    expect(await whoOverHttp1(listener, { ...certificate, agent })).toMatchObject(expected)
    expect(await whoOverHttp1(listener, { ...certificate, agent })).toMatchObject(expected)
  })

  it('rejects certificates of another authority, unless the client also has a token', async () => {
    const listener = await started({ strangers: 'anonymous' })
    const certificate = makeCa().issue({ commonName: 'carol', organizations: ['system:masters'] })
    expect(await whoOverHttp1(listener, certificate)).toBe(401)
    // The authority of another listener has the same name.
    const other = (await started()).clientCertificate({ commonName: 'carol', organizations: ['system:masters'] })
    expect(await whoOverHttp1(listener, other)).toBe(401)
    expect(await whoOverHttp2(listener, other)).toBeUndefined()
    const headers = { authorization: `Bearer ${token}` }
    expect(await whoOverHttp1(listener, { ...certificate, headers })).toMatchObject({ username: 'kubernetes-admin' })
    expect(await whoOverHttp1(listener, {})).toBe(403)
  })

  it('rejects certificates for another purpose, and ignores headers that name a user', async () => {
    const listener = await started()
    const headers = { 'x-remote-user': 'carol', 'x-remote-group': 'system:masters' }
    expect(await whoOverHttp1(listener, { headers })).toBe(401)
  })

  it('keeps repeated Impersonate-Group headers separate', async () => {
    const listener = await started()
    const headers = {
      authorization: `Bearer ${token}`,
      'impersonate-user': 'carol',
      'impersonate-group': ['a', 'b, c'],
    }
    expect(await whoOverHttp1(listener, { headers })).toMatchObject({ groups: ['a', 'b, c', 'system:authenticated'] })
  })

  it('rejects a body that is too large', async () => {
    const client = clientOf(await started())
    const large = client.create(configMaps, configMap('a', { x: 'x'.repeat(3 * 1024 * 1024) }))
    await expect(large).rejects.toMatchObject({ name: 'RequestTooLarge' })
  })

  it('speaks HTTP/1.1 too, and rejects methods that the API does not have', async () => {
    const { url, ca } = await started()
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}` }
      const request = requestHttp1(`${url}/version`, { ca, headers, method: 'OPTIONS' }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      request.once('error', reject).end()
    })
    expect(status).toBe(405)
  })

  it('binds to loopback addresses only', async () => {
    const server = createApiServer({ clock: systemClock })
    for (const host of ['0.0.0.0', '::', 'example.com', '10.0.0.1']) {
      await expect(startListener(server, { clock: systemClock, host })).rejects.toThrow('loopback addresses only')
    }
  })

  it('reports that a port is in use', async () => {
    const port = Number(new URL((await started()).url).port)
    const second = startListener(createApiServer({ clock: systemClock }), { clock: systemClock, port })
    await expect(second).rejects.toThrow(`port ${port}: another program uses it`)
  })
})
