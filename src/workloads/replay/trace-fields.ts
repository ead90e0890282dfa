/** Fields of a trace, checked one by one, so that a mistake is named with its path. */
import { MusterError } from '../../kube/muster-error.ts'
import { type ResourceAmounts, resourceAmounts } from '../../kube/scheduling/pod-needs.ts'
import { nearest } from '../../kube/text/nearest.ts'
import { durationToMs, parseDuration } from '../../kube/units/duration.ts'
import { workloadErrors } from '../errors.ts'

export type TraceFields = Readonly<Record<string, unknown>>

export function fieldsOf(value: unknown, path: string, known?: readonly string[]): TraceFields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalidTrace(path, 'not an object')
  for (const name of known ? Object.keys(value) : []) {
    if (known!.includes(name)) continue
    const similar = nearest(name, known!)
    throw invalidTrace(`${path}.${name}`, `unknown field${similar === undefined ? '' : `; did you mean "${similar}"?`}`)
  }
  return value as TraceFields
}

export function traceList(value: unknown, path: string): readonly unknown[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw invalidTrace(path, 'not a list')
  return value
}

export function traceText(value: unknown, path: string): string {
  if (typeof value !== 'string') throw invalidTrace(path, 'not a string')
  return value
}

export function textsOf(value: unknown, path: string): Readonly<Record<string, string>> {
  const fields = fieldsOf(value ?? {}, path)
  return Object.fromEntries(Object.entries(fields).map(([name, text]) => [name, traceText(text, `${path}.${name}`)]))
}

export function numberOf(value: unknown, path: string): number {
  const number = typeof value === 'bigint' ? Number(value) : value
  if (typeof number !== 'number' || !Number.isFinite(number)) throw invalidTrace(path, 'not a number')
  return number
}

export function traceCount(value: unknown, path: string, missing: number): number {
  const count = numberOf(value ?? missing, path)
  if (!Number.isInteger(count) || count < 1) throw invalidTrace(path, 'not a whole number from 1')
  return count
}

export function msOf(value: unknown, path: string): number {
  try {
    const ms = durationToMs(parseDuration(traceText(value, path)))
    if (ms >= 0) return ms
  } catch {
    // Reported below.
  }
  throw invalidTrace(path, 'not a valid duration, such as 200ms, 90s or 2h')
}

export function amountsOf(value: unknown, path: string): ResourceAmounts {
  const fields = fieldsOf(value ?? {}, path)
  return new Map(Object.entries(fields).map(([name, quantity]) => [name, amountOf(name, quantity, `${path}.${name}`)]))
}

export function amountOf(resource: string, quantity: unknown, path: string): number {
  if (typeof quantity !== 'string' && typeof quantity !== 'number' && typeof quantity !== 'bigint')
    throw invalidTrace(path, 'not a quantity')
  const source = typeof quantity === 'bigint' ? String(quantity) : quantity
  try {
    const amount = resourceAmounts({ [resource]: source }).get(resource)!
    if (amount >= 0) return amount
  } catch {
    // Reported below.
  }
  throw invalidTrace(path, `"${source}" is not a valid quantity`)
}

export function invalidTrace(path: string, why: string): MusterError {
  return new MusterError(workloadErrors.InvalidTrace, `${path}: ${why}${why.endsWith('?') ? '' : '.'}`)
}

/** A flag that is left out is `missing`. */
export function flagOf(value: unknown, path: string, missing: boolean): boolean {
  if (value === undefined) return missing
  if (typeof value !== 'boolean') throw invalidTrace(path, 'neither true nor false')
  return value
}

export function wordOf<const Words extends readonly string[]>(
  value: unknown,
  path: string,
  words: Words,
): Words[number] | undefined {
  if (value === undefined) return undefined
  const word = words.find((one) => one === value)
  if (word === undefined) throw invalidTrace(path, `not one of ${words.join(', ')}`)
  return word
}
