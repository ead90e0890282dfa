/** Keys that a body states twice: refused, warned of or ignored, in every syntax and every kind of patch. */
import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/kube/json.ts'
import { defineKind, object } from './custom-kind.ts'
import { type Answer, at, openServer } from './server.ts'

const server = openServer()

const yaml = 'application/yaml'
const apply = 'application/apply-patch+yaml'
const mergePatch = 'application/merge-patch+json'
const strategic = 'application/strategic-merge-patch+json'
const jsonPatch = 'application/json-patch+json'

/** The code, what is wrong, and what was warned of. */
function said({ status, headers, body }: Answer): Json {
  const message = at(body, 'message')
  // A refused patch quotes its outcome, which holds names and times.
  const told =
    typeof message === 'string'
      ? message.replace(/^.*(?=strict decoding error)/s, '').replace(/group-\w+/, 'group')
      : null
  return { status, told, warning: headers['warning'] ?? null }
}

const configMap = (rest: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n${rest}`

const bodies: readonly (readonly [what: string, method: 'POST' | 'PUT' | 'PATCH', type: string, body: string])[] = [
  ['a key in YAML', 'POST', yaml, configMap('data:\n  x: "1"\n  x: "2"\n')],
  ['a mapping in YAML', 'POST', yaml, configMap('data:\n  x: "1"\ndata:\n  z: "2"\n')],
  ['several keys in YAML', 'POST', yaml, configMap('data:\n  x: "1"\n  x: "2"\n  x: "3"\nfoo: 1\nbar: 2\nfoo: 3\n')],
  ['keys in a flow mapping', 'POST', yaml, configMap('data: {x: "1",\n  x: "2"}\n')],
  ['nested keys', 'POST', yaml, configMap('metadata:\n  name: a\n  labels: {a: b, a: c}\n')],
  [
    'values of all types',
    'POST',
    yaml,
    configMap('data:\n  b:\n  b:\n  c: |\n    x\n  c: |\n    z\n  d: &q\n    "v"\n  d: "w"\n'),
  ],
  [
    'keys that are not strings',
    'POST',
    yaml,
    configMap('data:\n  1: "x"\n  1: "x"\n  yes: "x"\n  yes: "x"\n  "yes": "x"\n  1.5: "x"\n  1.50: "x"\n'),
  ],
  [
    'keys in a list',
    'POST',
    yaml,
    configMap('  ownerReferences:\n  - apiVersion: v1\n    kind: A\n    kind: B\n    name: x\n    uid: u\n'),
  ],
  ['a second document', 'POST', yaml, configMap('---\na: b\na: c\n')],
  [
    'JSON as YAML',
    'POST',
    yaml,
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"x":"1","x":"2"}}',
  ],
  ['JSON', 'POST', 'application/json', '{"metadata":{"name":"a"},"data":{"x":"1","x":"2"},"foo":1}'],
  ['an update in YAML', 'PUT', yaml, configMap('data:\n  x: "1"\n  x: "2"\n')],
  ['an apply patch', 'PATCH', apply, configMap('data:\n  x: "1"\n  x: "2"\n')],
  [
    'an apply patch in JSON',
    'PATCH',
    apply,
    '{"apiVersion":"v1","kind":"ConfigMap","data":{"x":"1","x":"2"},"data":{"k":"1"}}',
  ],
  ['a merge patch', 'PATCH', mergePatch, '{"foo":1,"data":{"x":"1","x":"2"},"bar":{"z":1,"z":2},"foo":2}'],
  ['a strategic patch', 'PATCH', strategic, '{"data":{"x":"1","x":"2"},"data":{"x":"5"}}'],
  ['the value of a JSON patch', 'PATCH', jsonPatch, '[{"op":"add","path":"/data","value":{"x":"1","x":"2"}}]'],
  [
    'an operation of a JSON patch',
    'PATCH',
    jsonPatch,
    '[{"op":"add","op":"add","path":"/data","value":{"x":"1"},"more":1}]',
  ],
]

describe.each(['Strict', 'Warn', 'Ignore'])('a duplicate key: %s', (fieldValidation) => {
  it.each(bodies)('in %s', async (_what, method, type, body) => {
    const path = `/api/v1/namespaces/${await server.namespace()}/configmaps`
    if (method !== 'POST') await server.must('POST', path, { body: { metadata: { name: 'a' } } })
    const query = { fieldValidation, ...(type === apply && { fieldManager: 'me', force: 'true' }) }
    const answer = await server.call(method, method === 'POST' ? path : `${path}/a`, { type, body, query })
    expect(said(answer)).toMatchSnapshot('said')
    const { data = null } = (await server.call('GET', `${path}/a`)).body as { readonly data?: Json }
    expect(data).toMatchSnapshot('data')
  })
})

describe('a duplicate key of a custom object', () => {
  it('is reported in YAML and in patches', async () => {
    const kind = await defineKind(server, object({ spec: object({ color: { type: 'string' } }) }))
    const path = kind.path()
    const apiVersion = `${kind.group}/v1`
    const text = (name: string): string =>
      `apiVersion: ${apiVersion}\nkind: Thing\nmetadata:\n  name: ${name}\nspec:\n  color: r\n  color: g\n  nope: 1\n`
    const seen: Json[] = []
    for (const fieldValidation of ['Warn', 'Strict']) {
      const query = { fieldValidation }
      const name = fieldValidation.toLowerCase()
      seen.push(said(await server.call('POST', path, { type: yaml, body: text(name), query })))
      const applying = { ...query, fieldManager: 'me', force: 'true' }
      seen.push(said(await server.call('PATCH', `${path}/warn`, { type: apply, body: text('warn'), query: applying })))
      const body = '{"spec":{"color":"1","color":"2"}}'
      seen.push(said(await server.call('PATCH', `${path}/warn`, { type: mergePatch, body, query })))
    }
    expect(seen).toMatchSnapshot()
  })
})
