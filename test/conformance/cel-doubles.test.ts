/** Numbers as expressions turn them into text, and as messages of the server show them. */
import { expect, it } from 'vitest'
import { defineKind, object, outcome } from './custom-kind.ts'
import { openServer } from './server.ts'

const server = openServer()

const numbers = [
  '1.5',
  '999999.0',
  '1000000.0',
  '1234567.5',
  '1e20',
  '1e21',
  '1e22',
  '0.0001',
  '0.00001',
  '-1e-7',
  '-0.0',
]

/** Each gives a text. */
const texts: readonly ((number: string) => string)[] = [
  (number) => `string(${number})`,
  (number) => `"%s".format([${number}])`,
  (number) => `"%s".format([[${number}]])`,
  (number) => `"%.3f".format([${number}])`,
  (number) => `"%.3e".format([${number}])`,
]

/** Each fails, and the message shows the number. */
const failures: readonly ((number: string) => string)[] = [
  (number) => `[1, 2][dyn(${number})] == 1`,
  (number) => `self.list[dyn(${number})] == 1`,
  (number) => `{"a": 1}[dyn(${number})] == 1`,
  (number) => `self.map[dyn(${number})] == "a"`,
  (number) => `int(${number} * 1e30) == 1`,
  (number) => `[?dyn(${number})].size() == 1`,
  (number) => `{"a": 1, ?"b": dyn(${number})}.size() == 1`,
  (number) => `optional.unwrap([dyn(${number})]).size() == 1`,
  (number) => `[dyn(${number}), dyn("a")].join(",") == "a"`,
]

const data = object({
  list: { type: 'array', items: { type: 'integer' }, maxItems: 3 },
  map: { type: 'object', additionalProperties: { type: 'string', maxLength: 5 }, maxProperties: 3 },
})

async function said(rules: readonly object[]): Promise<unknown> {
  const kind = await defineKind(server, object({ spec: { ...data, 'x-kubernetes-validations': rules } }))
  const body = kind.object({ spec: { list: [1], map: { a: 'b' } } })
  return outcome(server, await server.call('POST', `${kind.path()}?dryRun=All`, { body }))
}

it('turns numbers into text as Go does', async () => {
  const expressions = texts.flatMap((text) => numbers.map(text))
  const rules = expressions.map((text) => ({
    rule: 'size(self.list) < 0',
    messageExpression: `'${text} is ' + ${text}`,
  }))
  expect(await said(rules)).toMatchSnapshot()
})

it('shows numbers in messages as Go does', async () => {
  const rules = failures.flatMap((failure) => numbers.map((number) => ({ rule: failure(number) })))
  expect(await said(rules)).toMatchSnapshot()
})
