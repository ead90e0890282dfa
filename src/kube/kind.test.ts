import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatApiVersion, formatResource, kindOf, parseApiVersion, type Resource, resourcePath } from './kind.ts'

const pods: Resource = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true }
const nodes: Resource = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false }
const deployments: Resource = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
}

describe('apiVersion', () => {
  it('is a group and a version; the core group is empty', () => {
    expect(parseApiVersion('v1')).toEqual({ group: '', version: 'v1' })
    expect(parseApiVersion('apps/v1')).toEqual({ group: 'apps', version: 'v1' })
    expect(parseApiVersion('/v1')).toEqual({ group: '', version: 'v1' })
    expect(parseApiVersion('example.com/v1alpha1')).toEqual({ group: 'example.com', version: 'v1alpha1' })
  })

  it('round-trips', () => {
    const words = fc.stringMatching(/^[a-z][a-z0-9.]{0,20}$/)
    fc.assert(
      fc.property(fc.oneof(words, fc.constant('')), words, (group, version) => {
        expect(parseApiVersion(formatApiVersion({ group, version }))).toEqual({ group, version })
      }),
    )
  })

  it('yields the kind of an object', () => {
    expect(kindOf({ apiVersion: 'apps/v1', kind: 'Deployment' })).toEqual({
      group: 'apps',
      version: 'v1',
      kind: 'Deployment',
    })
  })
})

describe('a resource', () => {
  it('has a textual form', () => {
    expect(formatResource(pods)).toBe('pods/v1')
    expect(formatResource(deployments)).toBe('deployments.apps/v1')
  })

  it.each([
    [pods, {}, '/api/v1/pods'],
    [pods, { namespace: 'a' }, '/api/v1/namespaces/a/pods'],
    [pods, { namespace: 'a', name: 'p' }, '/api/v1/namespaces/a/pods/p'],
    [pods, { namespace: 'a', name: 'p', subresource: 'log' }, '/api/v1/namespaces/a/pods/p/log'],
    [nodes, {}, '/api/v1/nodes'],
    [nodes, { name: 'n' }, '/api/v1/nodes/n'],
    [nodes, { namespace: 'a', name: 'n' }, '/api/v1/nodes/n'],
    [deployments, {}, '/apis/apps/v1/deployments'],
    [
      deployments,
      { namespace: 'a', name: 'd', subresource: 'status' },
      '/apis/apps/v1/namespaces/a/deployments/d/status',
    ],
    [deployments, { namespace: 'a/../b', name: 'x y?z' }, '/apis/apps/v1/namespaces/a%2F..%2Fb/deployments/x%20y%3Fz'],
  ])('%o at %o is %s', (resource, at, path) => {
    expect(resourcePath(resource, at)).toBe(path)
  })
})
