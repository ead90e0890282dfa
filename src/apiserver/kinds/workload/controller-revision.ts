/** ControllerRevisions: a past template of a StatefulSet or DaemonSet. Immutable. */
import { isJsonObject } from '../../../kube/json.ts'
import { draftOf, finished } from '../strategy/draft.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { requiredField } from '../../../kube/validation/field-error.ts'
import { checkNotNegative } from '../values/value-validation.ts'
import { checkImmutable } from './workload-validation.ts'

export const controllerRevision: KindRules = {
  defaults: (object) => finished(draftOf(object)),
  validateCreate: ({ revision, data }) => [
    ...checkNotNegative(revision as number | undefined, 'revision'),
    ...(data === undefined || data === null
      ? [requiredField('data', 'data is mandatory')]
      : isJsonObject(data)
        ? []
        : [requiredField('data', 'data must be a valid JSON object')]),
  ],
  validateUpdate: ({ revision, data }, live) => [
    ...checkNotNegative(revision as number | undefined, 'revision'),
    ...checkImmutable(data, live['data'], 'data'),
  ],
}
