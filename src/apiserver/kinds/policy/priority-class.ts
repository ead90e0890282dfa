/** PriorityClasses: a named, immutable priority. The highest values are reserved for the system. */
import type { UntypedObject } from '../../../kube/object.ts'
import type { PriorityClass } from '../../../kube/types/scheduling/v1.ts'
import { draftOf, fillAbsent, finished } from '../strategy/draft.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import {
  forbiddenField,
  immutableDetail,
  invalidField,
  type Problems,
  unsupported,
} from '../../../kube/validation/field-error.ts'

const policies = ['PreemptLowerPriority', 'Never']
const highest = 1_000_000_000
const systemClasses: ReadonlyMap<string, number> = new Map([
  ['system-node-critical', 2_000_001_000],
  ['system-cluster-critical', 2_000_000_000],
])

function* check(object: UntypedObject): Iterable<Problems[number]> {
  const { value = 0, preemptionPolicy: policy, globalDefault, metadata } = object as unknown as PriorityClass
  const name = metadata?.name ?? ''
  if (name.startsWith('system-')) {
    const why = systemProblem(name, value, globalDefault === true)
    const reserved = "priority class names with 'system-' prefix are reserved for system use only. error: "
    if (why !== undefined) yield forbiddenField('metadata.name', reserved + why)
  } else if (value > highest) {
    yield forbiddenField('value', `maximum allowed value of a user defined priority is ${highest}`)
  }
  if (policy !== undefined && !policies.includes(policy)) yield unsupported('preemptionPolicy', policy, policies)
}

function systemProblem(name: string, value: number, isDefault: boolean): string | undefined {
  const known = systemClasses.get(name)
  if (known === undefined) return `${name} is not a known system priority class`
  if (known !== value) return `value of ${name} PriorityClass must be ${known}`
  return isDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined
}

export const priorityClassRules: KindRules = {
  defaults(object) {
    const draft = draftOf(object)
    fillAbsent(draft, { preemptionPolicy: 'PreemptLowerPriority' })
    return finished(draft)
  },
  validateCreate: (object) => [...check(object)],
  validateUpdate: (object, live) => [
    ...(object['value'] === live['value'] ? [] : [forbiddenField('value', 'may not be changed in an update.')]),
    ...(object['preemptionPolicy'] === live['preemptionPolicy']
      ? []
      : [invalidField('preemptionPolicy', object['preemptionPolicy'], immutableDetail)]),
  ],
}
