import { describe, expect, it } from 'vitest'
import { readEtcdFlags } from './etcd-flags.ts'

describe('the flags of etcd', () => {
  it('as envtest passes them', () => {
    const words = ['--listen-peer-urls=http://127.0.0.1:1', '--data-dir=/d', '--unsafe-no-fsync=true']
    const urls = ['--advertise-client-urls=http://127.0.0.1:5000', '--listen-client-urls=http://127.0.0.1:5000']
    expect(readEtcdFlags([...words, ...urls], {})).toEqual({
      listen: [{ host: '127.0.0.1', port: 5000 }],
      warnings: [],
    })
  })

  it('as kube-api-test passes them: one dash, every address', () => {
    const words = ['-data-dir', '/d', '-wal-dir', '/w', '--listen-client-urls', 'http://0.0.0.0:5000']
    expect(readEtcdFlags(words, {})).toEqual({ listen: [{ host: '127.0.0.1', port: 5000 }], warnings: [] })
  })

  it('may be set by the environment, and have the defaults of etcd', () => {
    const env = { ETCD_LISTEN_CLIENT_URLS: 'http://[::1]:7,http://localhost:8' }
    const listen = [
      { host: '::1', port: 7 },
      { host: 'localhost', port: 8 },
    ]
    expect(readEtcdFlags([], env)).toMatchObject({ listen })
    expect(readEtcdFlags([], {})).toMatchObject({ listen: [{ host: 'localhost', port: 2379 }] })
  })

  it.each([
    ['http://127.0.0.1', 'a URL with a port'],
    ['5000', 'a URL with a port'],
    ['https://127.0.0.1:5000', 'http only'],
    ['http://192.0.2.1:5000', 'loopback addresses only'],
  ])('reject the address %s', (url, why) => {
    expect(() => readEtcdFlags([`--listen-client-urls=${url}`], {})).toThrow(why)
  })

  it('print the version', () => expect(readEtcdFlags(['-version'], {})).toBe('version'))
})
