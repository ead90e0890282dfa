/** Where pods go that are charged to flavors of quota: node labels, and tolerations of their taints. */
import type { Toleration } from '../../kube/types/core/v1.ts'
import type { GroupPlacement } from '../core/phases/phases.ts'
import type { QuotaTree } from '../core/quota/quota-tree.ts'

/** By group of pods; undefined: no quota distinguishes nodes. */
export function placementsOf(
  quotas: readonly string[],
  flavors: readonly ReadonlyMap<string, string>[],
  tree: Pick<QuotaTree, 'node'>,
): readonly GroupPlacement[] | undefined {
  if (flavors.every((one) => one.size === 0)) return undefined
  return flavors.map((chosen): GroupPlacement => {
    const names = new Set(chosen.values())
    const nodeSelector: Record<string, string> = {}
    const tolerations: Toleration[] = []
    for (const quota of quotas) {
      for (const group of tree.node(quota)?.groups ?? []) {
        for (const flavor of group.flavors) {
          if (!names.has(flavor.name)) continue
          Object.assign(nodeSelector, flavor.nodeLabels)
          tolerations.push(...(flavor.tolerations ?? []))
        }
      }
    }
    return {
      flavors: Object.fromEntries(chosen),
      ...(Object.keys(nodeSelector).length > 0 && { nodeSelector }),
      ...(tolerations.length > 0 && { tolerations }),
    }
  })
}
