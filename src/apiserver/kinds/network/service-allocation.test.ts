import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../clock/random.ts'
import type { UntypedObject } from '../../../kube/object.ts'
import type { ServiceSpec } from '../../../kube/types/core/v1.ts'
import type { StoredObject } from '../../storage/storage.ts'
import type { KindContext } from '../strategy/kind-rules.ts'
import { serviceRules } from './service.ts'

function contextOf(stored: readonly UntypedObject[], seed = 1): KindContext {
  return {
    now: '2020-01-01T00:00:00Z',
    random: seededRandom(seed),
    user: { username: 'u', groups: [] },
    find: () => undefined,
    objects: () => stored as readonly StoredObject[],
  }
}

function create(name: string, spec: ServiceSpec, context: KindContext): UntypedObject {
  const body: UntypedObject = { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: 'n' }, spec }
  return serviceRules.prepareCreate!(serviceRules.defaults!(body, 'v1'), context)
}

const specOf = (object: UntypedObject): ServiceSpec => object['spec'] as ServiceSpec
const ports = [{ port: 80 }]

describe('the range of a cluster', () => {
  const inRange = (range: string, stored: readonly UntypedObject[] = []): KindContext => ({
    ...contextOf(stored),
    find: () => ({ spec: { cidrs: [range] } }) as unknown as StoredObject,
  })

  it.each([
    ['10.0.0.0/24', 238],
    ['192.168.4.64/28', 14],
  ])('%s is used up, the reserved addresses last', (range, others) => {
    const stored: UntypedObject[] = []
    const next = (): string => {
      stored.push(create(`s${stored.length}`, { ports }, inRange(range, stored)))
      return specOf(stored.at(-1)!).clusterIP!
    }
    const lastNumbers = Array.from({ length: others }, () => Number(next().split('.')[3]))
    expect(new Set(lastNumbers).size).toBe(others)
    const reserved = range.endsWith('/24') ? 16 : 0
    expect(Math.min(...lastNumbers) % 64).toBe(reserved + 1)
    for (let index = 0; index < reserved; index++) expect(Number(next().split('.')[3])).toBeLessThanOrEqual(reserved)
    expect(next).toThrow('range is full')
  })

  it('does not have other addresses', () => {
    const asked = { ports, clusterIP: '10.0.1.5', clusterIPs: ['10.0.1.5'] }
    expect(() => create('s', asked, inRange('10.0.0.0/24'))).toThrow('The range of valid IPs is 10.0.0.0/24')
  })
})

describe('services', () => {
  it('never share an address or a node port', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 1, max: 60 }), (seed, count) => {
        const stored: UntypedObject[] = []
        for (let index = 0; index < count; index++) {
          stored.push(create(`s${index}`, { type: 'NodePort', ports }, contextOf(stored, seed)))
        }
        expect(new Set(stored.map((object) => specOf(object).clusterIP)).size).toBe(count)
        expect(new Set(stored.map((object) => specOf(object).ports![0]!.nodePort)).size).toBe(count)
      }),
      { numRuns: 20 },
    )
  })

  it('get the same addresses for the same seed', () => {
    const spec: ServiceSpec = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', ports }
    expect(create('a', spec, contextOf([], 7))).toEqual(create('a', spec, contextOf([], 7)))
  })

  it('keep their allocated values when the original manifest is sent again', () => {
    const context = contextOf([])
    const spec: ServiceSpec = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', ports }
    const live = create('a', spec, context) as StoredObject
    const again: UntypedObject = serviceRules.defaults!({ ...live, spec }, 'v1')
    expect(serviceRules.prepareUpdate!(again, live, contextOf([live], 99))).toEqual(live)
  })

  it('get the last free node port', () => {
    const taken = Array.from({ length: 2767 }, (_, index) => ({ port: index + 1, nodePort: 30_000 + index }))
    const full: UntypedObject = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'full', namespace: 'n' },
      spec: { ports: taken },
    }
    expect(specOf(create('a', { type: 'NodePort', ports }, contextOf([full]))).ports![0]!.nodePort).toBe(32_767)
  })

  it('are rejected when no node port is free', () => {
    const taken = Array.from({ length: 2768 }, (_, index) => ({ port: index + 1, nodePort: 30_000 + index }))
    const full: UntypedObject = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'full', namespace: 'n' },
      spec: { ports: taken },
    }
    expect(() => create('a', { type: 'NodePort', ports }, contextOf([full]))).toThrow('range is full')
  })
})
