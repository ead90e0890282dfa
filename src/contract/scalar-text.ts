/** The text of a scalar that somebody else wrote. What is none has no text: whoever needs one finds it missing. */
import type { Json } from '../kube/json.ts'

export function scalarText(value: Json | undefined): string {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean' ? String(value) : ''
}
