import { describe, expect, it } from 'vitest'
import { embedded } from '../../../test/embedded.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { aggregatedRules } from './role-aggregation.ts'

const rbac = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
const rule = (resource: string): object => ({ verbs: ['get'], apiGroups: [''], resources: [resource] })

function role(name: string, labels: Readonly<Record<string, string>>, more: object): UntypedObject {
  return { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name, labels }, ...more }
}

function gathering(label: string): object {
  return { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [label]: 'true' } }] } }
}

describe('a role that gathers', () => {
  it('has the rules of all it selects, each once, and of those that they gather', () => {
    const gathered = aggregatedRules([
      role('top', {}, gathering('to-top')),
      role('middle', { 'to-top': 'true' }, gathering('to-middle')),
      role('b', { 'to-middle': 'true', 'to-top': 'true' }, { rules: [rule('pods')] }),
      role('a', { 'to-middle': 'true' }, { rules: [rule('secrets'), rule('pods')] }),
      role('other', {}, { rules: [rule('nodes')] }),
    ])
    expect(gathered.get('middle')).toEqual([rule('secrets'), rule('pods')])
    expect(gathered.get('top')).toEqual([rule('pods'), rule('secrets')])
    expect([...gathered.keys()]).toEqual(['middle', 'top'])
  })

  it('may gather one that gathers it', () => {
    const gathered = aggregatedRules([
      role('x', { 'to-y': 'true' }, gathering('to-x')),
      role('y', { 'to-x': 'true' }, gathering('to-y')),
      role('z', { 'to-x': 'true' }, { rules: [rule('pods')] }),
    ])
    expect(gathered.get('x')).toEqual([rule('pods')])
    expect(gathered.get('y')).toEqual([rule('pods')])
  })

  it('follows the roles of its cluster', async () => {
    const { raw } = embedded()
    const rulesOf = async (name: string): Promise<string> => (await raw('GET', `${rbac}/${name}`)).text
    expect(await rulesOf('view')).not.toContain('widgets')
    const labels = { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' }
    await raw('POST', rbac, { body: role('widget-viewer', labels, { rules: [rule('widgets')] }) })
    for (const name of ['view', 'edit', 'admin']) expect(await rulesOf(name)).toContain('widgets')
    await raw('DELETE', `${rbac}/widget-viewer`)
    for (const name of ['view', 'edit', 'admin']) expect(await rulesOf(name)).not.toContain('widgets')
  })
})
