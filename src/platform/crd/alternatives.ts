/**
 * allOf, anyOf, oneOf and not. A conjunct less, an alternative more, or none of them at all: each accepts more. The opposite
 * accepts less. Whether one alternative contains another is not decided here.
 */
import { equalJson } from '../../kube/json.ts'
import { asJson } from '../../kube/json-object.ts'
import type { JSONSchemaProps } from '../../kube/types/apiextensions/v1.ts'
import { type ChangeReport, reportChange, type ChangePlace } from './unsafe-change.ts'

export function compareAlternatives(
  before: JSONSchemaProps,
  after: JSONSchemaProps,
  place: ChangePlace,
  report: ChangeReport,
): void {
  const changed = (key: 'allOf' | 'anyOf' | 'oneOf' | 'not', isAdded: boolean): void =>
    reportChange(
      report,
      place,
      { key, before, after },
      isAdded
        ? { change: `${key} is added`, why: 'stored objects that do not satisfy it are refused when they are updated' }
        : {
            change: `${key} changes`,
            why: 'whether it accepts everything that it accepted cannot be judged',
            verdict: 'unjudged',
          },
    )
  if (!contains(before.allOf, after.allOf)) changed('allOf', !before.allOf?.length)
  // An empty list of alternatives is none.
  if (after.anyOf?.length && !(before.anyOf?.length && contains(after.anyOf, before.anyOf)))
    changed('anyOf', !before.anyOf?.length)
  if (after.oneOf?.length && !sameAlternatives(before.oneOf, after.oneOf)) changed('oneOf', !before.oneOf?.length)
  if (after.not && !(before.not && isEqual(before.not, after.not))) changed('not', !before.not)
}

/** Whether each of `some` is one of `all`. */
function contains(all: readonly JSONSchemaProps[] = [], some: readonly JSONSchemaProps[] = []): boolean {
  return some.every((one) => all.some((other) => isEqual(one, other)))
}

/** Two alternatives that are alike make oneOf fail: the number counts, too. */
function sameAlternatives(one: readonly JSONSchemaProps[] = [], other: readonly JSONSchemaProps[] = []): boolean {
  return one.length === other.length && contains(one, other) && contains(other, one)
}

function isEqual(one: JSONSchemaProps, other: JSONSchemaProps): boolean {
  return equalJson(asJson(one), asJson(other))
}
