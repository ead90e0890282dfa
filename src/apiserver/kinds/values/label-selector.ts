/** Validation of labels and label selectors, wherever they occur in an object. */
import type { LabelSelectorSpec } from '../../../kube/selector/selector.ts'
import { labelValue, qualifiedNameProblems } from '../../../kube/validation/name-validation.ts'
import {
  eachInvalid,
  noErrors,
  forbiddenField,
  invalidField,
  type Problems,
  requiredField,
} from '../../../kube/validation/field-error.ts'
import type { SentObject } from '../strategy/sent.ts'

/** All errors of a map of labels are reported at the path of the map, not of the entry. */
export function checkLabels(labels: Readonly<Record<string, string>> | undefined, field: string): Problems {
  return [...labelProblems(labels ?? {}, field)]
}

function* labelProblems(labels: Readonly<Record<string, string>>, field: string): Iterable<Problems[number]> {
  for (const [name, value] of Object.entries(labels)) {
    yield* eachInvalid(field, name, qualifiedNameProblems(name))
    yield* eachInvalid(field, value, labelValue(value))
  }
}

export function checkLabelSelector(selector: SentObject<LabelSelectorSpec> | undefined, field: string): Problems {
  return selector ? [...selectorProblems(selector, field)] : noErrors
}

function* selectorProblems(
  { matchLabels, matchExpressions = [] }: SentObject<LabelSelectorSpec>,
  field: string,
): Iterable<Problems[number]> {
  yield* checkLabels(matchLabels, `${field}.matchLabels`)
  for (const [index, { key = '', operator = '', values = [] }] of matchExpressions.entries()) {
    const at = `${field}.matchExpressions[${index}]`
    yield* checkOperator(operator, values, at)
    yield* eachInvalid(`${at}.key`, key, qualifiedNameProblems(key))
    for (const [place, value] of values.entries()) {
      yield* eachInvalid(`${at}.values[${place}]`, value, labelValue(value))
    }
  }
}

function checkOperator(operator: string, values: readonly string[], field: string): Problems {
  switch (operator) {
    case 'In':
    case 'NotIn':
      return values.length > 0
        ? noErrors
        : [requiredField(`${field}.values`, "must be specified when `operator` is 'In' or 'NotIn'")]
    case 'Exists':
    case 'DoesNotExist':
      return values.length === 0
        ? noErrors
        : [forbiddenField(`${field}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")]
    default:
      return [invalidField(`${field}.operator`, operator, 'not a valid selector operator')]
  }
}

/** An empty selector, which selects everything. */
export function isEmptySelector(selector: LabelSelectorSpec | undefined): boolean {
  return Object.keys(selector?.matchLabels ?? {}).length + (selector?.matchExpressions ?? []).length === 0
}
