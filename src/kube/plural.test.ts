import { describe, expect, it } from 'vitest'
import { builtinResources } from './builtin.ts'
import { pluralOf } from './plural.ts'

describe('the plural of a kind', () => {
  it.each([
    ['Memcached', 'memcacheds'],
    ['Policy', 'policies'],
    ['NetworkPolicy', 'networkpolicies'],
    ['Proxy', 'proxies'],
    ['Registry', 'registries'],
    ['Gateway', 'gateways'],
    ['APIKey', 'apikeys'],
    ['Index', 'indices'],
    ['PodIndex', 'podindices'],
    ['Appendix', 'appendixes'],
    ['Ingress', 'ingresses'],
    ['Prometheus', 'prometheuses'],
    ['Alias', 'aliases'],
    ['Analysis', 'analyses'],
    ['Switch', 'switches'],
    ['Mesh', 'meshes'],
    ['Box', 'boxes'],
    ['DNS', 'dnses'],
    ['ClusterDNS', 'clusterdnses'],
    ['Endpoints', 'endpoints'],
    ['Settings', 'settings'],
    ['V2', 'v2s'],
    ['', 's'],
  ])('%s: %s', (kind, plural) => {
    expect(pluralOf(kind)).toBe(plural)
  })

  it('is that of every built-in kind', () => {
    const wrong = builtinResources().filter(({ kind, plural }) => pluralOf(kind) !== plural)
    expect(wrong.map(({ kind, plural }) => `${kind} ${plural}`)).toEqual([])
  })
})
