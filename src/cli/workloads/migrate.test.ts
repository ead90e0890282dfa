import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { configMap, configMaps } from '../../../test/embedded.ts'
import { runCommand } from '../../../test/platform-cluster.ts'
import { emptyFolder } from '../../../test/project.ts'
import { servedCluster } from '../../../test/served-cluster.ts'
import { connect } from '../../client/connect.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import command from './migrate.ts'

const old = `apiVersion: codeflare.codeflare.dev/v1alpha1
kind: MCAD
metadata: { name: mcad }
spec: { preemptionEnabled: true, dispatcherMode: true }
`

describe('muster migrate codeflare', () => {
  it('reads files and flags, prints a configuration, and says what it could not carry over', async () => {
    const file = path.join(await emptyFolder(), 'old.yaml')
    await writeFile(file, old)
    const { code, out, err } = await runCommand(command, 'codeflare', file, '--mcad=--backofftime 30')
    expect(code).toBe(0)
    expect(out).toContain('# from MCAD mcad\n# from flags of mcad\n')
    expect(readYaml(out)).toEqual({
      operators: { workloads: { config: { mcad: { preemption: true, backoffTime: 30 } } } },
    })
    expect(err).toBe(
      'MCAD mcad, spec.dispatcherMode: one manager serves several clusters otherwise: see clusters and placement',
    )
  })

  it('reads a cluster, also one without the kinds of CodeFlare', async () => {
    const { kubeconfig } = await servedCluster(await emptyFolder())
    const client = await connect({ kubeconfig })
    onTestFinished(() => client.close())
    const none = await runCommand(command, 'codeflare', '--kubeconfig', kubeconfig)
    expect(none).toMatchObject({ code: 1, err: expect.stringContaining('There is no configuration') as string })
    await client.create(configMaps, configMap('instascale-config', { maxScaleoutAllowed: '9' }))
    const { code, out } = await runCommand(command, 'codeflare', '--kubeconfig', kubeconfig)
    expect(code).toBe(0)
    expect(readYaml(out)).toEqual({
      operators: {
        workloads: { config: { instascale: { maxScaleoutAllowed: 9, inference: false } } },
        instascale: { configFrom: 'workloads' },
      },
    })
  })

  it('names what it cannot read', async () => {
    await expect(runCommand(command)).rejects.toMatchObject({ code: flagErrors.InvalidFlag.code })
    await expect(runCommand(command, 'codeflare', 'no-such.yaml')).rejects.toThrow(/no-such\.yaml cannot be read/)
    await expect(runCommand(command, 'codeflare', '--mcad=--nonsense')).rejects.toThrow(/no flag "--nonsense"/)
  })
})
