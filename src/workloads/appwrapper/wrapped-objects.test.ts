import { describe, expect, it } from 'vitest'
import { components, deployment, job } from '../../../test/appwrapper-environment.ts'
import type { JsonObject } from '../../kube/json.ts'
import { workloadsConfig } from '../configuration/workloads-config.ts'
import { createQuotaTree } from '../core/quota/quota-tree.ts'
import type { AppWrapperObject, PodSetInfo } from './appwrapper.ts'
import { placementsOf } from './flavor-placement.ts'
import { wrappedObjects } from './wrapped-objects.ts'

const { appwrapper: settings } = workloadsConfig.read({})

function wrapper(spec: JsonObject): AppWrapperObject {
  const metadata = { name: 'training', namespace: 'team', uid: 'u1' }
  return { apiVersion: 'workload.codeflare.dev/v1beta2', kind: 'AppWrapper', metadata, spec }
}

const withInfo = (template: JsonObject, info: PodSetInfo): AppWrapperObject =>
  wrapper({ components: [{ template, podSetInfos: [info as JsonObject] }] })

describe('wrapped objects', () => {
  it('carry the labels of their AppWrapper, pods included, and are owned by it', () => {
    const [object] = wrappedObjects(wrapper(components(job('train', 1))), settings)
    const labels = { 'workload.codeflare.dev/appwrapper': 'training', 'workload.muster.dev/appwrapper': 'u1' }
    expect(object).toMatchObject({
      metadata: { labels, ownerReferences: [{ kind: 'AppWrapper', uid: 'u1', controller: true }] },
      spec: { template: { metadata: { labels: { app: 'main', ...labels } } } },
    })
    const [old] = wrappedObjects(wrapper({ ...components(job('train', 1)), lifeCycle: 'Requeue' }), settings)
    expect(old?.metadata.labels).toMatchObject({ 'appwrapper.mcad.ibm.com': 'training', resourceName: 'train' })
  })

  it('get what the admission adds to their pods; a contradiction is an error', () => {
    const info: PodSetInfo = {
      labels: { tier: 'batch' },
      annotations: { note: 'x' },
      nodeSelector: { pool: 'a' },
      tolerations: [{ key: 'gpu', operator: 'Exists' }],
      schedulingGates: [{ name: 'gate' }, { name: 'gate' }],
    }
    const [object] = wrappedObjects(withInfo(job('train', 1), info), { ...settings, schedulerName: 'packer' })
    expect(object).toMatchObject({
      spec: {
        template: {
          metadata: { labels: { tier: 'batch' }, annotations: { note: 'x' } },
          spec: {
            nodeSelector: { pool: 'a' },
            tolerations: [{ key: 'gpu', operator: 'Exists' }],
            schedulingGates: [{ name: 'gate' }],
            schedulerName: 'packer',
          },
        },
      },
    })
    const other = withInfo(job('train', 1), { labels: { app: 'other' } })
    expect(() => wrappedObjects(other, settings)).toThrow(
      'Job template.spec.template: the label app is "main", and the admission asks for "other".',
    )
  })

  it('keep away from sick nodes where they request the resource: in each of their alternatives', () => {
    const template = job('train', 1, { requests: { 'nvidia.com/gpu': '1' } })
    const [object] = wrappedObjects(wrapper(components(template)), settings)
    const key = 'autopilot.ibm.com/gpuhealth'
    expect(object).toMatchObject({
      spec: {
        template: {
          spec: {
            affinity: {
              nodeAffinity: {
                requiredDuringSchedulingIgnoredDuringExecution: {
                  nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'NotIn', values: ['TESTING', 'EVICT'] }] }],
                },
                preferredDuringSchedulingIgnoredDuringExecution: [
                  { weight: 50, preference: { matchExpressions: [{ key, operator: 'NotIn', values: ['WARN'] }] } },
                ],
              },
            },
          },
        },
      },
    })
    const [plain] = wrappedObjects(wrapper(components(job('train', 1))), settings)
    expect(JSON.stringify(plain)).not.toContain('affinity')
  })

  it('go to the nodes of the flavors that their pods are charged to', () => {
    const tree = createQuotaTree()
    const flavor = (name: string) => ({
      name,
      limits: new Map([['cpu', { nominal: 1000 }]]),
      nodeLabels: { 'instance-type': name },
      nodeTaints: [],
      tolerations: [{ key: name, operator: 'Exists' }],
    })
    tree.setNodes([{ name: 'queue/a', groups: [{ resources: ['cpu'], flavors: [flavor('spot'), flavor('fixed')] }] }])
    const chosen = [new Map([['cpu', 'fixed']]), new Map([['cpu', 'spot']])]
    const placements = placementsOf(['queue/a'], chosen, tree)!
    const all = components(job('small', 1), deployment('large', 2, { requests: { cpu: '2' } }))
    const objects = wrappedObjects(wrapper(all), settings, placements)
    const placed = (name: string) => ({
      spec: {
        template: {
          spec: { nodeSelector: { 'instance-type': name }, tolerations: [{ key: name, operator: 'Exists' }] },
        },
      },
    })
    expect(objects).toMatchObject([placed('fixed'), placed('spot')])
    expect(placementsOf(['queue/a'], [new Map()], tree)).toBeUndefined()
  })
})
