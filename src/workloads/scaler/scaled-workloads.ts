/**
 * Carries decisions out for AppWrappers: makes the pools that are made for one workload, and says on it what the scaler does for it.
 * An AppWrapper needs no finalizer for that: what was added for it is recorded where it was added, and is handed over or removed
 * when the AppWrapper is gone.
 */
import { findCondition } from '../../kube/meta/condition.ts'
import type { JsonObject } from '../../kube/json.ts'
import { asJson } from '../../kube/json-object.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { formatApiVersion } from '../../kube/kind.ts'
import { trimEnd } from '../../kube/text/trim-end.ts'
import type { StatusReport } from '../../operator/controller.ts'
import { defineController } from '../../operator/controller.ts'
import { desiredHash } from '../../operator/dependent/desired.ts'
import { type Edit, edited } from '../../operator/edits.ts'
import type { View } from '../../operator/view/view.ts'
import { AppWrapper, type AppWrapperObject } from '../appwrapper/appwrapper.ts'
import { emptyRecord } from '../core/scale/node-pool.ts'
import type { NewPool, ScaleReason } from '../core/scale/scale-round.ts'
import { type InstascaleConfig, instascaleConfig } from './instascale-settings.ts'
import { MachineSet, type MachineOwner, openShiftApi } from './machine-kinds.ts'
import type { ScalerController } from './machine-pools.ts'
import { ManagedNodePool, mostIdLength } from './managed-node-pool.ts'
import { nodeScaler } from './node-scaler.ts'
import {
  formatRecord,
  isClaimLabel,
  madeForLabel,
  patternAnnotation,
  recordAnnotation,
  shortened,
  workloadLabel,
} from './pool-record.ts'
import { managedPattern } from './scaled-pools.ts'
import { nodesCondition, notWaiting } from './waiting-workload.ts'

const successful: ReadonlySet<ScaleReason> = new Set(['ScalingOut', 'NodesReady', 'SharesNodes'])

export const scaledWorkloadController: ScalerController<AppWrapperObject> = defineController<
  AppWrapperObject,
  InstascaleConfig
>({
  for: AppWrapper,
  name: 'scaled-appwrapper',
  foreign: true,
  config: instascaleConfig,
  coordinators: [nodeScaler],
  reads: [MachineSet],
  edits: {
    kinds: [edited(MachineSet, ['create']), edited(ManagedNodePool, ['create'])],
    plan({ cr, view, config, decision, now }): readonly Edit[] {
      const decided = decision(nodeScaler, cr.metadata.uid ?? '')
      if (decided?.for !== 'workload') return []
      return decided.create.flatMap((pool): readonly Edit[] => {
        if (pool.pattern.startsWith(managedPattern)) {
          const { ocmSecretRef } = config.instascale
          return ocmSecretRef ? [{ create: managedPool(cr, pool, { ...ocmSecretRef }, now) }] : []
        }
        const pattern = patternOf(view, pool.pattern)
        return pattern ? [{ create: duplicate(cr, pattern, pool, now) }] : []
      })
    },
  },
  status({ cr, decision }): StatusReport<AppWrapperObject> | undefined {
    const decided = decision(nodeScaler, cr.metadata.uid ?? '')
    if (decided?.for === 'workload') {
      const { reason, message } = decided
      return {
        conditions: [{ type: nodesCondition, status: successful.has(reason) ? 'True' : 'False', reason, message }],
      }
    }
    if (!findCondition(cr.status?.conditions, nodesCondition)) return undefined
    const message = 'It does not wait for nodes.'
    return { conditions: [{ type: nodesCondition, status: 'False', reason: notWaiting, message }] }
  },
})

function patternOf(view: Pick<View, 'list'>, uid: string): MachineOwner | undefined {
  return view.list(MachineSet).find(({ metadata }) => metadata.uid === uid)
}

function recordFor({ metadata }: AppWrapperObject, { count }: NewPool, now: number): string {
  const { uid = '', namespace = '', name } = metadata
  return formatRecord({ ...emptyRecord, claims: [{ workload: uid, namespace, name, count, since: now }] })!
}

const machineSetLabel = 'machine.openshift.io/cluster-api-machineset'

/** A copy of a MachineSet for one AppWrapper: other work avoids its nodes. */
function duplicate(cr: AppWrapperObject, pattern: MachineOwner, pool: NewPool, now: number): UntypedObject {
  const { name, namespace = '', uid = '' } = cr.metadata
  const { metadata } = pattern
  const type = (pool.instanceType ?? '').toLowerCase().replace(/[^a-z0-9-]+/g, '-')
  const ending = desiredHash([uid, pool.pattern]).slice(0, 8)
  const copy = `${trimEnd(shortened(`${name}-${namespace}-${type}`, 54), '-')}-${ending}`
  const label = workloadLabel({ namespace, name })
  const { replicas: _, selector, template, ...rest } = asJson(pattern)['spec'] as JsonObject
  const part = (value: unknown): JsonObject => (value ?? {}) as JsonObject
  const machine = part(part(template)['spec'])
  const taint = { key: shortened(name, 63), value: 'value1', effect: 'PreferNoSchedule' }
  const labels = Object.entries(metadata.labels ?? {}).filter(([key]) => !isClaimLabel(key))
  return {
    apiVersion: openShiftApi,
    kind: 'MachineSet',
    metadata: {
      name: copy,
      ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
      labels: { ...Object.fromEntries(labels), [madeForLabel]: label },
      annotations: {
        ...capacityOf(metadata.annotations),
        [patternAnnotation]: pool.pattern,
        [recordAnnotation]: recordFor(cr, pool, now),
      },
    },
    spec: {
      ...rest,
      replicas: pool.count,
      selector: { ...part(selector), matchLabels: { ...part(part(selector)['matchLabels']), [machineSetLabel]: copy } },
      template: {
        ...part(template),
        metadata: {
          ...part(part(template)['metadata']),
          labels: { ...part(part(part(template)['metadata'])['labels']), [machineSetLabel]: copy },
        },
        spec: { ...machine, taints: [...((machine['taints'] as readonly JsonObject[] | undefined) ?? []), taint] },
      },
    },
  }
}

/** What the annotations say about its machines holds for the copy; its bounds and its record do not. */
function capacityOf(annotations: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const isCapacity = (key: string): boolean =>
    key.startsWith('capacity.cluster-autoscaler.') ||
    /^machine\.openshift\.io\/(?:vCPU|memoryMb|GPU|maxPods)$/.test(key)
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => isCapacity(key)))
}

/** The id of a pool is short: the name is cut, and what is cut off still counts. */
function managedPool(cr: AppWrapperObject, pool: NewPool, secretRef: JsonObject, now: number): UntypedObject {
  const { name, namespace = '', uid = '' } = cr.metadata
  const ending = desiredHash([uid, namespace, pool.pattern]).slice(0, 6)
  const letters = name
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^[^a-z]+/, '')
  const start = trimEnd(letters.slice(0, mostIdLength - ending.length - 1), '-')
  return {
    apiVersion: formatApiVersion(ManagedNodePool),
    kind: 'ManagedNodePool',
    metadata: {
      name: `${start || 'pool'}-${ending}`,
      labels: { [madeForLabel]: workloadLabel({ namespace, name }) },
      annotations: { [recordAnnotation]: recordFor(cr, pool, now) },
    },
    spec: { instanceType: pool.instanceType ?? '', replicas: pool.count, secretRef },
  }
}
