import { describe, expect, it } from 'vitest'
import { memoryMachine, systemError } from '../../../test/memory-machine.ts'
import { virtualClock } from '../../clock/virtual-clock.ts'
import { inClusterConnection } from './in-cluster.ts'

const account = '/var/run/secrets/kubernetes.io/serviceaccount'
const env = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' }
const files = { [`${account}/token`]: 'abc\n', [`${account}/ca.crt`]: 'PEM', [`${account}/namespace`]: 'kyma-system\n' }

describe('inClusterConnection', () => {
  it('is the mounted service account', async () => {
    const connection = await inClusterConnection({ machine: memoryMachine({ env, files }), clock: virtualClock() })
    expect(connection).toMatchObject({
      name: 'in-cluster',
      server: 'https://10.0.0.1:443',
      tls: { ca: 'PEM' },
      namespace: 'kyma-system',
    })
    expect(await connection.credentials.headers()).toEqual({ authorization: 'Bearer abc' })
  })

  it('encloses an IPv6 address in brackets', async () => {
    const machine = memoryMachine({ env: { ...env, KUBERNETES_SERVICE_HOST: 'fd00::1' }, files })
    expect((await inClusterConnection({ machine, clock: virtualClock() })).server).toBe('https://[fd00::1]:443')
  })

  it('follows the token when the kubelet rotates it', async () => {
    const clock = virtualClock()
    const machine = memoryMachine({ env, files })
    const { credentials } = await inClusterConnection({ machine, clock })
    await credentials.headers()
    machine.files.set(`${account}/token`, 'def')
    await clock.advance(60_000)
    expect(await credentials.headers()).toEqual({ authorization: 'Bearer def' })
  })

  it('takes the namespace from POD_NAMESPACE, from the account, or default', async () => {
    const clock = virtualClock()
    const { [`${account}/namespace`]: _, ...bare } = files
    const named = memoryMachine({ env: { ...env, POD_NAMESPACE: 'mine' }, files })
    expect((await inClusterConnection({ machine: named, clock })).namespace).toBe('mine')
    expect((await inClusterConnection({ machine: memoryMachine({ env, files: bare }), clock })).namespace).toBe(
      'default',
    )
  })

  it('reports what is missing', async () => {
    const clock = virtualClock()
    await expect(inClusterConnection({ machine: memoryMachine({ files }), clock })).rejects.toMatchObject({
      name: 'NotInCluster',
      message: expect.stringContaining('KUBERNETES_SERVICE_HOST') as string,
    })
    await expect(inClusterConnection({ machine: memoryMachine({ env }), clock })).rejects.toMatchObject({
      name: 'NotInCluster',
      message: expect.stringContaining('automountServiceAccountToken') as string,
    })
    const locked = memoryMachine({ env, files: { [`${account}/token`]: systemError('EACCES') } })
    await expect(inClusterConnection({ machine: locked, clock })).rejects.toMatchObject({
      name: 'CredentialFileUnreadable',
      message: expect.stringContaining('may not be read') as string,
    })
  })
})
