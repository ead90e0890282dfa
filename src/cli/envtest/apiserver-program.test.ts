import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makeCa, makeSigningKeys, type PemPair } from '../../../test/certificates.ts'
import { freePort } from '../../../test/free-port.ts'
import { parseJson } from '../../kube/json.ts'
import { serveApiServer } from './apiserver-program.ts'

const serverCa = makeCa()
const clientCa = makeCa()
const serving = serverCa.issue({ commonName: 'localhost', dnsNames: ['localhost'], ips: ['127.0.0.1'], server: true })
const admin = clientCa.issue({ commonName: 'admin', organizations: ['system:masters'] })

async function newFolder(files: Readonly<Record<string, string>> = {}): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'muster-envtest-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text)
  return folder
}

interface Answer {
  readonly status: number | undefined
  readonly body: string
}

interface Asked {
  readonly ca?: string
  readonly as?: PemPair
  readonly token?: string
  readonly body?: object
}

interface Running {
  ask(pathname: string, asked?: Asked): Promise<Answer>
  stop(): Promise<void>
  readonly said: readonly string[]
}

/** Another program may take a free port before the server does: then on another one. */
async function start(words: readonly string[]): Promise<Running> {
  for (;;) {
    try {
      return await startOn(await freePort(), words)
    } catch (error) {
      if (!(error instanceof Error && error.message.includes('another program uses it'))) throw error
    }
  }
}

async function startOn(port: number, words: readonly string[]): Promise<Running> {
  const end = new AbortController()
  const said: string[] = []
  const serves = Promise.withResolvers<void>()
  const say = (line: string): void => {
    said.push(line)
    if (line === `Serving securely on 127.0.0.1:${port}`) serves.resolve()
  }
  const context = { signal: end.signal, say, out: say, env: {} }
  const ended = serveApiServer([`--secure-port=${port}`, ...words], context)
  const stop = async (): Promise<void> => {
    end.abort()
    await ended
  }
  onTestFinished(() => stop().catch(() => undefined))
  await Promise.race([serves.promise, ended])
  return {
    said,
    stop,
    ask(pathname, { ca = serverCa.cert, as, token, body } = {}) {
      const { promise, resolve, reject } = Promise.withResolvers<Answer>()
      const headers = {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body && { 'content-type': 'application/json' }),
      }
      const options = { method: body ? 'POST' : 'GET', ca, agent: false, headers, ...as } as const
      const asking = request(`https://127.0.0.1:${port}${pathname}`, options, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (part: string) => (text += part))
        response.on('end', () => resolve({ status: response.statusCode, body: text }))
      })
      asking.on('error', reject).end(body && JSON.stringify(body))
      return promise
    },
  }
}

const namespaces = '/api/v1/namespaces'

describe('kube-apiserver of a test control plane', () => {
  it('serves with the certificate in its folder and authenticates users of the client CA, as envtest requires', async () => {
    const { privateKey } = makeSigningKeys()
    const files = {
      'apiserver.crt': serving.cert,
      'apiserver.key': serving.key,
      'ca.crt': clientCa.cert,
      'sa.key': privateKey,
    }
    const folder = await newFolder(files)
    const server = await start([
      '--bind-address=127.0.0.1',
      '--authorization-mode=RBAC',
      `--cert-dir=${folder}`,
      `--client-ca-file=${folder}/ca.crt`,
      '--disable-admission-plugins=ServiceAccount',
      '--etcd-servers=http://127.0.0.1:1',
      '--service-account-issuer=https://issuer.example.com/',
      `--service-account-signing-key-file=${folder}/sa.key`,
    ])
    // Without credentials, as callers ask for its health.
    expect(await server.ask('/healthz')).toEqual({ status: 200, body: 'ok' })
    expect(await server.ask(namespaces)).toMatchObject({ status: 403 })
    expect(await server.ask(`${namespaces}/default`, { as: admin })).toMatchObject({ status: 200 })
    const stranger = makeCa().issue({ commonName: 'admin', organizations: ['system:masters'] })
    expect(await server.ask(namespaces, { as: stranger })).toMatchObject({ status: 401 })

    const pod = { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } }
    expect(await server.ask(`${namespaces}/default/pods`, { as: admin, body: pod })).toMatchObject({ status: 201 })

    const accounts = `${namespaces}/default/serviceaccounts`
    await server.ask(accounts, { as: admin, body: { metadata: { name: 'robot' } } })
    const issued = await server.ask(`${accounts}/robot/token`, { as: admin, body: { spec: {} } })
    const { status } = parseJson(issued.body) as unknown as { readonly status: { readonly token: string } }
    const [, claims = ''] = status.token.split('.')
    expect(Buffer.from(claims, 'base64url').toString()).toContain('"iss":"https://issuer.example.com/"')
    const robot = await server.ask(namespaces, { token: status.token })
    expect(robot).toMatchObject({ status: 403, body: expect.stringContaining('default:robot') as string })

    await server.stop()
    expect(server.said).toHaveLength(1)
    await expect(server.ask('/healthz')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })

  it('requires a service account, unless that admission plugin is disabled', async () => {
    const folder = await newFolder({ 'ca.crt': clientCa.cert })
    const server = await start([
      '--authorization-mode=RBAC',
      `--cert-dir=${folder}`,
      `--client-ca-file=${folder}/ca.crt`,
    ])
    // It made a certificate of its own, which clients may take for the authority.
    const ca = await readFile(path.join(folder, 'apiserver.crt'), 'utf8')
    const pod = { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } }
    const refused = await server.ask(`${namespaces}/default/pods`, { as: admin, body: pod, ca })
    expect(refused).toMatchObject({ status: 403, body: expect.stringContaining('serviceaccount') as string })
  })

  it('accepts static tokens, and allows every authenticated request with AlwaysAllow', async () => {
    const folder = await newFolder({ 'tokens.csv': 'secret,ada,1\n', 'a.crt': serving.cert, 'a.key': serving.key })
    const server = await start([
      '--authorization-mode=AlwaysAllow',
      `--token-auth-file=${folder}/tokens.csv`,
      `--tls-cert-file=${folder}/a.crt`,
      `--tls-private-key-file=${folder}/a.key`,
    ])
    expect(await server.ask(namespaces, { token: 'secret' })).toMatchObject({ status: 200 })
    expect(await server.ask(namespaces)).toMatchObject({ status: 401 })
  })

  it.each([
    ['--client-ca-file', 'text', 'ServerCertificateInvalid'],
    ['--service-account-signing-key-file', 'text', 'SigningKeyInvalid'],
    ['--token-auth-file', 'text', 'InvalidFlag'],
    ['--client-ca-file', undefined, 'InvalidFlag'],
  ])('does not start with an invalid file for %s', async (flag, text, name) => {
    const folder = await newFolder(text === undefined ? {} : { file: text })
    await expect(start([`${flag}=${folder}/file`])).rejects.toMatchObject({ name })
  })

  it('does not start with a mismatched key, or in an unwritable folder', async () => {
    const folder = await newFolder({ 'apiserver.crt': serving.cert, 'apiserver.key': admin.key, file: '' })
    await expect(start([`--cert-dir=${folder}`])).rejects.toMatchObject({ name: 'ServerCertificateInvalid' })
    await expect(start([`--cert-dir=${folder}/file/below`])).rejects.toMatchObject({ name: 'InvalidFlag' })
  })

  it('prints its version', async () => {
    const said: string[] = []
    const out = (line: string): void => void said.push(line)
    await serveApiServer(['--version'], { signal: AbortSignal.abort(), out, say: out, env: {} })
    expect(said).toEqual([expect.stringMatching(/^Kubernetes v1\.\d+\.\d+\+muster$/)])
  })
})
