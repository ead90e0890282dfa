/** Random calls of each function, with arguments that mostly fit. */
import { helmFunctions } from '../../../src/render/functions/function-table.ts'
import type { ParameterType } from '../../../src/render/template/function-type.ts'
import type { Chance } from '../differential/chance.ts'
import { drawLiteral, quoted, texts } from './draw-values.ts'

/** Results that differ from call to call, or from machine to machine. */
const unpredictable: ReadonlySet<string> = new Set([
  'now',
  'ago',
  'randAlphaNum',
  'randAlpha',
  'randNumeric',
  'randAscii',
  'randBytes',
  'randInt',
  'shuffle',
  'uuidv4',
  'bcrypt',
  'htpasswd',
  'encryptAES',
  'genPrivateKey',
  'genCA',
  'genCAWithKey',
  'genSelfSignedCert',
  'genSelfSignedCertWithKey',
  'genSignedCert',
  'genSignedCertWithKey',
  'buildCustomCert',
  // Half a second each.
  'derivePassword',
])

/** They take anything for now that is no date: they are given dates. Both sides are in UTC. */
const dated: ReadonlySet<string> = new Set([
  'date',
  'htmlDate',
  'dateInZone',
  'date_in_zone',
  'htmlDateInZone',
  'durationRound',
])

const predictable = [...helmFunctions().keys()].filter((name) => !unpredictable.has(name))

/** Those with dates last: the recorded calls are drawn by position. */
export const comparedFunctions: readonly string[] = [
  ...predictable.filter((name) => !dated.has(name)),
  ...predictable.filter((name) => dated.has(name)),
]

const dates = [
  '0',
  '1700000000',
  '-62135596800',
  '(int64 951782399)',
  '(toDate "2006-01-02" "2024-05-06")',
  '(toDate "2006-01-02T15:04:05Z07:00" "2024-03-31T01:59:59+02:00")',
]
const layouts = [
  '"2006-01-02"',
  '"Mon, 02 Jan 2006 15:04:05 -0700"',
  '"02.01.06 3:04PM Z07:00"',
  '"Monday January _2 15:04:05.000 2006"',
  '""',
]
const zones = ['"UTC"', '"Europe/Berlin"', '"Asia/Tokyo"', '"America/New_York"', '"Nowhere/Land"', '""']
const lengths = ['"2400h10m5s"', '"1h"', '"61s"', '"800000h"', '"-90m"', '"x"', '""', '(int64 61000000000)', '5']

/** The date of a date function is of type any; its texts are the layout first, and the zone last. */
function datedArgument(chance: Chance, name: string, type: ParameterType, index: number): string {
  if (name === 'durationRound') return chance.pick(lengths)
  if (type === 'any') return chance.pick(dates)
  return chance.pick(index === 0 ? layouts : zones)
}

const lists = [
  '(list)',
  '(list 1 2 3)',
  '(list "b" "a" "c" "a")',
  '(list "x" nil 1.5 true (list 1))',
  '(splitList "," "b,a,c")',
  '(until 4)',
  '.Values.list',
  '(list (dict "a" 1) (dict "b" 2))',
]

const maps = [
  '(dict)',
  '(dict "a" 1)',
  '(dict "a" (dict "b" (dict "c" "deep")))',
  '(dict "host" "example.com:80" "scheme" "https" "path" "/a b")',
  '.Values',
  '.Values.AsMap',
  '.Values.Map',
  '(dict "a" nil "b" (list 1 2) "c" "x")',
  '(dict "a" (dict "b" 2 "d" "") "list" (list 9))',
]

/** They change a map: one that contains itself ends Helm's process. */
const changing: ReadonlySet<string> = new Set([
  'set',
  'unset',
  'merge',
  'mustMerge',
  'mergeOverwrite',
  'mustMergeOverwrite',
])

function argument(chance: Chance, type: ParameterType): string {
  if (chance.once(14)) return drawLiteral(chance)
  switch (type) {
    case 'string':
      return chance.once(12) ? '.Values.name' : quoted(chance.pick(texts))
    case 'int':
      return chance.pick(['0', '1', '2', '3', '5', '8', '-1', '-3', '20', '(int "7")', '(len "abc")'])
    case 'uint32':
      return '1'
    case 'float64':
      return chance.pick(['0.5', '0.3', '1.0'])
    case 'bool':
      return chance.pick(['true', 'false', '(eq 1 1)'])
    case 'map':
      return chance.pick(maps)
    case 'list':
      return chance.pick(lists)
    case 'time.Time':
      return '(toDate "2006-01-02 15:04:05" "2024-02-29 23:59:58")'
    default:
      return chance.weigh([
        [4, drawLiteral(chance)],
        [3, chance.pick(lists)],
        [3, chance.pick(maps)],
        [
          2,
          chance.pick([
            '.Values.a',
            '.Values.b',
            '.Values.port',
            '.Values.missing',
            '(toDate "2006-01-02" "2024-05-06")',
          ]),
        ],
      ])
  }
}

/** Its type, its text and its JSON. */
export function drawCall(chance: Chance, name: string): string {
  const { parameters, isVariadic } = helmFunctions().get(name)!
  const fixed = isVariadic ? parameters.length - 1 : parameters.length
  const extra = isVariadic ? chance.below(4) : 0
  const args = Array.from({ length: fixed + extra }, (_, index) =>
    dated.has(name)
      ? datedArgument(chance, name, parameters[index]!, index)
      : argument(chance, parameters[Math.min(index, parameters.length - 1)]!),
  ).map((text) => (changing.has(name) ? text.replace(/^\.Values(\.Map|\.AsMap)?$/, '(deepCopy .Values.Map)') : text))
  if (chance.once(30)) args.pop()
  const call =
    args.length > 0 && chance.once(3)
      ? `${args.at(-1)} | ${[name, ...args.slice(0, -1)].join(' ')}`
      : [name, ...args].join(' ')
  // Go returns keys and values in any order.
  const result = name === 'keys' || name === 'values' ? `len (${call})` : call
  return `{{ $x := ${result} }}{{ typeOf $x }}|{{ $x }}|{{ toJson $x }}`
}
