import { describe, expect, it } from 'vitest'
import type { Resource } from '../../kube/kind.ts'
import { describeInput } from '../../operator/view/input.ts'
import { type InputResources, type ResourceList, readInputResources } from '../declaration/resource-list.ts'
import { typesIn, selectionKey } from '../declaration/selection.ts'
import { inputsOf } from './declared-inputs.ts'

const kinds: Readonly<Record<string, string>> = { configmaps: 'ConfigMap', secrets: 'Secret', nodes: 'Node' }

/** As the kit describes them. */
function described(list: ResourceList): readonly string[] {
  const read: InputResources = readInputResources(
    { applyConfigurationResources: list } as unknown as Parameters<typeof readInputResources>[0],
    'test',
  )
  const resources = read.applyConfigurationResources
  const served = new Map<string, Resource>(
    typesIn(resources).map((type) => [
      selectionKey(type),
      { ...type, plural: type.resource, kind: kinds[type.resource]!, namespaced: type.resource !== 'nodes' },
    ]),
  )
  return inputsOf(resources, served).map(describeInput)
}

const configMaps = { group: '', version: 'v1', resource: 'configmaps' }
const secrets = { group: '', version: 'v1', resource: 'secrets' }
const nodes = { group: '', version: 'v1', resource: 'nodes' }

describe('the declaration of a program', () => {
  it('is watched as narrowly as declared', () => {
    const list = {
      exactResources: [{ ...configMaps, namespace: 'a', name: 'one' }],
      generatedNameResources: [{ ...secrets, namespace: 'a', name: 'made-' }],
      labelSelectedResources: [
        { ...configMaps, labelSelector: { matchLabels: { tier: 'db' } } },
        { ...secrets, namespace: 'b', labelSelector: {} },
      ],
      kindResources: [nodes],
    }
    expect(described(list)).toEqual([
      'configmaps/v1 a/one',
      'secrets/v1 a/made-*',
      'configmaps/v1 */[tier=db]',
      'secrets/v1 b/*',
      'nodes/v1',
    ])
  })

  it('follows references transitively, and never in cycles', () => {
    const list: ResourceList = {
      labelSelectedResources: [{ ...configMaps, namespace: 'a', labelSelector: { matchLabels: { tier: 'db' } } }],
      resourceReferences: [
        {
          referringResource: configMaps,
          type: 'ExplicitNamespacedReference',
          explicitNamespacedReference: {
            ...secrets,
            namespaceJSONPath: '$.metadata.namespace',
            nameJSONPath: '$.data.secret',
          },
        },
        {
          referringResource: secrets,
          type: 'ClusterScopedReference',
          clusterScopedReference: { ...nodes, nameJSONPath: '$.metadata.annotations.node' },
        },
        {
          referringResource: { ...configMaps, namespace: 'a', name: 'root' },
          type: 'ImplicitNamespacedReference',
          implicitNamespacedReference: { ...configMaps, namespace: 'a', nameJSONPath: '$.data.next' },
        },
      ],
    }
    const all = described(list)
    const selected = 'configmaps/v1 a/[tier=db]'
    const secret = `secrets/v1 $.metadata.namespace/$.data.secret of ${selected}`
    expect(all).toContain(secret)
    expect(all).toContain(`nodes/v1 $.metadata.annotations.node of ${secret}`)
    expect(all).toContain('configmaps/v1 a/$.data.next of configmaps/v1 a/root')
    // No kind is watched whole unless an input declares it whole.
    expect(all).not.toContain('configmaps/v1')
    expect(all.length).toBeLessThan(20)
  })

  it('is rejected where it contradicts the served resources', () => {
    expect(() => described({ exactResources: [{ ...configMaps, name: 'x' }] })).toThrow(/needs a namespace/)
  })
})
