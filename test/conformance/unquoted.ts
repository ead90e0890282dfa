/**
 * An error response without its quotations: the patched object, in the order of Go's maps, and values in Go's debug format.
 * The API guarantees neither.
 */
import type { Json } from '../../src/kube/json.ts'

interface Masked {
  readonly status: number
  readonly body: Json
}

export function unquoted(masked: Masked): Masked {
  if (masked.status < 400) return masked
  const text = JSON.stringify(masked.body)
    .replaceAll(/Invalid value: \\"(?:\{|map\[).*?[\]}]\\": /g, 'Invalid value: QUOTED: ')
    .replaceAll(/expected string, got [^"]*/g, 'expected string')
    .replaceAll(/(?:unknown patch type|the strategic merge patch)[^"]*/g, 'PATCH TYPE')
  return { status: masked.status, body: JSON.parse(text) as Json }
}
