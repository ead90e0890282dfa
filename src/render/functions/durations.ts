/** Helm's functions for durations. */
import { type FunctionTable, goFunction, type GoFunction } from '../template/function-type.ts'
import { formatPlain, quoteGoText } from '../template/format-value.ts'
import { GoError } from '../template/go-error.ts'
import { GoInteger, int64, integerValue, isInteger, typeOf } from '../template/values.ts'
import { readDuration } from './time/go-duration.ts'
import { parseDecimalFloat } from './go-numbers.ts'
import { trimSpace } from './go-strings.ts'

const second = 1_000_000_000n
const longest = 2n ** 63n - 1n

function duration(length: bigint): GoInteger {
  return new GoInteger('time.Duration', BigInt.asIntN(64, length))
}

/** Nanoseconds of a duration, of its text, or of a number of seconds. @throws GoError */
function nanoseconds(value: unknown): bigint {
  if (value instanceof GoInteger && value.type === 'time.Duration') return value.value
  if (typeof value === 'string') return fromText(value)
  if ((value ?? null) === null) throw new GoError('invalid duration')
  if (typeof value === 'number') return fromFloat(value)
  if (!isInteger(value)) throw new GoError(`unsupported duration type ${typeOf(value)}`)
  const seconds = integerValue(value)
  if (seconds > longest / second || seconds < -(longest / second)) {
    throw new GoError(`duration seconds overflow: ${seconds}`)
  }
  return seconds * second
}

function fromText(value: string): bigint {
  const text = trimSpace(value)
  if (text === '') throw new GoError('empty duration')
  try {
    return readDuration(text)
  } catch (error) {
    if (!(error instanceof GoError)) throw error
    const seconds = parseDecimalFloat(text)
    if (seconds === undefined) throw new GoError(`could not parse duration ${quoteGoText(value)}`)
    return fromFloat(seconds)
  }
}

function fromFloat(seconds: number): bigint {
  if (!Number.isFinite(seconds)) throw new GoError(`invalid duration seconds: ${formatPlain(seconds)}`)
  if (Math.abs(seconds) > Number(longest) / 1e9) throw new GoError(`duration seconds overflow: ${formatPlain(seconds)}`)
  return BigInt.asIntN(64, BigInt(Math.trunc(seconds * 1e9)))
}

/** Zero if it is not a duration. */
function lenient(value: unknown): bigint {
  return attempt(value) ?? 0n
}

function attempt(value: unknown): bigint | undefined {
  try {
    return nanoseconds(value)
  } catch (error) {
    if (error instanceof GoError) return undefined
    throw error
  }
}

function measured(measure: (length: bigint) => unknown): GoFunction {
  return goFunction('any', ([value]: readonly unknown[]) => measure(lenient(value)))
}

/** Whole units and the rest are divided separately, as in Go. */
function inUnits(value: bigint, unit: bigint): number {
  return Number(value / unit) + Number(value % unit) / Number(unit)
}

const hour = 3600n * second

export const durationFunctions: FunctionTable = new Map<string, GoFunction>([
  ['mustToDuration', goFunction('any', ([value]: readonly unknown[]) => duration(nanoseconds(value)))],
  ['durationNanoseconds', measured(int64)],
  ['durationMicroseconds', measured((value) => int64(value / 1000n))],
  ['durationMilliseconds', measured((value) => int64(value / 1_000_000n))],
  ['durationSeconds', measured((value) => inUnits(value, second))],
  ['durationMinutes', measured((value) => inUnits(value, 60n * second))],
  ['durationHours', measured((value) => inUnits(value, hour))],
  ['durationDays', measured((value) => inUnits(value, hour) / 24)],
  ['durationWeeks', measured((value) => inUnits(value, hour) / 24 / 7)],
  ['durationRoundTo', multiples(rounded)],
  ['durationTruncateTo', multiples((value, unit) => (unit <= 0n ? value : value - (value % unit)))],
])

function multiples(adjust: (value: bigint, unit: bigint) => bigint): GoFunction {
  return goFunction('any any', ([value, unit]: readonly unknown[]) => {
    const whole = attempt(value)
    if (whole === undefined) return duration(0n)
    const step = attempt(unit)
    return duration(step === undefined ? whole : adjust(whole, step))
  })
}

/** To the nearest multiple, halves away from zero. */
function rounded(value: bigint, unit: bigint): bigint {
  if (unit <= 0n) return value
  const rest = value % unit
  const magnitude = rest < 0n ? -rest : rest
  if (magnitude * 2n < unit) return value - rest
  const up = value < 0n ? value - rest - unit : value - rest + unit
  return up > longest ? longest : up < -longest - 1n ? -longest - 1n : up
}
