/** ResourceFlavors of Kueue: which nodes the quota of a flavor is about. */
import type { KubeObject } from '../../kube/object.ts'
import { specOf } from './object-fields.ts'
import type { QuotaProblem } from './quota-problem.ts'

export type NodeLabels = Readonly<Record<string, string>>

export interface NodeTaint {
  readonly key: string
  readonly value?: string
  readonly effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute'
}

export interface ResourceFlavorQuota {
  readonly nodeLabels: NodeLabels
  /** Without those that the flavor tolerates itself. */
  readonly nodeTaints: readonly NodeTaint[]
}

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const

export function readResourceFlavor(object: KubeObject, problems: QuotaProblem[]): ResourceFlavorQuota {
  const spec = specOf(object, problems)
  const nodeLabels = spec.textMap('nodeLabels')
  const tolerations = spec.each('tolerations').map((toleration) => ({
    key: toleration.text('key'),
    operator: toleration.text('operator') ?? 'Equal',
    value: toleration.text('value') ?? '',
    effect: toleration.text('effect') ?? '',
  }))
  const nodeTaints = spec.each('nodeTaints').flatMap((taint): readonly NodeTaint[] => {
    const [key, effect, value] = [taint.text('key'), taint.word('effect', effects), taint.text('value')]
    if (key === undefined || effect === undefined) return []
    const isTolerated = tolerations.some(
      (one) =>
        (one.key ?? key) === key &&
        (one.effect === '' || one.effect === effect) &&
        (one.operator === 'Exists' || one.value === (value ?? '')),
    )
    return isTolerated ? [] : [{ key, effect, ...(value !== undefined && { value }) }]
  })
  return { nodeLabels, nodeTaints }
}
