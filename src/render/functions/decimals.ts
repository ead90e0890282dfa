/** Decimal arithmetic: `0.1 + 0.2` is `0.3`. */

import { GoError } from '../template/go-error.ts'

interface Decimal {
  /** The value is coefficient × 10^exponent. */
  readonly coefficient: bigint
  readonly exponent: number
}

/** Digits after the point that a division yields. */
const divisionDigits = 16

/** The shortest decimal that identifies the number. */
function decimalOf(value: number): Decimal {
  if (!Number.isFinite(value)) return { coefficient: 0n, exponent: 0 }
  const [mantissa = '0', exponent = '0'] = value.toExponential().split('e')
  const [whole = '0', fraction = ''] = mantissa.split('.')
  return { coefficient: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length }
}

function numberOf({ coefficient, exponent }: Decimal): number {
  return Number(`${coefficient}e${exponent}`)
}

export type DecimalOperation = '+' | '-' | '*' | '/'

/**
 * The operation between all numbers, from the left.
 * @throws GoError for a division by zero
 */
export function decimalFold(numbers: readonly number[], operation: DecimalOperation): number {
  return numberOf(numbers.map(decimalOf).reduce((a, b) => operate(a, operation, b)))
}

function operate(a: Decimal, operation: DecimalOperation, b: Decimal): Decimal {
  if (operation === '*') return { coefficient: a.coefficient * b.coefficient, exponent: a.exponent + b.exponent }
  if (operation === '/') return divide(a, b)
  const exponent = Math.min(a.exponent, b.exponent)
  const [x, y] = [scaled(a, exponent), scaled(b, exponent)]
  return { coefficient: operation === '+' ? x + y : x - y, exponent }
}

function scaled({ coefficient, exponent }: Decimal, target: number): bigint {
  return coefficient * 10n ** BigInt(exponent - target)
}

function divide(a: Decimal, b: Decimal): Decimal {
  if (b.coefficient === 0n) throw new GoError('decimal division by 0')
  const exponent = Math.min(a.exponent, b.exponent)
  const [x, y] = [scaled(a, exponent) * 10n ** BigInt(divisionDigits), scaled(b, exponent)]
  const quotient = x / y
  const rest = x % y
  const doubled = (rest < 0n ? -rest : rest) * 2n
  const isUp = doubled >= (y < 0n ? -y : y)
  const direction = x < 0n === y < 0n ? 1n : -1n
  return { coefficient: isUp ? quotient + direction : quotient, exponent: -divisionDigits }
}
