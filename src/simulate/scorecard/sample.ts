/** The default sample: a CR of each kind that the operator defines and reconciles. */
import { operatorErrors } from '../../operator/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { sampleOf } from '../../operator/kind/kind-sample.ts'
import type { Operator } from '../../operator/operator.ts'

/** One CR for each kind that the operator defines and has a controller for. @throws NoSample */
export function samplesOf(operator: Operator): readonly UntypedObject[] {
  return operator.controllers.map(({ kind }) => {
    const defined = operator.kinds.find((one) => one.kind === kind.kind && one.group === kind.group)
    if (!defined) {
      throw new MusterError(
        operatorErrors.NoSample,
        `${operator.name} is for ${kind.kind}, whose schema it does not define.`,
      )
    }
    return sampleOf(defined)
  })
}
