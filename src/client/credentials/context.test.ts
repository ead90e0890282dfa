import { describe, expect, it } from 'vitest'
import { type ChosenContext, chooseContext } from './context.ts'
import { readKubeconfig } from './kubeconfig.ts'

const pem = Buffer.from('-----BEGIN CERTIFICATE-----\n').toString('base64')
const plugin = { apiVersion: 'client.authentication.k8s.io/v1', command: 'aws', interactiveMode: 'Never' }

function choose(change: { cluster?: object; user?: object; context?: object } = {}, name?: string): ChosenContext {
  const document = {
    'current-context': 'dev',
    clusters: [{ name: 'c', cluster: { server: 'https://c:6443/', ...change.cluster } }],
    users: [{ name: 'u', user: { ...change.user } }],
    contexts: [
      { name: 'dev', context: { cluster: 'c', user: 'u', ...change.context } },
      { name: 'broken', context: { cluster: 'gone' } },
    ],
  }
  return chooseContext(readKubeconfig(document, 'config'), name)
}

describe('chooseContext', () => {
  it('uses the current context, or the named one', () => {
    expect(choose()).toMatchObject({ name: 'dev', namespace: undefined, user: { place: { path: 'users[0].user' } } })
    expect(choose({ context: { namespace: 'web' } }, 'dev').namespace).toBe('web')
  })

  it('removes a trailing slash of the server, and keeps a prefix', () => {
    expect(choose().cluster.value.server).toBe('https://c:6443')
    expect(choose({ cluster: { server: 'https://rancher/k8s/clusters/c-1/?x=1#y' } }).cluster.value.server).toBe(
      'https://rancher/k8s/clusters/c-1',
    )
  })

  it('lists the existing contexts when the requested one is missing', () => {
    expect(() => choose({}, 'prod')).toThrow('config: context "prod" does not exist; contexts: broken, dev.')
    const current = readKubeconfig({ 'current-context': 'x', contexts: [{ name: 'y' }] }, 'config')
    expect(() => chooseContext(current)).toThrow('context "x", the current-context, does not exist; contexts: y.')
    const unset = readKubeconfig({ contexts: [{ name: 'y' }] }, 'config')
    expect(() => chooseContext(unset)).toThrow('no current-context is set; contexts: y.')
    const none = readKubeconfig({ users: [{ name: 'y' }] }, 'config')
    expect(() => chooseContext(none)).toThrow('no current-context is set; it has no contexts.')
  })

  it('explains what an empty kubeconfig needs', () => {
    expect(() => chooseContext(readKubeconfig(null, 'config'))).toThrow('config: it is empty: write clusters')
  })

  it('ignores errors of other contexts', () => {
    expect(choose().name).toBe('dev')
    expect(() => choose({}, 'broken')).toThrow(
      'contexts[1].context.cluster names the cluster "gone", which does not exist (clusters: c); contexts[1].context.user is missing.',
    )
  })

  it.each([
    ['no server', { cluster: { server: '' } }, 'clusters[0].cluster.server is missing'],
    [
      'a server without scheme',
      { cluster: { server: 'c:6443' } },
      'clusters[0].cluster.server is not a URL with http:// or https://',
    ],
    ['a password in the server', { cluster: { server: 'https://a:b@c' } }, 'must not hold a user name'],
    [
      'an unknown proxy',
      { cluster: { 'proxy-url': 'ftp://p' } },
      'clusters[0].cluster.proxy-url is not a URL with http:// or https:// or socks5://',
    ],
    ['two CAs', { cluster: { 'certificate-authority': 'ca.crt', 'certificate-authority-data': pem } }, 'keep one'],
    [
      'a CA with verification disabled',
      { cluster: { 'certificate-authority': 'ca.crt', 'insecure-skip-tls-verify': true } },
      'insecure-skip-tls-verify and a certificate authority',
    ],
    ['a CA that is not PEM', { cluster: { 'certificate-authority-data': 'aGk=' } }, 'holds no PEM certificate'],
    [
      'an invalid namespace',
      { context: { namespace: 'My Namespace' } },
      'contexts[0].context.namespace must be lower-case',
    ],
    ['token and password', { user: { token: 'a', username: 'b' } }, 'users[0].user has both a token and a user name'],
    ['token file and password', { user: { tokenFile: 'a', password: 'b' } }, 'users[0].user has both a token'],
    ['a token of two lines', { user: { token: 'a\nb' } }, 'users[0].user.token holds characters that no token has'],
    ['a certificate without key', { user: { 'client-certificate-data': pem } }, 'no client-key or client-key-data'],
    ['a key without certificate', { user: { 'client-key-data': pem } }, 'no client-certificate'],
    [
      'two certificates',
      { user: { 'client-certificate': 'a', 'client-certificate-data': pem, 'client-key': 'k' } },
      'both client-certificate and client-certificate-data',
    ],
    [
      'groups without a user',
      { user: { 'as-groups': ['admins'] } },
      'impersonates a uid, groups or extra, but no user',
    ],
    [
      'two ways to log in',
      { user: { exec: plugin, 'auth-provider': { name: 'oidc' } } },
      'both exec and auth-provider',
    ],
    [
      'a plugin without command',
      { user: { exec: { ...plugin, command: '' } } },
      'users[0].user.exec.command is missing',
    ],
    ['a plugin without version', { user: { exec: { command: 'aws' } } }, 'users[0].user.exec.apiVersion is missing'],
    [
      'a deprecated plugin version',
      { user: { exec: { ...plugin, apiVersion: 'client.authentication.k8s.io/v1alpha1' } } },
      'create the kubeconfig anew',
    ],
    [
      'no interactive mode',
      { user: { exec: { ...plugin, interactiveMode: '' } } },
      'users[0].user.exec.interactiveMode is missing',
    ],
    [
      'an unknown mode',
      { user: { exec: { ...plugin, interactiveMode: 'Maybe' } } },
      'interactiveMode must be Never, IfAvailable or Always',
    ],
    [
      'a variable without name',
      { user: { exec: { ...plugin, env: [{ value: 'x' }] } } },
      'users[0].user.exec.env[0].name is missing',
    ],
  ])('rejects %s, naming the place', (_name, change, words) => {
    expect(() => choose(change)).toThrow(expect.objectContaining({ name: 'KubeconfigMalformed' }))
    expect(() => choose(change)).toThrow(words)
  })

  it('accepts what kubectl accepts', () => {
    const old = { command: 'aws', apiVersion: 'client.authentication.k8s.io/v1beta1' }
    expect(choose({ user: { exec: old } }).user.value.exec).toMatchObject(old)
    expect(choose({ user: { token: 'abc\n' } }).user.value.token).toBe('abc\n')
    expect(choose({ user: { token: 'abc', 'client-key': 'k' } }).name).toBe('dev')
    expect(choose({ cluster: { 'proxy-url': 'socks5://p:1080', 'disable-compression': true } }).name).toBe('dev')
  })
})
