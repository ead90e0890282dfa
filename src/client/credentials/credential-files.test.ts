import { delimiter } from 'node:path'
import { describe, expect, it } from 'vitest'
import { memoryMachine } from '../../../test/memory-machine.ts'
import { credentialFiles } from './credential-files.ts'

const kubeconfig = (users: string): string => `apiVersion: v1
kind: Config
clusters:
- name: c
  cluster: {server: "https://c", certificate-authority: /etc/ssl/ca.pem}
contexts:
- name: c
  context: {cluster: c, user: first}
current-context: c
users:
${users}`

describe('credential files', () => {
  it('are kubeconfigs and the files that their users refer to, in every context', async () => {
    const machine = memoryMachine({
      env: { KUBECONFIG: ['/machine/a', '/machine/missing'].join(delimiter) },
      files: {
        '/machine/a': kubeconfig(`- name: first
  user: {tokenFile: tokens/first}
- name: second
  user: {client-certificate: ../pki/second.crt, client-key: /pki/second.key}
`),
        '/machine/b': kubeconfig(`- name: first
  user: {tokenFile: /tokens/b}
`),
        '/home/me/.kube/config': kubeconfig(`- name: first
  user: {tokenFile: mine}
`),
      },
    })
    const found = await credentialFiles({
      kubeconfigs: [undefined, ['/machine/b', '/machine/c'].join(delimiter)],
      machine,
    })
    expect(found).toEqual(
      expect.arrayContaining([
        '/machine/a',
        '/machine/missing',
        '/machine/tokens/first',
        '/pki/second.crt',
        '/pki/second.key',
        '/machine/b',
        '/tokens/b',
        '/machine/c',
        '/home/me/.kube',
        '/home/me/.kube/config',
        '/home/me/.kube/mine',
        '/var/run/secrets',
      ]),
    )
    expect(found.join()).not.toContain('ca.pem')
    expect(found.join()).not.toContain('.aws')
  })

  it('are the files of a credential plugin: in the usual folders, and by its arguments and variables', async () => {
    const machine = memoryMachine({
      env: { KUBECONFIG: '/machine/a' },
      files: {
        '/machine/a': kubeconfig(`- name: first
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: /usr/local/bin/login
      args: [get-token, --token-cache-dir=/var/cache/login, --key, ~/keys/login.pem, /usr/share/login, "https://issuer/x"]
      env:
      - {name: TOKEN_FILE, value: /srv/login/token}
      - {name: PATH, value: /srv/bin}
      - {name: HOME, value: /home/me}
      - {name: SSL_CERT_FILE, value: /srv/ssl/bundle.pem}
      - {name: TOP, value: /srv}
`),
      },
    })
    const found = await credentialFiles({ machine })
    expect(found).toEqual(
      expect.arrayContaining([
        '/home/me/.aws',
        '/home/me/.config/gcloud',
        '/var/cache/login',
        '/home/me/keys/login.pem',
        '/srv/login/token',
      ]),
    )
    for (const common of ['/home/me', '/srv', '/srv/bin', '/srv/ssl/bundle.pem', '/usr/share/login', '/']) {
      expect(found).not.toContain(common)
    }
  })

  it('include an unreadable kubeconfig', async () => {
    const machine = memoryMachine({ env: { KUBECONFIG: '/machine/a' }, files: { '/machine/a': 'users: [' } })
    expect(await credentialFiles({ machine })).toContain('/machine/a')
  })
})
