import { describe, expect, it } from 'vitest'
import { readApiServerFlags } from './apiserver-flags.ts'

const rbac = '--authorization-mode=RBAC'

describe('the flags of kube-apiserver', () => {
  it('as envtest passes them', () => {
    expect(
      readApiServerFlags([
        '--allow-privileged=true',
        rbac,
        '--bind-address=127.0.0.1',
        '--cert-dir=/tmp/k8s',
        '--client-ca-file=/tmp/k8s/client-cert-auth-ca.crt',
        '--disable-admission-plugins=ServiceAccount',
        '--etcd-servers=http://127.0.0.1:2379',
        '--secure-port=6443',
        '--service-account-issuer=https://127.0.0.1:6443/',
        '--service-account-key-file=/tmp/k8s/sa-signer.crt',
        '--service-account-signing-key-file=/tmp/k8s/sa-signer.key',
        '--service-cluster-ip-range=10.0.0.0/24',
      ]),
    ).toEqual({
      host: '127.0.0.1',
      port: 6443,
      certDir: '/tmp/k8s',
      servingCertificate: undefined,
      clientCaFile: '/tmp/k8s/client-cert-auth-ca.crt',
      tokenFile: undefined,
      issuer: 'https://127.0.0.1:6443/',
      signingKeyFile: '/tmp/k8s/sa-signer.key',
      authorization: 'RBAC',
      anonymous: true,
      disabledAdmissionPlugins: ['ServiceAccount'],
      serviceRange: '10.0.0.0/24',
      warnings: [],
    })
  })

  it('as kube-api-test passes them: separate arguments, no address, an issuer that is a file', () => {
    const words = [
      '--secure-port',
      '50000',
      '--authorization-mode',
      'RBAC',
      '--service-account-issuer',
      'https://localhost',
    ]
    const read = readApiServerFlags([...words, '--service-account-issuer', '/d/apiserver.crt', '--allow-privileged'])
    expect(read).toMatchObject({ host: '127.0.0.1', port: 50_000, issuer: 'https://localhost', warnings: [] })
  })

  it('use loopback instead of all addresses', () => {
    expect(readApiServerFlags([rbac, '--bind-address=::'])).toMatchObject({ host: '::1' })
    expect(readApiServerFlags([rbac, '--bind-address=0.0.0.0'])).toMatchObject({ host: '127.0.0.1' })
  })

  it('allow no anonymous requests with AlwaysAllow', () => {
    expect(readApiServerFlags([])).toMatchObject({ authorization: 'AlwaysAllow', anonymous: false })
    expect(readApiServerFlags([rbac, '--anonymous-auth=false'])).toMatchObject({ anonymous: false })
  })

  it('set the Service address range', () => {
    const rangeOf = (range: string): unknown => readApiServerFlags([`--service-cluster-ip-range=${range}`])
    expect(rangeOf('10.96.3.7/12')).toMatchObject({ serviceRange: '10.96.0.0/12', warnings: [] })
    expect(rangeOf('')).toMatchObject({ serviceRange: '10.0.0.0/24' })
    const [warning] = ['--service-cluster-ip-range: IPv6 is not built; Services have IPv4 addresses.']
    expect(rangeOf('fd00::/112,192.168.7.255/24')).toMatchObject({
      serviceRange: '192.168.7.0/24',
      warnings: [warning],
    })
    expect(rangeOf('fd00::/112')).toMatchObject({ serviceRange: '10.0.0.0/24', warnings: [warning] })
  })

  it('report unsupported values', () => {
    const read = readApiServerFlags([
      '--authorization-mode=Node,RBAC',
      '--enable-admission-plugins=AlwaysPullImages,Priority',
    ])
    expect(read).toMatchObject({
      warnings: [
        '--authorization-mode: Node is not built; RBAC decides.',
        'the admission plugin AlwaysPullImages is not built; it does not run.',
      ],
    })
  })

  it.each([
    ['--secure-port=0', 'Give a number from 1 to 65535'],
    ['--secure-port=https', 'Give a number from 1 to 65535'],
    ['--bind-address=192.0.2.1', 'loopback addresses only'],
    ['--bind-address=127.evil.example', 'loopback addresses only'],
    ['--service-cluster-ip-range=10.0.0.0/8', 'is no range'],
    ['--service-cluster-ip-range=10.0.0.256/24', 'is no range'],
    ['--service-cluster-ip-range=everything', 'is no range'],
    ['--tls-cert-file=a', 'belong together'],
    ['--authorization-mode=RBCA', 'Did you mean RBAC?'],
    ['--authorization-mode=Webhook', 'give RBAC or AlwaysAllow'],
    ['--disable-admission-plugins=ServiceAcount', 'Did you mean ServiceAccount?'],
    ['--service-account-issuer=:b', 'no valid URL'],
  ])('reject %s', (word, why) => {
    expect(() => readApiServerFlags([word])).toThrow(why)
  })

  it('print the version', () => {
    expect(readApiServerFlags(['--version'])).toBe('version')
    expect(readApiServerFlags(['--version=raw'])).toBe('version')
    expect(readApiServerFlags(['--version=false'])).not.toBe('version')
  })
})
