/** The manifests and settings of docs/node-scaler.md: each has the effect that the page says. */
import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/kube/json.ts'
import { Node, Secret } from '../../src/kube/kinds.ts'
import type { UntypedObject } from '../../src/kube/object.ts'
import { readYamlDocuments } from '../../src/kube/yaml/yaml.ts'
import { readConfiguration } from '../../src/manager/config/configuration.ts'
import { offline } from '../../src/operator/live.ts'
import { AppWrapper } from '../../src/workloads/appwrapper/appwrapper.ts'
import { instascaleField } from '../../src/workloads/configuration/instascale-section.ts'
import type { ScaleReason } from '../../src/workloads/core/scale/scale-round.ts'
import { MachineSet } from '../../src/workloads/scaler/machine-kinds.ts'
import { type InstascaleConfig, instascaleConfig } from '../../src/workloads/scaler/instascale-settings.ts'
import { inProcess, MisbehavingClusterManager } from '../misbehaving-cluster-manager.ts'
import { readPage } from '../pages.ts'
import { openScaler } from '../scaler-environment.ts'

const page = readPage('node-scaler.md')
const [settings = '', pool = '', named = '', inferred = '', secret = ''] = page.blocks('yaml')
const objectOf = (text: string): UntypedObject => readYamlDocuments(text)[0] as UntypedObject & Json

function settingsOf(text: string): ReturnType<typeof instascaleConfig.read>['instascale'] {
  const layer = { source: 'docs/node-scaler.md', value: readYamlDocuments(text)[0]! }
  const { settings: read } = readConfiguration([layer], [{ name: 'instascale', config: instascaleConfig }])
  return (read.operators['instascale']!.config as InstascaleConfig).instascale
}

const reasons: readonly ScaleReason[] = [
  'ScalingOut',
  'NodesReady',
  'SharesNodes',
  'MaxScaleoutReached',
  'ExceedsMaxScaleout',
  'PoolsUnavailable',
  'NoMatchingPool',
  'NoInstanceTypes',
]

describe('docs/node-scaler.md', () => {
  it('shows manifests that do what it says', async () => {
    const env = await openScaler({ settings: settingsOf(settings) })
    try {
      await env.create(MachineSet, objectOf(pool))
      await env.create(AppWrapper, objectOf(named))
      await env.create(AppWrapper, objectOf(inferred))
      await env.lacks('train')
      await env.rest()
      expect(await env.machines.replicas('gpu')).toBe(2)
      expect(await env.conditionOf('train')).toMatchObject({ status: 'True', reason: 'NodesReady' })
      const { items } = await env.client.list(Node)
      expect(items.map(({ metadata }) => metadata.labels?.['train-default'])).toEqual([
        'train-default',
        'train-default',
      ])
      for (const { metadata } of items) {
        const allocatable = { cpu: '16', memory: '64Gi', pods: '110', 'nvidia.com/gpu': '1' }
        await env.client.patch(Node, metadata, { status: { allocatable } }, { type: 'merge', subresource: 'status' })
      }
      await env.lacks('evaluate')
      await env.rest()
      expect(await env.machines.replicas('gpu')).toBe(3)
      for (const name of ['train', 'evaluate']) await env.client.delete(AppWrapper, { name, namespace: 'default' })
      await env.rest(70_000)
      expect(await env.machines.replicas('gpu')).toBe(0)
    } finally {
      await env.close()
    }
  })

  it('shows a Secret that managed pools are made with', async () => {
    const manager = new MisbehavingClusterManager()
    const { metadata, stringData } = objectOf(secret) as UntypedObject & { stringData: { token: string } }
    manager.refreshToken = stringData.token
    const env = await openScaler({
      settings: {
        ocmSecretRef: { namespace: metadata.namespace!, name: metadata.name! },
        ocm: { url: 'https://ocm', tokenUrl: 'https://ocm/token', clusterId: manager.clusterId },
      },
      live: { ...offline, available: true, http: inProcess(manager) },
    })
    try {
      await env.create(Secret, objectOf(secret))
      await env.create(AppWrapper, objectOf(named))
      await env.lacks('train')
      await env.settle()
      expect([...manager.pools.values()]).toMatchObject([{ instanceType: 'g4dn.xlarge', replicas: 2 }])
    } finally {
      await env.close()
    }
  })

  it('has every setting with its default, and every reason', () => {
    const defaults = instascaleConfig.read({}).instascale
    for (const name of Object.keys(instascaleField.schema.properties ?? {})) {
      const value = defaults[name as keyof typeof defaults]
      const [, shown = 'nothing'] = new RegExp(`^\\| \`${name}\` +\\| (.*?) *\\|`, 'm').exec(page.text) ?? []
      expect([name, shown]).toEqual([name, cellOf(value)])
    }
    for (const reason of reasons) expect(page.text).toContain(`| \`${reason}\``)
  })
})

function cellOf(value: unknown): string {
  if (value === undefined) return '–'
  if (typeof value === 'object') return ''
  return typeof value === 'number' ? String(value) : `\`${JSON.stringify(value).replaceAll('"', '')}\``
}
