/**
 * CEL expressions as rules of a CRD. What the real API server makes of each is in `../cel.json`: its value, why it fails,
 * or why it is refused. `self` is an object of the schema below.
 */
import type { JsonObject } from '../../../src/kube/json.ts'
import type { Schema } from '../../../src/kube/schema.ts'

export interface CelVector {
  readonly name: string
  /** Why the CRD with it is refused. */
  readonly refusal?: string
  /** Why it has no value. */
  readonly failure?: string
  /** `type()` of it, as `format` writes it. */
  readonly type?: string
  /** As `format` writes it; absent where it cannot. */
  readonly value?: string
}

const text = { type: 'string', maxLength: 100 } as Schema

/** Everything that schemas can say to expressions. */
export const celSelfSchema: Schema = {
  type: 'object',
  properties: {
    count: { type: 'integer' },
    big: { type: 'integer', format: 'int64' },
    ratio: { type: 'number' },
    whole: { type: 'number' },
    flag: { type: 'boolean' },
    text,
    empty: text,
    missing: text,
    nothing: { ...text, nullable: true },
    port: { 'x-kubernetes-int-or-string': true },
    percent: { 'x-kubernetes-int-or-string': true },
    day: { ...text, format: 'date' },
    time: { ...text, format: 'date-time' },
    span: { ...text, format: 'duration' },
    raw: { ...text, format: 'byte' },
    names: { type: 'array', maxItems: 10, items: text } as Schema,
    others: { type: 'array', maxItems: 10, items: text } as Schema,
    numbers: { type: 'array', maxItems: 10, items: { type: 'integer' } } as Schema,
    none: { type: 'array', maxItems: 10, items: { type: 'integer' } } as Schema,
    set: { type: 'array', maxItems: 10, 'x-kubernetes-list-type': 'set', items: text } as Schema,
    set2: { type: 'array', maxItems: 10, 'x-kubernetes-list-type': 'set', items: text } as Schema,
    entries: {
      type: 'array',
      maxItems: 10,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['key'],
      items: { type: 'object', required: ['key'], properties: { key: text, value: { type: 'integer' } } },
    } as Schema,
    entries2: {
      type: 'array',
      maxItems: 10,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['key'],
      items: { type: 'object', required: ['key'], properties: { key: text, value: { type: 'integer' } } },
    } as Schema,
    labels: { type: 'object', maxProperties: 10, additionalProperties: text } as Schema,
    nested: { type: 'object', properties: { inner: { type: 'object', properties: { leaf: text } } } },
    open: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    unknown: { 'x-kubernetes-preserve-unknown-fields': true },
    template: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
    'a.b': text,
    'c-d': text,
    'e/f': text,
    g__h: text,
    namespace: text,
    '1st': text,
  },
}

export const celSelf: JsonObject = {
  count: 3,
  big: 9_007_199_254_740_993n,
  ratio: 1.5,
  whole: 2,
  flag: true,
  text: 'hello',
  empty: '',
  nothing: null,
  port: 80,
  percent: '50%',
  day: '2026-01-31',
  time: '2026-01-31T12:30:45.123456789+02:00',
  span: '1h30m',
  raw: 'aGVsbG8=',
  names: ['a', 'b', 'c'],
  others: ['c', 'b', 'a'],
  numbers: [3, 1, 2],
  none: [],
  set: ['x', 'y'],
  set2: ['y', 'x'],
  entries: [
    { key: 'one', value: 1 },
    { key: 'two', value: 2 },
  ],
  entries2: [
    { key: 'two', value: 2 },
    { key: 'one', value: 1 },
  ],
  labels: { app: 'web', 'x/y': 'z', __proto: 'p' },
  nested: { inner: { leaf: 'green' } },
  open: { free: 1 },
  unknown: { any: ['thing'] },
  template: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'inner' }, data: { k: 'v' } },
  'a.b': 'dot',
  'c-d': 'dash',
  'e/f': 'slash',
  g__h: 'underscores',
  namespace: 'reserved',
  '1st': 'hidden',
}

/** By topic; one expression a string. */
export const celCases: Readonly<Record<string, readonly string[]>> = {
  literals: [
    '1', '-1', '0x1F', '-0x10', '1u', '0xFFu', '1.5', '-1.5', '1e3', '.5', '1.5e-3', 'true', 'false', 'null',
    '9223372036854775807', '-9223372036854775808', '9223372036854775808', '18446744073709551615u', '18446744073709551616u',
    '1e400', '"abc"', "'abc'", '"""a"b"""', "'''a'b'''", 'r"\\n"', '"\\n\\t\\"\\\\"', '"\\u00e9\\U0001F600"', '"\\x41\\101"',
    'b"abc"', 'b"\\xff"', '"\\ud800"', '"\\q"', '"abc', "b'\\u0041'", '[1, 2, 3]', '[1, 2, 3,]', '[]', '{}', '{"a": 1}', '{1: "a", 2: "b"}',
    '{true: 1}', '{1u: 1}', '{1.5: 1}', '{null: 1}', '{"a": 1, "a": 2}', '[1, "a"]', '[1, 1.0]', '{"a": 1, 2: 2}', '{"a": 1, "b": "c"}',
    '[[1], ["a"]]', '[dyn(1), "a"]', '1 // comment', '"é".size()', '"😀".size()', 'size("")', '"a" + /* no */ "b"',
  ],
  integers: [
    '1 + 2', '5 - 7', '3 * 4', '7 / 2', '-7 / 2', '7 / -2', '7 % 3', '-7 % 3', '7 % -3', '1 / 0', '1 % 0', '-(5)', '--5', '- 5', '!!true', '!true',
    '9223372036854775807 + 1', '-9223372036854775808 - 1', '9223372036854775807 * 2', '-9223372036854775808 / -1',
    '-(-9223372036854775808)', '9007199254740993 + 0', '9007199254740992 + 1', '9007199254740993 * 1', '3037000500 * 3037000500', '3037000499 * 3037000499',
    '9007199254740991 + 9007199254740991', '4611686018427387904 + 4611686018427387904', '4611686018427387904 - -4611686018427387904', '9223372036854775807 % 10',
    '-9223372036854775808 % -1', '9223372036854775807 / 3', '0 * -1', '0 / -1', '1u + 2u', '1u - 2u', '2u * 3u', '7u / 2u', '7u % 2u', '1u / 0u', '1u % 0u',
    '18446744073709551615u + 1u', '18446744073709551615u * 2u', '-1u', '1 + 1u', '1 + 1.0', '1.5 + 1.5', '1.5 - 2.0', '1.5 * 2.0', '1.0 / 0.0', '0.0 / 0.0', '1.5 % 1.0',
    'self.count + 1', 'self.big', 'self.big + 1', 'self.big == 9007199254740993', 'self.ratio * 2.0', 'self.whole + 1.0', 'self.count / self.whole',
    'dyn(1) + dyn("a")', 'dyn("a") + dyn(1)', 'dyn(true) + dyn(1)', 'dyn(1) - dyn("a")', 'dyn("a") - dyn("b")', 'dyn([1]) * 2', '-dyn("a")', '-dyn(true)', '!dyn(1)', 'dyn(1) + dyn(1.0)',
  ],
  comparison: [
    '1 < 2', '2 <= 2', '3 > 4', '4 >= 4', '1 == 1', '1 != 1', '1 == 1.0', '1 == 1u', 'dyn(1) == 1.0', 'dyn(1) == 1u', 'dyn(1u) == 1.0', 'dyn(1) == "1"', 'dyn(null) == 1', 'dyn(1) == null',
    '1 < 1.5', '2 > 1.5', '1u < 2', '-1 < 1u', '1.5 < 2u', '2u < 1.5', '9007199254740993 == 9007199254740992', 'dyn(9007199254740993) == 9007199254740992.0', '9223372036854775807 < 9223372036854775808.0',
    '"a" < "b"', '"a" < "aa"', '"Z" < "a"', '"é" > "z"', '"\\uFFFD" < "😀"', 'b"a" < b"b"', 'true > false', 'false < true', '[1] < [2]', '{} < {}', 'null < null', 'dyn([1]) < dyn([2])', 'dyn(1) < dyn("a")', 'dyn("a") < dyn(1)', 'dyn(null) < dyn(1)',
    '[1, 2] == [1, 2]', '[1, 2] == [2, 1]', '[1] == [1.0]', 'dyn([1]) == [1.0]', '[] == []', '{"a": 1} == {"a": 1}', '{"a": 1} == {"a": 2}', '{"a": 1, "b": 2} == {"b": 2, "a": 1}', 'dyn({1: 1}) == {1u: 1.0}', '{"a": 1} == {"b": 1}',
    'null == null', 'null != null', 'b"a" == b"a"', '"a" == "a"', 'true == false', 'dyn(0.0/0.0) == dyn(0.0/0.0)', '0.0/0.0 < 1.0', 'type(1) == int', 'type(1) == type(2)', 'type("a") == string', 'type(1.0) != int',
    'self.names == self.others', 'self.set == self.set2', 'self.names == ["a", "b", "c"]', '["a", "b", "c"] == self.names', 'self.set == ["y", "x"]', '["y", "x"] == self.set', 'self.entries == self.entries2', 'self.set2 + ["z"]', 'self.set + self.set2', 'self.set + ["x", "z"] == ["z", "x", "y"]', '(self.entries + self.entries2).map(e, e.key)',
    'self.labels == {"app": "web"}', 'self.nested == self.nested', 'dyn(self.names) == 1', 'dyn(self.names) != 1', '1 == dyn(self.names)', 'dyn(self.labels) == "a"', 'self.unknown == self.unknown', 'self.open == self.open', 'self.port == 80', 'self.port == "80"', 'self.percent == "50%"', 'self.template == self.template', 'dyn(self.nested) == dyn({"inner": {"leaf": "green"}})',
    '1 in [1, 2]', '3 in [1, 2]', '"a" in ["a"]', '1 in {1: 2}', '"b" in {"a": 1}', '1.0 in [1]', 'dyn(1.0) in [1, 2]', 'dyn(1u) in [1, 2]', 'dyn("1") in [1, 2]', '1 in []', '"a" in self.names', '"app" in self.labels', '"nope" in self.labels', '1 in dyn("a")', 'dyn(1) in self.names', 'dyn(1) in self.labels', 'null in [null]', '[1] in [[1]]', '1 in self.none',
  ],
  logic: [
    'true && false', 'true || false', 'false || true && false', 'true ? 1 : 2', 'false ? 1 : 2', 'true ? 1 : "a"', '1 ? 2 : 3', 'dyn(1) ? 2 : 3', '1 && true', 'true || 1', 'dyn(1) && false', 'dyn(1) || true', 'dyn(1) && true', 'dyn(1) || false', 'true && dyn(1)',
    '1 / 0 == 1 || true', 'true || 1 / 0 == 1', '1 / 0 == 1 && false', 'false && 1 / 0 == 1', '1 / 0 == 1 || false', '1 / 0 == 1 && true', '1 / 0 == 1 || 1 % 0 == 1', '1 % 0 == 1 && 1 / 0 == 1', 'true && true && true && false', 'false || false || false || true',
    '[1][5] == 1 || [2][7] == 1', '(1 / 0 == 1) ? 1 : 2', 'true ? 1 / 0 : 2', 'false ? 1 / 0 : 2', 'true ? (false ? 1 : 2) : 3', '!(1 / 0 == 1) || true',
  ],
  selection: [
    'self.text', 'self.missing', 'self.nope', 'self.text.nope', 'has(self.text)', 'has(self.missing)', 'has(self.empty)', 'has(self.nope)', 'has(self.nothing)', 'self.nothing', 'has(self.nested.inner)', 'has(self.nested.inner.leaf)', 'self.nested.inner.leaf', 'self.nested.other',
    'has(self)', 'has(self.labels.app)', 'has(self.labels.nope)', 'self.labels.app', 'self.labels.nope', 'self.labels["app"]', 'self.labels["x/y"]', 'self.labels["nope"]', 'self.labels[1]', 'self.names[0]', 'self.names[3]', 'self.names[-1]', 'self.names["a"]', 'self.names[1.0]', 'self.names[dyn(1.0)]', 'self.names[dyn(1.5)]', 'self.names[dyn(1u)]', 'self.names[dyn("a")]', '[1][dyn("a")]', '[1, 2][1]', '[1, 2][2]', '{"a": 1}["a"]', '{"a": 1}["b"]', '{"a": 1}.a', '{"a": 1}.b', '{1: 2}[1]', '{1: 2}[dyn(1.0)]', '{1: 2}[dyn(1u)]', '{1: 2}[dyn("a")]', '{1: 2}[3]', '{true: 1}[true]', '{true: 1}[false]',
    'self.a__dot__b', 'self.c__dash__d', 'self.e__slash__f', 'self.g__underscores__h', 'self.__namespace__', 'self.namespace', 'self.a.b', 'self.`a.b`', 'self.1st', 'dyn(self).a__dot__b', 'dyn(self)["a.b"]', 'dyn(self)["a__dot__b"]', 'dyn(self).nope', 'dyn(self)["1st"]', 'has(dyn(self).nope)', 'has(dyn(self).text)', 'dyn(1).a', 'has(dyn(1).a)', 'dyn("a")["b"]', 'dyn([1]).a', 'has(dyn([1]).a)', 'dyn(null).a',
    'self.open.free', 'has(self.open.free)', 'self.unknown', 'has(self.unknown)', 'self.template.kind', 'self.template.metadata.name', 'self.template.metadata.generateName', 'has(self.template.metadata.generateName)', 'self.template.data', 'self.metadata', 'self.entries[0].value', 'self.entries.filter(e, e.key == "two")[0].value', 'self.port', 'self.percent', 'type(self.port)', 'type(self.percent)', 'type(self)', 'type(self.labels)', 'type(self.names)', 'self.port + 1', 'self.percent + "x"', 'self.percent + 1', 'self.port < 100', 'self.percent < 100',
    'nope', 'nope.a', 'self.text.size', '.self.text', 'self["text"]', 'self.names.size()', 'self.size()', 'size(self)', 'dyn(self).size()', 'self.all(k, true)', 'x.y.z', 'self.nested.inner.leaf.size() > 2 && self.nope',
  ],
  macros: [
    '[1, 2, 3].all(x, x > 0)', '[1, 2, 3].all(x, x > 1)', '[].all(x, x > 0)', '[1, 2].exists(x, x == 2)', '[1, 2].exists(x, x == 3)', '[].exists(x, true)', '[1, 2, 2].exists_one(x, x == 2)', '[1, 2].exists_one(x, x == 2)', '[1, 2].existsOne(x, x == 2)', '[].exists_one(x, true)', '[1, 2].map(x, x * 2)', '[1, 2, 3].map(x, x > 1, x * 2)', '[1, 2, 3].filter(x, x % 2 == 1)', '[].map(x, x)',
    '[1, 0].all(x, 1 / x > 0)', '[0, 1].all(x, 1 / x > 5)', '[0, 1].all(x, 1 / x > 0)', '[0, 1].exists(x, 1 / x == 1)', '[0, 2].exists(x, 1 / x == 1)', '[0, 1].exists_one(x, 1 / x == 1)', '[0, 1].map(x, 1 / x)', '[0, 1].filter(x, 1 / x == 1)', '[1].all(x, x)', '[1].map(x, dyn(x), x)', '[1].all(x, dyn(x))', '[1].exists(x, dyn(x))', '[1].filter(x, dyn(x))', '[1].exists_one(x, dyn(x))', '[1].filter(x, x)', '[1].exists_one(x, x)', '["a"].all(x, x > 0)',
    '{"a": 1, "b": 2}.all(k, k.size() == 1)', '{"a": 1}.map(k, k)', '{"a": 1}.exists(k, k == "a")', '{"a": 1, "b": 2}.filter(k, k != "a")', 'self.labels.all(k, self.labels[k].size() > 0)', 'self.names.all(n, n.size() == 1)', 'self.names.map(n, n + "!")', 'self.names.exists(n, n == self.text)', 'self.numbers.filter(n, n > 1)', 'self.entries.map(e, e.value)', 'self.entries.all(e, e.nope)', 'self.none.all(x, false)', '"abc".all(c, true)', '1.all(x, true)', 'dyn("abc").all(c, true)', 'dyn(1).exists(c, true)', 'dyn([1]).all(x, x == 1)', 'dyn({"a": 1}).all(x, x == "a")',
    '[1].all(x.y, true)', '[1].map(1, true)', '[1].filter(1, true)', '[1].all(__result__, true)', '[1].map(__result__, 1)', '[1].all(x)', '[1].all(x, y)', '[1].map(x, y)', 'has(1)', 'has(self.text, 1)', 'has("a")', '[[1, 2], [3]].map(x, x.map(y, y + 1))', '[1, 2].map(x, [3, 4].map(y, x * y))', '[1, 2].all(x, [1, 2].exists(y, y == x))', '[1].map(x, x).map(x, x + 1)', '[1].map(self, self)', '[1].map(x, self.text)', 'self.names.all(self, self == "a")',
    '[5, 6].all(i, v, v == i + 5)', '[5].exists(i, v, v == 5 && i == 0)', '[5, 6].existsOne(i, v, i == 1)', '[5, 6].exists_one(i, v, i < 2)', '[5, 6].transformList(i, v, i + v)', '[5, 6].transformList(i, v, i > 0, i + v)', '[5, 6].transformMap(i, v, i + v)', '[5, 6].transformMap(i, v, i > 0, i + v)', '["a", "b"].transformMapEntry(i, v, {v: i})', '["a", "a"].transformMapEntry(i, v, {v: i})', '["a", "b"].transformMapEntry(i, v, i == 1, {v: i})', '{"a": 1}.transformMap(k, v, v + 1)', '{"a": 1}.transformList(k, v, k + string(v))', '{"a": 1}.all(k, v, k == "a" && v == 1)', '{"a": "b"}.transformMapEntry(k, v, {v: k})', '[1].all(i, i, true)', '[1].all(i, 1, true)', '[1].transformMapEntry(i, v, 1)', '[1].transformMap(i, v, dyn(v))', 'dyn(1).all(i, v, true)', 'self.labels.transformMap(k, v, k == "app", v)', 'self.labels.all(k, v, v != "")', 'self.names.transformMap(i, v, v)',
    'cel.bind(x, 1, x)', '[3, 1, 2].sortBy(x, -x)', '["bb", "a"].sortBy(s, s.size())', 'self.entries.sortBy(e, -e.value).map(e, e.key)', '"a".sortBy(x, x)', '[1].sortBy(1, 2)', '[1, 2].sortBy(x, [x])',
  ],
  optionals: [
    'optional.of(1).value()', 'optional.none().value()', 'optional.of(1).hasValue()', 'optional.none().hasValue()', 'optional.of(1).orValue(2)', 'optional.none().orValue(2)', 'optional.none().or(optional.of(3)).value()', 'optional.of(1).or(optional.of(3)).value()', 'optional.ofNonZeroValue(0).hasValue()', 'optional.ofNonZeroValue(1).hasValue()', 'optional.ofNonZeroValue("").hasValue()', 'optional.ofNonZeroValue([]).hasValue()', 'optional.ofNonZeroValue({}).hasValue()', 'optional.ofNonZeroValue(null).hasValue()', 'optional.ofNonZeroValue(false).hasValue()', 'optional.ofNonZeroValue(self.none).hasValue()', 'optional.ofNonZeroValue(duration("0s")).hasValue()',
    'self.?text.orValue("x")', 'self.?missing.orValue("x")', 'self.?nope.orValue("x")', 'self.?nested.inner.leaf.orValue("x")', 'self.?nested.?inner.?leaf.hasValue()', 'self.?missing.size()', 'self.labels[?"app"].orValue("x")', 'self.labels[?"nope"].orValue("x")', 'self.names[?0].orValue("x")', 'self.names[?9].orValue("x")', 'self.names[?-1].hasValue()', '[1][?dyn("a")]', '{"a": {"b": 1}}.?a.b.value()', '{"a": {"b": 1}}.?a.?c.hasValue()', '{"a": {"b": 1}}.?c.b.hasValue()', '{"a": [1]}.?a[0].value()', '{"a": [1]}.?a[5].hasValue()', '{"a": {"b": 1}}.?a["b"].value()', 'has({"a": {"b": 1}}.?a.b)', 'has({"a": {"b": 1}}.?x.b)', 'optional.of({"a": 1}).a.value()', 'optional.of(1).a',
    'optional.of(1).optMap(x, x + 1).value()', 'optional.none().optMap(x, x + 1).hasValue()', 'optional.of(1).optFlatMap(x, optional.of(x + 1)).value()', 'optional.of(1).optFlatMap(x, optional.none()).hasValue()', 'self.?text.optMap(t, t.size()).orValue(0)', 'self.?missing.optMap(t, t.size()).orValue(0)', 'optional.of(1).optMap(1, 2)', 'optional.of(1).optFlatMap(x.y, 2)',
    '[?optional.of(1), ?optional.none(), 2]', '{?"a": optional.of(1), ?"b": optional.none()}', '[?1]', '{?"a": 1}',  'optional.of(1) == optional.of(1)', 'optional.of(1) == optional.of(2)', 'optional.none() == optional.none()', 'optional.of(1) == optional.none()', 'optional.of(optional.none()).hasValue()', 'type(optional.of(1))', 'type(optional.none()) == optional_type', '[1, 2].first().value()', '[].first().hasValue()', '[1, 2].last().value()', '[].last().hasValue()', 'optional.unwrap([optional.of(1), optional.none()])', '[optional.of(1), optional.none()].unwrapOpt()', 'optional.of(1)', 'optional.of(1) + 1', 'dyn(1).hasValue()', 'dyn(1).orValue(2)', '1.orValue(2)', 'optional.of(1).orValue("a")',
  ],
  conversions: [
    'int("12")', 'int("-12")', 'int("+12")', 'int("x")', 'int(self.text)', 'int(1.9)', 'int(-1.9)', 'int(1e30)', 'int(self.ratio)', 'int(5u)', 'int(18446744073709551615u)', 'int(duration("1s"))', 'int(timestamp("1970-01-01T00:01:00Z"))', 'int(true)', 'int(dyn(true))', 'int(null)', 'int(dyn(null))', 'uint(5)', 'uint(-5)', 'uint("7")', 'uint("-7")', 'uint(1.9)', 'uint(-1.9)', 'uint(self.count)', 'uint(-self.count)', 'double(1)', 'double("1.5")', 'double("x")', 'double("1e400")', 'double("NaN")', 'double("Infinity")', 'double("-inf")', 'double("+nan")', 'double("0x1p-2")', 'double("1_0")', 'double("1.")', 'double(5u)', 'double(self.big)', 'string(1)', 'string(1u)', 'string(1.5)', 'string(1.0)', 'string(1e21)', 'string(1e20)', 'string(1e-5)', 'string(0.0001)', 'string(123456789.0)', 'string(-0.0)', 'string(0.1 + 0.2)', 'string(1.0/0.0)', 'string(-1.0/0.0)', 'string(0.0/0.0)', 'string(true)', 'string("a")', 'string(b"abc")', 'string(b"\\xff")', 'string(null)', 'string(dyn(null))', 'string([1])', 'string(dyn([1]))', 'string(type(1))', 'string(duration("1h1m1.5s"))', 'string(duration("1ms"))', 'string(duration("-90s"))', 'string(duration("1ns"))', 'string(timestamp("2026-01-01T00:00:00Z"))', 'string(timestamp("2026-01-01T00:00:00.500+01:00"))', 'string(timestamp("2026-01-01T00:00:00.123456789Z"))', 'string(self.time)', 'string(self.day)', 'string(self.span)', 'string(self.raw)', 'bytes("é")', 'bytes(b"a")', 'bytes(1)', 'bool("true")', 'bool("1")', 'bool("t")', 'bool("yes")', 'bool(self.text)', 'bool(1)', 'bool(true)', 'dyn(1)', 'type(1)', 'type(1u)', 'type(1.0)', 'type("a")', 'type(b"a")', 'type(true)', 'type(null)', 'type([1])', 'type({})', 'type(type(1))', 'type(int)', 'type(duration("1s"))', 'type(timestamp(0))', 'int', 'list', 'map', 'bytes', 'null_type', 'duration', 'timestamp', 'dyn', 'google.protobuf.Timestamp', 'type(self.time) == timestamp', 'type(self.time) == google.protobuf.Timestamp', 'type(self.span) == duration', 'type(1) == type', 'int == int', 'timestamp(0)', 'timestamp(253402300799)', 'timestamp(253402300800)', 'timestamp(self.count)', 'timestamp(-62135596801)',
  ],
  time: [
    'timestamp("2026-01-31T12:30:45Z")', 'timestamp("2026-02-30T00:00:00Z")', 'timestamp("2026-01-31")', 'timestamp("2026-01-31T12:30:45")', 'timestamp("2026-01-31t12:30:45z")', 'timestamp("2026-01-31T24:00:00Z")', 'timestamp("2026-01-31T12:30:45.1234567891Z")', 'timestamp(self.text)', 'timestamp("9999-12-31T23:59:59Z") + duration("1s")', 'timestamp("0001-01-01T00:00:00Z") - duration("1s")', 'timestamp("0001-01-01T00:00:00Z")', 'timestamp("2026-01-31T12:30:45Z") + duration("1h")', 'duration("1h") + timestamp("2026-01-31T12:30:45Z")', 'timestamp("2026-01-31T12:30:45Z") - duration("1h")', 'timestamp("2026-01-31T12:30:45Z") - timestamp("2026-01-31T12:00:00Z")', 'timestamp("9999-12-31T23:59:59Z") - timestamp("0001-01-01T00:00:00Z")', 'timestamp("2026-01-31T12:30:45Z") < timestamp("2026-01-31T12:30:46Z")', 'timestamp("2026-01-31T12:30:45Z") == timestamp("2026-01-31T13:30:45+01:00")',
    'duration("1h")', 'duration("1h30m")', 'duration("-1.5h")', 'duration("1d")', 'duration("")', 'duration("0")', 'duration("5")', 'duration(self.text)', 'duration("1h") + duration("1m")', 'duration("1h") - duration("2h")', 'duration("1h") > duration("59m")', '-duration("1h")', 'duration("1h") * 2', 'duration("2562047h47m16.854775807s") + duration("1ns")', 'duration("1h") == duration("60m")', 'duration("90m").getHours()', 'duration("90m").getMinutes()', 'duration("90m").getSeconds()', 'duration("1.5s").getMilliseconds()', 'duration("-90m").getHours()',
    'timestamp("2026-01-31T12:30:45.123Z").getFullYear()', 'timestamp("2026-01-31T12:30:45.123Z").getMonth()', 'timestamp("2026-01-31T12:30:45.123Z").getDate()', 'timestamp("2026-01-31T12:30:45.123Z").getDayOfMonth()', 'timestamp("2026-01-31T12:30:45.123Z").getDayOfWeek()', 'timestamp("2026-01-31T12:30:45.123Z").getDayOfYear()', 'timestamp("2026-01-31T12:30:45.123Z").getHours()', 'timestamp("2026-01-31T12:30:45.123Z").getMinutes()', 'timestamp("2026-01-31T12:30:45.123Z").getSeconds()', 'timestamp("2026-01-31T12:30:45.123Z").getMilliseconds()', 'timestamp("2026-01-31T23:30:45Z").getHours("+02:00")', 'timestamp("2026-01-31T23:30:45Z").getDate("+02:00")', 'timestamp("2026-01-31T23:30:45Z").getHours("-05:30")', 'timestamp("2026-01-31T23:30:45Z").getMinutes("-05:30")', 'timestamp("2026-01-31T23:30:45Z").getHours("Europe/Berlin")', 'timestamp("2026-07-31T23:30:45Z").getHours("America/New_York")', 'timestamp("2026-07-31T23:30:45Z").getHours("Nowhere/Land")', 'timestamp("2026-07-31T23:30:45Z").getHours("x:y")', 'timestamp("2026-07-31T23:30:45Z").getHours("UTC")', 'timestamp("2026-07-31T23:30:45Z").getHours("")', 'timestamp("2024-12-31T00:00:00Z").getDayOfYear()',
    'self.time.getHours()', 'self.day.getFullYear()', 'self.span.getMinutes()', 'self.time > timestamp("2026-01-01T00:00:00Z")', 'self.span > duration("1h")', 'self.time', 'self.day', 'self.span', 'self.raw', 'self.raw == b"hello"', 'self.raw.size()', 'dyn(1).getHours()', '"a".getHours()',
  ],
  strings: [
    '"hello".contains("ell")', '"hello".startsWith("he")', '"hello".endsWith("lo")', '"hello".size()', 'size("hello")', '"a".contains(1)', 'dyn(1).contains("a")', 'dyn("a").contains(dyn(1))', '"tacocat".charAt(3)', '"tacocat".charAt(7)', '"tacocat".charAt(8)', '"tacocat".charAt(-1)', '"😀x".charAt(1)', '"hello".indexOf("l")', '"hello".indexOf("x")', '"hello".indexOf("")', '"hello".indexOf("l", 3)', '"hello".indexOf("l", -1)', '"hello".indexOf("", 9)', '"hello".indexOf("h", 9)', '"😀😀x".indexOf("x")', '"hello".lastIndexOf("l")', '"hello".lastIndexOf("")', '"hello".lastIndexOf("l", 2)', '"hello".lastIndexOf("l", 9)', '"hello".lastIndexOf("x")', '"hello".lastIndexOf("l", -1)', '"a".lastIndexOf("abc")', '"".lastIndexOf("a")', '["a", "b"].join()', '["a", "b"].join(", ")', '[].join()', '[1].join()', 'self.names.join("-")', '"ABCé".lowerAscii()', '"abcé".upperAscii()', '"hello hello".replace("he", "we")', '"hello hello".replace("he", "we", 1)', '"hello hello".replace("he", "we", 0)', '"hello hello".replace("he", "we", -1)', '"abc".replace("", "_")', '"abc".replace("", "_", 2)', '"a$b".replace("$", "$&")', '"a,b,c".split(",")', '"a,b,c".split(",", 2)', '"a,b,c".split(",", 0)', '"a,b,c".split(",", 1)', '"a,b,c".split(",", -1)', '"abc".split("")', '"😀b".split("")', '"".split(",")', '"".split("")', '"tacocat".substring(4)', '"tacocat".substring(0, 4)', '"tacocat".substring(4, 2)', '"tacocat".substring(8)', '"tacocat".substring(-1)', '"tacocat".substring(0, 9)', '"tacocat".substring(7)', '"  a\\t\\n".trim()', '"\\u00a0a\\u2003".trim()', '"abc".reverse()', 'strings.quote("a\\"b\\n")', '"a".trim(1)', '"a".nope()', 'nope("a")', '"a".size(1)', '"%s".format(["a"])',
    '"%s %s %s".format([1, 1u, 1.5])', '"%s %s".format([true, null])', '"%s".format([b"abc"])', '"%s".format([[1, "a", 1.5, true, null]])', '"%s".format([{"b": 1, "a": [1]}])', '"%s".format([duration("90s")])', '"%s".format([timestamp("2026-01-01T00:00:00Z")])', '"%s".format([[duration("90s"), timestamp(0)]])', '"%s".format([int])', '"%s".format([self.names])', '"%s".format([self.labels])', '"%s".format([self.nested])', '"%s".format([optional.of(1)])', '"%s".format([dyn(optional.of(1))])', '"%s".format([quantity("1")])', '"%d %d".format([1, 2u])', '"%d".format([1.5])', '"%d".format([dyn(1.5)])', '"%d".format(["a"])', '"%f".format([1.5])', '"%.2f".format([1.005])', '"%.0f".format([2.5])', '"%.2f".format([12345.678])', '"%f".format([1])', '"%f".format(["NaN"])', '"%f".format(["Infinity"])', '"%f".format(["-Infinity"])', '"%f".format(["x"])', '"%e".format([1234.5])', '"%.2e".format([0.00012345])', '"%e".format(["NaN"])', '"%b %b %b".format([5, 5u, true])', '"%b".format([-5])', '"%b".format(["a"])', '"%x %X %x".format([255, 255, "hi"])', '"%X".format([b"\\xab"])', '"%x".format([-255])', '"%x".format([1.5])', '"%o".format([8])', '"%o".format([1.5])', '"100%%".format([])', '"%s".format([])', '"%".format([1])', '"%z".format([1])', '"%.f".format([1.0])', '"%.2".format([1.0])', '"a".format([1])', '"%s %s".format([1])', '"%s".format([self.text])', 'self.text.format([1])', '"%s".format(dyn([1]))', '"%f".format([12345678901234567890.0])', '"%s".format([1.0])', '"%s".format([[1.0/0.0]])', '"%s".format([1.0/0.0])', '"%f".format([1.0/0.0])',
  ],
  regex: [
    '"hello".matches("^h.*o$")', '"hello".matches("ell")', '"hello".matches("(?i)HELLO")', 'matches("hello", "l+")', '"hello".matches("[")', '"hello".matches("(?<!x)a")', '"hello".matches("a{1001}")', '"aaa".matches("^(a+)+$")', '"hello".matches(self.text)', '"hello".matches("*")', '"é".matches("^.$")', '"a\\nb".matches("a.b")', '"a\\nb".matches("(?s)a.b")', '"x1".matches("^\\\\pL\\\\d$")', '"x".matches("\\\\8")', 'dyn(1).matches("a")', '"a".matches(1)', '"hello".matches("" + "[")', 'matches("[", "a")',
    '"abc 123".find("[0-9]+")', '"abc".find("x")', '"abc 123 45".findAll("[0-9]+")', '"abc 123 45".findAll("[0-9]+", 1)', '"abc 123 45".findAll("[0-9]+", 0)', '"abc 123 45".findAll("[0-9]+", -1)', '"123 abc 456".findAll("[0-9]*")', '"abc".findAll("x")', '"abc".find("[")', '"abc".find("" + "[")', '"abc".findAll("" + "[")', '"😀é".findAll(".")',
  ],
  lists: [
    '[1, 2, 3].isSorted()', '[2, 1].isSorted()', '[].isSorted()', '["a", "b"].isSorted()', '[[1]].isSorted()', '[1, 3].sum()', '[1.5, 2.5].sum()', '[1u, 2u].sum()', '[duration("1m"), duration("1s")].sum()', '[].sum()', '["a"].sum()', '[9223372036854775807, 1].sum()', 'self.none.sum()', '[3, 1].min()', '[3, 1].max()', '["b", "a"].max()', '[].min()', 'self.none.max()', '[1, 2, 2].indexOf(2)', '[1, 2, 2].lastIndexOf(2)', '[1].indexOf(5)', '[1].indexOf("a")', '[1, 2, 3].slice(1, 3)', '[1].slice(0, 2)', '[1].slice(-1, 1)', '[1, 2].slice(2, 1)', '[1].slice(0, 0)', '[[1], [2, 3]].flatten()', '[[1], [[2]]].flatten()', '[1, [2, [3]]].flatten(2)', '[dyn(1), [2, [3]]].flatten(2)', '[dyn(1), [2, [3]]].flatten(-1)', '[1].flatten()', '[3, 1, 2].sort()', '["b", "a"].sort()', '[].sort()', '[[1]].sort()', '[dyn(1), "a"].sort()', 'lists.range(3)', 'lists.range(0)', 'lists.range(-1)', 'lists.range(1000001)', '[1, 2].reverse()', '[1, 2, 1].distinct()', '[dyn(1), 1.0, 1u].distinct()', '[1, 2].includes(1)', '[1] + [2]', '[1] + ["a"]', '[] + [1]', '[1].size()', 'size([1])', 'size({"a": 1})', 'sets.contains([1, 2], [1])', 'sets.contains([1], [1, 2])', 'sets.contains([1], [])', 'sets.equivalent([1, 2], [2, 1, 1])', 'sets.intersects([1, 2], [2, 3])', 'sets.intersects([], [])', 'sets.contains([1], [1.0])', 'sets.contains([dyn(1)], [1.0])', 'sets.contains(self.names, ["a"])', 'sets.equivalent(self.names, self.others)', 'self.numbers.sort()', 'self.numbers.max()', 'self.numbers.sum()', 'self.names.indexOf("b")', 'self.names.reverse()', 'self.names + ["d"]', '["z"] + self.names', 'self.numbers.isSorted()', 'self.entries.distinct().size()', 'math.greatest(1, 2)', 'math.abs(-1)', 'base64.encode(b"a")', 'dyn(1).isSorted()', 'dyn("a").sum()', 'dyn([1, 2]).sum()', 'dyn(["a"]).sum()', 'dyn([]).sum()', 'dyn([1, 2]).max()', 'dyn([2.0, 1.0]).sort()',
  ],
  quantities: [
    'quantity("1Gi").isGreaterThan(quantity("1G"))', 'quantity("1").isLessThan(quantity("2"))', 'quantity("200M").compareTo(quantity("0.2G"))', 'quantity("50M").compareTo(quantity("50Mi"))', 'quantity("1k") == quantity("1000")', 'quantity("1k") != quantity("1001")', 'quantity("50k").add(quantity("20k")) == quantity("70k")', 'quantity("70k") == quantity("50k").add(quantity("20k"))', 'quantity("70k") != quantity("50k").add(quantity("20k"))', 'quantity("50k").add(20) == quantity("50020")', 'quantity("50k").sub(20000) == quantity("30k")', 'quantity("50k").sub(quantity("20k")).compareTo(quantity("30k"))', 'quantity("50k").asInteger()', 'quantity("1.5").asInteger()', 'quantity("1.5").isInteger()', 'quantity("50k").isInteger()', 'quantity("9999999999999999999999999999999999999G").asInteger()', 'quantity("9999999999999999999999999999999999999G").isInteger()', 'quantity("9223372036854775807").asInteger()', 'quantity("9223372036854775808").isInteger()', 'quantity("1Ei").isInteger()', 'quantity("8Ei").isInteger()', 'quantity("1.5").asApproximateFloat()', 'quantity("1Ki").asApproximateFloat()', 'quantity("50m").asApproximateFloat()', 'sign(quantity("-1"))', 'quantity("-1").sign()', 'sign(quantity("0"))', 'isQuantity("1Gi")', 'isQuantity("1GB")', 'isQuantity("")', 'isQuantity("Mi")', 'isQuantity("1,5")', 'isQuantity(" 1")', 'quantity("1GB")', 'quantity("")', 'quantity("abc")', 'quantity("Mi")', 'quantity("1.2.3")', 'quantity("1e")', 'quantity("1 Gi")', 'quantity(1)', 'quantity(self.text)', 'quantity("1") == 1', 'dyn(quantity("1")) == 1', 'dyn(quantity("1")) != 1', '1 == dyn(quantity("1"))', 'quantity("1") < quantity("2")', 'quantity("1") + quantity("2")', 'type(quantity("1"))', 'string(quantity("1"))', 'quantity("1") in [quantity("1")]', 'quantity("1").foo',
  ],
  addresses: [
    'isIP("127.0.0.1")', 'isIP("::1")', 'isIP("1.2.3")', 'isIP("1.2.3.4.5")', 'isIP("256.1.1.1")', 'isIP("01.2.3.4")', 'isIP("::ffff:1.2.3.4")', 'isIP("fe80::1%eth0")', 'isIP("")', 'isIP("1::2::3")', 'isIP("::1.2.3.4")', 'isIP("1:2:3:4:5:6:7:8")', 'isIP("1:2:3:4:5:6:7")', 'isIP("1:2:3:4:5:6:7::")', 'isIP("12345::")', 'ip("1.2.3.4") == ip("1.2.3.4")', 'ip("::1") == ip("0:0:0:0:0:0:0:1")', 'ip("::1") != ip("::2")', 'string(ip("2001:DB8:0:0:0:0:0:1"))', 'string(ip("2001:db8:0:1:0:0:0:1"))', 'string(ip("1:0:0:2:0:0:3:4"))', 'ip("127.0.0.1").family()', 'ip("::1").family()', 'ip("0.0.0.0").isUnspecified()', 'ip("::").isUnspecified()', 'ip("127.1.2.3").isLoopback()', 'ip("::1").isLoopback()', 'ip("224.0.0.1").isLinkLocalMulticast()', 'ip("224.0.1.1").isLinkLocalMulticast()', 'ip("ff02::1").isLinkLocalMulticast()', 'ip("169.254.1.1").isLinkLocalUnicast()', 'ip("fe80::1").isLinkLocalUnicast()', 'ip("192.168.0.1").isGlobalUnicast()', 'ip("255.255.255.255").isGlobalUnicast()', 'ip("ff00::1").isGlobalUnicast()', 'ip.isCanonical("127.0.0.1")', 'ip.isCanonical("2001:DB8::1")', 'ip.isCanonical("2001:db8::0:1")', 'ip.isCanonical("x")', 'ip("x")', 'ip("1.2.3")', 'ip("256.1.1.1")', 'ip("01.2.3.4")', 'ip("1..2.3")', 'ip("1.2.3.4.5")', 'ip("1.2.3.a")', 'ip("::ffff:1.2.3.4")', 'ip("fe80::1%eth0")', 'ip("1:2")', 'ip("1::2::3")', 'ip("12345::")', 'ip("1:2:3:4:5:6:7:8:9")', 'ip("1:2:3:4:5:6:7::8")', 'ip(":1")', 'ip("1:")', 'ip("%eth0")', 'ip("fe80::1%")', 'ip("1:2:3:4:5:6:7:1.2.3.4")', 'ip("1:1.2.3.4")', 'dyn(ip("::1")) == "a"', 'type(ip("::1"))', 'type(ip("::1")) == net.IP', 'type(cidr("::1/128")) == net.CIDR',
    'isCIDR("10.0.0.0/8")', 'isCIDR("10.0.0.1/8")', 'isCIDR("10.0.0.0/33")', 'isCIDR("10.0.0.0")', 'isCIDR("::/0")', 'isCIDR("::1/129")', 'isCIDR("10.0.0.0/08")', 'isCIDR("::ffff:10.0.0.0/104")', 'cidr("10.0.0.0/8").containsIP("10.1.2.3")', 'cidr("10.0.0.0/8").containsIP("11.1.2.3")', 'cidr("10.0.0.0/8").containsIP(ip("10.1.2.3"))', 'cidr("10.0.0.0/8").containsIP("::1")', 'cidr("10.0.0.0/8").containsIP("x")', 'cidr("0.0.0.0/0").containsIP("1.2.3.4")', 'cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16")', 'cidr("10.0.0.0/8").containsCIDR(cidr("10.0.0.0/7"))', 'cidr("10.0.0.0/8").containsCIDR("x")', 'cidr("10.1.0.0/16").containsCIDR("10.0.0.0/8")', 'string(cidr("10.1.2.3/8").masked())', 'string(cidr("10.1.2.3/13").masked())', 'string(cidr("2001:db8::1/45").masked())', 'cidr("10.1.2.3/8").prefixLength()', 'string(cidr("10.1.2.3/8").ip())', 'cidr("10.1.2.3/8") == cidr("10.1.2.3/8").masked()', 'cidr("x")', 'cidr("10.0.0.0/33")', 'cidr("10.0.0.0/-1")', 'cidr("10.0.0.0/")', 'cidr("10.0.0/8")', 'cidr("::ffff:10.0.0.0/104")', 'cidr("fe80::1%e/64")',
  ],
  urls: [
    'isURL("https://user:pass@example.com:80/path?query=val#fragment")', 'isURL("/absolute-path")', 'isURL("https://a:b:c/")', 'isURL("../relative-path")', 'isURL("")', 'isURL("https://example.com")', 'isURL("mailto:a@b")', 'isURL("http://[::1]:80")', 'isURL("http://[::1")', 'isURL("http://a b/")', 'isURL("http://a/ b")', 'isURL("http://a/%zz")', 'isURL("*")', 'isURL(":a")', 'isURL("http://a:port/")', 'isURL("HTTP://A")', 'isURL("//a/b")', 'url("https://user:pass@example.com:80/path?q=1#f").getScheme()', 'url("https://example.com:80/path").getHost()', 'url("https://example.com:80/path").getHostname()', 'url("https://example.com:80/path").getPort()', 'url("https://[::1]:80/").getHost()', 'url("https://[::1]:80/").getHostname()', 'url("https://[::1]/").getPort()', 'url("/path").getHost()', 'url("/path").getScheme()', 'url("https://example.com/path with spaces/").getEscapedPath()', 'url("https://example.com/a%2Fb").getEscapedPath()', 'url("https://example.com/é").getEscapedPath()', 'url("https://example.com/a!b").getEscapedPath()', 'url("https://example.com").getEscapedPath()', 'url("https://example.com/path?k1=a&k2=b&k2=c").getQuery()', 'url("https://example.com/path?key with spaces=value with spaces").getQuery()', 'url("https://example.com/path?").getQuery()', 'url("https://example.com/path?a=%zz&b=1+2;c").getQuery()', 'url("https://example.com/path?a").getQuery()', 'url("https://example.com/#f").getEscapedPath()', 'url("HTTPS://Example.com/").getScheme()', 'url("HTTPS://Example.com/").getHost()', 'url("https://a:b:c/")', 'url("../a")', 'url("")', 'url("http://[::1")', 'url("http://a b/")', 'url("http://a/%zz")', 'url(":a")', 'url("http://[1.2.3.4]/")', 'url("http://x[::1]/")', 'url("http://u ser@a/")', 'url("http://a\\n/")', 'url("https://a") == url("https://a")', 'url("https://a/b") == url("https://a/c")', 'url("mailto:a@b").getScheme()', 'url("mailto:a@b").getHost()', 'type(url("/a"))',
  ],
  semver: [
    'isSemver("1.2.3")', 'isSemver("v1.2.3")', 'isSemver("1.2")', 'isSemver("01.2.3")', 'isSemver("1.2.3-rc.1+build")', 'isSemver("v1.2", true)', 'isSemver("01.02.03", true)', 'isSemver("x", true)', 'isSemver("1.2-rc", true)', 'isSemver("", true)', 'isSemver("1.2.3.4")', 'semver("1.2.3").major()', 'semver("1.2.3").minor()', 'semver("1.2.3").patch()', 'semver("v1", true).major()', 'semver("1.2.3").compareTo(semver("1.2.4"))', 'semver("1.2.3-rc.1").isLessThan(semver("1.2.3"))', 'semver("1.2.3-rc.2").isGreaterThan(semver("1.2.3-rc.10"))', 'semver("1.2.3-alpha").compareTo(semver("1.2.3-1"))', 'semver("1.2.3-alpha").compareTo(semver("1.2.3-alpha.1"))', 'semver("1.2.3+a") == semver("1.2.3+b")', 'semver("1.2.3") == semver("1.2.4")', 'semver("x")', 'semver("")', 'semver("1.2")', 'semver("a.2.3")', 'semver("01.2.3")', 'semver("1.02.3")', 'semver("1.2.x")', 'semver("1.2.3-")', 'semver("1.2.3-01")', 'semver("1.2.3+")', 'semver("1.2.3-é")', 'semver("1.2.")', 'semver("99999999999999999999.1.1")', 'semver("1.2-rc", true)', 'type(semver("1.2.3"))', 'semver("1.2.3") < semver("1.2.4")',
  ],
  formats: [
    'format.dns1123Label().validate("abc").hasValue()', 'format.dns1123Label().validate("Abc").value()', 'format.dns1123Label().validate("a.b").value()', 'format.dns1123Label().validate("a23456789012345678901234567890123456789012345678901234567890123456789").value()', 'format.dns1123Subdomain().validate("a..b").value()', 'format.dns1123Subdomain().validate("a.b").hasValue()', 'format.dns1035Label().validate("1a").value()', 'format.qualifiedName().validate("a/b/c").value()', 'format.qualifiedName().validate("/b").value()', 'format.qualifiedName().validate("A/b").value()', 'format.qualifiedName().validate("a/").value()', 'format.qualifiedName().validate("example.com/Name").hasValue()', 'format.qualifiedName().validate("-").value()', 'format.dns1123LabelPrefix().validate("abc-").hasValue()', 'format.dns1123SubdomainPrefix().validate("abc.-").hasValue()', 'format.dns1035LabelPrefix().validate("abc-").hasValue()', 'format.labelValue().validate("a b").value()', 'format.labelValue().validate("").hasValue()', 'format.uri().validate("http://a").hasValue()', 'format.uri().validate("a").value()', 'format.uuid().validate("123e4567-e89b-12d3-a456-426614174000").hasValue()', 'format.uuid().validate("x").value()', 'format.byte().validate("aGVsbG8=").hasValue()', 'format.byte().validate("a").value()', 'format.byte().validate("").value()', 'format.date().validate("2021-01-01").hasValue()', 'format.date().validate("2021-02-30").value()', 'format.datetime().validate("2021-01-01T00:00:00Z").hasValue()', 'format.datetime().validate("2021-01-01T25:00:00Z").value()', 'format.datetime().validate("2021-01-01t00:00:00z").hasValue()', 'format.named("dns1123Label").hasValue()', 'format.named("nope").hasValue()', 'format.named("uuid").value().validate("x").hasValue()', 'format.uuid() == format.named("uuid").value()', 'format.uuid() == format.date()', 'format.nope()', 'format.uuid', 'type(format.uuid())',
  ],
  authorizer: ['authorizer', 'authorizer.path("/a").check("get").allowed()', 'requestResource', 'request', 'params'],
  mistakes: [
    '1 +', '(1', '1)', '1 2', '[1, 2', '[1 2]', '{"a": 1', '{"a" 1}', '{"a"}', 'foo(', 'foo(1', 'foo(1,', 'a.', 'a.1', 'a..b', '1 + + 2', '&& true', 'true &&', 'true & false', 'true | false', 'a = 1', '1 ? 2', '1 ? 2 : ', '?', '$', '1 $ 2', '#a', '"abc" "def"', "'a' + ",  'self.text ==', '== 1', '*', '1 * * 2', 'a b c', 'has(', ')', ']', '}', '[', '{', '(', 'true false', 'self.true', 'self.in', 'in', 'if', 'for', 'self.for', 'namespace', 'var + 1', 'while(1)', 'null.a', 'as', '!', '-', '@a', '`a`', 'self.text.(', 'self.text[', 'self.text[]', 'self.text[?]', 'a{b: 1}', 'int{}', 'Foo{}', 'google.protobuf.Timestamp{seconds: 1}', '{a: }', '[,]', '{,}', '1..2', '1.2.3', '0x', '1u.a', '"\\', "'''a", '1 == 2 == 3', '1 < 2 < 3', 'self.text == 1', 'self.count + self.text', 'self.names + 1', 'self.nested + 1', 'self.text.startsWith(1)', 'self.text.foo()', 'self.count.startsWith("a")', 'size(1)', 'string(self.nested)', 'self.nope1 == self.nope2', 'nope1 + nope2', 'self.names.all(x, x.nope)', 'self.labels.a.b', 'self.entries[0].nope', 'self.text\n  .nope', '1 +\n 2 +\n "a"', '"é" + nope', 'self.\ttext', 'true ? self.nope : 1', 'matches("a")', 'duration("x") == duration("y")', 'timestamp("x")', '[1].map(x, x + "a")', '[1].filter(x, x + 1)', '{"a": 1}.a + "b"', 'self.text + 1 + 2', '!self.text', '-self.text', 'self.flag + 1', 'self.text ? 1 : 2', 'self.text && true', 'true && self.text || self.count', 'optional.of(1).nope', 'type(1) == 1', 'int + 1', 'self == 1', 'self.names == self.numbers', 'self.set == self.numbers', 'self.port.nope', 'self.nested.inner == self.nested', 'self in [self]', 'self.text in self.numbers', '"a" in self.text', 'self.names.map(x)', 'self.names.exists(x, x == 1)',
  ],
}

export const celExpressions: readonly string[] = [...new Set(Object.values(celCases).flat())]
