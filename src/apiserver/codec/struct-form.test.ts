import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { UntypedObject } from '../../kube/object.ts'
import { StatusError } from '../errors/status-error.ts'
import { structForm, zeroOf } from './struct-form.ts'

const deployment = (spec: unknown): UntypedObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec,
})

describe('the struct form', () => {
  it('drops empty fields, and keeps zeros of pointer fields', () => {
    const { spec } = structForm(deployment({ replicas: 0, paused: false, minReadySeconds: 0, selector: {} }))
    expect(spec).toEqual({
      replicas: 0,
      selector: {},
      template: { metadata: {}, spec: { containers: null } },
      strategy: {},
    })
  })

  it('adds fields without omitempty', () => {
    expect(structForm(deployment({}))).toHaveProperty('status', {})
    expect(zeroOf('apps/v1', 'StatefulSet', 'status')).toEqual({ replicas: 0, availableReplicas: 0 })
    expect(zeroOf('apps/v1', 'StatefulSet', 'unknown')).toBeUndefined()
  })

  it('sorts the keys of maps, special ones included', () => {
    const labels = JSON.parse('{"b":"1","__proto__":"2","a":"3"}') as Record<string, string>
    const { metadata } = structForm({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { labels } })
    expect(JSON.stringify(metadata.labels)).toBe('{"__proto__":"2","a":"3","b":"1"}')
  })

  it('writes times in UTC, without fractions', () => {
    const { status } = structForm({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: {},
      status: { startTime: '2026-01-02T03:04:05.6+01:00' },
    })
    expect(status).toEqual({ startTime: '2026-01-02T02:04:05Z' })
  })

  it("rejects an invalid quantity with the decoder's message", () => {
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: {}, spec: { overhead: { cpu: 'much' } } }
    expect(() => structForm(pod)).toThrow(StatusError)
    expect(() => structForm(pod)).toThrow(/^Pod in version "v1" cannot be handled as a Pod: quantities must match/)
  })

  it('leaves unknown kinds unchanged', () => {
    const custom = { apiVersion: 'example.com/v1', kind: 'Thing', metadata: {}, spec: { empty: [], zero: 0 } }
    expect(structForm(custom)).toBe(custom)
  })

  it('is idempotent, and never changes its input', () => {
    const container = fc.record(
      {
        name: fc.string(),
        image: fc.string(),
        args: fc.array(fc.string()),
        stdin: fc.boolean(),
        resources: fc.record({ limits: fc.dictionary(fc.string(), fc.constantFrom('1', '1.5', '1024Mi', '0')) }),
        terminationMessagePath: fc.constantFrom('', '/x'),
      },
      { requiredKeys: [] },
    )
    const pods = fc.record(
      { containers: fc.array(container), hostPID: fc.boolean(), priority: fc.nat() },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(pods, (spec) => {
        const pod = { apiVersion: 'v1', kind: 'Pod', metadata: {}, spec }
        const before = JSON.stringify(pod)
        const once = structForm(pod)
        expect(structForm(once)).toEqual(once)
        expect(JSON.stringify(pod)).toBe(before)
      }),
    )
  })
})
