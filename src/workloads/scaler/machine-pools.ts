/**
 * Carries decisions out on MachineSets and MachineDeployments. Replicas and the record of whose machines they are change in one
 * write, on the condition that the pool is as it was decided on: a change by a person in between wins, and is decided on anew.
 */
import type { KubeObject } from '../../kube/object.ts'
import { Node } from '../../kube/kinds.ts'
import { type Controller, defineController } from '../../operator/controller.ts'
import { type Edit, edited } from '../../operator/edits.ts'
import type { NeedsConfig } from '../../operator/config.ts'
import type { View } from '../../operator/view/view.ts'
import { fields } from '../../operator/view/projected-input.ts'
import { type InstascaleConfig, instascaleConfig } from './instascale-settings.ts'
import type { MachineApi, MachineOwner } from './machine-kinds.ts'
import { nodeScaler, type OwnedObject, type PoolToWrite } from './node-scaler.ts'
import {
  claimLabel,
  isClaimLabel,
  labelAnnotation,
  ownerAnnotation,
  recordAnnotation,
  workloadLabel,
} from './pool-record.ts'

export type ScalerController<CR extends KubeObject> = Controller<CR, InstascaleConfig> & NeedsConfig<InstascaleConfig>

export function machinePoolController(api: MachineApi, name: string): ScalerController<MachineOwner> {
  return defineController<MachineOwner, InstascaleConfig>({
    for: api.owner,
    name,
    foreign: true,
    config: instascaleConfig,
    coordinators: [nodeScaler],
    reads: [api.machine, fields(Node, ['spec.taints', 'status.allocatable'])],
    edits: {
      kinds: [edited(api.owner, ['patch', 'delete']), edited(api.machine, ['patch']), edited(Node, ['patch'])],
      plan({ cr, view, decision }): readonly Edit[] {
        const decided = decision(nodeScaler, cr.metadata.uid ?? '')
        if (decided?.for !== 'pool') return []
        if (decided.isObsolete) return [{ remove: cr }]
        const { namespace = '' } = cr.metadata
        const machines = decided.machines.flatMap((one): readonly Edit[] => {
          const live = view.get(api.machine, { name: one.name, namespace })
          if (!live) return []
          const { labels, annotations } = ownership(live, one)
          return [
            { change: live, labels, annotations: { ...annotations, [api.deleteFirst]: one.isMarked ? 'true' : null } },
          ]
        })
        return [poolEdit(cr, decided), ...machines, ...nodeEdits(view, decided)]
      },
    },
  })
}

/** The pool's own part: replicas, the record, and a label for each workload. */
export function poolEdit(pool: KubeObject, { replicas, record, claims }: PoolToWrite): Edit {
  const wanted = new Map(claims.map((claim) => [claimLabel(claim), String(claim.count)]))
  const old = Object.keys(pool.metadata.labels ?? {}).filter((key) => isClaimLabel(key) && !wanted.has(key))
  return {
    change: pool,
    labels: { ...Object.fromEntries(old.map((key) => [key, null])), ...Object.fromEntries(wanted) },
    annotations: { [recordAnnotation]: record },
    spec: { replicas },
  }
}

export function nodeEdits(view: Pick<View, 'get'>, { nodes }: PoolToWrite): readonly Edit[] {
  return nodes.flatMap((one): readonly Edit[] => {
    const live = view.get(Node, { name: one.name })
    return live ? [{ change: live, ...ownership(live, one) }] : []
  })
}

/** The label and annotations of a machine or node for its workload; those for the workload before it go. */
function ownership(
  { metadata: { annotations = {} } }: KubeObject,
  { owner }: OwnedObject,
): { readonly labels: Record<string, string | null>; readonly annotations: Record<string, string | null> } {
  const before = annotations[labelAnnotation]
  const label = owner && workloadLabel(owner)
  return {
    labels: {
      ...(before !== undefined && before !== label && { [before]: null }),
      ...(label !== null && { [label]: label }),
    },
    annotations: { [ownerAnnotation]: owner?.uid ?? '', [labelAnnotation]: label },
  }
}
