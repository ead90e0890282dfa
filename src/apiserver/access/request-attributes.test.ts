import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createCatalog } from '../catalog/catalog.ts'
import { parseTarget, type RequestTarget } from './request-target.ts'
import { findRoute } from '../catalog/route.ts'
import type { ResourceAttributes } from './identity.ts'
import { attributesOf } from './request-attributes.ts'

const targetOf = (text: string): RequestTarget => parseTarget(text)!
const catalog = createCatalog()

describe('the attributes of a request', () => {
  it.each([
    ['GET', '/api/v1/namespaces/a/pods', { verb: 'list', resource: 'pods', namespace: 'a' }],
    ['GET', '/api/v1/namespaces/a/pods/b', { verb: 'get', resource: 'pods', name: 'b' }],
    ['GET', '/api/v1/namespaces/a/pods/b/log', { verb: 'get', subresource: 'log' }],
    ['DELETE', '/apis/apps/v1/namespaces/a/deployments', { verb: 'deletecollection', group: 'apps' }],
    ['GET', '/api/v1/namespaces/a', { verb: 'get', resource: 'namespaces', namespace: 'a', name: 'a' }],
    ['PUT', '/api/v1/namespaces/a/finalize', { verb: 'update', resource: 'namespaces', subresource: 'finalize' }],
    ['GET', '/api/v1/watch/namespaces/a/pods', { verb: 'watch', resource: 'pods', namespace: 'a' }],
    ['GET', '/apis/apps/v1', { verb: 'get', path: '/apis/apps/v1' }],
    ['POST', '/healthz/', { verb: 'post', path: '/healthz/' }],
    ['GET', '/api/v1/namespaces/a%2Fpods/b', { verb: 'get', resource: 'pods', namespace: 'a', name: 'b' }],
    ['GET', '//api/v1/namespaces/a/pods//', { verb: 'list', resource: 'pods', namespace: 'a' }],
  ])('%s %s', (method, path, expected) => {
    expect(attributesOf(method, targetOf(path))).toMatchObject(expected)
  })

  it.each([
    ['watch', 'watch'],
    ['watch=1', 'watch'],
    ['watch=yes', 'watch'],
    ['watch=false', 'list'],
    ['watch=0', 'list'],
    ['', 'list'],
  ])('of a list with "%s" have the verb %s', (query, verb) => {
    expect(attributesOf('GET', targetOf(`/api/v1/pods?${query}`))).toMatchObject({ verb })
  })

  it('take the name from a field selector on metadata.name', () => {
    const nameOf = (fieldSelector: string): unknown =>
      attributesOf('GET', targetOf(`/api/v1/pods?${new URLSearchParams({ fieldSelector }).toString()}`))
    expect(nameOf('metadata.name=a,spec.nodeName=b')).toMatchObject({ name: 'a' })
    expect(nameOf('metadata.name!=a')).toMatchObject({ name: undefined })
    expect(nameOf('metadata.name=..')).toMatchObject({ name: undefined })
    expect(nameOf('=')).toMatchObject({ name: undefined })
  })

  it('name the resource that the request is routed to, however the path is spelled', () => {
    const word = fc.constantFrom(
      'api',
      'apis',
      'v1',
      'apps',
      'namespaces',
      'pods',
      'secrets',
      'deployments',
      'a',
      'status',
      'watch',
      'proxy',
      '',
      '.',
      '..',
      '%2F',
      'pods%2Fx',
      '%70ods',
      'finalize',
      'a%20b',
      '%',
      '__proto__',
    )
    fc.assert(
      fc.property(fc.array(word, { maxLength: 8 }), (words) => {
        const target = parseTarget(`/${words.join('/')}`)
        const route = target && findRoute(target, catalog)
        if (!route) return
        const { served, name, namespace, subresource } = route
        const asked = attributesOf('PATCH', target) as ResourceAttributes
        expect([asked.group, asked.resource, asked.name]).toEqual([served.group, served.plural, name])
        // Segments after a subresource are not part of the attributes.
        expect(`${subresource}/`.startsWith(`${asked.subresource ?? ''}/`)).toBe(true)
        expect(served.namespaced ? asked.namespace : undefined).toBe(served.namespaced ? namespace : undefined)
      }),
      { numRuns: 5000 },
    )
  })
})
