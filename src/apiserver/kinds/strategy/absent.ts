/** Go serializes a required list without items as `null`. Rules treat it as absent: they get objects without nulls. */
import { isJsonObject, type Json } from '../../../kube/json.ts'
import { isJsonArray } from '../../../kube/json-member.ts'
import type { KindRules } from './kind-rules.ts'

/** The value without null members; the same value if it has none. */
export function withoutNullMembers<T>(value: T): T {
  return cleaned(value as unknown as Json) as unknown as T
}

function cleaned(value: Json): Json {
  if (isJsonArray(value)) {
    const items = value.map(cleaned)
    return items.some((item, index) => item !== value[index]) ? items : value
  }
  if (!isJsonObject(value)) return value
  // Metadata is validated for all kinds alike.
  const clean = (name: string, member: Json): Json => (name === 'metadata' ? member : cleaned(member))
  for (const name in value) {
    const member = value[name]
    if (member === undefined || (member !== null && clean(name, member) === member)) continue
    const kept = Object.entries(value).filter(([, one]) => one !== null && one !== undefined) as [string, Json][]
    return Object.fromEntries(kept.map(([one, is]) => [one, clean(one, is)]))
  }
  return value
}

/** The same rules, whose validation gets objects without nulls. */
export function ignoringNulls(rules: KindRules): KindRules {
  const { validateCreate, validateUpdate, validateStatus } = rules
  return {
    ...rules,
    ...(validateCreate && { validateCreate: (object, context) => validateCreate(withoutNullMembers(object), context) }),
    ...(validateUpdate && {
      validateUpdate: (object, live, context) =>
        validateUpdate(withoutNullMembers(object), withoutNullMembers(live), context),
    }),
    ...(validateStatus && {
      validateStatus: (object, live, context) =>
        validateStatus(withoutNullMembers(object), withoutNullMembers(live), context),
    }),
  }
}
