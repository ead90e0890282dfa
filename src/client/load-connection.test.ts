import { inspect } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { makeCa } from '../../test/certificates.ts'
import { memoryMachine, type MemoryMachineOptions, systemError } from '../../test/memory-machine.ts'
import { describeError, isMusterError } from '../kube/muster-error.ts'
import { virtualClock } from '../clock/virtual-clock.ts'
import type { Connection } from './connection.ts'
import { connectionFromKubeconfig, loadConnection, type LoadConnectionOptions } from './load-connection.ts'

const home = '/home/me/.kube/config'
const account = '/var/run/secrets/kubernetes.io/serviceaccount'
const pod = {
  env: { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' },
  files: { [`${account}/token`]: 'pod', [`${account}/namespace`]: 'here' },
}

/** A kubeconfig with one context of that name. */
function config(name: string, change: { cluster?: object; user?: object; context?: object } = {}): string {
  return JSON.stringify(document(name, change))
}

function document(
  name: string,
  change: { cluster?: object; user?: object; context?: object } = {},
): Readonly<Record<string, unknown>> {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    clusters: [{ name, cluster: { server: `https://${name}`, ...change.cluster } }],
    contexts: [{ name, context: { cluster: name, user: name, ...change.context } }],
    users: [{ name, user: { token: `token-of-${name}`, ...change.user } }],
  }
}

function load(machine: MemoryMachineOptions, options: LoadConnectionOptions = {}): Promise<Connection> {
  return loadConnection({ machine: memoryMachine(machine), clock: virtualClock(), ...options })
}

describe('loadConnection', () => {
  it('checks the named file, then KUBECONFIG, then the home directory, then the Pod', async () => {
    const files = { '/named': config('named'), '/env': config('env'), [home]: config('home'), ...pod.files }
    const env = { ...pod.env, KUBECONFIG: '/env' }
    expect((await load({ files, env }, { kubeconfig: '/named' })).name).toBe('named')
    expect((await load({ files, env })).name).toBe('env')
    expect((await load({ files, env: pod.env })).name).toBe('home')
    expect((await load(pod)).name).toBe('in-cluster')
    const { [home]: _, ...without } = files
    expect((await load({ files: without, env: { ...pod.env, KUBECONFIG: '' } })).name).toBe('in-cluster')
  })

  it('does not use the Pod for a context requested by name', async () => {
    await expect(load(pod, { context: 'prod' })).rejects.toMatchObject({
      name: 'KubeconfigNotFound',
      message: `KUBECONFIG is not set, ${home} does not exist.`,
    })
  })

  it('prefers the Pod to an empty file in the home directory', async () => {
    expect((await load({ ...pod, files: { ...pod.files, [home]: '' } })).name).toBe('in-cluster')
    await expect(load({ files: { [home]: '' } })).rejects.toThrow(`${home}: it is empty`)
  })

  it('merges the files of KUBECONFIG, and skips missing ones', async () => {
    const files = { '/a': config('a'), '/b': config('b') }
    const machine = { files, env: { KUBECONFIG: '/none:/a::/b:/a' } }
    expect((await load(machine)).name).toBe('a')
    const other = await load(machine, { context: 'b' })
    expect(other.server).toBe('https://b')
    expect(await other.credentials.headers()).toEqual({ authorization: 'Bearer token-of-b' })
    await expect(load(machine, { context: 'c' })).rejects.toMatchObject({
      name: 'ContextNotFound',
      message: '/a, /b: context "c" does not exist; contexts: a, b.',
    })
  })

  it('reports which files it checked', async () => {
    await expect(load({ env: { KUBECONFIG: '/x:/y' } })).rejects.toMatchObject({
      name: 'KubeconfigNotFound',
      message: 'KUBECONFIG names /x, /y, none of which exists.',
    })
    await expect(load({}, { kubeconfig: '/x' })).rejects.toThrow('/x, which does not exist.')
    await expect(load({})).rejects.toMatchObject({
      name: 'KubeconfigNotFound',
      message: `KUBECONFIG is not set, ${home} does not exist, and this is not a Pod.`,
    })
    await expect(load({ files: { [home]: systemError('EACCES') } })).rejects.toMatchObject({
      name: 'CredentialFileUnreadable',
      message: `the kubeconfig ${home} may not be read by this user.`,
    })
  })

  it('contains everything that a transport needs', async () => {
    const ca = makeCa().cert
    const files = {
      [home]: config('c', {
        cluster: {
          server: 'https://c:6443/prefix/',
          'certificate-authority': 'ca.crt',
          'tls-server-name': 'kubernetes',
          'proxy-url': 'socks5://proxy:1080',
          'disable-compression': true,
        },
        context: { namespace: 'web' },
        user: { as: 'jane', 'as-uid': '7', 'as-groups': ['a', 'b'], 'as-user-extra': { scopes: ['x'] } },
      }),
      '/home/me/.kube/ca.crt': ca,
    }
    const { credentials: _, fingerprint: _of, reload: _again, ...rest } = await load({ files })
    expect(rest).toEqual({
      name: 'c',
      server: 'https://c:6443/prefix',
      tls: { ca, insecureSkipVerify: undefined, serverName: 'kubernetes' },
      impersonate: { user: 'jane', uid: '7', groups: ['a', 'b'], extra: { scopes: ['x'] } },
      proxyUrl: 'socks5://proxy:1080',
      namespace: 'web',
    })
  })

  it('leaves the proxy to the environment when the kubeconfig has none', async () => {
    const files = { [home]: config('c', { cluster: { 'proxy-url': '' } }) }
    expect((await load({ files })).proxyUrl).toBeUndefined()
  })

  it('sends no secret over plain HTTP', async () => {
    const files = { [home]: config('c', { cluster: { server: 'http://127.0.0.1:8001' } }) }
    expect(await (await load({ files })).credentials.headers()).toEqual({})
  })

  it('describes the cluster to an exec plugin', async () => {
    const apiVersion = 'client.authentication.k8s.io/v1'
    const machine = memoryMachine({
      files: {
        [home]: config('c', {
          cluster: {
            'certificate-authority': '/ca.crt',
            extensions: [{ name: 'client.authentication.k8s.io/exec', extension: { audience: 'x' } }],
          },
          user: {
            token: null,
            exec: { apiVersion, command: 'aws', interactiveMode: 'Never', provideClusterInfo: true },
          },
        }),
        '/ca.crt': '-----BEGIN CERTIFICATE-----',
      },
      run: () => ({
        exitCode: 0,
        stdout: JSON.stringify({ kind: 'ExecCredential', apiVersion, status: { token: 't' } }),
        stderr: '',
      }),
    })
    const { credentials } = await loadConnection({ machine, clock: virtualClock() })
    expect(await credentials.headers()).toEqual({ authorization: 'Bearer t' })
    expect(JSON.parse(machine.runs[0]?.env['KUBERNETES_EXEC_INFO'] ?? '')).toEqual({
      kind: 'ExecCredential',
      apiVersion,
      spec: {
        cluster: {
          server: 'https://c',
          'certificate-authority-data': Buffer.from('-----BEGIN CERTIFICATE-----').toString('base64'),
          config: { audience: 'x' },
        },
        interactive: false,
      },
    })
  })

  it('names a missing or invalid CA file', async () => {
    const file = config('c', { cluster: { 'certificate-authority': 'ca.crt' } })
    await expect(load({ files: { [home]: file } })).rejects.toMatchObject({
      name: 'CredentialFileUnreadable',
      message: `/home/me/.kube/ca.crt (clusters[0].cluster.certificate-authority in ${home}) does not exist.`,
    })
    await expect(load({ files: { [home]: file, '/home/me/.kube/ca.crt': 'der' } })).rejects.toThrow('holds no PEM')
  })
})

describe('connectionFromKubeconfig', () => {
  const untrusted = { machine: memoryMachine(), clock: virtualClock(), source: 'Secret fleet/a' }

  it('accepts text or an object', async () => {
    expect((await connectionFromKubeconfig(config('a'), untrusted)).server).toBe('https://a')
    expect((await connectionFromKubeconfig(document('a'), untrusted)).server).toBe('https://a')
  })

  it.each([
    [
      'a CA file',
      { cluster: { 'certificate-authority': '/etc/ca' } },
      'clusters[0].cluster.certificate-authority names a file',
    ],
    [
      'certificate files',
      { user: { 'client-certificate': '/c', 'client-key': '/k' } },
      'users[0].user.client-certificate names a file',
    ],
    ['a token file', { user: { tokenFile: `${account}/token` } }, 'users[0].user.tokenFile names a file'],
    [
      'an issuer CA file',
      { user: { 'auth-provider': { name: 'oidc', config: { 'idp-certificate-authority': '/c' } } } },
      'names a file',
    ],
    [
      'a program',
      { user: { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'sh', interactiveMode: 'Never' } } },
      'users[0].user.exec names a program',
    ],
  ])('a kubeconfig from a Secret cannot reach %s of this machine', async (_name, change, words) => {
    const machine = memoryMachine()
    await expect(connectionFromKubeconfig(document('a', change), { ...untrusted, machine })).rejects.toMatchObject({
      name: 'KubeconfigMalformed',
      message: expect.stringContaining(words) as string,
    })
    expect([...machine.reads, ...machine.runs]).toEqual([])
  })

  it('keeps users of the same name apart', async () => {
    const made = await Promise.all(
      ['one', 'two'].map((token) => connectionFromKubeconfig(document('same', { user: { token } }), untrusted)),
    )
    expect(await Promise.all(made.map(({ credentials }) => credentials.headers()))).toEqual([
      { authorization: 'Bearer one' },
      { authorization: 'Bearer two' },
    ])
  })

  it('fails only with a MusterError, for any document', async () => {
    await fc.assert(
      fc.asyncProperty(mutilated(), async (value) => {
        const outcome = await connectionFromKubeconfig(value, untrusted).catch((error: unknown) => error)
        // The name of a connection is its context's, and a document may rename both.
        expect(isMusterError(outcome) || (outcome as Connection).name === value['current-context']).toBe(true)
        const text = JSON.stringify(value)
        const parsed = await connectionFromKubeconfig(text, untrusted).catch((error: unknown) => error)
        expect(isMusterError(parsed)).toBe(isMusterError(outcome))
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('errors', () => {
  /** Every way to fail, with canaries wherever a kubeconfig may hold a secret. */
  const canary = 'CANARY-hunter2-0123456789abcdef'
  const pair = makeCa().issue({ commonName: 'jane' })
  const base64 = (text: string): string => Buffer.from(text).toString('base64')
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: 'login',
    interactiveMode: 'Never',
    args: [canary],
    env: [{ name: 'A', value: canary }],
  }
  const oidc = {
    name: 'oidc',
    config: {
      'idp-issuer-url': 'https://idp',
      'client-id': 'm',
      'client-secret': canary,
      'refresh-token': canary,
      'id-token': canary,
    },
  }
  const ended = (exitCode: number, stdout = ''): MemoryMachineOptions => ({
    run: () => ({ exitCode, stdout, stderr: `bad ${canary}` }),
  })
  const answering = (status: number, body: object): MemoryMachineOptions => ({
    request: ({ method }) =>
      method === 'GET'
        ? { status: 200, body: '{"token_endpoint":"https://idp/t"}' }
        : { status, body: JSON.stringify(body) },
  })
  const credential = (status: object): string =>
    JSON.stringify({ kind: 'ExecCredential', apiVersion: exec.apiVersion, status })

  const yaml = (line: string): string => `users:\n- name: u\n  user:\n    ${line}\n`
  const cases: readonly [string, string, MemoryMachineOptions?][] = [
    ['an unclosed quote', yaml(`token: "${canary}`)],
    ['an unknown alias', yaml(`token: *${canary}`)],
    ['an alias with quotes in it', yaml(`token: *a"b"${canary}`)],
    ['an unknown tag', yaml(`token: !${canary} x`)],
    ['a stray colon', yaml(`token: ${canary}: ${canary}`)],
    ['a repeated key', yaml(`${canary}: 1\n    ${canary}: 2`)],
    ['a tab', yaml(`token: a\n\t${canary}`)],
    ['broken JSON', `{"users": [{"user": {"token": "${canary}", }`],
    ['JSON with trailing text', `{} ${canary}`],
    ['only a secret', canary],
    ['a list of secrets', `[${canary}]`],
    ['a token that is a list', config('c', { user: { token: [canary] } })],
    ['a token that is a mapping', config('c', { user: { token: { [canary]: 1 } } })],
    ['a token of two lines', config('c', { user: { token: `${canary}\n${canary}` } })],
    ['token and password', config('c', { user: { token: canary, username: 'u', password: canary } })],
    ['data that is not base64', config('c', { user: { 'client-key-data': `${canary}!` } })],
    [
      'a key that is not PEM',
      config('c', { user: { 'client-key-data': base64(canary), 'client-certificate-data': base64(pair.cert) } }),
    ],
    [
      'an invalid key',
      config('c', {
        user: {
          'client-key-data': base64(`-----BEGIN PRIVATE KEY-----\n${canary}`),
          'client-certificate-data': base64(pair.cert),
        },
      }),
    ],
    [
      'a key of another certificate',
      config('c', { user: { 'client-key-data': base64(makeCa().key), 'client-certificate-data': base64(pair.cert) } }),
    ],
    ['a password in the server', config('c', { cluster: { server: `https://u:${canary}@c` } })],
    ['a password in a broken server', config('c', { cluster: { server: `u:${canary}@c` } })],
    ['a password in a broken proxy', config('c', { cluster: { 'proxy-url': `ftp://u:${canary}@c` } })],
    [
      'a removed provider',
      config('c', { user: { token: null, 'auth-provider': { name: 'gcp', config: { 'access-token': canary } } } }),
    ],
    [
      'an env value that is a mapping',
      config('c', { user: { exec: { ...exec, env: [{ name: 'A', value: { x: canary } }] } } }),
    ],
    ['a broken plugin version', config('c', { user: { token: null, exec: { ...exec, apiVersion: 'v0' } } })],
    ['a plugin that is missing', config('c', { user: { token: null, exec } })],
    ['a plugin that fails', config('c', { user: { token: null, exec } }), ended(1)],
    ['a plugin that does not print JSON', config('c', { user: { token: null, exec } }), ended(0, canary)],
    [
      'a plugin that prints garbage',
      config('c', { user: { token: null, exec } }),
      ended(0, credential({ token: [canary] })),
    ],
    [
      'a plugin that prints a broken token',
      config('c', { user: { token: null, exec } }),
      ended(0, credential({ token: `${canary} x` })),
    ],
    [
      'a plugin that prints a broken pair',
      config('c', { user: { token: null, exec } }),
      ended(0, credential({ clientCertificateData: canary, clientKeyData: canary })),
    ],
    [
      'a plugin that prints a strange time',
      config('c', { user: { token: null, exec } }),
      ended(0, credential({ token: canary, expirationTimestamp: canary })),
    ],
    ['an issuer that is down', config('c', { user: { token: null, 'auth-provider': oidc } })],
    [
      'an issuer that refuses',
      config('c', { user: { token: null, 'auth-provider': oidc } }),
      answering(400, { error: 'no', error_description: `${canary} is bad` }),
    ],
    [
      'an issuer without ID token',
      config('c', { user: { token: null, 'auth-provider': oidc } }),
      answering(200, { access_token: canary }),
    ],
    [
      'a token file of many words',
      config('c', { user: { token: null, tokenFile: '/t' } }),
      { files: { '/t': `${canary} ${canary}` } },
    ],
    [
      'an invalid key file',
      config('c', { user: { token: null, 'client-certificate': '/c', 'client-key': '/k' } }),
      { files: { '/c': pair.cert, '/k': canary } },
    ],
    ['an invalid CA file', config('c', { cluster: { 'certificate-authority': '/ca' } }), { files: { '/ca': canary } }],
  ]

  it.each(cases)('never contain a secret: %s', async (_name, content, machine = {}) => {
    const files = { ...machine.files, [home]: content }
    const attempt = async (): Promise<void> => {
      const { credentials } = await load({ ...machine, files })
      await credentials.headers()
      await credentials.certificate()
    }
    const error = await attempt().then(
      () => undefined,
      (reason: unknown) => reason,
    )
    expect(isMusterError(error)).toBe(true)
    const everything = `${describeError(error)} ${inspect(error, { depth: 20, showHidden: true })} ${(error as Error).stack}`
    expect(everything).not.toMatch(/CANARY|hunter2|0123456789abcdef/)
    expect(everything).not.toContain(base64(canary).slice(0, 16))
    expect(everything).not.toContain(pair.key.split('\n')[1])
  })
})

/** A good kubeconfig in which some values were replaced by anything. */
function mutilated(): fc.Arbitrary<Readonly<Record<string, unknown>>> {
  const good = document('a', {
    cluster: { 'insecure-skip-tls-verify': true, 'proxy-url': 'http://p', extensions: [{ name: 'x', extension: {} }] },
    context: { namespace: 'n' },
    user: {
      as: 'j',
      'as-groups': ['g'],
      'as-user-extra': { k: ['v'] },
      username: null,
      'auth-provider': null,
      exec: null,
    },
  })
  const paths: (readonly string[])[] = []
  const walk = (value: unknown, path: readonly string[]): void => {
    if (path.length > 0) paths.push(path)
    if (typeof value === 'object' && value !== null)
      for (const key of Object.keys(value)) walk((value as Record<string, unknown>)[key], [...path, key])
  }
  walk(good, [])
  const anything = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom(null, '', 'a', {}, [], [null], [{}], { name: 'oidc' }, { command: 'x' }, '__proto__'),
  )
  return fc.array(fc.tuple(fc.constantFrom(...paths), anything), { maxLength: 4 }).map((changes) => {
    const copy = structuredClone(good)
    for (const [path, value] of changes) {
      let parent: unknown = copy
      for (const key of path.slice(0, -1))
        parent = typeof parent === 'object' && parent !== null ? (parent as Record<string, unknown>)[key] : undefined
      if (typeof parent === 'object' && parent !== null)
        (parent as Record<string, unknown>)[path.at(-1)!] = structuredClone(value)
    }
    return copy
  })
}
