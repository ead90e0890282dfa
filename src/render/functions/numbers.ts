/** sprig's functions for numbers. Arithmetic is on `int64` unless the name ends in `f`. */
import { type FunctionTable, goFunction, type GoFunction } from '../template/function-type.ts'
import { formatPlain } from '../template/format-value.ts'
import { runtimeError } from '../template/go-error.ts'
import { int64, withType } from '../template/values.ts'
import { decimalFold, type DecimalOperation } from './decimals.ts'
import { parseInBase } from './go-numbers.ts'
import { toFloat64, toInt64 } from './string-value.ts'

type Values = readonly unknown[]

function fold(combine: (a: bigint, b: bigint) => bigint): GoFunction {
  return goFunction('any ...any', (args: Values) =>
    int64(args.map(toInt64).reduce((a, b) => BigInt.asIntN(64, combine(a, b)))),
  )
}

function pair(combine: (a: bigint, b: bigint) => bigint): GoFunction {
  return goFunction('any any', ([a, b]: Values) => int64(combine(toInt64(a), toInt64(b))))
}

function decimals(operation: DecimalOperation): GoFunction {
  return goFunction('any ...any', (args: Values) => decimalFold(args.map(toFloat64), operation))
}

function notZero(divisor: bigint): bigint {
  if (divisor === 0n) throw runtimeError('integer divide by zero')
  return divisor
}

const largest = fold((a, b) => (b > a ? b : a))

export const numberFunctions: FunctionTable = new Map<string, GoFunction>([
  ['atoi', goFunction('string', ([text]: [string]) => parseInBase(text, 10) ?? 0n)],
  ['int', goFunction('any', ([value]: Values) => toInt64(value))],
  ['int64', goFunction('any', ([value]: Values) => int64(toInt64(value)))],
  ['float64', goFunction('any', ([value]: Values) => toFloat64(value))],
  ['toDecimal', goFunction('any', ([value]: Values) => int64(parseInBase(formatPlain(value), 8) ?? 0n))],
  ['add1', goFunction('any', ([value]: Values) => int64(toInt64(value) + 1n))],
  ['add', goFunction('...any', (args: Values) => int64(args.map(toInt64).reduce((a, b) => a + b, 0n)))],
  ['sub', pair((a, b) => a - b)],
  ['div', pair((a, b) => a / notZero(b))],
  ['mod', pair((a, b) => a % notZero(b))],
  ['mul', fold((a, b) => a * b)],
  ['max', largest],
  ['biggest', largest],
  ['min', fold((a, b) => (b < a ? b : a))],
  ['maxf', goFunction('any ...any', (args: Values) => args.map(toFloat64).reduce((a, b) => Math.max(a, b)))],
  ['minf', goFunction('any ...any', (args: Values) => args.map(toFloat64).reduce((a, b) => Math.min(a, b)))],
  ['add1f', goFunction('any', ([value]: Values) => decimalFold([toFloat64(value), 1], '+'))],
  ['addf', goFunction('...any', (args: Values) => decimalFold([0, ...args.map(toFloat64)], '+'))],
  ['subf', decimals('-')],
  ['divf', decimals('/')],
  ['mulf', decimals('*')],
  ['floor', goFunction('any', ([value]: Values) => Math.floor(toFloat64(value)))],
  ['ceil', goFunction('any', ([value]: Values) => Math.ceil(toFloat64(value)))],
  [
    'round',
    goFunction('any int ...float64', ([value, places, on]: [unknown, bigint, number?]) =>
      round(toFloat64(value), Number(places), on ?? 0.5),
    ),
  ],
  [
    'until',
    goFunction('int', ([count]: [bigint], { budget }) =>
      ints(steps(0n, count, count < 0n ? -1n : 1n, (length) => budget.step(length))),
    ),
  ],
  [
    'untilStep',
    goFunction('int int int', ([start, stop, step]: [bigint, bigint, bigint], { budget }) =>
      ints(steps(start, stop, step, (length) => budget.step(length))),
    ),
  ],
  [
    'seq',
    goFunction('...int', (args: readonly bigint[], { budget }) => sequence(args, (length) => budget.step(length))),
  ],
])

function ints(values: bigint[]): bigint[] {
  return withType(values, '[]int')
}

function round(value: number, places: number, on: number): number {
  const power = 10 ** places
  const digit = power * value
  const rest = digit - Math.trunc(digit)
  return (rest >= on ? Math.ceil(digit) : Math.floor(digit)) / power
}

function steps(start: bigint, stop: bigint, step: bigint, spend: (length: number) => void): bigint[] {
  const isDown = stop < start
  if (step === 0n || isDown !== step < 0n) return []
  const distance = isDown ? start - stop : stop - start
  const stride = isDown ? -step : step
  const length = (distance + stride - 1n) / stride
  spend(Number(length))
  return Array.from({ length: Number(length) }, (_, index) => start + BigInt(index) * step)
}

function sequence(args: readonly bigint[], spend: (length: number) => void): string {
  const [first, second, third] = args
  if (first === undefined || args.length > 3) return ''
  if (second === undefined) {
    const increment = first < 1n ? -1n : 1n
    return steps(1n, first + increment, increment, spend).join(' ')
  }
  if (third === undefined) {
    const step = second < first ? -1n : 1n
    return steps(first, second + step, step, spend).join(' ')
  }
  const isDown = third < first
  if (isDown && second > 0n) return ''
  return steps(first, third + (isDown ? -1n : 1n), second, spend).join(' ')
}
