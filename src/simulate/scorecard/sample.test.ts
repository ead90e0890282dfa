import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { defineController } from '../../operator/controller.ts'
import {
  boolean,
  type Fields,
  integer,
  list,
  map,
  object,
  oneOf,
  optional,
  quantity,
  string,
} from '../../operator/kind/field.ts'
import { defineKind } from '../../operator/kind/kind.ts'
import { defineOperator, type Operator } from '../../operator/operator.ts'
import { samplesOf } from './sample.ts'

function operatorOf(spec: Fields): Operator {
  const Thing = defineKind({ group: 'example.com', version: 'v1', kind: 'Thing', spec })
  return defineOperator({ name: 'examined', controllers: [defineController({ for: Thing })] })
}

describe('sample', () => {
  it('has the simplest value of each required field, and nothing that is optional or has a default', () => {
    const [sample] = samplesOf(
      operatorOf({
        size: integer({ minimum: 3 }),
        name: string({ minLength: 8 }),
        mode: oneOf(['on', 'off']),
        flag: boolean(),
        nested: object({ list: list(string(), { minItems: 2 }), map: map(string()) }),
        storage: quantity(),
        image: string({ default: 'a:1' }),
        note: optional(string()),
      }),
    )
    expect(sample).toEqual({
      apiVersion: 'example.com/v1',
      kind: 'Thing',
      metadata: { name: 'sample', namespace: 'default' },
      spec: {
        size: 3,
        name: 'sampleee',
        mode: 'on',
        flag: false,
        nested: { list: ['sample', 'sample'], map: {} },
        storage: 1,
      },
    })
  })

  it('is accepted by the kind, whatever the bounds of its fields', () => {
    fc.assert(
      fc.property(fc.integer({ min: -50, max: 50 }), fc.nat(40), fc.nat(40), (minimum, room, length) => {
        const operator = operatorOf({
          number: integer({ minimum, maximum: minimum + room }),
          upTo: integer({ maximum: minimum }),
          text: string({ minLength: length, maxLength: length + room }),
        })
        expect(samplesOf(operator)).toHaveLength(1)
      }),
    )
  })

  it('cannot be created where a schema requires more than types', () => {
    expect(() => samplesOf(operatorOf({ code: string({ pattern: '^[0-9]{4}$' }) }))).toThrow(/spec.code/)
  })
})
