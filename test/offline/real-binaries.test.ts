import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { realBinaries } from '../../scripts/real-binaries.ts'

describe('the real servers', () => {
  let folder = ''
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'muster-assets-'))
    await writeFile(path.join(folder, 'kube-apiserver'), '#!/bin/sh\necho Kubernetes v1.99.0\n')
    await chmod(path.join(folder, 'kube-apiserver'), 0o755)
  })
  afterAll(() => rm(folder, { recursive: true }))

  it('fail with the name of a file missing in KUBEBUILDER_ASSETS', async () => {
    await expect(realBinaries({ KUBEBUILDER_ASSETS: folder })).rejects.toMatchObject({
      name: 'BinaryMissing',
      message: expect.stringContaining(path.join(folder, 'etcd')) as string,
    })
  })

  it('come from KUBEBUILDER_ASSETS first, with the version that the server reports', async () => {
    const etcd = path.join(folder, 'etcd')
    await writeFile(etcd, '')
    await chmod(etcd, 0o755)
    const binaries = await realBinaries({ KUBEBUILDER_ASSETS: folder, PATH: process.env['PATH'] })
    expect(binaries).toEqual({ apiserver: path.join(folder, 'kube-apiserver'), etcd, version: 'v1.99.0' })
    await rm(etcd)
  })

  it('are not those of muster envtest', async () => {
    const own = await mkdtemp(path.join(tmpdir(), 'muster-assets-'))
    for (const name of ['kube-apiserver', 'etcd'])
      await writeFile(path.join(own, name), '#!/bin/sh\necho Kubernetes v1.99.0+muster\n', { mode: 0o755 })
    const failure = realBinaries({ KUBEBUILDER_ASSETS: own, PATH: process.env['PATH'] })
    await expect(failure).rejects.toThrow('compare with the real server: unset the variable')
    await rm(own, { recursive: true })
  })

  it('without binaries and Go, the message explains how to get them', async () => {
    const failure = realBinaries({ PATH: folder })
    await expect(failure).rejects.toMatchObject({ name: 'BinaryMissing' })
    await expect(failure).rejects.toThrow(/setup-envtest.*KUBEBUILDER_ASSETS.*install Go/s)
  })
})
