/**
 * No call spreads a list whose length a client chooses. Arguments stand on the stack: `list.push(...others)` and
 * `Math.max(...numbers)` throw a RangeError above some hundred thousand, and a request of three megabytes holds more.
 */
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAst } from 'rolldown/parseAst'
import { expect, it } from 'vitest'

/** Calls with few arguments, each with its reason. */
const few: Readonly<Record<string, string>> = {
  'src/kube/crd/schema-check.ts causes.push': 'at most one cause',
  'src/apiserver/discovery/openapi/document.ts Object.assign': 'served kinds of a group',
  'src/apiserver/discovery/openapi/documents.ts hashOf': 'served kinds',
  'src/apiserver/discovery/openapi/v2.ts Object.assign': 'served groups',
  'src/apiserver/http/listener.ts serveHttp1': 'a tuple',
  'src/apiserver/http/listener.ts serveHttp2': 'a tuple',
  'src/apiserver/kinds/core/event.ts of': 'our own names',
  'src/apiserver/server/lazy-server.ts server.handle': 'a tuple',
  'src/kube/apply/conformance.ts problems.push': 'one problem',
  'src/kube/apply/managed-fields.ts fieldSet': 'our own names',
  'src/kube/cel/library/address.ts bytes.push': 'the parts of an IPv4 address',
  'src/kube/cel/library/named-format.ts problems.push': 'the few problems of a name',
  'src/kube/cel/library/url.ts bytes.push': 'the bytes of a character',
  'src/kube/json-path.ts found': 'a tuple',
  'src/kube/json-path.ts stepOf': 'a tuple',
  'src/kube/yaml/yaml-duplicates.ts Math.min': 'at most three',
}

const root = fileURLToPath(new URL('../..', import.meta.url))

function spreadsIn(file: string): readonly string[] {
  const text = readFileSync(path.join(root, file), 'utf8')
  const found: string[] = []
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    if (Array.isArray(node)) return node.forEach(visit)
    const {
      type,
      callee,
      arguments: given,
    } = node as Partial<{
      type: string
      callee: { readonly start: number; readonly end: number }
      arguments: readonly { readonly type: string }[]
    }>
    const isCall = type === 'NewExpression' || type === 'CallExpression'
    if (isCall && callee && given?.some((one) => one.type === 'SpreadElement')) {
      // Of `(await import('./x.ts')).call` the name.
      found.push(`${file} ${text.slice(callee.start, callee.end).replace(/^\(.*\)\./, '')}`)
    }
    Object.values(node).forEach(visit)
  }
  visit(parseAst(text, { lang: 'ts' }).body)
  return found
}

it('the API server spreads only short lists into arguments', () => {
  const files = ['src/kube', 'src/apiserver'].flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: root }))
  const sources = files.filter((file) => !file.endsWith('.test.ts') && !file.endsWith('.d.ts'))
  expect([...new Set(sources.flatMap(spreadsIn))].toSorted()).toStrictEqual(Object.keys(few).toSorted())
})
