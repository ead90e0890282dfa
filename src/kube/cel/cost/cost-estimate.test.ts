import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../json.ts'
import type { JSONSchemaProps } from '../../types/apiextensions/v1.ts'
import { compileCel, estimateCel } from '../compile.ts'
import { celTypeOfSchema } from '../check/environment.ts'
import type { Schema } from '../../schema.ts'
import { mostPossible } from './estimate.ts'
import { sizeOfSchema } from './size.ts'

const text = (maxLength?: number): JSONSchemaProps => ({
  type: 'string',
  ...(maxLength !== undefined && { maxLength }),
})
const list = (items: JSONSchemaProps, maxItems?: number): JSONSchemaProps => ({
  type: 'array',
  items,
  ...(maxItems !== undefined && { maxItems }),
})
const object = (properties: Readonly<Record<string, JSONSchemaProps>>): JSONSchemaProps => ({
  type: 'object',
  properties,
})

function environment(schema: JSONSchemaProps): Parameters<typeof compileCel>[1] {
  return { variables: { self: celTypeOfSchema(schema as Schema)! } }
}

function estimate(rule: string, schema: JSONSchemaProps): number {
  return estimateCel(rule, environment(schema), sizeOfSchema(schema, false)!)
}

describe('the estimated cost of an expression', () => {
  const schema = object({
    name: text(20),
    other: text(35),
    any: text(),
    count: { type: 'integer' },
    names: list(text(10), 5),
    parts: list(object({ id: text(12), tags: list(text(4), 6) }), 3),
  })

  it('multiplies a loop by the maximum length of its list', () => {
    const round = estimate('self.names.all(x, x == "abc")', schema) - estimate('[].all(x, x == "abc")', schema)
    // Five rounds; a variable and a field instead of an empty list of ten.
    expect(round).toBe(5 * 5 + 2 - 10)
  })

  it('counts four bytes for a character', () => {
    // Two fields of two steps each; a tenth for each of the eighty bytes of the shorter text.
    expect(estimate('self.name == self.other', schema)).toBe(4 + 8)
  })

  it('is the maximum where a size is unknown', () => {
    expect(estimate('quantity(self.name) != quantity(self.other)', schema)).toBeGreaterThan(mostPossible / 100)
  })

  it('uses the more expensive branch', () => {
    const dear = estimate('self.name.contains(self.any)', schema)
    const choice = estimate('self.count > 1 ? self.name.contains(self.any) : true', schema)
    expect(choice - dear).toBe(estimate('self.count > 1', schema))
  })

  it('confuses the fields of an outer variable, as the real server does', () => {
    const inner = (own: string): string => `self.parts.all(x, x.tags.all(y, ${own}))`
    // As soon as another field of x is looked at, y has its size.
    const apart = estimate(inner('y == self.any'), schema) - estimate(inner('true'), schema)
    const confused = estimate(inner('x.id == "" || y == self.any'), schema) - estimate(inner('x.id == ""'), schema)
    expect(confused).not.toBe(apart)
  })

  it('is never below the cost of an evaluation', () => {
    // Not so of keys of maps and of distinct(), which the server takes for cheaper than they are.
    const rules = [
      'self.name == self.other',
      'self.name.startsWith(self.other) || self.names.exists(x, x == self.name)',
      'self.names.all(x, self.names.exists_one(y, x == y))',
      'self.names.map(x, x + "a").filter(x, x != self.name).size() > 1',
      'self.parts.all(p, p.tags.exists(t, t.contains("a")) || p.id.matches("^[a-z]+$"))',
      'self.names.join(",").split(",").size() == self.count',
      'self.name.replace("a", "bc").lowerAscii() == self.other.trim()',
      '"%s-%d".format([self.name, self.count]) == self.other',
      'self.names.isSorted() || self.names.indexOf(self.name) > 1',
      'sets.contains(self.names, [self.name]) || self.names.reverse().size() > 2',
      'has(self.name) ? self.name.size() > 3 : [self.name, self.other].all(x, x in self.names)',
    ].map((rule) => ({ program: compileCel(rule, environment(schema)), most: estimate(rule, schema) }))
    const textOf = (maxLength: number): fc.Arbitrary<string> => fc.string({ maxLength, unit: 'grapheme-ascii' })
    const data = fc.record({
      name: textOf(20),
      other: textOf(35),
      any: textOf(100),
      count: fc.integer({ min: -5, max: 5 }),
      names: fc.array(textOf(10), { maxLength: 5 }),
      parts: fc.array(fc.record({ id: textOf(12), tags: fc.array(textOf(4), { maxLength: 6 }) }), { maxLength: 3 }),
    })
    fc.assert(
      fc.property(data, (self) => {
        for (const { program, most } of rules) {
          const budget = { remaining: 0 }
          program.evaluate({ self: self as unknown as Json }, budget)
          expect(-budget.remaining).toBeLessThanOrEqual(most)
        }
      }),
    )
  })
})
