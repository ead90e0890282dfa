import { describe, expect, it } from 'vitest'
import type { Resource } from '../kube/kind.ts'
import { collectionPath, listPath, objectPath, watchPath, withQuery } from './paths.ts'

const pods: Resource = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true }
const nodes: Resource = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false }
const deployments: Resource = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
}

describe('paths', () => {
  it('of lists contain selectors, limits and versions, and nothing else', () => {
    expect(listPath(pods)).toBe('/api/v1/pods')
    expect(listPath(deployments, { namespace: 'a', limit: 0, labelSelector: '', fieldSelector: '' })).toBe(
      '/apis/apps/v1/namespaces/a/deployments',
    )
    expect(
      listPath(pods, {
        labelSelector: 'app in (a,b)',
        fieldSelector: 'spec.nodeName=n&1',
        limit: 5,
        resourceVersion: '0',
        resourceVersionMatch: 'NotOlderThan',
      }),
    ).toBe(
      '/api/v1/pods?labelSelector=app%20in%20(a%2Cb)&fieldSelector=spec.nodeName%3Dn%261&limit=5&resourceVersion=0&resourceVersionMatch=NotOlderThan',
    )
  })

  it('of further pages leave the version to the token', () => {
    expect(listPath(pods, { limit: 5, continue: 'a+b', resourceVersion: '7', resourceVersionMatch: 'Exact' })).toBe(
      '/api/v1/pods?limit=5&continue=a%2Bb',
    )
  })

  it('of watches contain the required parameters of initial events', () => {
    expect(watchPath(pods, { resourceVersion: '7', allowBookmarks: true, timeoutSeconds: 290 })).toBe(
      '/api/v1/pods?watch=true&resourceVersion=7&allowWatchBookmarks=true&timeoutSeconds=290',
    )
    expect(watchPath(pods, { namespace: 'a', sendInitialEvents: true })).toBe(
      '/api/v1/namespaces/a/pods?watch=true&resourceVersionMatch=NotOlderThan&sendInitialEvents=true',
    )
  })

  it('of objects reject a name or namespace with path characters', () => {
    expect(objectPath(pods, { namespace: 'a', name: 'b' }, 'status')).toBe('/api/v1/namespaces/a/pods/b/status')
    expect(objectPath(nodes, { namespace: 'ignored', name: 'n' })).toBe('/api/v1/nodes/n')
    for (const name of ['', '.', '..', 'a/b', 'a%2fb']) {
      expect(() => objectPath(pods, { namespace: 'a', name })).toThrow('pods/v1:')
      expect(() => objectPath(pods, { namespace: name, name: 'b' })).toThrow('pods/v1:')
      expect(() => collectionPath(pods, name)).toThrow('pods/v1:')
    }
    expect(() => objectPath(pods, { name: 'b' })).toThrow('no namespace is given')
    expect(() => collectionPath(pods, undefined)).toThrow('no namespace is given')
    expect(collectionPath(nodes, undefined)).toBe('/api/v1/nodes')
  })

  it('repeat list parameters and omit false and absent ones', () => {
    expect(withQuery('/x', { command: ['sh', '-c', 'a b'], tty: false, stdin: true, container: undefined })).toBe(
      '/x?command=sh&command=-c&command=a%20b&stdin=true',
    )
  })
})
