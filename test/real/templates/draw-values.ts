/** Random values of a chart, and literals of templates. */
import type { Chance } from '../differential/chance.ts'

const words = ['a', 'b', 'name', 'x-y', 'list', 'Map', 'port', 'deep', 'n1', 'nil', 'é']

export const texts: readonly string[] = [
  '',
  'a',
  'abc',
  'Hello World',
  'foo-bar_baz qux',
  '  padded  ',
  '123',
  '-4',
  '3.50',
  '0x1f',
  '010',
  'true',
  'null',
  'no',
  '1e3',
  '12:30',
  '2024-01-02',
  '2024-01-02T15:04:05Z',
  'line one\nline two\n',
  ' lead\ntrail',
  'tab\there',
  'quote " and \' and \\',
  'a: b',
  'a: |\n  x',
  'a: [1,\tb]',
  '# not a comment',
  '- item',
  'key: [x',
  'héllo wörld',
  '日本語',
  'emoji 🚀 x',
  '<a href="x">&</a>',
  'a,b,,c',
  '/usr/local/../bin/x.tar.gz',
  'https://user:pa%20ss@example.com:8080/a/b?q=1&r=2#frag',
  'v1.2.3-beta.1+build',
  '>=1.2.0 <2.0.0 || ^3',
  '^[a-z]+$',
  '(a)(b*)',
  '${1}-$2',
  'aGVsbG8=',
  '{"a": [1, 2.5, "x"], "b": null}',
  '[1, "two", {"three": 3}]',
  'a: 1\nb:\n- x\n- y: z\n',
  'someHTTPServer2xxName',
  '{{ .Values.a }}',
  '%d %s',
  '1h30m',
  'PT5',
  'a long text whose words go on and on, so that a line of eighty columns cannot hold them all, not even nearly',
  "it's a: long text with  two spaces and a colon whose words go on and on beyond eighty columns  of text \t and a tab",
]

const numbers = [0, 1, -1, 2, 3, 10, 42, 1.5, -2.25, 0.1, 1e6, 123456789, 1e21, 1e-7, 3.0000001, 255, 1e15]

/** A value as a values file has it. */
export function drawValue(chance: Chance, depth: number): unknown {
  const kind = chance.below(depth > 0 ? 12 : 8)
  if (kind < 3) return chance.pick(texts)
  if (kind === 3) return chance.pick(numbers)
  if (kind === 4) return chance.once(2)
  if (kind === 5) return chance.once(2) ? null : chance.pick(texts)
  if (kind === 6) return { $int64: String(chance.pick([0, 1, -7, 65_536, 9_007_199_254_740_993n])) }
  if (kind === 7) return chance.pick(numbers)
  if (kind < 10) return Array.from({ length: chance.below(4) }, () => drawValue(chance, depth - 1))
  return drawMap(chance, depth - 1)
}

export function drawMap(chance: Chance, depth: number): Record<string, unknown> {
  return Object.fromEntries(
    Array.from({ length: chance.below(5) }, () => [chance.pick(words), drawValue(chance, depth)]),
  )
}

export function drawKey(chance: Chance): string {
  return chance.pick(words.filter((word) => /^[A-Za-z]\w*$/.test(word)))
}

export function quoted(text: string): string {
  return JSON.stringify(text).replaceAll(/[\u2028\u2029]/g, '')
}

/** A literal of any type. */
export function drawLiteral(chance: Chance): string {
  const kind = chance.below(10)
  if (kind < 4) return quoted(chance.pick(texts))
  if (kind < 7) return String(chance.pick([0, 1, 2, 3, -1, 5, 10, 100, '0x10', '1_000', '0b101', "'a'"]))
  if (kind === 7) return chance.pick(['1.5', '-0.25', '1e3', '2.0', '.5', '1e100'])
  if (kind === 8) return chance.pick(['true', 'false'])
  return chance.once(3) ? 'nil' : '.Values.name'
}
