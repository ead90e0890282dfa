/**
 * What rules of schemas are estimated to cost, and which are refused for it.
 *
 * A server tells a cost only by how far it exceeds a limit, and exactly only if that is not far. But a rule beside the
 * items of a list costs as often as the list may have items, so the length of the list is turned until the answer is
 * exact: every rule of a table has its own list, and each definition that is sent asks about all of them at once.
 */
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../src/kube/json.ts'
import { crds, defineKind, definition, type KindOptions, object, outcome } from './custom-kind.ts'
import { at, openServer } from './server.ts'

const server = openServer()

const text = (maxLength?: number): object => ({ type: 'string', ...(maxLength !== undefined && { maxLength }) })
const integer = { type: 'integer' }
const list = (items: object, maxItems?: number): object => ({
  type: 'array',
  items,
  ...(maxItems !== undefined && { maxItems }),
})
const map = (values: object, maxProperties?: number): object => ({
  type: 'object',
  additionalProperties: values,
  ...(maxProperties !== undefined && { maxProperties }),
})
const rules = (schema: object, ...all: readonly (string | object)[]): object => ({
  ...schema,
  'x-kubernetes-validations': all.map((rule) => (typeof rule === 'string' ? { rule } : rule)),
})

const item = object(
  {
    name: text(20),
    tags: list(text(6), 5),
    size: integer,
    parts: list(object({ id: text(12), ports: list(integer, 4), more: list(text(9), 3) }), 6),
  },
  { required: ['name', 'size'] },
)

/** One of everything, with a limit; those that begin with `any` have none. */
const everything = {
  s: text(100),
  t: text(10),
  anyText: text(),
  choice: { type: 'string', enum: ['Never', 'OnFailure', 'Always'] },
  bytes: { type: 'string', format: 'byte', maxLength: 64 },
  anyBytes: { type: 'string', format: 'byte' },
  duration: { type: 'string', format: 'duration' },
  day: { type: 'string', format: 'date' },
  time: { type: 'string', format: 'date-time' },
  uri: { type: 'string', format: 'uri', maxLength: 50 },
  int: integer,
  num: { type: 'number' },
  flag: { type: 'boolean' },
  portOrName: { 'x-kubernetes-int-or-string': true, maxLength: 15 },
  anyPortOrName: { 'x-kubernetes-int-or-string': true },
  texts: list(text(8), 10),
  ints: list(integer, 20),
  nums: list({ type: 'number' }, 11),
  anyInts: list(integer),
  anyTexts: list(text()),
  lists: list(list(text(5), 4), 3),
  labels: map(text(30), 12),
  anyLabels: map(text()),
  counts: map(integer, 9),
  groups: map(list(text(7), 6), 5),
  items: list(item, 7),
  anyItems: list(item),
  byName: map(item, 8),
  nested: object({ deeper: object({ s: text(40), texts: list(text(3), 13) }) }),
  template: {
    'x-kubernetes-embedded-resource': true,
    'x-kubernetes-preserve-unknown-fields': true,
    type: 'object',
  },
  namespace: text(21),
}

/** What a rule speaks of. */
function dataOf(rule: string): object {
  return object(Object.fromEntries(Object.entries(everything).filter(([name]) => rule.includes(name))))
}

const tables: Readonly<Record<string, readonly string[]>> = {
  'fields and operators': [
    'true',
    'self.int == 1',
    'self.int == self.int',
    'self.flag',
    'self.num > 1.5 && self.int < 3',
    'has(self.s)',
    'has(self.nested.deeper.s)',
    'self.s == "abc"',
    'self.s == self.t',
    'self.s != self.anyText',
    'self.s < self.t',
    'self.anyText == self.anyText',
    'self.bytes == self.anyBytes',
    'self.bytes < b"abc"',
    'self.choice == "Always"',
    'self.s + self.t == "x"',
    'self.bytes + self.bytes == b"x"',
    'self.s + self.anyText == self.s',
    'self.nested.deeper.s == self.s',
    'self.nested == self.nested',
    'self.items == self.items',
    'self.labels == self.labels',
    'self.texts == self.texts',
    '(self.flag ? self.s : self.t) == self.s',
    '(self.flag ? "abcdefghijklmn" : "xyz") == self.s',
    'self.flag || self.s == self.s',
    '!self.flag',
    '-self.int < 3',
    'self.int + 1 == 2 || self.int * 3 == 3 || self.int % 2 == 1',
    'self.int in [1, 2, 3]',
    'self.s in ["a", "bb", "ccc"]',
    'self.s in self.texts',
    'self.s in self.labels',
    'self.s in self.anyTexts',
    'self.portOrName == 80',
    'self.portOrName == "http"',
    'self.anyPortOrName == self.portOrName',
    'type(self.portOrName) == int',
    'type(self.portOrName) == string && self.portOrName.matches("^[a-z]+$")',
    'self.namespace == self.s',
    'self.__namespace__ == self.s',
    '{"a": self.s, "b": self.t} == {}',
    '[self.s, self.t] == self.texts',
    '[self.s, self.t][0] == self.s',
    '{"a": self.s}["a"] == self.s',
    '{"a": self.s}.a == self.s',
    'dyn(self.s) == self.t',
    'dyn(self.items).size() > 0',
    'self.template.metadata.name == self.s',
    'self.template.metadata.generateName == self.anyText',
    'self.template.kind == self.anyText',
    'null == null',
    'string(self.template.kind) == "x"',
  ],
  'texts and patterns': [
    'self.s.size() > 1',
    'size(self.s) > 1',
    'self.s.startsWith("abc")',
    'self.s.startsWith(self.t)',
    'self.s.endsWith("abcdefghijkl")',
    'self.s.contains("abc")',
    'self.s.contains(self.anyText)',
    'self.s.matches("^[a-z]+$")',
    'matches(self.s, "^[a-z]+$")',
    'self.s.matches(self.t)',
    'self.choice.matches("^[a-z]+$")',
    'self.uri.matches("^https://.*")',
    'self.s.find("[0-9]+") == "1"',
    'self.s.findAll("[0-9]+").size() == 1',
    'self.s.findAll("[0-9]+", 3).all(x, x == self.t)',
    'self.s.lowerAscii() == self.s',
    'self.s.upperAscii() == "ABC"',
    'self.s.trim() == self.t',
    'self.s.substring(1) == self.t',
    'self.s.substring(1, 3) == self.anyText',
    'self.s.charAt(1) == "a"',
    'self.s.indexOf("a") == 1',
    'self.s.indexOf("a", 2) == 1',
    'self.s.lastIndexOf(self.t) == 1',
    'self.s.replace("a", "b") == self.anyText',
    'self.s.replace("a", "bcd") == self.anyText',
    'self.s.replace("abc", "b") == self.anyText',
    'self.s.replace("", "b") == self.anyText',
    'self.s.replace(self.t, self.t) == self.anyText',
    'self.s.replace("a", "bb", 2) == self.anyText',
    'self.s.split(",").size() == 1',
    'self.s.split(",").all(x, x == "a")',
    'self.s.split(",", 2).all(x, x == "a")',
    'self.s.split(",").all(x, x == self.t)',
    'self.s.split(",")[0] == self.t',
    'self.texts.join() == self.anyText',
    'self.texts.join(", ") == self.anyText',
    'self.texts.join(self.t) == self.anyText',
    '["a", self.s].join(",") == "x"',
    'self.s.split(",").join(";") == "x"',
    '"%s is %d".format([self.s, self.int]) == self.t',
    'self.s.format([self.int]) == "x"',
    'strings.quote(self.s) == self.anyText',
    'strings.quote(self.s + self.t) == "abcdefghijklmnopqrstuvwxyz"',
    'bytes(self.s) == self.anyBytes',
    'string(self.bytes) == self.anyText',
    'string(self.int) == "1"',
    'string(self.int) == self.s',
    'int(self.s) == 1',
    'double(self.s) == 1.0',
    'bool(self.s)',
    'string(self.s) == self.t',
  ],
  'lists and maps': [
    'self.texts.size() < 3',
    'self.texts.all(x, x == "abc")',
    'self.texts.all(x, x == self.s)',
    'self.texts.exists(x, x.startsWith("abcdefghijk"))',
    'self.texts.exists_one(x, x == self.t)',
    'self.texts.map(x, x + "a").size() == 1',
    'self.texts.map(x, x + "a") == self.texts',
    'self.texts.map(x, x + "abc").all(y, y == self.anyText)',
    'self.texts.map(x, x != "a", x + "abc").all(y, y == self.anyText)',
    'self.texts.filter(x, x != "a").size() == 1',
    'self.texts.filter(x, x != "a").all(y, y == self.anyText)',
    'self.texts.filter(x, x != "a")[0] == self.s',
    'self.texts[0] == self.s',
    'self.texts.all(x, self.texts.exists(y, x == y))',
    'self.texts.all(x, self.texts.filter(y, x == y).size() == 1)',
    'self.items.all(x, x.name == "a")',
    'self.items.all(x, x.size > 3)',
    'self.items.all(x, self.items.exists_one(y, x.name == y.name))',
    'self.items.all(x, x.tags.all(y, y.size() < 3))',
    'self.items.all(x, x.tags.all(y, y == x.name))',
    'self.items.map(x, x.name) == self.texts',
    'self.items.map(x, x.name).all(y, y == self.anyText)',
    'self.items.map(x, x.tags).all(y, y.all(z, z == self.anyText))',
    'self.items.filter(x, x.size > 1).all(y, y.name == self.anyText)',
    'self.items[0].name == self.anyText',
    'self.items[0].tags[1] == self.anyText',
    'self.items[self.int].tags.size() == 1',
    'self.items.all(x, x.parts.all(y, y.ports.all(z, z > 1)))',
    'self.items.all(x, x.parts.all(y, y.more.all(z, z == self.anyText)))',
    'self.items.all(x, x.parts.all(y, y.ports.size() == 1 && y.more.size() == 1))',
    'self.items.all(x, x.parts.all(y, y.more.exists(z, y.id == z)))',
    'self.items.all(x, x.parts.all(y, y.more.exists(z, y.ports.size() == 1 && z == self.anyText)))',
    'self.items.all(x, x.parts.all(y, y.ports.exists(z, y.more.size() == 1 && z == 1)))',
    'self.items.all(x, x.tags.exists(y, x.name == y && x.parts.size() == 1 && y == self.anyText))',
    'self.labels.all(k, k == "abc")',
    'self.labels.all(k, k.startsWith("abc"))',
    'self.labels.all(k, self.labels[k] == self.anyText)',
    'self.labels.all(k, v, v == self.anyText)',
    'self.labels.all(k, v, k == v)',
    'self.labels["a"] == self.anyText',
    'self.labels.a == self.anyText',
    'self.labels.exists(k, k in self.texts)',
    'self.labels.map(k, self.labels[k]).all(x, x == self.anyText)',
    'self.counts.all(k, self.counts[k] > 1)',
    'self.groups.all(k, self.groups[k].all(x, x == self.anyText))',
    'self.groups.all(k, v, v.all(i, x, x == self.anyText && i < 3))',
    'self.byName.all(k, self.byName[k].tags.all(t, t == self.anyText))',
    'self.texts.all(i, x, x == self.anyText && i < 10)',
    'self.texts.transformList(i, x, x + "a").all(y, y == self.anyText)',
    'self.labels.transformMap(k, v, v + "a").all(k, k == self.anyText)',
    'self.labels.transformMap(k, v, v + "a").all(k, v, v == self.anyText)',
    'self.labels.transformMapEntry(k, v, {v: k}).size() == 1',
    'self.lists.all(x, x.all(y, y == self.anyText))',
    'self.lists[0][1] == self.anyText',
    '(self.texts + self.texts).size() == 1',
    '(self.texts + self.texts).all(x, x == self.anyText)',
    '(self.texts + ["abcdefghijkl"]).all(x, x == self.anyText)',
    '(self.flag ? self.texts : self.anyTexts).all(x, x == "a")',
    '[1, 2, 3].all(x, x > self.int)',
    '["a", "bb", self.t].all(x, x == self.anyText)',
    '[[1], [2, 3]].all(x, x.all(y, y > 1))',
    '{"a": 1, "b": 2}.all(k, k == self.anyText)',
    '{"a": self.s}.all(k, v, v == self.anyText)',
    'self.nested.deeper.texts.all(x, x == self.nested.deeper.s)',
    'self.anyInts.all(x, x == 1)',
    'self.anyInts.size() == 1',
  ],
  libraries: [
    'self.ints.sum() == 3',
    'self.ints.min() == 3 && self.ints.max() == 4',
    'self.texts.isSorted()',
    'self.texts.indexOf("a") == 1',
    'self.texts.lastIndexOf(self.s) == 1',
    'self.texts.max() == "a"',
    'self.texts.map(x, x).isSorted()',
    'self.texts.reverse() == self.texts',
    'self.texts.reverse().all(x, x == self.anyText)',
    'self.texts.distinct().size() == 1',
    'self.ints.distinct().all(x, x == 1)',
    'self.texts.sort() == self.texts',
    'self.ints.sort() == self.ints',
    'self.items.sortBy(x, x.name).size() == 1',
    'self.items.sortBy(x, x.size).all(y, y.name == self.anyText)',
    'self.texts.slice(1, 3).all(x, x == self.anyText)',
    'self.texts.slice(0, self.int).size() == 1',
    'self.texts.slice(4, 2).size() == 1',
    'self.lists.flatten().size() == 1',
    'self.lists.flatten().all(x, x == self.t)',
    'dyn(self.lists).flatten(2).size() == 1',
    'lists.range(5).all(x, x < self.int)',
    'sets.contains(self.texts, ["a", "b"])',
    'sets.intersects(self.texts, self.texts)',
    'sets.equivalent(self.ints, [1, 2, 3])',
    'url(self.s).getHost() == "a"',
    'url(self.s) == url(self.t)',
    'isURL(self.s)',
    'url(self.s).getQuery().all(k, k == "a")',
    'url(self.s).getScheme() == self.t',
    'quantity(self.s).isGreaterThan(quantity("1"))',
    'quantity(self.s) == quantity(self.t)',
    'quantity(self.s) != quantity(self.t)',
    'quantity(self.s).compareTo(quantity("10Mi")) == 1',
    'quantity(self.s).add(quantity(self.t)).sub(1).asInteger() > 3',
    'isQuantity(self.s) && quantity(self.s).isInteger() && sign(quantity(self.s)) == 1',
    'semver(self.s).major() > 1',
    'semver(self.s) == semver("1.2.3")',
    'isSemver(self.s, true)',
    'ip(self.s).family() == 4',
    'ip(self.s) == ip("10.0.0.1")',
    'isIP(self.s) && ip.isCanonical(self.s)',
    'cidr(self.s).containsIP("10.0.0.1")',
    'cidr(self.s).containsIP(self.t)',
    'cidr(self.s).containsIP(ip(self.t))',
    'cidr(self.s).containsCIDR(self.t)',
    'cidr(self.s).containsCIDR(cidr(self.t))',
    'cidr(self.s).ip() == ip(self.t)',
    'cidr(self.s).masked() == cidr(self.t)',
    'cidr(self.s).prefixLength() == 24',
    'string(ip(self.s)) == self.t',
    'format.dns1123Label().validate(self.s).hasValue()',
    '!format.named("dns1123Label").value().validate(self.s).hasValue()',
    'format.dns1123Label() == format.uuid()',
    'self.time > timestamp("2024-01-01T00:00:00Z")',
    'self.time == self.time',
    'self.day == self.time',
    'self.time - self.time < duration("1h")',
    'self.duration == self.duration',
    'self.duration > duration("1h")',
    'duration(self.s) > duration("1h")',
    'timestamp(self.s) > self.time',
    'self.time.getFullYear() == 2024',
    'self.duration.getSeconds() > 3',
    'self.?s.orValue("a") == self.t',
    'self.?s.hasValue()',
    'self.?int.orValue(3) == 4',
    'self.?int == optional.of(3)',
    'self.?s == optional.of("abc")',
    'self.labels[?"a"].orValue("b") == self.t',
    'self.texts[?0].orValue("b") == self.t',
    'self.?nested.deeper.s.orValue("b") == self.t',
    'self.?s.optMap(x, x + "a").orValue("b") == self.t',
    'self.?texts.optMap(x, x.size()).orValue(3) == 3',
    'self.?texts.optMap(x, x.all(y, y == "a")).orValue(true)',
    'optional.of(self.texts).optFlatMap(x, x[?0]).orValue("a") == "abc"',
    'optional.of(self.s).value() == "abc"',
    '[?self.?s] == ["a"]',
    'self.texts.first().hasValue()',
    'self.texts.last().orValue("a") == "abc"',
  ],
}

/** How far the estimate exceeds the limit of one rule, as the server says it. */
const excess = /estimated rule cost exceeds budget by factor of (.*)x \(try/

/** By the name of its property, what the server says of each of these. */
async function excesses(properties: object): Promise<ReadonlyMap<string, string>> {
  const body = definition('costs.example.com', object({ spec: object(properties) }))
  const { body: answer } = await server.call('POST', `${crds}?dryRun=All`, { body })
  const causes = (at(answer, 'details', 'causes') ?? []) as unknown as readonly JsonObject[]
  return new Map(
    causes.flatMap((cause) => {
      const [, name] = /properties\[spec\]\.properties\[(\w+)\]/.exec(cause['field'] as string) ?? []
      const said = cause['message'] as string
      // Beside each rule the sum of all is too expensive.
      return name === undefined || said.includes('contributed to') ? [] : [[name, excess.exec(said)?.[1] ?? said]]
    }),
  )
}

/** For how many items each rule is just too expensive, and by how much. */
async function costs(texts: readonly string[]): Promise<readonly string[]> {
  const counts = texts.map(() => 1)
  const found = texts.map((): string | undefined => undefined)
  for (let round = 0; round < 12 && found.includes(undefined); round++) {
    const open = texts.flatMap((rule, index) => (found[index] === undefined ? [{ rule, index }] : []))
    const properties = open.map(
      ({ rule, index }) => [`p${index}`, list(rules(dataOf(rule), rule), counts[index])] as const,
    )
    const said = await excesses(Object.fromEntries(properties))
    for (const { index } of open) {
      const factor = said.get(`p${index}`)
      const count = counts[index]!
      if (factor === undefined) counts[index] = count * 10
      else if (!(Number(factor) >= 1.5) || count === 1) found[index] = `${count} * ${factor}`
      else {
        // Between two numbers of items that are not the same.
        const fewer = Math.max(Math.floor(count / 10) + 1, Math.floor((count * 1.2) / Number(factor)))
        if (fewer === count) found[index] = `${count} * ${factor}`
        counts[index] = fewer
      }
    }
  }
  return texts.map((rule, index) => `${rule} => ${found[index] ?? 'nothing'}`)
}

describe('the estimated cost of a rule', () => {
  for (const [name, texts] of Object.entries(tables)) {
    it(`is that of the real server: ${name}`, async () => {
      expect(await costs(texts)).toMatchSnapshot()
    })
  }
})

const dear = 'self.all(x, self.exists(y, x == y))'
const texts = list(text(), 100)
const required = (...names: readonly string[]): object => ({ required: names })

/** Schemas of `spec`. */
const schemas: Readonly<Record<string, object>> = {
  'a text without a limit, compared': rules(object({ a: text() }), 'self.a == "abc"'),
  'a text without a limit, matched': rules(object({ a: text() }), 'self.a.matches("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")'),
  'two texts without a limit': rules(object({ a: text(), b: text() }), 'self.a.contains(self.b)'),
  'a text in a list without a limit': object({ a: list(rules(text(), 'self.matches("^[a-z]+$")')) }),
  'a short text in a list without a limit': object({ a: list(rules(text(5), 'self.matches("^[a-z]+$")')) }),
  'a rule in a list without a limit': object({ a: list(rules(object({ b: integer }), 'self.b > 1')) }),
  'a rule in a list of larger objects': object({
    a: list(rules(object({ b: integer, name: text() }, required('b', 'name')), 'self.b > 1 && self.b < 3')),
  }),
  'required members with a default': object({
    a: list(rules(object({ b: integer, name: { ...text(), default: 'x' } }, required('b', 'name')), 'self.b > 1')),
  }),
  'required members of any type': object({
    a: list(
      rules(
        object(
          {
            b: integer,
            c: { type: 'boolean' },
            d: { type: 'number' },
            e: { type: 'string', format: 'date-time' },
            f: { type: 'string', format: 'date' },
            g: { type: 'string', format: 'duration' },
            h: { type: 'string', format: 'byte' },
            i: list(integer),
            j: map(integer),
            k: object({ l: integer }, required('l')),
            'm-n': text(),
            o: { 'x-kubernetes-int-or-string': true },
          },
          required('b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'm-n', 'o'),
        ),
        'self.b > 1 && self.b < 3 && self.k.l == self.b && self.b + 3 > 4 && self.b - 3 < 4 && self.b * 3 < 2 && self.c',
        'self.i.size() > 1 && self.j.size() > 1 && self.b > 1 && self.b < 3 && self.k.l == self.b && self.b + 3 > 4',
      ),
    ),
  }),
  'a rule in a map without a limit': object({ a: map(rules(text(10), 'self == "abc" || self.contains("a")')) }),
  'a rule in a map with a limit': object({ a: map(rules(text(10), 'self == "abc" || self.contains("a")'), 2_000_000) }),
  'lists in lists without limits': rules(object({ a: list(list(integer)) }), 'self.a.all(x, x.all(y, y > 1))'),
  'lists in lists with one limit': rules(object({ a: list(list(integer, 10)) }), 'self.a.all(x, x.all(y, y > 1))'),
  'lists in lists with both limits': rules(
    object({ a: list(list(integer, 10), 10) }),
    'self.a.all(x, x.all(y, y > 1))',
  ),
  'a rule in lists in lists': object({ a: list(list(rules(text(20), 'self.startsWith("a")'), 1000), 1000) }),
  'a rule in lists in maps': object({ a: map(list(rules(text(20), 'self.startsWith("abcd")'), 1234), 3210) }),
  'a rule in lists in a list without a limit': object({ a: list(list(rules(integer, 'self > 3'), 10)) }),
  'a rule on a list without a limit': object({ a: rules(list(text(10)), 'self.all(x, x.size() > 1)') }),
  'a list compared with itself': object({ a: rules(list(text(10)), dear) }),
  'a list of 1000, compared with itself': object({ a: rules(list(text(10), 1000), dear) }),
  'a list of 700, compared with itself': object({ a: rules(list(text(10), 700), dear) }),
  'a list of 100 texts without a limit': object({ a: rules(texts, dear) }),
  'a map without a limit': object({ a: rules(map(integer), 'self.all(k, self[k] > 1)') }),
  'a map of maps': object({ a: rules(map(map(text())), 'self.all(k, self[k].all(l, self[k][l] == "a"))') }),
  'keys of a map': object({ a: rules(map(integer, 100_000), 'self.all(k, k.matches("^[a-z]+$"))') }),
  'no items': object({ a: list(rules(text(), 'self.matches("a")'), 0) }),
  'a factor between two that can be written': object({ a: list(rules(integer, 'self == 1'), 22_500_000) }),
  'a small factor between two that can be written': object({ a: list(rules(integer, 'self == 1'), 10_078_125) }),
  'a negative limit': object({ a: rules(list(integer, -1), 'self.all(x, x > 1)') }),
  'unique choices': object({ a: rules(list({ type: 'string', enum: ['a', 'bb', 'cccc'] }, 400), dear) }),
  dates: object({ a: rules(list({ type: 'string', format: 'date' }, 1500), dear) }),
  times: object({ a: rules(list({ type: 'string', format: 'date-time' }, 1500), dear) }),
  durations: object({ a: rules(list({ type: 'string', format: 'duration' }, 1500), dear) }),
  bytes: object({ a: rules(list({ type: 'string', format: 'byte', maxLength: 40 }, 800), dear) }),
  numbers: object({ a: rules(list({ type: 'number' }, 2000), dear) }),
  'int or string': object({ a: rules(list({ 'x-kubernetes-int-or-string': true }, 50), dear) }),
  'int or string with a limit': object({
    a: rules(list({ 'x-kubernetes-int-or-string': true, maxLength: 20 }, 900), dear),
  }),
  'an embedded resource': object({
    a: rules(
      { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
      'self.metadata.name.matches("^[a-z]+$") && self.kind == self.apiVersion && self.kind.contains(self.apiVersion)',
    ),
  }),
  'a message': rules(object({ a: text() }), { rule: 'self.a == "a"', messageExpression: '"not " + self.a' }),
  'a dear message': rules(object({ a: text(), b: text() }), {
    rule: 'self.a == "a"',
    messageExpression: 'self.a.contains(self.b) ? "yes" : "no"',
  }),
  'a rather dear message': rules(object({ a: text(10_000), b: text(15_000) }), {
    rule: 'self.a == "a"',
    messageExpression: 'self.a.contains(self.b) ? "yes" : "no"',
  }),
  'a dear rule with a dear message': object({
    a: rules(list(text()), {
      rule: dear,
      messageExpression: 'self.map(x, x + "a").join(",")',
    }),
  }),
  'a message in a list costs once': object({
    a: list(
      rules(object({ a: text(1000), b: text(1000) }), {
        rule: 'true',
        messageExpression: 'self.a.contains(self.b) ? "yes" : "no"',
      }),
      1000,
    ),
  }),
  'a dear rule with a message that does not compile': object({
    a: rules(list(text()), { rule: dear, messageExpression: 'self.foo' }),
  }),
  'rules that do not compile cost nothing': object({ a: rules(list(text()), 'self.foo', dear) }),
  'several rules, dear together': object({
    a: list(
      rules(
        object({ b: text(100) }),
        ...[7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18].map((times) => ({
          rule: 'self.b == "abc"'.concat(' && self.b == "abcdefghijkl"'.repeat(times)),
        })),
      ),
      220_000,
    ),
  }),
  'several rules, just too dear together': object({
    a: list(
      rules(
        object({ b: text(100) }),
        ...[7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17].map((times) => ({
          rule: 'self.b == "abc"'.concat(' && self.b == "abcdefghijkl"'.repeat(times)),
        })),
      ),
      182_000,
    ),
  }),
  'several rules, just not too dear together': object({
    a: list(
      rules(
        object({ b: text(100) }),
        ...[7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17].map((times) => ({
          rule: 'self.b == "abc"'.concat(' && self.b == "abcdefghijkl"'.repeat(times)),
        })),
      ),
      160_000,
    ),
  }),
  'rules at several places': object({
    a: rules(list(text()), dear),
    b: rules(list(integer), dear),
    c: list(rules(text(20), 'self.matches("^[a-z]+$")'), 3_000_000),
    d: rules(text(), 'self.matches("^[a-z]+$")'),
  }),
  'the old value': rules(object({ a: list(text(), 100) }), 'self.a.all(x, oldSelf.a.exists(y, x == y))'),
  'the old value, perhaps': rules(object({ a: list(text(), 10) }), {
    rule: 'oldSelf.hasValue() && oldSelf.value().a.all(x, x == "a") && self.a == oldSelf.value().a',
    optionalOldSelf: true,
  }),
  'the old value, looked into': rules(object({ a: text(100), b: list(text(10), 10) }), {
    rule: 'oldSelf.?a.orValue("") == self.a && oldSelf.optMap(o, o.b.all(x, x == self.a)).orValue(true)',
    optionalOldSelf: true,
  }),
  'a value that nobody described': rules(
    object({ a: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }, b: text() }),
    'has(self.a) && self.b.matches("^[a-z]+$")',
  ),
  'a list that is a map': object({
    a: rules(
      {
        ...list(object({ name: text(63), value: text(1000) }, required('name'))),
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
      },
      'self.all(x, x.value == x.name)',
    ),
  }),
  'a set': object({ a: rules({ ...list(text(63), 500), 'x-kubernetes-list-type': 'set' }, dear) }),
  'what authors write of ports': object({
    ports: rules(
      list(
        object({ port: integer, name: text(63), protocol: { type: 'string', enum: ['TCP', 'UDP'] } }, required('port')),
      ),
      'self.all(p, self.exists_one(q, p.port == q.port && p.protocol == q.protocol))',
    ),
  }),
  'the same with a limit': object({
    ports: rules(
      list(
        object({ port: integer, name: text(63), protocol: { type: 'string', enum: ['TCP', 'UDP'] } }, required('port')),
        64,
      ),
      'self.all(p, self.exists_one(q, p.port == q.port && p.protocol == q.protocol))',
    ),
  }),
  'what authors write of names': object({
    names: list(rules(text(), "self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')", 'self.size() <= 63')),
  }),
  'what authors write of conditions': object({
    conditions: list(
      rules(
        object(
          { type: text(316), status: { type: 'string', enum: ['True', 'False', 'Unknown'] }, reason: text(1024) },
          required('type', 'status'),
        ),
        'self.status != "False" || has(self.reason)',
        'self.reason.matches("^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")',
      ),
    ),
  }),
}

async function refusal(root: object, options: KindOptions = {}): Promise<Json> {
  const body = definition('costs.example.com', root, options)
  const answer = outcome(server, await server.call('POST', `${crds}?dryRun=All`, { body })) as JsonObject
  return answer['content'] === undefined ? answer : 'accepted'
}

describe('a definition with rules', () => {
  for (const [name, spec] of Object.entries(schemas)) {
    it(`is rejected where they are too expensive: ${name}`, async () => {
      expect(await refusal(object({ spec }))).toMatchSnapshot()
    })
  }

  it('is rejected for rules of the whole object', async () => {
    const root = object({ spec: object({ a: text() }) })
    expect([
      await refusal(rules(root, 'self.metadata.name.matches("^[a-z]+$") && self.metadata.generateName.contains("a")')),
      await refusal(rules(root, 'self.metadata.name.contains(self.spec.a)')),
      await refusal(rules(root, 'self.kind.contains(self.spec.a)')),
      await refusal(
        rules(
          object({ metadata: object({ name: text(10) }), spec: object({ a: text() }) }),
          'self.metadata.name.contains(self.spec.a)',
        ),
      ),
      await refusal(
        rules(
          object({
            kind: text(),
            apiVersion: text(),
            metadata: object({ name: text(), generateName: text() }),
            spec: object({ a: text() }),
          }),
          'self.metadata.name.contains(self.spec.a)',
        ),
      ),
    ]).toMatchSnapshot()
  })

  it('is rejected for the rules of each version', async () => {
    const version = (name: string, spec: object): object => ({
      name,
      served: true,
      storage: name === 'v1',
      schema: { openAPIV3Schema: object({ spec }) },
    })
    const bad = object({ a: rules(list(text()), dear) })
    const good = object({ a: rules(list(text(3), 10), dear) })
    expect([
      await refusal({}, { versions: [version('v1', good), version('v2', bad)] }),
      await refusal({}, { versions: [version('v1', bad), version('v2', bad)] }),
      await refusal({}, { versions: [version('v1', good), version('v2', good)] }),
    ]).toMatchSnapshot()
  })

  it('is rejected when it becomes too expensive', async () => {
    const { crd } = await defineKind(
      server,
      object({ spec: object({ a: rules(list(text(3), 10), 'self.size() > 1') }) }),
    )
    const { spec } = definition('any', object({ spec: object({ a: rules(list(text()), dear) }) }))
    const body = { spec: { versions: at(spec, 'versions') ?? [] } }
    const answer = await server.call('PATCH', `${crds}/${crd}`, { body, type: 'application/merge-patch+json' })
    expect(outcome(server, answer)).toMatchSnapshot()
  })
})
