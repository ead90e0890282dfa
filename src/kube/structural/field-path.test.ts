import { describe, expect, it } from 'vitest'
import { formatFieldPath, resolveFieldPath } from './field-path.ts'
import { compileNode } from './node.ts'

const string = { type: 'string' }
const root = compileNode({
  type: 'object',
  properties: {
    spec: { type: 'object', properties: { 'a.b': string, labels: { type: 'object', additionalProperties: string } } },
  },
})

function told(path: string, allowBrackets = true): string {
  const found = resolveFieldPath(path, root, { allowBrackets })
  return found.problem ?? `${formatFieldPath(found.path)} ${found.node?.schema.type ?? ''}`
}

describe('paths into a schema', () => {
  it.each([
    ['.spec', 'spec object'],
    [".spec['a.b']", 'spec.a.b string'],
    [".spec.labels['x.y']", 'spec.labels[x.y] string'],
    ['.spec.labels.x', 'spec.labels[x] string'],
    [String.raw`.spec.labels['it\'s']`, "spec.labels[it's] string"],
  ])('%s leads to %s', (path, expected) => expect(told(path)).toBe(expected))

  it.each([
    ['spec', 'expected [ or . but got: spec'],
    ['.x', 'does not refer to a valid field'],
    ['.', 'unexpected end of JSON path'],
    ['.spec[', 'unexpected end of JSON path'],
    ['.spec[0]', 'expected single quoted string but got 0'],
    [".spec['a.b'", 'unexpected end of JSON path'],
    ['.spec.labels.x.y', 'does not refer to a valid field'],
  ])('%s leads nowhere: %s', (path, expected) => expect(told(path)).toBe(expected))

  it('have no brackets where they are not allowed', () => {
    expect(told(".spec['a.b']", false)).toBe('array notation is not allowed')
  })
})
