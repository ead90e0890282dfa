import { describe, expect, it } from 'vitest'
import type { JSONSchemaProps } from '../../types/apiextensions/v1.ts'
import { mostOccurrences, sizeOfSchema } from './size.ts'

const size = (schema: JSONSchemaProps): { readonly most: number; readonly leastBytes: number } => {
  const { most, leastBytes } = sizeOfSchema(schema, false)!
  return { most, leastBytes }
}

const request = 3 * 1024 * 1024

describe('the size of data under a schema', () => {
  it.each<readonly [string, JSONSchemaProps, number, number]>([
    ['a string has the maximum number of bytes of its characters', { type: 'string', maxLength: 7 }, 28, 2],
    ['a string without a limit fills a request', { type: 'string' }, request - 2, 2],
    ['an enumeration is as long as its longest value', { type: 'string', enum: ['a', 'äöü', 'bcd'] }, 6, 2],
    ['a limit takes precedence over an enumeration', { type: 'string', enum: ['abc'], maxLength: 1 }, 4, 2],
    ['bytes are not characters', { type: 'string', format: 'byte', maxLength: 7 }, 7, 2],
    ['a time has a fixed length', { type: 'string', format: 'date-time', maxLength: 3 }, 32, 21],
    ['a number has no length', { type: 'integer' }, 0, 1],
    [
      'a list without a limit is full of its smallest items',
      { type: 'array', items: { type: 'boolean' } },
      Math.floor((request - 2) / 5),
      2,
    ],
    [
      'a map has keys, too',
      { type: 'object', additionalProperties: { type: 'boolean' } },
      Math.floor((request - 2) / 10),
      2,
    ],
    ['a negative limit is ignored', { type: 'array', items: { type: 'boolean' }, maxItems: -3 }, 0, 2],
  ])('%s', (_law, schema, most, leastBytes) => {
    expect(size(schema)).toEqual({ most, leastBytes })
  })

  it('includes at least the required members without defaults', () => {
    const properties: Readonly<Record<string, JSONSchemaProps>> = {
      abc: { type: 'boolean' },
      with: { type: 'string', default: '' },
      free: { type: 'string' },
    }
    const { leastBytes } = size({ type: 'object', properties, required: ['abc', 'with'] })
    expect(leastBytes).toBe('{}'.length + '"abc":,'.length + 'true'.length)
    expect(mostOccurrences({ most: 0, leastBytes })).toBe(Math.floor(request / (leastBytes + 1)))
  })

  it('is unknown where expressions have no access', () => {
    expect(sizeOfSchema({}, false)).toBeUndefined()
    expect(
      sizeOfSchema({ type: 'array', items: { 'x-kubernetes-preserve-unknown-fields': true } }, false),
    ).toBeUndefined()
    const { fields } = sizeOfSchema({ type: 'object', properties: { a: {}, 'b-c': { type: 'string' } } }, false)!
    expect([...fields!.keys()]).toEqual(['b__dash__c'])
  })

  it('includes the maximum length of object names', () => {
    const { fields } = sizeOfSchema({ type: 'object' }, true)!
    expect(fields?.get('metadata')?.fields?.get('name')?.most).toBe(253 * 4)
  })
})
