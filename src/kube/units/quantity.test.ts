import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { kubeErrors } from '../errors.ts'
import { isMusterError } from '../muster-error.ts'
import {
  addQuantities,
  compareQuantities,
  equalQuantities,
  formatQuantity,
  isZeroQuantity,
  makeQuantity,
  negateQuantity,
  parseQuantity,
  type Quantity,
  quantityToInteger,
  quantityToMilli,
  quantityToNumber,
  signOfQuantity,
  storedQuantity,
  subtractQuantities,
} from './quantity.ts'

const canonical = (text: string): string => formatQuantity(parseQuantity(text))

describe('parsing quantities', () => {
  it.each([
    ['0', '0'],
    ['1', '1'],
    ['+1', '1'],
    ['-1', '-1'],
    ['007', '7'],
    ['.5', '500m'],
    ['5.', '5'],
    ['1.500', '1500m'],
    ['-.5', '-500m'],
    ['1000', '1k'],
    ['1500', '1500'],
    ['1000000', '1M'],
    ['100m', '100m'],
    ['1000m', '1'],
    ['1n', '1n'],
    ['1000u', '1m'],
    ['12k', '12k'],
    ['1.2M', '1200k'],
    ['3G', '3G'],
    ['4T', '4T'],
    ['5P', '5P'],
    ['6E', '6E'],
    ['1Ki', '1Ki'],
    ['1024Ki', '1Mi'],
    ['1.5Gi', '1536Mi'],
    ['2Ti', '2Ti'],
    ['3Pi', '3Pi'],
    ['4Ei', '4Ei'],
    ['1e3', '1e3'],
    ['1E3', '1e3'],
    ['12e6', '12e6'],
    ['1e+2', '100'],
    ['1e-3', '1e-3'],
    ['15e-1', '1500e-3'],
    ['1e0', '1'],
    [' 1\u{a0}', '1'],
    ['12345678901234567890123', '12345678901234567890123'],
  ])('%o is %o', (text, expected) => {
    expect(canonical(text)).toBe(expected)
  })

  it.each([
    ['0.5Ki', '512', 'less than 1Ki needs no suffix'],
    ['1000Ki', '1000Ki', 'multiples of 1024 only'],
    ['1.1Ki', '1126400m', 'a fraction of a byte is written in milli'],
    ['0.0001Ki', '102400u', 'a part of one byte is decimal altogether'],
  ])('%o is %o: %s', (text, expected) => {
    expect(canonical(text)).toBe(expected)
  })

  it.each([
    ['0.1n', '1n'],
    ['-0.1n', '-1n'],
    ['1.0000000001', '1000000001n'],
    ['0.0000000001Ki', '103n'],
    ['1e-10', '1e-9'],
    ['1e-2000000000', '1e-9'],
  ])('%o is finer than nano and rounds up to %o', (text, expected) => {
    expect(canonical(text)).toBe(expected)
  })

  it('caps binary quantities, and only those, at the largest int64', () => {
    expect(canonical('8Ei')).toBe('9223372036854775807')
    expect(canonical('-8Ei')).toBe('-9223372036854775807')
    expect(canonical('9223372036854775808')).toBe('9223372036854775808')
    expect(canonical('10E')).toBe('10E')
  })

  it('keeps values beyond the largest suffix', () => {
    expect(canonical('1000E')).toBe('1000E')
    expect(canonical('1e21')).toBe('1e21')
  })

  it('parses missing digits as zero where the server does', () => {
    for (const text of ['k', '.', '+', '-', '.Ki', '+.m']) expect(canonical(text)).toBe('0')
    for (const text of ['Pi', 'e-10']) expect(() => parseQuantity(text)).toThrow('is not a quantity')
  })

  it('accepts JSON numbers', () => {
    expect(formatQuantity(parseQuantity(1.5))).toBe('1500m')
    expect(formatQuantity(parseQuantity(1e21))).toBe('1e21')
    expect(formatQuantity(parseQuantity(9007199254740993n))).toBe('9007199254740993')
  })

  it.each([
    '',
    ' ',
    '1 Gi',
    '1i',
    '1K',
    '1ki',
    '1GI',
    '1e',
    '1e+',
    '1ee3',
    '1e1.5',
    '1.2.3',
    '--1',
    '0x10',
    '1_000',
    '1,5',
  ])('%o is rejected', (text) => {
    expect(() => parseQuantity(text)).toThrow(
      expect.toSatisfy(
        (error) => isMusterError(error, kubeErrors.InvalidQuantity) && error.message.includes(`"${text}"`),
      ),
    )
  })

  it.each([Number.NaN, Number.POSITIVE_INFINITY, '\t1', `1e${2n ** 63n}`])('%o is rejected too', (source) => {
    expect(() => parseQuantity(source)).toThrow(
      expect.toSatisfy((error) => isMusterError(error, kubeErrors.InvalidQuantity)),
    )
  })

  it('rejects long invalid text in linear time', () => {
    expect(() => parseQuantity(`${'0'.repeat(200_000)}x`)).toThrow('is not a quantity')
    expect(() => parseQuantity(`1${' '.repeat(200_000)}x`)).toThrow('is not a quantity')
  })
})

describe('the canonical form of the server', () => {
  it.each([
    ['1.500', '1.500'],
    ['+1', '+1'],
    ['+1n', '+1n'],
    ['01', '01'],
    ['1E3', '1E3'],
    ['3Ki', '3Ki'],
    [' 3Ki ', '3Ki'],
    ['0.500', '500m'],
    ['1.5', '1500m'],
    ['1000', '1k'],
    ['1024Ki', '1Mi'],
    ['+1.5Ki', '1536'],
    ['12345678901234567890', '12345678901234567890'],
    ['0', '0'],
  ])('%o is formatted as %o', (text, expected) => {
    expect(storedQuantity(text)).toBe(expected)
  })
})

describe('arithmetic of quantities', () => {
  const sum = (a: string, b: string): string => formatQuantity(addQuantities(parseQuantity(a), parseQuantity(b)))

  it.each([
    ['1Gi', '512Mi', '1536Mi'],
    ['100m', '1', '1100m'],
    ['0.1', '0.2', '300m'],
    ['1Gi', '1', '1073741825'],
    ['1Gi', '100m', '1073741824100m'],
    ['1', '1Ki', '1025'],
    ['1M', '1Ki', '1001024'],
    ['1e3', '1', '1001'],
    ['9223372036854775807', '1', '9223372036854775808'],
  ])('%s and %s are %s', (a, b, expected) => {
    expect(sum(a, b)).toBe(expected)
  })

  it('keeps the format of the left operand, unless that is zero', () => {
    expect(addQuantities(parseQuantity('1'), parseQuantity('1Ki')).format).toBe('DecimalSI')
    expect(addQuantities(parseQuantity('0'), parseQuantity('1Ki')).format).toBe('BinarySI')
    expect(subtractQuantities(parseQuantity('0'), parseQuantity('1e3')).format).toBe('DecimalExponent')
    expect(subtractQuantities(parseQuantity('1Ki'), parseQuantity('1k')).format).toBe('BinarySI')
    expect(addQuantities(parseQuantity('0Ki'), parseQuantity('0')).format).toBe('DecimalSI')
  })

  it('compares across suffixes', () => {
    expect(compareQuantities(parseQuantity('1Ki'), parseQuantity('1024'))).toBe(0)
    expect(compareQuantities(parseQuantity('1k'), parseQuantity('1Ki'))).toBe(-1)
    expect(compareQuantities(parseQuantity('-1'), parseQuantity('-2'))).toBe(1)
    expect(compareQuantities(parseQuantity('-1'), parseQuantity('1n'))).toBe(-1)
    expect(compareQuantities(parseQuantity('0'), parseQuantity('0Ki'))).toBe(0)
    expect(compareQuantities(parseQuantity('1e2000000000'), parseQuantity('1'))).toBe(1)
    expect(compareQuantities(parseQuantity('-1e2000000000'), parseQuantity('1e2000000000'))).toBe(-1)
  })

  it('rejects numbers of excessive length', () => {
    const huge = parseQuantity('1e2000000000')
    expect(() => addQuantities(huge, parseQuantity('1'))).toThrow(/too large/)
    expect(() => quantityToInteger(huge)).toThrow(/too large/)
    expect(formatQuantity(huge)).toBe('100e1999999998')
    expect(quantityToNumber(huge)).toBe(Number.POSITIVE_INFINITY)
  })

  it('rounds integers and thousandths up, away from zero', () => {
    expect(quantityToInteger(parseQuantity('1.1'))).toBe(2n)
    expect(quantityToInteger(parseQuantity('-1.1'))).toBe(-2n)
    expect(quantityToInteger(parseQuantity('1n'))).toBe(1n)
    expect(quantityToInteger(parseQuantity('0'))).toBe(0n)
    expect(quantityToInteger(parseQuantity('4Ei'))).toBe(2n ** 62n)
    expect(quantityToMilli(parseQuantity('1.5'))).toBe(1500n)
    expect(quantityToMilli(parseQuantity('1u'))).toBe(1n)
    expect(quantityToMilli(parseQuantity('8Ei'))).toBe((2n ** 63n - 1n) * 1000n)
  })

  it('detects zero in every format', () => {
    for (const text of ['0', '0Ki', '0e9', '-0', '0.000']) {
      expect(isZeroQuantity(parseQuantity(text))).toBe(true)
      expect(signOfQuantity(parseQuantity(text))).toBe(0)
    }
    expect(isZeroQuantity(parseQuantity('1n'))).toBe(false)
  })

  it('creates quantities from numbers', () => {
    expect(formatQuantity(makeQuantity(1500, { exponent: -3 }))).toBe('1500m')
    expect(formatQuantity(makeQuantity(2n ** 30n, { format: 'BinarySI' }))).toBe('1Gi')
    expect(formatQuantity(makeQuantity(1, { exponent: -12 }))).toBe('1n')
    expect(makeQuantity(100)).toEqual(makeQuantity(1, { exponent: 2 }))
  })
})

const quantities: fc.Arbitrary<Quantity> = fc
  .tuple(
    fc.bigInt(-(2n ** 80n), 2n ** 80n),
    fc.integer({ min: -9, max: 12 }),
    fc.constantFrom('DecimalSI' as const, 'BinarySI' as const, 'DecimalExponent' as const),
  )
  .map(([mantissa, exponent, format]) => makeQuantity(mantissa, { exponent, format }))

/** The same number in nano, to check against plain integer arithmetic. */
const nano = ({ mantissa, exponent }: Quantity): bigint => mantissa * 10n ** BigInt(exponent + 9)

describe('laws of quantities', () => {
  it('canonical text has no fraction and parses to the same number', () => {
    const limit = (2n ** 63n - 1n) * 10n ** 9n
    const uncapped = quantities.filter(
      (quantity) => quantity.format !== 'BinarySI' || (nano(quantity) <= limit && nano(quantity) >= -limit),
    )
    fc.assert(
      fc.property(uncapped, (quantity) => {
        const text = formatQuantity(quantity)
        expect(text).toMatch(/^-?\d+([numkMGTPE]|[KMGTPE]i|e-?\d+)?$/)
        expect(nano(parseQuantity(text))).toBe(nano(quantity))
      }),
    )
  })

  it('decimal text round-trips', () => {
    const decimal = quantities.filter(({ format }) => format !== 'BinarySI')
    fc.assert(
      fc.property(decimal, (quantity) => {
        const text = formatQuantity(quantity)
        expect(canonical(text)).toBe(text)
      }),
    )
  })

  it('arithmetic equals that of integers', () => {
    fc.assert(
      fc.property(quantities, quantities, (a, b) => {
        expect(nano(addQuantities(a, b))).toBe(nano(a) + nano(b))
        expect(nano(subtractQuantities(a, b))).toBe(nano(a) - nano(b))
        expect(nano(negateQuantity(a))).toBe(-nano(a))
        expect(compareQuantities(a, b)).toBe(nano(a) < nano(b) ? -1 : nano(a) > nano(b) ? 1 : 0)
        expect(equalQuantities(a, b)).toBe(nano(a) === nano(b))
        expect(isZeroQuantity(a)).toBe(nano(a) === 0n)
        expect(signOfQuantity(a)).toBe(nano(a) < 0n ? -1 : nano(a) > 0n ? 1 : 0)
      }),
    )
  })

  it('whole units are the least integer that is not smaller', () => {
    fc.assert(
      fc.property(quantities, (quantity) => {
        const magnitude = quantity.mantissa < 0n ? negateQuantity(quantity) : quantity
        const whole = quantityToInteger(magnitude)
        expect(whole * 10n ** 9n).toBeGreaterThanOrEqual(nano(magnitude))
        expect((whole - 1n) * 10n ** 9n).toBeLessThan(nano(magnitude) === 0n ? 1n : nano(magnitude))
        expect(quantityToInteger(negateQuantity(magnitude))).toBe(-whole)
      }),
    )
  })

  it('the nearest floating-point number is that of its text', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: -9, max: 9 }), (mantissa, exponent) => {
        expect(quantityToNumber(makeQuantity(mantissa, { exponent }))).toBeCloseTo(mantissa * 10 ** exponent, 3)
      }),
    )
    expect(quantityToNumber(parseQuantity('100m'))).toBe(0.1)
    expect(quantityToNumber(parseQuantity('9007199254740993'))).toBe(9007199254740992)
  })
})
