import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { configMap, configMaps, crds } from '../../../test/embedded.ts'
import { emptyFolder } from '../../../test/project.ts'
import { servedCluster } from '../../../test/served-cluster.ts'
import { connect } from '../../client/connect.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { managerErrors } from '../../manager/errors.ts'
import command from './codeflare.ts'

const ref = { namespace: 'opendatahub', name: 'codeflare-operator-config' }

async function cluster() {
  const { kubeconfig } = await servedCluster(await emptyFolder())
  const client = await connect({ kubeconfig })
  onTestFinished(() => client.close())
  await client.create(
    { ...configMaps, kind: 'Namespace', plural: 'namespaces', namespaced: false },
    {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: ref.namespace },
    },
  )
  for (const [name, value] of [
    ['NAMESPACE', ref.namespace],
    ['MUSTER__health__port', '0'],
    ['MUSTER__metrics__port', '0'],
  ] as const)
    vi.stubEnv(name, value)
  onTestFinished(() => void vi.unstubAllEnvs())
  return { client, kubeconfig }
}

/** Runs the command until it says that the operator runs. */
async function started(...words: readonly string[]) {
  const end = new AbortController()
  const err: string[] = []
  const said: string[] = []
  const running = Promise.withResolvers<void>()
  const ended = command.run({
    flags: {},
    positionals: words,
    out(line) {
      said.push(line)
      if (line.includes('running')) running.resolve()
    },
    err: (line) => void err.push(line),
    signal: end.signal,
  })
  await Promise.race([running.promise, ended])
  end.abort()
  expect(await ended).toBe(0)
  return { err, said: said.find((line) => line.includes('running')) }
}

const machineDeployments = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'machinedeployments.cluster.x-k8s.io' },
  spec: {
    group: 'cluster.x-k8s.io',
    scope: 'Namespaced',
    names: { kind: 'MachineDeployment', plural: 'machinedeployments', singular: 'machinedeployment' },
    versions: [{ name: 'v1beta1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
}

describe('muster codeflare', { timeout: 60_000 }, () => {
  it('comes up without any configuration, and leaves one ConfigMap with all defaults', async () => {
    const { client, kubeconfig } = await cluster()
    const { said } = await started('operator', '--install', '--kubeconfig', kubeconfig, '--zap-devel')
    expect(said).toMatch(/^workloads is running/)
    const { data = {} } = (await client.get(configMaps, ref)) as { readonly data?: Readonly<Record<string, string>> }
    expect(Object.keys(data)).toEqual(['config.yaml'])
    expect(readYaml(data['config.yaml']!)).toMatchObject({ mcad: { backoffTime: 20 } })
  })

  it('runs with the flags of MCAD, and says what has no effect', async () => {
    const { kubeconfig } = await cluster()
    const { err, said } = await started(
      'mcad',
      '--install',
      '--kubeconfig',
      kubeconfig,
      '--backofftime',
      '30',
      '--dispatcher',
    )
    expect(said).toMatch(/^workloads is running/)
    expect(err).toContain(
      'flags of mcad, --dispatcher: one manager serves several clusters otherwise: see clusters and placement',
    )
  })

  it('runs queue and node scaler with one section where the platform supports it, and the node scaler alone', async () => {
    const { client, kubeconfig } = await cluster()
    await client.create(crds, machineDeployments)
    const both = await started('operator', '--install', '--kubeconfig', kubeconfig)
    expect(both.said).toMatch(/^2 operators are running/)
    const alone = await started('instascale', '--install', '--kubeconfig', kubeconfig, '--leader-elect=false')
    expect(alone.said).toMatch(/^instascale is running/)
  })

  it('does not start with a ConfigMap that is not valid, and names it', async () => {
    const { client, kubeconfig } = await cluster()
    await client.create(configMaps, configMap('two', { a: '{}', b: '{}' }, { namespace: ref.namespace }))
    await expect(started('operator', '--config', 'two', '--kubeconfig', kubeconfig)).rejects.toMatchObject({
      code: managerErrors.InvalidConfiguration.code,
      message: expect.stringContaining('ConfigMap opendatahub/two has the keys a, b') as string,
    })
  })

  it.each([
    [[], 'operator, mcad or instascale'],
    [['toString'], 'operator, mcad or instascale'],
    [['mcad', '--backoftime', '3'], 'Did you mean "--backofftime"?'],
    [['operator', '--config', 'A/B'], 'the name of a ConfigMap'],
    [['operator'], 'Set the environment variable NAMESPACE'],
  ])('refuses %j', async (words, message) => {
    vi.stubEnv('NAMESPACE', '')
    onTestFinished(() => void vi.unstubAllEnvs())
    await expect(started(...words)).rejects.toThrow(message)
  })
})
