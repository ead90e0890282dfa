import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { runCommand } from '../../../test/platform-cluster.ts'
import { emptyFolder } from '../../../test/project.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import command from './import.ts'

const release = `apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: { name: web, namespace: shop }
spec:
  chart: { spec: { chart: web, version: 1.x, sourceRef: { kind: HelmRepository, name: charts } } }
  postRenderers: [{ kustomize: {} }]
  values: { replicas: 2 }
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: { name: charts, namespace: shop }
spec: { url: https://charts.example }
`

describe('muster import', () => {
  it('prints Installations, and notes what has no counterpart', async () => {
    const file = path.join(await emptyFolder(), 'release.yaml')
    await writeFile(file, release)
    const { code, out, err } = await runCommand(command, file)
    expect(code).toBe(0)
    expect(out).toContain('kind: Installation\nmetadata:\n  name: web\n  namespace: shop\n')
    expect(out).toContain('url: https://charts.example\n')
    expect(err).toContain('HelmRelease shop/web, spec.postRenderers')
  })

  it('names what it cannot read', async () => {
    await expect(runCommand(command)).rejects.toMatchObject({ code: flagErrors.InvalidFlag.code })
    await expect(runCommand(command, 'no-such-file.yaml')).rejects.toThrow(/no-such-file\.yaml cannot be read/)
    const file = path.join(await emptyFolder(), 'other.yaml')
    await writeFile(file, 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\n')
    expect(await runCommand(command, file)).toMatchObject({
      code: 1,
      err: expect.stringContaining('cannot be imported') as string,
    })
  })
})
