/**
 * What a component that is left alone reports of itself. Its Component names kinds of its own objects, such as the configuration
 * that its operator reads: their conditions say whether it works, and the Platform passes that on.
 */
import { conditionsOf, type HealthStatus } from '../../kube/meta/health.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { objectPlace } from '../installation/holder.ts'
import { type HealthRule, healthWith } from '../phase/health-rules.ts'

export interface ExternalProblem {
  readonly state: 'Error' | 'Warning' | 'Processing'
  readonly reason: string
  /** `Kueue cluster: Degraded: the webhook does not answer` */
  readonly message: string
}

const states: Readonly<Record<Exclude<HealthStatus, 'Current' | 'NotFound'>, ExternalProblem['state']>> = {
  Failed: 'Error',
  Unknown: 'Warning',
  InProgress: 'Processing',
  Terminating: 'Processing',
}

const severity = ['Error', 'Warning', 'Processing']

/** The worst first. */
export function externalProblems(
  objects: readonly UntypedObject[],
  rules: readonly HealthRule[],
  now: number,
): readonly ExternalProblem[] {
  const healthOf = healthWith(rules)
  const problems = objects.flatMap((object): readonly ExternalProblem[] => {
    const place = objectPlace({ kind: object.kind, ...object.metadata })
    const { status, reason, message } = healthOf(object, now)
    const degraded = conditionsOf(object).find((one) => one.type === 'Degraded' && one.status === 'True')
    const found: ExternalProblem[] = []
    if (status !== 'Current' && status !== 'NotFound')
      found.push({ state: states[status], reason, message: `${place}: ${message || reason}` })
    // It works, but not as it should; an object may say so and be ready.
    if (degraded)
      found.push({
        state: 'Warning',
        reason: 'Degraded',
        message: `${place}: Degraded: ${degraded.message || degraded.reason}`,
      })
    return found
  })
  return problems.toSorted((one, other) => severity.indexOf(one.state) - severity.indexOf(other.state))
}
