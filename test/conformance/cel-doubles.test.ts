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
  (number) => `optional.unwrap([dyn(${number})]).size() == 1`,
]

const data = object({
  list: { type: 'array', items: { type: 'integer' }, maxItems: 3 },
  map: { type: 'object', additionalProperties: { type: 'string', maxLength: 5 }, maxProperties: 3 },
})

/** What the server says of each rule, at a place of its own. */
async function said(rules: readonly object[]): Promise<unknown> {
  const places = rules.map((rule, index) => [`p${index}`, { ...data, 'x-kubernetes-validations': [rule] }] as const)
  const kind = await defineKind(server, object({ spec: object(Object.fromEntries(places)) }))
  const value = { list: [1], map: { a: 'b' } }
  const body = kind.object({ spec: Object.fromEntries(places.map(([name]) => [name, value])) })
  return outcome(server, await server.call('POST', `${kind.path()}?dryRun=All`, { body }))
}

it('formats numbers as Go does', async () => {
  const expressions = texts.flatMap((text) => numbers.map(text))
  expect(
    await said(expressions.map((messageExpression) => ({ rule: 'size(self.list) < 0', messageExpression }))),
  ).toMatchSnapshot()
})

for (const [index, failure] of failures.entries()) {
  it(`formats numbers in messages as Go does: ${index}`, async () => {
    expect(await said(numbers.map((number) => ({ rule: failure(number) })))).toMatchSnapshot()
  })
}
