/** What the failure of a pod means for its Job: by how its containers ended, or by what was said of the pod. */
import type { PodFailurePolicy, PodFailurePolicyRule } from '../../kube/types/batch/v1.ts'
import type { Pod } from '../../kube/types/core/v1.ts'

export type FailureVerdict = 'FailJob' | 'Ignore' | 'Count'

/** The first rule that fits decides; none means that it counts. */
export function judgeFailure(policy: PodFailurePolicy | undefined, pod: Pod): FailureVerdict {
  const rule = policy?.rules.find((one) => fits(one, pod))
  return rule?.action === 'FailJob' || rule?.action === 'Ignore' ? rule.action : 'Count'
}

function fits({ onExitCodes, onPodConditions }: PodFailurePolicyRule, { status }: Pod): boolean {
  if (onExitCodes) {
    const { containerName, operator, values } = onExitCodes
    const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]
    return all.some(({ name, state }) => {
      const code = state?.terminated?.exitCode ?? 0
      if (code === 0 || (containerName && containerName !== name)) return false
      return operator === 'In' ? values.includes(code) : !values.includes(code)
    })
  }
  return (onPodConditions ?? []).some(({ type, status: value = 'True' }) =>
    status?.conditions?.some((condition) => condition.type === type && condition.status === value),
  )
}
