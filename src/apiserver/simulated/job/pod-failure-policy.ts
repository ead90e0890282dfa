/** The pod failure policy of a Job: what a failed pod means, by its containers' exit codes or by its conditions. */
import type { PodFailurePolicy, PodFailurePolicyRule } from '../../../kube/types/batch/v1.ts'
import type { Pod } from '../../../kube/types/core/v1.ts'

export interface FailureVerdict {
  readonly action: 'FailJob' | 'Ignore' | 'Count'
  /** Names the rule that matched. */
  readonly message: string
}

/** The first matching rule decides; if none matches, the failure counts. */
export function applyFailurePolicy(policy: PodFailurePolicy | undefined, pod: Pod): FailureVerdict {
  for (const [index, rule] of (policy?.rules ?? []).entries()) {
    const found = finding(rule, pod)
    if (found === undefined) continue
    const action = rule.action === 'FailJob' || rule.action === 'Ignore' ? rule.action : 'Count'
    return { action, message: `${found} matching ${rule.action} rule at index ${index}` }
  }
  return { action: 'Count', message: '' }
}

/** Why the rule matches the pod; undefined when it does not. */
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
