import { describe, expect, it } from 'vitest'
import { defineController } from '../../operator/controller.ts'
import { defineConversion } from '../../operator/kind/conversion.ts'
import { integer } from '../../operator/kind/field.ts'
import { defineKind } from '../../operator/kind/kind.ts'
import { defineOperator } from '../../operator/operator.ts'
import { resourceOf } from '../../kube/typed-resource.ts'
import { defineWebhook } from '../../operator/kind/webhook.ts'
import { openTestEnvironment } from './test-environment.ts'

const older = { version: 'v1', spec: { servers: integer() } } as const
const Cache = defineKind({
  group: 'cache.example.com',
  version: 'v2',
  kind: 'Cache',
  spec: { size: integer() },
  otherVersions: [older],
})
const operator = defineOperator({
  name: 'cache',
  controllers: [defineController({ for: Cache })],
  webhooks: [
    defineWebhook({
      for: Cache,
      validate: ({ object }) =>
        object.spec.size % 2 === 0
          ? [{ field: 'spec.size', message: 'must be odd', reason: 'FieldValueInvalid' }]
          : undefined,
    }),
  ],
  conversions: [
    defineConversion(Cache, older, {
      toStored: ({ spec }) => ({ spec: { size: spec.servers } }),
      fromStored: ({ spec }) => ({ spec: { servers: spec.size } }),
    }),
  ],
})

const cache = (size: number) => ({
  apiVersion: 'cache.example.com/v2',
  kind: 'Cache',
  metadata: { name: `c${size}`, namespace: 'default' },
  spec: { size },
})

describe('a test environment', () => {
  it('calls the webhooks that an operator declares, and converts by its conversions', async () => {
    const testEnv = await openTestEnvironment(operator)
    await testEnv.create(Cache, cache(3))
    await expect(testEnv.create(Cache, cache(2))).rejects.toThrow('must be odd')
    const old = resourceOf('cache.example.com/v1', 'Cache', { plural: 'caches', namespaced: true })
    expect(await testEnv.client.get(old, { name: 'c3', namespace: 'default' })).toMatchObject({ spec: { servers: 3 } })
    await testEnv.close()
  })
})
