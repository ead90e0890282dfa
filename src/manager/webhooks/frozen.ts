/** Author code is shown objects, and cannot change them: all the way down. */
import type { Json } from '../../kube/json.ts'

/** The very value, frozen. Only for what nobody else holds. */
export function frozen<T extends Json>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const member of Object.values(value) as readonly Json[]) frozen(member)
  return Object.freeze(value)
}
