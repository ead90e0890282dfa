import { describe, expect, it } from 'vitest'
import { ca, closing, echoHandler, startHttp2 } from '../../test/loopback.ts'
import { makeCa } from '../../test/certificates.ts'
import { type MemoryMachine, memoryMachine } from '../../test/memory-machine.ts'
import { systemClock } from '../clock/system-clock.ts'
import { tokenCredentials } from './credentials/credentials.ts'
import { connectionWithCredentials } from './followed-connection.ts'
import { httpTransport } from './http/http-transport.ts'
import { loadConnection } from './load-connection.ts'

function kubeconfig(current: string, servers: Readonly<Record<string, string>>, user: object = { token: 't' }): string {
  const names = Object.keys(servers)
  return JSON.stringify({
    'current-context': current,
    clusters: names.map((name) => ({ name, cluster: { server: servers[name] } })),
    contexts: names.map((name) => ({ name, context: { cluster: name, user: 'me' } })),
    users: [{ name: 'me', user }],
  })
}

const machineWith = (text: string): MemoryMachine => memoryMachine({ files: { '/k': text } })

describe('a connection of a kubeconfig', () => {
  it('has changed when its cluster or its user has, and only then', async () => {
    const machine = machineWith(kubeconfig('a', { a: 'https://a', b: 'https://b' }))
    const first = await loadConnection({ kubeconfig: '/k', machine })
    expect(await first.reload!()).toBeUndefined()
    machine.files.set('/k', kubeconfig('a', { a: 'https://a', b: 'https://elsewhere' }))
    expect(await first.reload!()).toBeUndefined()
    machine.files.set('/k', kubeconfig('a', { a: 'https://a:1' }))
    const second = await first.reload!()
    expect(second?.server).toBe('https://a:1')
    machine.files.set('/k', kubeconfig('a', { a: 'https://a:1' }, { token: 'another' }))
    expect(await (await second!.reload!())?.credentials.headers()).toEqual({ authorization: 'Bearer another' })
  })

  it('stays with its context when another one becomes the current one', async () => {
    const machine = machineWith(kubeconfig('a', { a: 'https://a', b: 'https://b' }))
    const first = await loadConnection({ kubeconfig: '/k', machine })
    machine.files.set('/k', kubeconfig('b', { a: 'https://a', b: 'https://b' }))
    expect(await first.reload!()).toBeUndefined()
    machine.files.set('/k', kubeconfig('b', { b: 'https://b' }))
    await expect(first.reload!()).rejects.toMatchObject({ name: 'ContextNotFound' })
  })

  it('keeps the credentials that it was given in place of those of the kubeconfig', async () => {
    const machine = machineWith(kubeconfig('a', { a: 'https://a' }))
    const acting = connectionWithCredentials(
      await loadConnection({ kubeconfig: '/k', machine }),
      tokenCredentials('minted'),
    )
    machine.files.set('/k', kubeconfig('a', { a: 'https://a:1' }, { token: 'another' }))
    const moved = await acting.reload!()
    expect(moved?.server).toBe('https://a:1')
    expect(await moved?.credentials.headers()).toEqual({ authorization: 'Bearer minted' })
  })

  it('shows no secret in its fingerprint', async () => {
    const machine = machineWith(kubeconfig('a', { a: 'https://a' }, { token: 'sesame' }))
    expect((await loadConnection({ kubeconfig: '/k', machine })).fingerprint).toMatch(/^[\w-]{43}$/)
  })
})

describe('a Pod', () => {
  it('trusts the certificate authority that is mounted now', async () => {
    const server = await startHttp2(echoHandler)
    const account = '/var/run/secrets/kubernetes.io/serviceaccount'
    const { port } = new URL(server.url)
    const env = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: port }
    const files = { [`${account}/token`]: 'pod', [`${account}/ca.crt`]: makeCa().cert }
    const machine = memoryMachine({ env, files })
    const transport = closing(httpTransport(await loadConnection({ machine }), { clock: systemClock }))
    const request = { method: 'GET', path: '/', headers: {} } as const
    await expect(transport.send(request)).rejects.toMatchObject({ name: 'CertificateUntrusted' })

    const rotated = closing(httpTransport(await loadConnection({ machine }), { clock: systemClock }))
    machine.files.set(`${account}/ca.crt`, ca.cert)
    const answer = await rotated.send(request)
    expect(answer.status).toBe(200)
    expect(rotated.epoch!()).toBe(1)
  })
})
