import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { realBinaries } from '../../scripts/real-binaries.ts'

describe('where the real servers come from', () => {
  let folder = ''
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'muster-assets-'))
    await writeFile(path.join(folder, 'kube-apiserver'), '#!/bin/sh\necho Kubernetes v1.99.0\n')
    await chmod(path.join(folder, 'kube-apiserver'), 0o755)
  })
  afterAll(() => rm(folder, { recursive: true }))

  it('a file missing in KUBEBUILDER_ASSETS is an error that names it', async () => {
    await expect(realBinaries({ KUBEBUILDER_ASSETS: folder })).rejects.toMatchObject({
      name: 'BinaryMissing',
      message: expect.stringContaining(path.join(folder, 'etcd')) as string,
    })
  })

  it('KUBEBUILDER_ASSETS wins, and the version is what the server says', async () => {
    const etcd = path.join(folder, 'etcd')
    await writeFile(etcd, '')
    await chmod(etcd, 0o755)
    const binaries = await realBinaries({ KUBEBUILDER_ASSETS: folder, PATH: process.env['PATH'] })
    expect(binaries).toEqual({ apiserver: path.join(folder, 'kube-apiserver'), etcd, version: 'v1.99.0' })
    await rm(etcd)
  })

  it('with neither binaries nor Go, the message says how to get them', async () => {
    const failure = realBinaries({ PATH: folder })
    await expect(failure).rejects.toMatchObject({ name: 'BinaryMissing' })
    await expect(failure).rejects.toThrow(/setup-envtest.*KUBEBUILDER_ASSETS.*install Go/s)
  })
})
