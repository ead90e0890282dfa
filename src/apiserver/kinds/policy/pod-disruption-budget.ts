/** PodDisruptionBudgets: `minAvailable` or `maxUnavailable`, never both. */
import type { UntypedObject } from '../../../kube/object.ts'
import type { PodDisruptionBudget } from '../../../kube/types/policy/v1.ts'
import { structForm } from '../../codec/struct-form.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { checkLabelSelector } from '../values/label-selector.ts'
import { invalidField, type Problems, unsupported } from '../../../kube/validation/field-error.ts'
import { checkAtMostAll, checkCountOrPercent, checkNotNegative } from '../values/value-validation.ts'

const policies = ['AlwaysAllow', 'IfHealthyBudget']

function* check(object: UntypedObject): Iterable<Problems[number]> {
  const { spec = {} } = object as unknown as PodDisruptionBudget
  const { minAvailable, maxUnavailable, selector, unhealthyPodEvictionPolicy: policy } = spec
  if (minAvailable !== undefined && maxUnavailable !== undefined) {
    const shown = {
      MinAvailable: minAvailable,
      Selector: selector ?? null,
      MaxUnavailable: maxUnavailable,
      UnhealthyPodEvictionPolicy: policy ?? null,
    }
    yield invalidField('spec', shown, 'minAvailable and maxUnavailable cannot be both set')
  }
  for (const member of ['minAvailable', 'maxUnavailable'] as const) {
    if (spec[member] === undefined) continue
    yield* checkCountOrPercent(spec[member], `spec.${member}`)
    yield* checkAtMostAll(spec[member], `spec.${member}`)
  }
  yield* checkLabelSelector(selector, 'spec.selector')
  if (policy !== undefined && !policies.includes(policy)) {
    yield unsupported('spec.unhealthyPodEvictionPolicy', policy, policies)
  }
}

export const podDisruptionBudgetRules: KindRules = {
  defaults: structForm,
  prepareCreate: structForm,
  validateCreate: (object) => [...check(object)],
  validateUpdate: (object) => [...check(object)],
  validateStatus(object) {
    const { status = {} } = object as unknown as { readonly status?: Readonly<Record<string, number>> }
    return ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'].flatMap((member) =>
      checkNotNegative(status[member], `status.${member}`),
    )
  },
}
