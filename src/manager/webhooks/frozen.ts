/** Author code gets deeply frozen objects. */
import type { Json } from '../../kube/json.ts'

/** Freezes the value itself. Only for values without other references. */
export function frozen<T extends Json>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const member of Object.values(value) as readonly Json[]) frozen(member)
  return Object.freeze(value)
}
