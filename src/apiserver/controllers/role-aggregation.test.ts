import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { embedded } from '../../../test/embedded.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { aggregatedRules } from './role-aggregation.ts'

const rbac = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
const rule = (resource: string): object => ({ verbs: ['get'], apiGroups: [''], resources: [resource] })

function role(name: string, labels: Readonly<Record<string, string>>, more: object): UntypedObject {
  return { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name, labels }, ...more }
}

function aggregated(label: string): object {
  return { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [label]: 'true' } }] } }
}

describe('an aggregated role', () => {
  it('has the rules of all selected roles, each once, including aggregated ones', () => {
    const gathered = aggregatedRules([
      role('top', {}, aggregated('to-top')),
      role('middle', { 'to-top': 'true' }, aggregated('to-middle')),
      role('b', { 'to-middle': 'true', 'to-top': 'true' }, { rules: [rule('pods')] }),
      role('a', { 'to-middle': 'true' }, { rules: [rule('secrets'), rule('pods')] }),
      role('other', {}, { rules: [rule('nodes')] }),
    ])
    expect(gathered.get('middle')).toEqual([rule('secrets'), rule('pods')])
    expect(gathered.get('top')).toEqual([rule('pods'), rule('secrets')])
    expect([...gathered.keys()]).toEqual(['middle', 'top'])
  })

  it('may be part of a cycle', () => {
    const gathered = aggregatedRules([
      role('x', { 'to-y': 'true' }, aggregated('to-x')),
      role('y', { 'to-x': 'true' }, aggregated('to-y')),
      role('z', { 'to-x': 'true' }, { rules: [rule('pods')] }),
    ])
    expect(gathered.get('x')).toEqual([rule('pods')])
    expect(gathered.get('y')).toEqual([rule('pods')])
  })

  it('is updated when other roles change', async () => {
    const { raw } = embedded()
    const rulesOf = async (name: string): Promise<string> => (await raw('GET', `${rbac}/${name}`)).text
    expect(await rulesOf('view')).not.toContain('widgets')
    const labels = { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' }
    await raw('POST', rbac, { body: role('widget-viewer', labels, { rules: [rule('widgets')] }) })
    for (const name of ['view', 'edit', 'admin']) expect(await rulesOf(name)).toContain('widgets')
    await raw('DELETE', `${rbac}/widget-viewer`)
    for (const name of ['view', 'edit', 'admin']) expect(await rulesOf(name)).not.toContain('widgets')
  })

  it('drops rules that only a cycle of aggregated roles holds', async () => {
    const { raw } = embedded()
    for (const [at, name] of ['x', 'y', 'z'].entries()) {
      const next = `to-${['x', 'y', 'z'][(at + 1) % 3]!}`
      await raw('POST', rbac, {
        body: role(name, { [next]: 'true' }, { ...aggregated(`to-${name}`), rules: [rule(name)] }),
      })
    }
    for (const name of ['x', 'y', 'z']) {
      expect((await raw('GET', `${rbac}/${name}`)).json).toMatchObject({ rules: [] })
    }
  })

  it('reaches a stable state for any aggregation graph', async () => {
    const size = 5
    const node = fc.record({
      rules: fc.subarray([0, 1, 2]),
      isAggregated: fc.option(fc.uniqueArray(fc.nat(size - 1)), { nil: undefined, freq: 4 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(node, { minLength: 1, maxLength: size }), async (nodes) => {
        const { raw } = embedded()
        const revision = async (): Promise<number> =>
          Number(((await raw('GET', rbac)).json as unknown as UntypedObject).metadata.resourceVersion)
        const before = await revision()
        for (const [at, { rules, isAggregated }] of nodes.entries()) {
          const clusterRoleSelectors = isAggregated?.map((to) => ({ matchLabels: { node: `n${to}` } }))
          const more = {
            rules: rules.map((one) => rule(`r${one}`)),
            ...(isAggregated && { aggregationRule: { clusterRoleSelectors } }),
          }
          await raw('POST', rbac, { body: role(`n${at}`, { node: `n${at}` }, more) })
        }
        // Each new role is one write, and changes every aggregated role at most once.
        expect((await revision()) - before).toBeLessThanOrEqual(nodes.length * (nodes.length + 1))
      }),
      { numRuns: 50 },
    )
  })
})
