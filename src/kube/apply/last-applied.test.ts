import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../json.ts'
import type { KubeObject } from '../object.ts'
import { encodeFields } from './fields-v1.ts'
import { fieldsOfLastApplied, lastAppliedAnnotation, withLastApplied } from './last-applied.ts'
import { deduced } from './shape.ts'

const config = (
  data: object,
  annotations?: Readonly<Record<string, string>>,
): KubeObject & { readonly data: object } => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'x', ...(annotations && { annotations }) },
  data,
})

describe('the last-applied annotation as evidence', () => {
  const live = {
    apiVersion: 'v1',
    value: config({ a: '1', b: 'changed', c: '1' }) as unknown as JsonObject,
    shape: deduced,
  }
  const past = (annotation: string | undefined): unknown => {
    const fields = fieldsOfLastApplied(live, annotation)
    return fields && encodeFields(fields)
  }

  it('covers applied values that have not changed since', () => {
    expect(past(JSON.stringify(config({ a: '1', b: '1', gone: '1' })))).toMatchObject({
      'f:data': { '.': {}, 'f:a': {} },
    })
    expect(past(JSON.stringify(config({ a: '1', b: '1', gone: '1' })))).not.toMatchObject({ 'f:data': { 'f:b': {} } })
  })

  it.each([undefined, '', 'nonsense', '{"apiVersion":"v1"}', JSON.stringify({ ...config({}), apiVersion: 'v2' })])(
    'covers nothing for %j',
    (annotation) => {
      expect(past(annotation)).toBeUndefined()
    },
  )
})

describe('the annotation', () => {
  it('is updated where it exists', () => {
    const live = config({ b: '1' }, { [lastAppliedAnnotation]: 'old', other: 'x' })
    const updated = withLastApplied(live, config({ b: '<1>', a: '2' }))
    expect(updated.metadata.annotations).toEqual({
      other: 'x',
      [lastAppliedAnnotation]:
        '{"apiVersion":"v1","data":{"a":"2","b":"\\u003c1\\u003e"},"kind":"ConfigMap","metadata":{"name":"x"}}\n',
    })
  })

  it('does not contain itself', () => {
    const live = config({}, { [lastAppliedAnnotation]: 'old' })
    const { annotations } = withLastApplied(live, live).metadata
    expect(annotations?.[lastAppliedAnnotation]).toContain('"annotations":{}')
  })

  it('is not added where it does not exist', () => {
    const live = config({}, { other: 'x' })
    expect(withLastApplied(live, config({}))).toBe(live)
  })

  it('is removed when it would exceed the size limit of annotations', () => {
    const live = config({}, { [lastAppliedAnnotation]: 'old', other: 'x' })
    const updated = withLastApplied(live, config({ big: 'x'.repeat(256 * 1024) }))
    expect(updated.metadata.annotations).toEqual({ other: 'x' })
  })
})
