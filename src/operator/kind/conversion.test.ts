import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { UntypedObject } from '../../kube/object.ts'
import { convertObject, defineConversion, lostInRoundTrip } from './conversion.ts'
import { defineKind, integer, list, optional, string } from '../index.ts'

const v1alpha1 = { version: 'v1alpha1', spec: { host: string(), port: integer() } } as const
const v1beta1 = { version: 'v1beta1', spec: { address: string() } } as const

const Server = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'Server',
  spec: { address: string(), tags: optional(list(string())) },
  otherVersions: [v1alpha1, v1beta1],
})

const tagsAnnotation = 'example.com/tags'

const alpha = defineConversion(Server, v1alpha1, {
  toStored: ({ spec, metadata }) => {
    const { [tagsAnnotation]: tags, ...annotations } = metadata.annotations ?? {}
    return {
      spec: { address: `${spec.host}:${spec.port}`, ...(tags !== undefined && { tags: JSON.parse(tags) as string[] }) },
      ...(tags !== undefined && { metadata: { annotations } }),
    }
  },
  fromStored: ({ spec, metadata }) => {
    const at = spec.address.lastIndexOf(':')
    const annotations = { ...metadata.annotations, [tagsAnnotation]: JSON.stringify(spec.tags) }
    return {
      spec: { host: spec.address.slice(0, at), port: Number(spec.address.slice(at + 1)) },
      ...(spec.tags && { metadata: { annotations } }),
    }
  },
})

const beta = defineConversion(Server, v1beta1, {
  toStored: ({ spec }) => ({ spec: { address: spec.address } }),
  fromStored: ({ spec }) => ({ spec: { address: spec.address } }),
})

function server(version: string, spec: object, metadata: object = {}): UntypedObject {
  return { apiVersion: `example.com/${version}`, kind: 'Server', metadata: { name: 's', uid: 'u', ...metadata }, spec }
}

describe('conversion', () => {
  it('converts between any two versions through the stored one', () => {
    const all = [alpha, beta]
    const [old, middle, stored] = [
      server('v1alpha1', { host: 'h', port: 1 }),
      server('v1beta1', { address: 'h:1' }),
      server('v1', { address: 'h:1' }),
    ]
    for (const from of [old, middle, stored]) {
      for (const to of [old, middle, stored]) expect(convertObject(all, from, to.apiVersion)).toEqual(to)
    }
  })

  it('keeps all metadata except labels and annotations, whatever the functions return', () => {
    const evil = defineConversion(Server, v1beta1, {
      toStored: ({ spec }) => ({ spec, metadata: { labels: { a: 'b' }, name: 'evil', uid: 'evil' } }),
      fromStored: ({ spec }) => ({ spec, kind: 'Evil', apiVersion: 'evil/v1' }) as never,
    })
    const given = server('v1beta1', { address: 'x' }, { finalizers: ['f'], annotations: { keep: 'me' } })
    expect(convertObject([evil], given, 'example.com/v1')).toEqual({
      ...server('v1', { address: 'x' }, { finalizers: ['f'], annotations: { keep: 'me' }, labels: { a: 'b' } }),
    })
    expect(convertObject([evil], server('v1', { address: 'x' }), 'example.com/v1beta1')).toEqual(
      server('v1beta1', { address: 'x' }),
    )
  })

  it('names a version without a conversion', () => {
    expect(() => convertObject([alpha], server('v1', { address: 'h:1' }), 'example.com/v9')).toThrow('example.com/v9')
    expect(() => convertObject([alpha], server('v9', {}), 'example.com/v1')).toThrow('example.com/v9')
    expect(() => defineConversion(Server, { version: 'v7', spec: {} }, {} as never)).toThrow(
      'Server has no other version v7 to convert (it has v1alpha1, v1beta1)',
    )
  })

  it('is checked for lost fields in a round trip', () => {
    expect(lostInRoundTrip(beta, server('v1', { address: 'h:1', tags: ['a'] }))).toEqual(['/spec/tags'])
    expect(lostInRoundTrip(beta, server('v1', { address: 'h:1' }))).toEqual([])
    fc.assert(
      fc.property(fc.webAuthority(), fc.nat(), fc.option(fc.array(fc.string())), (host, port, tags) => {
        const spec = { address: `${host}:${port}`, ...(tags && { tags }) }
        expect(lostInRoundTrip(alpha, server('v1', spec, { annotations: { a: 'b' } }))).toEqual([])
        expect(lostInRoundTrip(alpha, server('v1alpha1', { host, port }))).toEqual([])
      }),
    )
  })
})
