import { describe, expect, expectTypeOf, it } from 'vitest'
import { operatorErrors } from '../errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import { defineKind, integer, optional, string } from '../index.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import { defineWebhook, type WebhookOptions } from './webhook.ts'

const Cache = defineKind({
  group: 'cache.example.com',
  version: 'v1',
  kind: 'Cache',
  spec: { size: integer({ default: 1 }), engine: optional(string()) },
})

describe('a webhook', () => {
  it('is typed by its kind: an author’s own, or a foreign one', () => {
    const own = defineWebhook({
      for: Cache,
      validate({ object, old }) {
        expectTypeOf(object.spec.size).toEqualTypeOf<number>()
        expectTypeOf(old?.spec.engine).toEqualTypeOf<string | undefined>()
      },
      mutate: ({ object }) => ({ ...object, spec: { ...object.spec, size: 2 } }),
    })
    defineWebhook({
      for: ConfigMap,
      validate({ object }) {
        expectTypeOf(object.data).toEqualTypeOf<Readonly<Record<string, string>> | undefined>()
      },
    })
    expect(own.for).toBe(Cache)
    // @ts-expect-error what is returned must be an object of the kind
    defineWebhook({ for: Cache, mutate: ({ object }) => ({ ...object, spec: { size: 'two' } }) })
    // @ts-expect-error a verdict is no yes or no
    defineWebhook({ for: Cache, validate: () => false })
  })

  it('has safe defaults: it is called for stored objects, must respond, and has no side effects', () => {
    expect(defineWebhook({ for: Cache, validate: () => undefined })).toMatchObject({
      name: 'caches',
      operations: ['CREATE', 'UPDATE'],
      failurePolicy: 'Fail',
      sideEffects: 'None',
      timeoutSeconds: 10,
      reinvocation: 'Never',
    })
  })

  it.each<readonly [string, Partial<WebhookOptions<ConfigMap>>]>([
    ['not a DNS label', { name: 'Not_a_label', validate: () => undefined }],
    ['neither validates nor mutates', {}],
    ['is called for no operation', { operations: ['DELETE'], mutate: () => undefined }],
    ['no operation', { operations: [], validate: () => undefined }],
    ['waits 31 seconds', { timeoutSeconds: 31, validate: () => undefined }],
    ['scale', { subresources: ['scale'], validate: () => undefined }],
  ])('that is invalid is rejected by its definition: %s', (words, options) => {
    const define = (): unknown => defineWebhook({ for: ConfigMap, ...options })
    expect(define).toThrow(words)
    expect(define).toThrow(expect.toSatisfy((error: unknown) => isMusterError(error, operatorErrors.InvalidWebhook)))
  })
})
