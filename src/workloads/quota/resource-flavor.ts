/** ResourceFlavors of Kueue: which nodes the quota of a flavor is about. */
import type { KubeObject } from '../../kube/object.ts'
import type { Taint, Toleration } from '../../kube/types/core/v1.ts'
import type { FlavorQuota } from '../core/quota/quota-node.ts'
import { type ObjectFields, specOf } from './object-fields.ts'
import type { QuotaProblem } from './quota-problem.ts'

export interface ResourceFlavorQuota extends Pick<FlavorQuota, 'nodeLabels' | 'tolerations'> {
  /** Without those that the flavor tolerates itself. */
  readonly nodeTaints: readonly Taint[]
}

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const

export function readResourceFlavor(object: KubeObject, problems: QuotaProblem[]): ResourceFlavorQuota {
  const spec = specOf(object, problems)
  const tolerations = spec.each('tolerations').map(readToleration)
  const taints = spec.each('nodeTaints').flatMap((taint): readonly Taint[] => {
    const [key, effect, value] = [taint.text('key'), taint.word('effect', effects), taint.text('value')]
    return key === undefined || effect === undefined ? [] : [{ key, effect, ...(value !== undefined && { value }) }]
  })
  return {
    nodeLabels: spec.textMap('nodeLabels'),
    nodeTaints: taints.filter((taint) => !tolerations.some((one) => tolerates(one, taint))),
    ...(tolerations.length > 0 && { tolerations }),
  }
}

function readToleration(fields: ObjectFields): Toleration {
  const entries = ['key', 'operator', 'value', 'effect'].map((name) => [name, fields.text(name)] as const)
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

function tolerates({ key, operator, value, effect }: Toleration, taint: Taint): boolean {
  if ((key ?? taint.key) !== taint.key || (effect !== undefined && effect !== taint.effect)) return false
  return operator === 'Exists' || (value ?? '') === (taint.value ?? '')
}
