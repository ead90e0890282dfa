/** YAML as people write it. Each text is the value of `spec` in a manifest, unless it is a whole document. */
import type { Json } from '../../../src/kube/json.ts'

/** `value` is what the server read; absent when it refused the document. */
export interface YamlVector {
  readonly name: string
  readonly yaml: string
  readonly value?: Json
  /** The server takes it, but not with strict field validation: a key stands twice. */
  readonly careless?: true
}

/** A value, and how the server writes it when asked for YAML. */
export interface YamlOutputVector {
  readonly name: string
  readonly value: Json
  readonly yaml: string
}

/** The manifest around a value. */
export function yamlManifest(value: string): string {
  const indented = value.replace(/^(?=.)/gm, '  ')
  return `apiVersion: yaml.vectors.muster.test/v1\nkind: Paper\nmetadata:\n  name: paper\nspec:\n${indented}\n`
}

const scalars: readonly string[] = [
  // Booleans and nulls of YAML 1.1.
  'yes', 'Yes', 'YES', 'no', 'No', 'NO', 'on', 'On', 'ON', 'off', 'Off', 'OFF', 'y', 'Y', 'n', 'N', 'true', 'True',
  'TRUE', 'false', 'False', 'FALSE', 'tRue', 'yEs', 'null', 'Null', 'NULL', 'nUll', '~', '', '"yes"', "'no'",
  '!!str yes', '!!bool yes', '!!bool "yes"', '!!null ""', '!!str',
  // Integers.
  '0', '1', '-1', '+1', '007', '0777', '0o17', '0O17', '-0o17', '0800', '08', '0b101', '-0b101', '0b2', '0x1F', '0X1f',
  '-0x1F', '0xZ', '1_000', '_1', '1_', '1__0', '0x_1', '0b1_0', '0o1_0', '1,000', '190:20:30', '1:30', '12:30:45.5',
  '9007199254740993', '9223372036854775807', '9223372036854775808', '-9223372036854775808', '-9223372036854775809',
  '18446744073709551615', '18446744073709551616', '123456789012345678901234567890', '!!int "3"', '!!int 3.0', '!!str 3',
  '0000', '00', '-0', '+0', '0x7fffffffffffffff', '0xffffffffffffffff', '0x10000000000000000', '0b1111', '1e3', '1E3',
  '1e+3', '1e-3', '1.5e3', '.5', '5.', '-.5', '+.5', '1.', '1.0', '1.50',
  // Floats.
  '3.14', '-3.14', '6.02e23', '1e400', '1e-400', '.inf', '-.inf', '+.inf', '.Inf', '.INF', '.nan', '.NaN', '.NAN',
  'inf', 'nan', 'Infinity', 'NaN', '1.2.3', '1e', 'e3', '1_000.5', '!!float 3', '!!float "3.5"', '0.1',
  '100000000000000000000', '1e20', '1e21', '123456789.123456789', '0.0000001', '1.7976931348623157e308', '-0.0',
  '1e3_0',
  // Dates stay strings.
  '2001-12-14', '2001-12-14t21:59:43.10-05:00', '2001-12-14 21:59:43.10 -5', '2001-12-15 2:59:43.10',
  '2001-12-14T21:59:43Z', '!!timestamp 2001-12-14', '12:30',
  // Strings.
  'abc', 'a b', 'a: b', 'a:b', 'a #b', 'a#b', '#', '"a\\nb"', '"a\\tb"', "'it''s'", '"\\u00e9"', '"\\x41"',
  '"\\U0001F600"', '"\\ud83d\\ude00"', '"\\e\\0\\a"', '"\\q"', "'\\n'", 'é', '日本語', '😀', '*', '&', '!', '%', '@', '`',
  '|', '>', '-', '- ', '--', '---', '?', '? ', ':', ': ', '"', "'", '[', ']', '{', '}', ',', '=', '<<', 'a\tb', '\ta',
  '"a\nb"', '"a\n\nb"', '"a \\\n  b"', 'a\nb', 'a\n\nb', 'a\n  b', "'a\nb'", '!!binary aGVsbG8=',
  '!!binary "aGVs bG8="', '!!binary "!!"', '!!binary |\n  aGVs\n  bG8=', '!custom a', '!<tag:yaml.org,2002:str> 1',
  '!!set {a, b}', '!!omap [a: 1]', '!!unknown x', '!local {a: 1}', '!!map {a: 1}', '!!seq [a]', '!!python/object x',
  '! 12',
]

const blocks: Readonly<Record<string, string>> = {
  'literal block': '|\n  a\n  b',
  'literal block keeps inner indentation': '|\n  a\n    b\n  c',
  'literal block, strip': '|-\n  a\n  b\n\n',
  'literal block, keep': '|+\n  a\n  b\n\n',
  'literal block with indentation indicator': '|2\n    a\n   b',
  'literal block, empty': '|',
  'literal block with a comment after the bar': '| # note\n  a # kept',
  'literal block with a tab': '|\n  a\tb\n  \tc',
  'folded block': '>\n  a\n  b\n\n  c',
  'folded block keeps indented lines': '>\n  a\n    b\n    c\n  d',
  'folded block, strip': '>-\n  a\n  b\n',
  'block in a map': 'key: |\n  text\nnext: 1',
  'block in a list': '- |\n  text\n- >-\n  x\n  y',
}

const structures: Readonly<Record<string, string>> = {
  'map': 'a: 1\nb: two',
  'flow map': '{a: 1, b: two, c: [1, 2], d: {}}',
  'flow map over lines': '{a: 1,\n b: 2,\n}',
  'flow map with quoted keys without a blank': '{"a":1,"b":2}',
  'flow map with a key alone': '{a, b: 1}',
  'flow list': '[1, two, 3.0, yes, null, ~]',
  'flow list with a trailing comma': '[1, 2, ]',
  'flow list with a hole': '[1, , 2]',
  'flow list of a pair': '[a: 1, b]',
  'nested lists': '- - 1\n  - 2\n- - 3',
  'list in a map at the same column': 'a:\n- 1\n- 2\nb: 3',
  'list in a map, indented': 'a:\n  - 1\n  - 2',
  'maps in a list': '- a: 1\n  b: 2\n- c: 3',
  'empty value': 'a:\nb: 1',
  'empty item': '-\n- 1',
  'comments': '# first\na: 1 # after\n# between\nb: 2',
  'JSON': '{"a": [1, 2.5, "x", true, null, {"b": "\\u00e9"}]}',
  'JSON with a tab': '{\n\t"a": 1\n}',
  'tab as indentation': 'a:\n\tb: 1',
  'boolean keys': 'yes: 1\nno: 2\non: 3',
  'boolean key n': 'n: 1',
  'boolean key true': 'true: 1',
  'quoted boolean key': '"yes": 1',
  'integer key': '1: a\n0x10: b\n010: c',
  'long integer key': '9223372036854775807: a',
  'float key': '1.5: a\n1e3: b',
  'float key of whole value': '1.0: a',
  'infinite key': '.inf: a',
  'null key': 'null: a',
  'tilde key': '~: a',
  'empty key': ': a',
  'empty string key': '"": a',
  'date key': '2001-12-14: a',
  'list as key': '? [a, b]\n: 1',
  'map as key': '? {a: b}\n: 1',
  'explicit key': '? a\n: 1\n? b',
  'tagged key': '!!str 1: a',
  'same key twice': 'a: 1\na: 2',
  'same key twice, by value': 'yes: 1\ntrue: 2',
  'same key twice in flow': '{a: 1, a: 2}',
  'anchor and alias': 'a: &x {n: 1}\nb: *x',
  'anchor of a scalar': 'a: &x 1\nb: *x\nc: [*x, *x]',
  'anchor redefined': 'a: &x 1\nb: &x 2\nc: *x',
  'alias without anchor': 'a: *x',
  'alias to an enclosing node': 'a: &x\n  b: *x',
  'alias as a key': 'a: &x key\n*x : 1',
  'merge': 'base: &b {a: 1, b: 2}\nall:\n  <<: *b\n  b: 3',
  'merge comes before own keys': 'base: &b {a: 1}\nall:\n  a: 2\n  <<: *b',
  'merge of several': 'x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2}\nall:\n  <<: [*x, *y]\n  d: 4',
  'merge of a literal map': 'all:\n  <<: {a: 1}\n  b: 2',
  'merge in flow': 'x: &x {a: 1}\nall: {<<: *x, b: 2}',
  'merge of a scalar': 'all:\n  <<: 1',
  'merge of a list of scalars': 'all:\n  <<: [1]',
  'merge of null': 'all:\n  <<: ~',
  'merge twice': 'x: &x {a: 1}\ny: &y {b: 2}\nall:\n  <<: *x\n  <<: *y',
  'merge of a merge': 'x: &x {a: 1}\ny: &y\n  <<: *x\n  b: 2\nall:\n  <<: *y',
  'merge key quoted': 'all:\n  "<<": {a: 1}',
  'merge tagged': 'x: &x {a: 1}\nall:\n  !!merge <<: *x',
  'long plain scalar over lines': 'a: this is\n  one value\n  over lines\nb: 1',
  'colon in a plain value': 'a: b:c\nd: http://x',
  'colon and blank in a plain value': 'a: b: c',
  'quoted over lines': 'a: "one\n  two"\nb: 1',
  'wrong indentation': 'a: 1\n b: 2',
  'indentation that goes back too far': 'a:\n    b: 1\n  c: 2',
  'unclosed list': '[1, 2',
  'unclosed map': '{a: 1',
  'unclosed quote': 'a: "b',
  'map after scalar': 'a\nb: 1',
  'list after map': 'a: 1\n- b',
  'null in a map and a list': 'a: null\nb: [null, ~]\nc:',
  'deep': `${Array.from({ length: 20 }, (_, depth) => `${' '.repeat(depth)}k:`).join('\n')} 1`,
  'windows line ends': 'a: 1\r\nb: "x\r\n  y"\r\nc: |\r\n  t\r\n',
  'byte order mark inside': 'a: \uFEFFb',
  'non-breaking blank': 'a:\u00A0b',
  'line separator': 'a: "b\u2028c"',
  'next line character': 'a: b\u0085c',
  'control character': 'a: "b\u0001c"',
  'document end inside': 'a: 1\n...\n',
}

const header = 'apiVersion: yaml.vectors.muster.test/v1\nkind: Paper\nmetadata: {name: paper}\n'

/** Whole documents: the value is that of `spec`. */
const documents: Readonly<Record<string, string>> = {
  'document: start marker': `---\n${header}spec: 1\n`,
  'document: start marker with a comment': `# note\n--- # start\n${header}spec: 1\n`,
  'document: end marker': `${header}spec: 1\n...\n`,
  'document: version directive': `%YAML 1.1\n---\n${header}spec: yes\n`,
  'document: version 1.2 directive': `%YAML 1.2\n---\n${header}spec: yes\n`,
  'document: tag directive': `%TAG !x! tag:yaml.org,2002:\n---\n${header}spec: !x!str 1\n`,
  'document: two documents': `${header}spec: 1\n---\n${header}spec: 2\n`,
  'document: empty first document': `---\n---\n${header}spec: 1\n`,
  'document: leading byte order mark': `\uFEFF${header}spec: 1\n`,
  'document: JSON': `{"apiVersion":"yaml.vectors.muster.test/v1","kind":"Paper","metadata":{"name":"paper"},"spec":1}`,
  'document: empty': '',
  'document: blank': '\n  \n',
  'document: comment only': '# nothing\n',
  'document: scalar': 'abc\n',
  'document: list': '- a\n',
  'document: null': 'null\n',
  'document: no line end': `${header}spec: 1`,
  'document: spec missing': header,
  'document: duplicate spec': `${header}spec: 1\nspec: 2\n`,
  'document: indented': `  apiVersion: yaml.vectors.muster.test/v1\n  kind: Paper\n  metadata: {name: paper}\n  spec: 1\n`,
}

export const yamlCases: readonly { readonly name: string; readonly yaml: string }[] = [
  ...scalars.map((text) => ({ name: `scalar ${JSON.stringify(text)}`, yaml: yamlManifest(text) })),
  ...Object.entries(blocks).map(([name, text]) => ({ name, yaml: yamlManifest(text) })),
  ...Object.entries(structures).map(([name, text]) => ({ name, yaml: yamlManifest(text) })),
  ...Object.entries(documents).map(([name, yaml]) => ({ name, yaml })),
]

/** Strings that a careless writer leaves unquoted, and structures that look different in YAML. */
export const yamlValues: readonly Json[] = [
  '', 'a', 'yes', 'no', 'y', 'n', 'on', 'off', 'true', 'null', '~', 'Null', '1', '-1', '1.5', '1e3', '0x1F', '0o17',
  '017', '1_000', '.5', '.inf', '.nan', '190:20:30', '2001-12-14', '2001-12-14T21:59:43Z', '12:30', '<<', '=', '-',
  '- a', '? a', ': a', 'a: b', 'a #b', '#a', '*a', '&a', '!a', '|', '>', '%a', '@a', '`a', '[a', '{a', 'a]', ',a', ' a',
  'a ', 'a\n', 'a\nb', '\na', 'a\n\nb\n', 'a\tb', '\ta', ' \n', "it's", '"q"', 'a"b', '\\', 'é', '日本語', '😀', '\u0001',
  '\u0085', '\u2028', '\uFEFF', '---', '...', '--- a', 'x'.repeat(100),
  Array.from({ length: 40 }, () => 'word').join(' '), 'a: b\nc: d\n', 'trailing  \nblanks', '  leading\n  both',
  '#!/bin/sh\necho "hi"\n', true, false, null, 0, 1, -1, 1.5, 1e21, 1e-7, 9007199254740993n, -9223372036854775808n, 0.1,
  123456789.125, 100000000000000000000,
  [],
  {},
  [[]],
  [{}],
  { a: [], b: {}, c: null, d: '' },
  [1, 'two', [3, [4]], { five: 5 }],
  { yes: 1, '1': 2, '': 3, 'a b': 4, 'a: b': 5, '<<': 6, '~': 7, 'null': 8 },
  { list: [{ name: 'a', items: [1, 2] }, { name: 'b' }], map: { x: { y: { z: 'deep' } } } },
  { text: 'line one\nline two\n', other: 'line one\nline two', third: 'a\n\n' },
]
