/** RuntimeClasses: the container runtime of a pod, its overhead, and the nodes that support it. */
import type { UntypedObject } from '../../../kube/object.ts'
import type { RuntimeClass } from '../../../kube/types/node/v1.ts'
import { roundResources } from '../container/container-defaults.ts'
import { draftOf, finished, part } from '../strategy/draft.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { checkLabels } from '../values/label-selector.ts'
import { dnsLabel } from '../../../kube/validation/name-validation.ts'
import {
  duplicate,
  eachInvalid,
  immutableDetail,
  invalidField,
  type Problems,
  requiredField,
} from '../../../kube/validation/field-error.ts'
import { checkContainerResourceName, checkRequirements } from '../container/resource-validation.ts'
import { checkTolerations } from '../pod/scheduling-validation.ts'
import { repeatedValues } from '../../../kube/validation/repetition.ts'

function* check(object: UntypedObject): Iterable<Problems[number]> {
  const { handler, overhead, scheduling } = object as unknown as RuntimeClass
  if (overhead?.podFixed)
    yield* checkRequirements({ limits: overhead.podFixed }, 'overhead', checkContainerResourceName, new Set())
  if (scheduling) {
    const { nodeSelector, tolerations = [] } = scheduling
    const keys = tolerations.map(({ key, operator, value, effect }) => `${key}/${operator}/${value}/${effect}`)
    yield* checkLabels(nodeSelector, 'scheduling.nodeSelector')
    yield* checkTolerations(tolerations, 'scheduling.tolerations')
    for (const index of repeatedValues(keys)) {
      yield duplicate(`scheduling.tolerations[${index}]`, shown(tolerations[index]!))
    }
  }
  if (handler) yield* eachInvalid('handler', handler, dnsLabel(handler))
  else yield requiredField('handler')
}

/** The object with Go's field names. */
function shown({
  key,
  operator,
  value,
  effect,
  tolerationSeconds,
}: NonNullable<NonNullable<RuntimeClass['scheduling']>['tolerations']>[number]): unknown {
  return {
    Key: key ?? '',
    Operator: operator ?? '',
    Value: value ?? '',
    Effect: effect ?? '',
    TolerationSeconds: tolerationSeconds ?? null,
  }
}

export const runtimeClassRules: KindRules = {
  defaults(object) {
    const draft = draftOf(object)
    roundResources(part(part(draft, 'overhead'), 'podFixed'))
    return finished(draft)
  },
  validateCreate: (object) => [...check(object)],
  validateUpdate(object, live) {
    const problems = [...check(object)]
    // A missing handler is reported last.
    const missing = problems.filter(({ field }) => field === 'handler' && !object['handler'])
    const wrong = problems.filter((problem) => !missing.includes(problem))
    const changed = object['handler'] === live['handler'] ? [] : [invalidField('handler', null, immutableDetail)]
    return [...wrong, ...changed, ...missing]
  },
}
