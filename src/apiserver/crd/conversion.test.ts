import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { structuralSchema } from '../../kube/structural/structural.ts'
import type { CustomResourceDefinition, JSONSchemaProps } from '../../kube/types/apiextensions/v1.ts'
import { type WebhookCaller, WebhookError } from '../webhook/webhook-caller.ts'
import { conversionOf } from './conversion.ts'
import { embeddedChecks } from '../../kube/structural/embedded-checks.ts'

const schemaOf = (properties: Readonly<Record<string, JSONSchemaProps>>): ReturnType<typeof structuralSchema> =>
  structuralSchema(
    { type: 'object', properties: { spec: { type: 'object', properties } } },
    { embedded: embeddedChecks },
  )
const text: JSONSchemaProps = { type: 'string' }
const schemas = new Map([
  ['g/v1', schemaOf({ a: { ...text, default: 'x' }, b: text })],
  ['g/v2', schemaOf({ b: text, c: { ...text, default: 'y' } })],
])

function object(apiVersion: string, spec: object, name = 'o'): UntypedObject {
  return { apiVersion, kind: 'Thing', metadata: { name, uid: 'u' }, spec }
}

const crd = (strategy: string): CustomResourceDefinition =>
  ({
    spec: {
      group: 'g',
      names: { kind: 'Thing' },
      conversion: { strategy, webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: 'https://x' } } },
    },
  }) as unknown as CustomResourceDefinition

const never: WebhookCaller = () => Promise.reject(new WebhookError('no call expected'))

describe('conversion without a webhook', () => {
  const convert = conversionOf(crd('None'), schemas, { webhooks: never, ids: () => 'id' })

  it('changes the version, keeps the fields of both, and sets the defaults of the stored version', () => {
    expect(convert([object('g/v1', { b: 'k' })], 'g/v2')).toEqual([object('g/v2', { b: 'k' })])
    expect(convert([object('g/v1', { b: 'k' })], 'g/v1')).toEqual([object('g/v1', { b: 'k', a: 'x' })])
  })

  it('processes each object once, and returns the same object if nothing changes', () => {
    const fine = object('g/v1', { a: 'x' })
    const [once] = convert([fine], 'g/v1') as readonly UntypedObject[]
    expect(once).toBe(fine)
    const stale = object('g/v1', { old: 1 })
    const [first] = convert([stale], 'g/v1') as readonly UntypedObject[]
    const [second] = convert([stale], 'g/v1') as readonly UntypedObject[]
    expect(first).toEqual(object('g/v1', { a: 'x' }))
    expect(second).toBe(first)
  })
})

describe('conversion by webhook', () => {
  const answering = (change: (one: JsonObject, wanted: string) => Json): WebhookCaller => {
    return (_config, review) => {
      const { uid, objects, desiredAPIVersion } = (review as JsonObject)['request'] as JsonObject
      const convertedObjects = (objects as readonly JsonObject[]).map((one) => change(one, desiredAPIVersion as string))
      return Promise.resolve({
        kind: 'ConversionReview',
        apiVersion: 'apiextensions.k8s.io/v1',
        response: { uid: uid!, convertedObjects, result: { status: 'Success' } },
      })
    }
  }
  const convertWith = (webhooks: WebhookCaller): ReturnType<typeof conversionOf> =>
    conversionOf(crd('Webhook'), schemas, { webhooks, ids: () => 'id' })

  it('sends only objects of another version, and keeps the order', async () => {
    let asked = 0
    const convert = convertWith(
      answering((one, wanted) => {
        asked++
        return { ...one, apiVersion: wanted, spec: { c: 'made', junk: 1 } }
      }),
    )
    const given = [object('g/v2', { c: 'own' }, 'a'), object('g/v1', {}, 'b'), object('g/v2', { c: 'own' }, 'c')]
    const shown = await convert(given, 'g/v2')
    expect(shown.map(({ metadata, spec }) => [metadata.name, spec])).toEqual([
      ['a', { c: 'own' }],
      ['b', { c: 'made' }],
      ['c', { c: 'own' }],
    ])
    expect(asked).toBe(1)
  })

  it('does not call the webhook if no object needs conversion', () => {
    expect(convertWith(never)([object('g/v2', { c: 'own' })], 'g/v2')).toEqual([object('g/v2', { c: 'own' })])
  })

  it('rejects an answer that renames an object', async () => {
    const convert = convertWith(
      answering((one, wanted) => ({ ...one, apiVersion: wanted, metadata: { name: 'evil', uid: 'u' } })),
    )
    await expect(convert([object('g/v1', {})], 'g/v2')).rejects.toThrow('must have the same name: o != evil')
  })

  it('reports why the webhook failed', async () => {
    await expect(convertWith(never)([object('g/v1', {})], 'g/v2')).rejects.toThrow(
      'conversion webhook for g/v1, Kind=Thing failed: no call expected',
    )
  })
})
