import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { configMap, configMaps } from '../../../test/embedded.ts'
import { runCommand } from '../../../test/platform-cluster.ts'
import { emptyFolder } from '../../../test/project.ts'
import { servedCluster } from '../../../test/served-cluster.ts'
import { connect } from '../../client/connect.ts'
import { Node } from '../../kube/kinds.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { installKinds } from '../manager/install-kinds.ts'
import { AppWrapper } from '../../workloads/appwrapper/appwrapper.ts'
import { QuotaSubtree } from '../../workloads/quota/quota-subtree.ts'
import { workloadsOperator } from '../../workloads/workloads-operator.ts'
import command from './queue.ts'

const wrapper = (
  name: string,
  cpu: number,
  version = 'v1beta2',
): string => `apiVersion: workload.codeflare.dev/${version}
kind: AppWrapper
metadata: { name: ${name}, namespace: team, uid: ${name}, creationTimestamp: 2026-01-01T00:00:00Z }
spec:
${
  version === 'v1beta1'
    ? `  priority: 7
  resources:
    GenericItems:
      - generictemplate: { apiVersion: v1, kind: Pod, metadata: { name: ${name} }, spec: { containers: [{ name: a, image: a:1, resources: { requests: { cpu: ${cpu} } } }] } }`
    : `  components:
    - template: { apiVersion: v1, kind: Pod, metadata: { name: ${name} }, spec: { containers: [{ name: a, image: a:1, resources: { requests: { cpu: ${cpu} } } }] } }`
}
`

const gathered = `apiVersion: v1
kind: Node
metadata: { name: a }
status: { allocatable: { cpu: 4, pods: 10 } }
---
apiVersion: quota.codeflare.dev/v1alpha1
kind: QuotaSubtree
metadata: { name: root, namespace: team, labels: { tree: context } }
spec: { children: [{ name: default, quotas: { requests: { cpu: 8 } } }] }
---
${wrapper('fits', 3)}---
${wrapper('too-large', 9)}---
${wrapper('urgent', 2, 'v1beta1')}`

const now = ['--now', '2026-01-01T01:00:00Z']

async function folder(): Promise<string> {
  const place = await emptyFolder()
  await writeFile(path.join(place, 'objects.yaml'), gathered)
  return place
}

describe('muster queue', () => {
  it('lists the AppWrappers of a directory, of both versions, and why they wait', async () => {
    const { code, out, err } = await runCommand(command, 'list', '--from', await folder(), ...now)
    expect(code).toBe(0)
    expect(out).toMatch(/^team +urgent +starts +1 +7 +1h0m0s/m)
    expect(out).toMatch(/^team +fits +waits +2 +0 .*1 pod/m)
    expect(out).toMatch(/^team +too-large +waits +3 /m)
    expect(err).toContain('QuotaSubtrees do not count')
  })

  it('prints the data itself', async () => {
    const { out } = await runCommand(command, 'list', '--from', await folder(), '-o', 'yaml', ...now)
    expect(readYaml(out)).toMatchObject([
      { name: 'urgent', state: 'starts', position: 1, since: '2026-01-01T00:00:00Z', quotas: [] },
      { name: 'fits', state: 'waits', reason: 'InsufficientNodes' },
      { name: 'too-large' },
    ])
  })

  it('explains one, by the configuration of the manager', async () => {
    const place = await folder()
    const file = path.join(await emptyFolder(), 'muster.yaml')
    await writeFile(file, 'operators: { workloads: { config: { mcad: { quotaEnabled: true } } } }')
    const words = ['--from', place, '-n', 'team', '-f', file, ...now]
    const { code, out, err } = await runCommand(command, 'explain', 'too-large', ...words)
    expect(code).toBe(1)
    expect(out).toContain('AppWrapper team/too-large waits.')
    expect(out).toContain('quota: tree/context/default')
    expect(out).toContain('position: 3')
    expect(out).toContain('starts: unknown')
    expect(err).toBe('')
    expect(await runCommand(command, 'explain', 'nothing', ...words)).toMatchObject({
      code: 1,
      err: 'There is no AppWrapper team/nothing.',
    })
  })

  it('says what would happen to an AppWrapper that does not exist yet', async () => {
    const file = path.join(await emptyFolder(), 'new.yaml')
    await writeFile(file, wrapper('new', 1))
    const { code, out } = await runCommand(command, 'what-if', file, '--from', await folder(), ...now)
    expect(out).toContain('AppWrapper team/new starts now.')
    expect(code).toBe(0)
    await writeFile(file, wrapper('new', 99))
    expect(await runCommand(command, 'what-if', file, '--from', await folder(), ...now)).toMatchObject({ code: 1 })
  })

  it('reads a cluster', async () => {
    const { kubeconfig } = await servedCluster(await emptyFolder())
    const client = await connect({ kubeconfig })
    onTestFinished(() => client.close())
    const empty = await runCommand(command, 'list', '--kubeconfig', kubeconfig)
    expect(empty.out).toMatch(/^NAMESPACE/)
    await installKinds(client, workloadsOperator, new AbortController().signal)
    await client.create(Node, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' } })
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } }
    const namespaces = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false }
    await client.create(namespaces, namespace)
    const waiting = {
      apiVersion: 'workload.codeflare.dev/v1beta2',
      kind: 'AppWrapper',
      metadata: { name: 'waiting', namespace: 'team' },
      spec: { components: [{ template: podTemplate }] },
    }
    await client.create(AppWrapper, waiting)
    const { out } = await runCommand(command, 'list', '-n', 'team', '--kubeconfig', kubeconfig)
    expect(out).toMatch(/^team +waiting +waits +1 /m)
    const subtree = {
      apiVersion: 'quota.codeflare.dev/v1alpha1',
      kind: 'QuotaSubtree',
      metadata: { name: 'root', namespace: 'team', labels: { tree: 'context' } },
      spec: { children: [{ name: 'default', quotas: { requests: { cpu: 8 } } }] },
    }
    await client.create(QuotaSubtree, subtree)
    await client.create(configMaps, configMap('codeflare-operator-config', { x: 'mcad: { quotaEnabled: true }' }))
    const words = ['--configmap', 'default/codeflare-operator-config', '--kubeconfig', kubeconfig]
    expect((await runCommand(command, 'list', ...words)).out).toMatch(/^team +waiting .* tree\/context\/default /m)
  })

  it.each([
    [[], 'list, explain NAME'],
    [['explain'], 'list, explain NAME'],
    [['list', 'more'], 'list, explain NAME'],
    [['list', '--now', 'soon'], '--now soon: write a time'],
    [['what-if', 'no-such.yaml'], 'no-such.yaml cannot be read'],
    [['list', '-o', 'xml'], 'there are json and yaml'],
  ])('refuses %j', async (words, message) => {
    await expect(runCommand(command, ...words, ...(words.length > 0 ? ['--from', '.'] : []))).rejects.toMatchObject({
      code: flagErrors.InvalidFlag.code,
      message: expect.stringContaining(message) as string,
    })
  })
})

const podTemplate = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p' },
  spec: { containers: [{ name: 'a', image: 'a:1', resources: { requests: { cpu: '64' } } }] },
}
