import { describe, expect, it, onTestFinished } from 'vitest'
import { openTestEnvironment } from '../../manager/testing/test-environment.ts'
import { workloadsOperator } from '../workloads-operator.ts'
import { QuotaSubtree } from './quota-subtree.ts'

const subtree = (name: string, spec: object) => ({
  apiVersion: 'quota.codeflare.dev/v1alpha1',
  kind: 'QuotaSubtree',
  metadata: { name, namespace: 'kube-system', labels: { tree: 'context' } },
  spec,
})

describe('the controller of QuotaSubtrees', () => {
  it('says at each object what is wrong with it, also when another object makes it right or wrong', async () => {
    const environment = await openTestEnvironment(workloadsOperator)
    onTestFinished(() => environment.close())
    const ready = async (name: string): Promise<string> => {
      await environment.settle()
      const { status } = await environment.client.get(QuotaSubtree, { name, namespace: 'kube-system' })
      const condition = status?.conditions?.find(({ type }) => type === 'Ready')
      return `${condition?.status} ${condition?.message}`
    }
    const leaves = { parent: 'root', children: [{ name: 'gold', quotas: { requests: { cpu: 1 } } }] }
    await environment.create(QuotaSubtree, subtree('leaves', leaves))
    expect(await ready('leaves')).toContain('False spec.children[0].name: its parent "root" is not defined.')
    await environment.create(QuotaSubtree, subtree('root', { children: [{ name: 'root' }] }))
    expect(await ready('leaves')).toMatch(/^True/)
    await environment.create(QuotaSubtree, subtree('twice', { children: [{ name: 'gold' }] }))
    expect(await ready('twice')).toContain('QuotaSubtree kube-system/leaves has defined "gold" in the tree "context"')
    await environment.client.delete(QuotaSubtree, { name: 'leaves', namespace: 'kube-system' })
    expect(await ready('twice')).toMatch(/^True/)
  })
})
