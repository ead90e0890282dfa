/** `quantity('1.5Gi')`: resource quantities in expressions. */
import { kubeErrors } from '../../errors.ts'
import { isMusterError } from '../../muster-error.ts'
import {
  type Quantity,
  addQuantities,
  compareQuantities,
  makeQuantity,
  parseQuantity,
  quantityToInteger,
  quantityToNumber,
  signOfQuantity,
  subtractQuantities,
} from '../../units/quantity.ts'
import { CelRuntimeError } from '../value/error.ts'
import { type CelFunction, byLength, fixedCost, functionNamed } from './function.ts'
import { boolType, doubleType, intType, objectTypeNamed, stringType, type CelType } from '../value/type.ts'
import { CelDouble, type CelInt, CelOpaque, type CelValue, intOf } from '../value/value.ts'

export const quantityType: CelType = objectTypeNamed('kubernetes.Quantity')

export interface QuantityValue {
  readonly quantity: Quantity
  /** The result of `add` or `sub`. */
  readonly isComputed: boolean
  /** The server holds it as a 64-bit integer times 10 to this power; undefined: in a form that is never an integer. */
  readonly scale: number | undefined
}

const read = (value: CelValue | undefined): QuantityValue => (value as CelOpaque).content as QuantityValue
const ofInt = (value: CelValue | undefined): QuantityValue => ({
  quantity: makeQuantity(value as CelInt, { format: 'DecimalExponent' }),
  isComputed: false,
  scale: 0,
})

/** Digits end at the first other character, which must be a letter or a sign. */
const shape = /^[+-]?\d*(?:\.\d*)?(?<suffix>(?:[eEinumkKMGTP]+[-+]?\d*|[-+]\d*)?)$/
const suffixes = /^(?:[numkMGTPE]|[KMGTPE]i|[eE][-+]?\d+)?$/

function parse(text: string): CelValue {
  if (!isQuantity(text)) throw new CelRuntimeError(problemOf(text))
  return new CelOpaque(quantityType, {
    quantity: parseQuantity(text),
    isComputed: false,
    scale: scaleOf(text),
  } satisfies QuantityValue)
}

const powers: ReadonlyMap<string, number> = new Map(
  ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'].map((suffix, index) => [suffix, index * 3 - 9]),
)
const binary = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']

/** Up to 18 digits, no finer than nano: that certainly fits into 64 bits. */
function scaleOf(text: string): number | undefined {
  const [, whole = '', fraction = '', suffix = ''] = /^[+-]?0*((?:[1-9]\d*)?)(?:\.(\d*))?([^]*)$/.exec(text)!
  const digits = whole.length + fraction.length
  if (binary.includes(suffix)) {
    const bits = (binary.indexOf(suffix) + 1) * 10
    return fraction === '' && digits + Math.trunc((bits * 3) / 10) <= 14 ? 0 : undefined
  }
  const scale = (powers.get(suffix) ?? Number(suffix.slice(1))) - fraction.length
  return digits <= 18 && scale >= -9 ? scale : undefined
}

/** The server's message for an invalid quantity. */
function problemOf(text: string): string {
  const suffix = text === '' ? undefined : shape.exec(text)?.groups?.['suffix']
  if (suffix === undefined) {
    return "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
  }
  return suffixes.test(suffix) ? 'unable to parse numeric part of quantity' : "unable to parse quantity's suffix"
}

function isQuantity(text: string): boolean {
  // White space is allowed in JSON, not in expressions.
  if (!shape.test(text)) return false
  try {
    parseQuantity(text)
    return true
  } catch (error) {
    if (isMusterError(error, kubeErrors.InvalidQuantity)) return false
    throw error
  }
}

/** undefined: it has a fraction, exceeds 64 bits, or has a notation in which the server does not detect that it is integral. */
function integerOf({ quantity, scale }: QuantityValue): CelInt | undefined {
  if (scale === undefined || scale < 0) return undefined
  const value = scale > 18 && quantity.mantissa !== 0n ? undefined : quantityToInteger(quantity)
  return value !== undefined && value >= -(2n ** 63n) && value < 2n ** 63n ? intOf(value) : undefined
}

const isZero = ({ quantity }: QuantityValue): boolean => quantity.mantissa === 0n

function combine(a: QuantityValue, b: QuantityValue, quantity: Quantity): CelValue {
  const scale = isZero(b) ? a.scale : isZero(a) ? b.scale : smaller(a.scale, b.scale)
  return new CelOpaque(quantityType, { quantity, isComputed: true, scale } satisfies QuantityValue)
}

function smaller(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : Math.min(a, b)
}

const add = (a: QuantityValue, b: QuantityValue): CelValue => combine(a, b, addQuantities(a.quantity, b.quantity))
const subtract = (a: QuantityValue, b: QuantityValue): CelValue =>
  combine(a, b, subtractQuantities(a.quantity, b.quantity))
const compare = (a: CelValue | undefined, b: CelValue | undefined): number =>
  compareQuantities(read(a).quantity, read(b).quantity)

const q = quantityType

export const quantityFunctions: readonly CelFunction[] = [
  functionNamed('quantity', [
    {
      id: 'string_to_quantity',
      params: [stringType],
      result: q,
      call: ([text]) => parse(text as string),
      cost: byLength(0, 0.1),
    },
  ]),
  functionNamed('isQuantity', [
    {
      id: 'is_quantity_string',
      params: [stringType],
      result: boolType,
      call: ([text]) => isQuantity(text as string),
      cost: byLength(0, 0.1),
    },
  ]),
  functionNamed('sign', [
    {
      id: 'quantity_sign',
      params: [q],
      result: intType,
      call: ([a]) => signOfQuantity(read(a).quantity),
      cost: fixedCost(1),
    },
  ]),
  functionNamed('isGreaterThan', [
    {
      id: 'quantity_is_greater_than',
      member: true,
      params: [q, q],
      result: boolType,
      call: ([a, b]) => compare(a, b) > 0,
    },
  ]),
  functionNamed('isLessThan', [
    {
      id: 'quantity_is_less_than',
      member: true,
      params: [q, q],
      result: boolType,
      call: ([a, b]) => compare(a, b) < 0,
    },
  ]),
  functionNamed('compareTo', [
    {
      id: 'quantity_compare_to',
      member: true,
      params: [q, q],
      result: intType,
      call: ([a, b]) => compare(a, b),
    },
  ]),
  functionNamed('asApproximateFloat', [
    {
      id: 'quantity_get_float',
      member: true,
      params: [q],
      result: doubleType,
      call: ([a]) => new CelDouble(quantityToNumber(read(a).quantity)),
    },
  ]),
  functionNamed('asInteger', [
    {
      id: 'quantity_get_int',
      member: true,
      params: [q],
      result: intType,
      call: ([a]) => {
        const value = integerOf(read(a))
        if (value === undefined) throw new CelRuntimeError('cannot convert value to integer')
        return value
      },
    },
  ]),
  functionNamed('isInteger', [
    {
      id: 'quantity_is_integer',
      member: true,
      params: [q],
      result: boolType,
      call: ([a]) => integerOf(read(a)) !== undefined,
    },
  ]),
  functionNamed('add', [
    {
      id: 'quantity_add',
      member: true,
      params: [q, q],
      result: q,
      call: ([a, b]) => add(read(a), read(b)),
    },
    {
      id: 'quantity_add_int',
      member: true,
      params: [q, intType],
      result: q,
      call: ([a, b]) => add(read(a), ofInt(b)),
    },
  ]),
  functionNamed('sub', [
    {
      id: 'quantity_sub',
      member: true,
      params: [q, q],
      result: q,
      call: ([a, b]) => subtract(read(a), read(b)),
    },
    {
      id: 'quantity_sub_int',
      member: true,
      params: [q, intType],
      result: q,
      call: ([a, b]) => subtract(read(a), ofInt(b)),
    },
  ]),
]
