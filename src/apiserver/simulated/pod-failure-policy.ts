/** What the failure of a pod means for its Job: by how its containers ended, or by what was said of the pod. */
import type { PodFailurePolicy, PodFailurePolicyRule } from '../../kube/types/batch/v1.ts'
import type { Pod } from '../../kube/types/core/v1.ts'

export interface FailureVerdict {
  readonly action: 'FailJob' | 'Ignore' | 'Count'
  /** Which rule it was that said so. */
  readonly message: string
}

/** The first rule that fits decides; none means that it counts. */
export function judgeFailure(policy: PodFailurePolicy | undefined, pod: Pod): FailureVerdict {
  for (const [index, rule] of (policy?.rules ?? []).entries()) {
    const found = finding(rule, pod)
    if (found === undefined) continue
    const action = rule.action === 'FailJob' || rule.action === 'Ignore' ? rule.action : 'Count'
    return { action, message: `${found} matching ${rule.action} rule at index ${index}` }
  }
  return { action: 'Count', message: '' }
}

/** What of the pod the rule is about; undefined when it is about another. */
function finding(
  { onExitCodes, onPodConditions }: PodFailurePolicyRule,
  { status, metadata }: Pod,
): string | undefined {
  const pod = `${metadata.namespace}/${metadata.name}`
  if (onExitCodes) {
    const { containerName, operator, values } = onExitCodes
    const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]
    const container = all.find(({ name, state }) => {
      const code = state?.terminated?.exitCode ?? 0
      if (code === 0 || (containerName && containerName !== name)) return false
      return operator === 'In' ? values.includes(code) : !values.includes(code)
    })
    if (!container) return undefined
    const code = container.state?.terminated?.exitCode
    return `Container ${container.name} for pod ${pod} failed with exit code ${code}`
  }
  const rule = onPodConditions?.find(({ type, status: value = 'True' }) =>
    status?.conditions?.some((condition) => condition.type === type && condition.status === value),
  )
  return rule && `Pod ${pod} has condition ${rule.type}`
}
