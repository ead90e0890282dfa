/**
 * What a pool says about its machines: the instance type in the provider's part of a MachineSet, and the capacity that the
 * annotations of the cluster autoscaler promise, so that a pool without nodes can be judged.
 */
import type { JsonObject } from '../../kube/json.ts'
import { resourceAmounts } from '../../kube/scheduling/pod-needs.ts'
import type { Taint } from '../../kube/types/core/v1.ts'
import type { NodeTemplate } from '../core/scale/node-pool.ts'
import type { MachineOwner, ReadNode } from './machine-kinds.ts'

const instanceTypeLabel = 'node.kubernetes.io/instance-type'

/** The field of the provider's part that names the type of a machine, by provider. */
const typeFields: readonly string[] = [
  'instanceType', // AWS, Alibaba
  'machineType', // Google Cloud
  'vmSize', // Azure
  'flavor', // OpenStack
  'profile', // IBM Cloud
  'systemType', // Power
]

export function instanceTypeOf({ spec, metadata }: MachineOwner, node: ReadNode | undefined): string | undefined {
  const value = spec?.template?.spec?.providerSpec?.value
  const named = value && typeIn(value)
  const labels = { ...capacityLabels(metadata.annotations ?? {}), ...spec?.template?.metadata?.labels }
  return named ?? labels[instanceTypeLabel] ?? node?.metadata.labels?.[instanceTypeLabel]
}

function typeIn(value: JsonObject): string | undefined {
  for (const field of typeFields) {
    const type = value[field]
    if (typeof type === 'string' && type !== '') return type
  }
  return undefined
}

const capacityPrefix = 'capacity.cluster-autoscaler.kubernetes.io/'
const priceAnnotation = 'instascale.codeflare.dev/price'
const usualPods = 110

/** An empty node of a pool: like a node that it has, otherwise as its annotations say; undefined if neither is known. */
export function nodeTemplateOf(
  { metadata, spec }: MachineOwner,
  node: ReadNode | undefined,
  isOwnLabel: (key: string) => boolean,
): NodeTemplate | undefined {
  const { annotations = {} } = metadata
  const amounts = node ? node.status?.allocatable : promisedCapacity(annotations)
  if (!amounts) return undefined
  const machine = spec?.template?.spec
  const labels = node ? node.metadata.labels : { ...machine?.metadata?.labels, ...capacityLabels(annotations) }
  const taints = node?.spec?.taints ?? [...(machine?.taints ?? []), ...capacityTaints(annotations)]
  const fixed = Object.entries(labels ?? {}).filter(([key]) => key !== 'kubernetes.io/hostname' && !isOwnLabel(key))
  const lasting = taints.filter(({ key }) => !key.startsWith('node.kubernetes.io/'))
  const price = Number(annotations[priceAnnotation] ?? NaN)
  const allocatable = resourceAmounts(amounts)
  return {
    key: JSON.stringify([[...allocatable].toSorted(byName), fixed.toSorted(byName), lasting]),
    node: { metadata: { labels: Object.fromEntries(fixed) }, spec: { taints: lasting } },
    allocatable,
    price: price >= 0 ? price : undefined,
  }
}

/** By the annotations of the cluster autoscaler, and by those of OpenShift's machine API. */
function promisedCapacity(annotations: Readonly<Record<string, string>>): Readonly<Record<string, string>> | undefined {
  const read = (name: string): string | undefined => annotations[`${capacityPrefix}${name}`]
  const openShift = (name: string): string | undefined => annotations[`machine.openshift.io/${name}`]
  const megabytes = openShift('memoryMb')
  const cpu = read('cpu') ?? openShift('vCPU')
  const memory = read('memory') ?? (megabytes === undefined ? undefined : `${megabytes}Mi`)
  if (cpu === undefined || memory === undefined) return undefined
  const devices = read('gpu-count') ?? openShift('GPU')
  const disk = read('ephemeral-disk')
  const promised = {
    cpu,
    memory,
    pods: read('maxPods') ?? String(usualPods),
    ...(disk !== undefined && { 'ephemeral-storage': disk }),
    ...(devices !== undefined && devices !== '0' && { [read('gpu-type') ?? 'nvidia.com/gpu']: devices }),
  }
  return Object.values(promised).every((amount) => quantity.test(amount)) ? promised : undefined
}

const quantity = /^\d{1,15}(?:\.\d{1,9})?(?:m|k|[KMGTPE]i?)?$/

/** `a=b,c=d` */
function capacityLabels(annotations: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const text = annotations[`${capacityPrefix}labels`] ?? ''
  return Object.fromEntries(
    text.split(',').flatMap((pair) => {
      const at = pair.indexOf('=')
      return at > 0 ? [[pair.slice(0, at).trim(), pair.slice(at + 1).trim()]] : []
    }),
  )
}

/** `key=value:NoSchedule,key:NoExecute` */
function capacityTaints(annotations: Readonly<Record<string, string>>): readonly Taint[] {
  const text = annotations[`${capacityPrefix}taints`] ?? ''
  return text.split(',').flatMap((one) => {
    const colon = one.lastIndexOf(':')
    const [key = '', value = ''] = one.slice(0, Math.max(0, colon)).trim().split('=')
    return key === '' ? [] : [{ key, value, effect: one.slice(colon + 1).trim() }]
  })
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : Number(a > b)
}
