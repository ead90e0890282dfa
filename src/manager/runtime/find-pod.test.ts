import { describe, expect, it } from 'vitest'
import { memoryMachine, type MemoryMachineOptions } from '../../../test/memory-machine.ts'
import { findPod } from './find-pod.ts'

const account = '/var/run/secrets/kubernetes.io/serviceaccount'
const inPod = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' }
const mounted = { [`${account}/token`]: 't', [`${account}/namespace`]: 'shop\n' }
const find = (options: MemoryMachineOptions, more = {}): ReturnType<typeof findPod> =>
  findPod({ machine: memoryMachine(options), ...more })

describe('the Pod of a manager', () => {
  it('is found by its service account', async () => {
    await expect(find({ env: inPod, files: mounted })).resolves.toEqual({ namespace: 'shop' })
  })

  it('has the name of its installation, and a name and a uid, if its variables say so', async () => {
    const env = { ...inPod, MUSTER_INSTALLATION: 'ops', POD_NAME: 'ops-1', POD_UID: 'u' }
    await expect(find({ env, files: mounted })).resolves.toEqual({
      namespace: 'shop',
      installation: 'ops',
      pod: { name: 'ops-1', uid: 'u' },
    })
  })

  it('is none outside of a Pod, and none that a kubeconfig leads away from', async () => {
    await expect(find({ files: mounted })).resolves.toBeUndefined()
    const kubeconfig = JSON.stringify({
      clusters: [{ name: 'c', cluster: { server: 'https://c' } }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: '' } }],
      'current-context': 'c',
    })
    const files = { ...mounted, '/k': kubeconfig }
    await expect(find({ env: inPod, files }, { kubeconfig: '/k' })).resolves.toBeUndefined()
    await expect(find({ env: { ...inPod, KUBECONFIG: '/k' }, files })).resolves.toBeUndefined()
    // Nothing is mounted: the connection reports that.
    await expect(find({ env: inPod })).resolves.toBeUndefined()
  })

  it('has no installation whose objects could not exist', async () => {
    await expect(find({ env: { ...inPod, MUSTER_INSTALLATION: 'No/Name' }, files: mounted })).rejects.toThrow(
      'MUSTER_INSTALLATION "No/Name"',
    )
  })
})
