/** The text of an untrusted scalar. Other values have no text: a required one is then reported as missing. */
import type { Json } from '../../kube/json.ts'

export function scalarText(value: Json | undefined): string {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean' ? String(value) : ''
}
