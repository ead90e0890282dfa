import { describe, expect, it } from 'vitest'
import { makeCa } from '../../../test/certificates.ts'
import { memoryMachine, type MemoryMachine } from '../../../test/memory-machine.ts'
import { systemClock } from '../../clock/system-clock.ts'
import type { Credentials } from '../connection.ts'
import { anonymousCredentials, basicCredentials, tokenCredentials, userCredentials } from './credentials.ts'
import type { KubeconfigUser } from './kubeconfig.ts'

const place = { source: 'config', path: 'users[0].user', directory: '/home/me/.kube' }

function credentialsOf(user: KubeconfigUser, machine: MemoryMachine = memoryMachine()): Promise<Credentials> {
  return userCredentials({ value: user, place }, {}, { machine, clock: systemClock })
}

const plugin = { apiVersion: 'client.authentication.k8s.io/v1', command: 'aws', interactiveMode: 'Never' }
const answer = {
  exitCode: 0,
  stdout: JSON.stringify({ kind: 'ExecCredential', apiVersion: plugin.apiVersion, status: { token: 'plugin' } }),
  stderr: '',
}

describe('fixed credentials', () => {
  it('never change, so a rejection is final', async () => {
    for (const credentials of [anonymousCredentials, tokenCredentials('abc'), basicCredentials('a', 'b')]) {
      expect(credentials.refused(await credentials.headers())).toBe(false)
      expect(await credentials.certificate()).toBeUndefined()
    }
  })

  it('write user name and password in UTF-8', async () => {
    const headers = await basicCredentials('jürgen', 'p:w').headers()
    expect(headers).toEqual({ authorization: `Basic ${Buffer.from('jürgen:p:w').toString('base64')}` })
  })
})

describe('userCredentials', () => {
  it('prefers inline credentials over plugins', async () => {
    const machine = memoryMachine({ files: { '/home/me/.kube/token': 'file' }, run: () => answer })
    const both = { exec: plugin, username: 'a', password: 'b' }
    expect(await (await credentialsOf({ exec: plugin }, machine)).headers()).toEqual({ authorization: 'Bearer plugin' })
    expect(await (await credentialsOf(both, machine)).headers()).toEqual({ authorization: 'Basic YTpi' })
    expect(await (await credentialsOf({ ...plugin, token: 'abc\n' }, machine)).headers()).toEqual({
      authorization: 'Bearer abc',
    })
    expect(await (await credentialsOf({ token: 'abc', tokenFile: 'token' }, machine)).headers()).toEqual({
      authorization: 'Bearer file',
    })
    expect(await (await credentialsOf({})).headers()).toEqual({})
  })

  it('carries a certificate and a token together', async () => {
    const { cert, key } = makeCa().issue({ commonName: 'jane' })
    const credentials = await credentialsOf({ clientCertificateData: cert, clientKeyData: key, token: 'abc' })
    expect(await credentials.certificate()).toMatchObject({ cert, key })
    expect(await credentials.headers()).toEqual({ authorization: 'Bearer abc' })
    expect(credentials.refused()).toBe(false)
  })

  it('calls no plugin when the user has a certificate', async () => {
    const { cert, key } = makeCa().issue({ commonName: 'jane' })
    const machine = memoryMachine({ run: () => answer })
    const credentials = await credentialsOf({ clientCertificateData: cert, clientKeyData: key, exec: plugin }, machine)
    expect(await credentials.headers()).toEqual({})
    expect(machine.runs).toEqual([])
  })

  it('resolves files and commands relative to the kubeconfig, and bare commands in PATH', async () => {
    const { cert, key } = makeCa().issue({ commonName: 'jane' })
    const machine = memoryMachine({
      files: { '/home/me/.kube/pki/jane.crt': cert, '/home/me/jane.key': key },
      run: () => answer,
    })
    const credentials = await credentialsOf({ clientCertificate: 'pki/jane.crt', clientKey: '../jane.key' }, machine)
    expect(await credentials.certificate()).toMatchObject({ cert, key })
    for (const command of ['./bin/login', '/usr/bin/login', 'login']) {
      await (await credentialsOf({ exec: { ...plugin, command } }, machine)).headers()
    }
    expect(machine.runs.map(({ command }) => command)).toEqual(['/home/me/.kube/bin/login', '/usr/bin/login', 'login'])
  })

  it('reloads both files when a server rejects a certificate and a token', async () => {
    const [one, two] = [makeCa().issue({ commonName: 'jane' }), makeCa().issue({ commonName: 'jane' })]
    const machine = memoryMachine({ files: { '/c': one.cert, '/k': one.key, '/t': 'one' } })
    const credentials = await credentialsOf({ clientCertificate: '/c', clientKey: '/k', tokenFile: '/t' }, machine)
    await credentials.certificate()
    const sent = await credentials.headers()
    machine.files.set('/c', two.cert).set('/k', two.key).set('/t', 'two')
    expect(credentials.refused(sent)).toBe(true)
    expect(await credentials.certificate()).toMatchObject(two)
    expect(await credentials.headers()).toEqual({ authorization: 'Bearer two' })
  })

  it('rejects a mismatched inline pair before the first request', async () => {
    const [one, two] = [makeCa().issue({ commonName: 'a' }), makeCa().issue({ commonName: 'b' })]
    await expect(credentialsOf({ clientCertificateData: one.cert, clientKeyData: two.key })).rejects.toMatchObject({
      name: 'CertificateInvalid',
      message:
        'the key in users[0].user.client-key-data in config does not belong to users[0].user.client-certificate-data in config.',
    })
  })
})

describe('auth-provider', () => {
  const config = { 'idp-issuer-url': 'https://idp', 'client-id': 'muster', 'refresh-token': 'rt' }

  it.each([
    ['gcp', 'gke-gcloud-auth-plugin'],
    ['azure', 'kubelogin'],
    ['openstack', 'client-keystone-auth'],
    ['toString', 'users[0].user.auth-provider.name must be oidc'],
  ])('names the replacement of %s', async (name, words) => {
    await expect(credentialsOf({ authProvider: { name, config } })).rejects.toMatchObject({
      name: 'KubeconfigMalformed',
      message: expect.stringContaining(words) as string,
    })
  })

  it('reports everything that an oidc provider lacks', async () => {
    const broken = { 'idp-issuer-url': 'idp', 'idp-certificate-authority-data': '%' }
    await expect(credentialsOf({ authProvider: { name: 'oidc', config: broken } })).rejects.toThrow(
      'config: users[0].user.auth-provider.config.idp-issuer-url is not a URL; ' +
        'users[0].user.auth-provider.config.client-id is missing; ' +
        'users[0].user.auth-provider.config.idp-certificate-authority-data is not valid base64.',
    )
  })

  it.each([
    ['a file', { 'idp-certificate-authority': 'idp.crt' }],
    ['inline', { 'idp-certificate-authority-data': Buffer.from('-----BEGIN CERTIFICATE-----').toString('base64') }],
  ])('trusts the issuer by its CA, given as %s', async (_name, ca) => {
    const machine = memoryMachine({
      files: { '/home/me/.kube/idp.crt': '-----BEGIN CERTIFICATE-----' },
      request: ({ method }) =>
        method === 'GET'
          ? { status: 200, body: '{"token_endpoint":"https://idp/token"}' }
          : { status: 200, body: '{"id_token":"a.e30.c"}' },
    })
    const credentials = await credentialsOf({ authProvider: { name: 'oidc', config: { ...config, ...ca } } }, machine)
    expect(await credentials.headers()).toEqual({ authorization: 'Bearer a.e30.c' })
    expect(machine.requests.map(({ ca: trusted }) => trusted)).toEqual([
      '-----BEGIN CERTIFICATE-----',
      '-----BEGIN CERTIFICATE-----',
    ])
  })
})
