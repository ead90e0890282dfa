import { describe, expect, it } from 'vitest'
import { boolean, defineKind, integer, list, map, object, oneOf, optional, quantity, string } from '../index.ts'
import { describeKind } from './kind-docs.ts'
import { sampleOf } from './kind-sample.ts'

const Cache = defineKind({
  group: 'cache.example.com',
  version: 'v1',
  kind: 'Cache',
  shortNames: ['ca'],
  description: 'A cache of N servers.',
  spec: {
    size: integer({ minimum: 1, maximum: 5, default: 1, description: 'How many servers there are.' }),
    engine: oneOf(['memcached', 'redis'], { rules: [{ rule: 'self == oldSelf', message: 'the engine stays' }] }),
    memory: optional(quantity()),
    name: string({ pattern: '^a|b$', minLength: 3 }),
    ports: list(object({ port: integer({ minimum: 1 }), open: boolean({ default: true }) }), { minItems: 1 }),
    labels: map(string(), { default: {} }),
  },
  rules: [{ rule: 'self.spec.size > 0', message: 'something' }],
})

describe('the documentation of a kind', () => {
  it('lists the type, requirement and bounds of each field', () => {
    const page = describeKind(Cache)
    expect(page).toContain('| `size` | whole number | default `1` | How many servers there are. 1 to 5 |')
    expect(page).toContain('| `engine` | `memcached`, `redis` | required | the engine stays (`self == oldSelf`) |')
    expect(page).toContain('| `memory` | amount | optional |  |')
    expect(page).toContain(
      String.raw`| \`name\` | text | required | at least 3 characters; matches \`^a\|b$\` |`.replaceAll('\\`', '`'),
    )
    expect(page).toContain('| `ports[].open` | yes or no | default `true` |  |')
    expect(page).toContain('| `labels` | map of text | default `{}` |  |')
    expect(page).toContain('- something (`self.spec.size > 0`)')
    expect(page).toContain('| `conditions[].reason` | text | required |')
    expect(page).toContain('`kubectl get caches`, short ca.')
  })

  it('ends with a valid object, unless a pattern prevents it', () => {
    const plain = defineKind({
      group: 'example.com',
      version: 'v1',
      kind: 'Plain',
      spec: {
        size: integer({ minimum: 3 }),
        at: string({ format: 'date-time' }),
        list: list(string({ minLength: 2 }), { minItems: 2 }),
      },
    })
    const sample = sampleOf(plain)
    expect(sample).toEqual({
      apiVersion: 'example.com/v1',
      kind: 'Plain',
      metadata: { name: 'sample', namespace: 'default' },
      spec: { size: 3, at: '2026-01-01T00:00:00Z', list: ['sample', 'sample'] },
    })
    expect(plain.validate(plain.withDefaults(sample as never))).toEqual([])
    expect(describeKind(plain)).toContain('kind: Plain\n')
  })
})
