/** Quantities as people write them, well and badly. What the real API server makes of them is in `../quantities.json`. */

/** How the server reads one text. */
export interface QuantityVector {
  readonly name: string
  readonly text: string
  /** How it comes back from the server; absent when it is refused. A text already canonical to it stays as written. */
  readonly answer?: string
  /** What CEL says of it; unlike the decoder it does not trim blanks. */
  readonly cel?: { readonly sign: number; readonly integer: string | null }
}

/** `signs[i]` compares `text` with `others[i]`. */
export interface QuantityOrderVector {
  readonly name: string
  readonly text: string
  readonly others: readonly string[]
  readonly signs: readonly number[]
}

/** Whether the server agrees that `a + b = sum` and `a - b = difference`. */
export interface QuantityArithmeticVector {
  readonly name: string
  readonly a: string
  readonly b: string
  readonly sum: string
  readonly difference: string
  readonly sumHolds: boolean
  readonly differenceHolds: boolean
}

/** How the server writes the sum of two requests: the canonical form, in the format of the first. */
export interface QuantityTotalVector {
  readonly name: string
  readonly a: string
  readonly b: string
  readonly total: string
}

const suffixes = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']

export const quantityTexts: readonly string[] = [
  ...suffixes.map((suffix) => `1${suffix}`),
  ...suffixes.map((suffix) => `-1${suffix}`),
  ...suffixes.map((suffix) => `1.5${suffix}`),
  ...suffixes.map((suffix) => `1000${suffix}`),
  ...suffixes.map((suffix) => `1024${suffix}`),
  ...suffixes.map((suffix) => `0${suffix}`),
  // Signs, zeros and points.
  '+1', '+1.5', '-0', '+0', '00', '007', '0.0', '0.5', '.5', '5.', '.', '-.5', '+.5', '5.Gi', '.5Gi', '1.500', '1.50',
  '0.1', '0.01', '0.001', '0.0001', '100m', '1500m', '1000m', '2000m', '999m', '1001m', '123456789m', '0.0015k',
  // Exponents.
  '1e0', '1e1', '1e2', '1e3', '1e4', '1e6', '1e9', '1E3', '1E6', '1e-1', '1e-3', '1e-9', '1e-10', '1.5e3', '1.5e-3',
  '12e6', '123e4', '1e+3', '1E+3', '1e18', '1e19', '1e20', '10e18', '-1e3', '1000e3', '1e01', '1e003', '0e5',
  '1.23456e5',
  // The edges of int64 and of nano.
  '9223372036854775807', '9223372036854775808', '-9223372036854775808', '-9223372036854775809', '99999999999999999999',
  '123456789012345678901234567890', '7Ei', '8Ei', '9Ei', '1000Ei', '8191Pi', '9.5E', '9999E', '-9Ei', '0.1n', '0.5n',
  '1.1n', '0.9u', '0.0000000001', '0.000000001', '1.0000000001', '-0.1n', '100n', '1000n', '1000000n', '0.1Ki', '0.5Ki',
  '0.5Mi', '0.001Mi', '1.25Gi', '0.3Gi', '0.0001Ki', '1.7Ki', '2047Ki', '2048Ki', '1048576Ki', '3072Mi', '123456',
  '1234567', '12345k', '100k', '1234567890', '1000000', '1000001', '1e9', '4000M', '4096M', '1234Mi', '12345678Ki',
  // Not quantities.
  '', ' ', ' 1', '1 ', '1 Gi', 'Gi', 'm', '-', '+', '--1', '+-1', '1-', '1+', '1..5', '1.2.3', '1,5', '1_000', '0x10',
  '0b1', '1e', '1e+', '1e-', '1ee3', '1e3e3', '1e3k', '1ki', '1K', '1KI', '1mi', '1MI', '1gi', '1g', '1t', '1p', '1Zi',
  '1Y', '1Q', '1mm', '1kM', '1Gii', '1iG', '1i', 'Infinity', 'NaN', 'nan', '１', '1µ', '1e9999999999', 'abc', '1Gib',
  '1GB', '1 000',
]

/** Each is compared with each. */
export const quantityOrder: readonly string[] = [
  '-9223372036854775808', '-1Gi', '-1', '-1n', '0', '0Gi', '1n', '1u', '999u', '1m', '0.001', '999m', '1', '1000m',
  '1.0000000001', '1e0', '1k', '1e3', '1000', '1Ki', '1024', '1.5Gi', '1536Mi', '1G', '1Gi', '1e18', '1E', '1Ei',
  '9223372036854775807', '8Ei', '99999999999999999999', '1e20',
]

export const quantityArithmetic: readonly Omit<QuantityArithmeticVector, 'name' | 'sumHolds' | 'differenceHolds'>[] = [
  { a: '1', b: '1', sum: '2', difference: '0' },
  { a: '100m', b: '0.9', sum: '1', difference: '-800m' },
  { a: '1Gi', b: '512Mi', sum: '1536Mi', difference: '512Mi' },
  { a: '1Gi', b: '1G', sum: '2073741824', difference: '73741824' },
  { a: '0.1', b: '0.2', sum: '0.3', difference: '-0.1' },
  { a: '1n', b: '1', sum: '1.000000001', difference: '-0.999999999' },
  { a: '0.1n', b: '0.1n', sum: '2n', difference: '0' },
  { a: '9007199254740993', b: '2', sum: '9007199254740995', difference: '9007199254740991' },
  { a: '9223372036854775807', b: '1', sum: '9223372036854775808', difference: '9223372036854775806' },
  { a: '-9223372036854775808', b: '1', sum: '-9223372036854775807', difference: '-9223372036854775809' },
  { a: '1e20', b: '1n', sum: '100000000000000000000.000000001', difference: '99999999999999999999.999999999' },
  { a: '-1.5', b: '1500m', sum: '0', difference: '-3' },
  { a: '1k', b: '24', sum: '1Ki', difference: '976' },
  { a: '1Ei', b: '1Ei', sum: '2Ei', difference: '0' },
  { a: '0', b: '1Mi', sum: '1Mi', difference: '-1Mi' },
  { a: '123456789m', b: '987654321m', sum: '1111111110m', difference: '-864197532m' },
  { a: '1', b: '1', sum: '3', difference: '1' },
]

export const quantityTotals: readonly (readonly [a: string, b: string])[] = [
  ['500m', '500m'],
  ['1', '500m'],
  ['1Gi', '512Mi'],
  ['1G', '1Gi'],
  ['1Gi', '1G'],
  ['0', '1Gi'],
  ['0', '1k'],
  ['1Gi', '0'],
  ['1.500', '0'],
  ['5.', '5.'],
  ['+1', '0'],
  ['007', '0'],
  ['1e3', '1'],
  ['1e3', '1e3'],
  ['1', '1e3'],
  ['1E3', '1E3'],
  ['999', '1'],
  ['1000m', '1000m'],
  ['1023Mi', '1Mi'],
  ['512Ki', '512Ki'],
  ['0.5Gi', '0.5Gi'],
  ['1k', '24'],
  ['1Ki', '976'],
  ['100M', '900M'],
  ['1Mi', '0.5'],
  ['1Ei', '1Ei'],
  ['5E', '5E'],
  ['8Ei', '8Ei'],
  ['0.1', '0.2'],
  ['12e6', '1'],
]
