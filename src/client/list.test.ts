import { describe, expect, it } from 'vitest'
import { clientErrors } from './errors.ts'
import { MusterError } from '../kube/muster-error.ts'
import type { Json } from '../kube/json.ts'
import type { Resource } from '../kube/kind.ts'
import type { KubeList, KubeObject } from '../kube/object.ts'
import type { ListOptions } from './client.ts'
import { readList, readMetadata, readMetadataList, readPages, readTable } from './list.ts'

const deployments: Resource = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
}

const listOf = (items: Json, metadata: Json = { resourceVersion: '7' }): Json => ({
  kind: 'DeploymentList',
  apiVersion: 'apps/v1',
  metadata,
  items,
})

describe('a list', () => {
  it('adds the apiVersion and kind that the server omits to each item, first', () => {
    const { items } = readList(deployments, listOf([{ metadata: { name: 'a' }, spec: {} }]))
    expect(items).toEqual([{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a' }, spec: {} }])
    expect(Object.keys(items[0]!)).toEqual(['apiVersion', 'kind', 'metadata', 'spec'])
  })

  it('keeps the apiVersion and kind of an item', () => {
    const own = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: {} }
    expect(readList(deployments, listOf([own])).items).toEqual([own])
  })

  it('may be null, as Go encodes an empty list', () => {
    expect(readList(deployments, listOf(null))).toMatchObject({ items: [], metadata: { resourceVersion: '7' } })
  })

  it('is an error for any other value', () => {
    for (const answer of [null, 'x', [], {}, { items: {} }] as readonly Json[]) {
      expect(() => readList(deployments, answer)).toThrow('deployments.apps/v1: the response is not a list.')
    }
  })
})

describe('metadata', () => {
  const partial = { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata: { name: 'a' } }

  it("has the object's own kind, whether or not the server removed the rest", () => {
    const wanted = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a' } }
    expect(readMetadata(deployments, partial)).toEqual(wanted)
    expect(readMetadata(deployments, { ...wanted, spec: {} })).toEqual(wanted)
    expect(readMetadataList(deployments, { kind: 'PartialObjectMetadataList', items: [partial] })).toEqual({
      apiVersion: 'apps/v1',
      kind: 'DeploymentList',
      metadata: {},
      items: [wanted],
    })
  })

  it('of a table row too', () => {
    const table = {
      kind: 'Table',
      metadata: { resourceVersion: '7' },
      columnDefinitions: [{ name: 'Name', type: 'string' }],
      rows: [{ cells: ['a'], object: partial }, { cells: ['b'], object: null }, {}],
    }
    expect(readTable(deployments, table)).toEqual({
      metadata: { resourceVersion: '7' },
      columnDefinitions: [{ name: 'Name', type: 'string' }],
      rows: [
        { cells: ['a'], object: { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a' } } },
        { cells: ['b'] },
        { cells: [] },
      ],
    })
    expect(() => readTable(deployments, listOf([]))).toThrow('sent no table')
  })
})

describe('pages', () => {
  type Page = KubeList<KubeObject>
  const page = (names: readonly string[], next?: string, resourceVersion = '7'): Page => ({
    apiVersion: 'apps/v1',
    kind: 'DeploymentList',
    metadata: { resourceVersion, ...(next === undefined ? {} : { continue: next, remainingItemCount: 1 }) },
    items: names.map((name) => ({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name } })),
  })
  const read = async (answers: readonly (Page | MusterError)[], options: ListOptions = {}) => {
    const asked: ListOptions[] = []
    const list = await readPages(deployments, options, (one) => {
      const answer = answers[asked.length]
      asked.push(one)
      return answer instanceof MusterError ? Promise.reject(answer) : Promise.resolve(answer!)
    })
    return { asked, names: list.items.map(({ metadata }) => metadata.name), metadata: list.metadata }
  }

  it('form one list at the version of the first', async () => {
    const { asked, names, metadata } = await read([page(['a'], 'x'), page(['b'], 'y', '8'), page(['c'], '')], {
      limit: 1,
    })
    expect(names).toEqual(['a', 'b', 'c'])
    expect(metadata).toEqual({ resourceVersion: '7' })
    expect(asked).toEqual([{ limit: 1 }, { limit: 1, continue: 'x' }, { limit: 1, continue: 'y' }])
  })

  it('with an expired token are replaced by one complete list', async () => {
    const gone = new MusterError(clientErrors.Gone, 'expired')
    const { asked, names, metadata } = await read([page(['a'], 'x'), gone, page(['b', 'c'], undefined, '9')], {
      namespace: 'n',
    })
    expect(names).toEqual(['b', 'c'])
    expect(metadata).toEqual({ resourceVersion: '9' })
    expect(asked[2]).toEqual({ namespace: 'n', limit: 0 })
  })

  it('fail when the complete list fails as well, when the first page does, and on any other error', async () => {
    const gone = new MusterError(clientErrors.Gone, 'expired')
    await expect(read([page(['a'], 'x'), gone, gone])).rejects.toBe(gone)
    await expect(read([gone])).rejects.toBe(gone)
    await expect(read([page(['a'], 'x'), new MusterError(clientErrors.Forbidden, 'no')])).rejects.toThrow('no')
  })

  it('without an end are an error', async () => {
    await expect(read([page(['a'], 'x'), page(['a'], 'x')])).rejects.toMatchObject({ name: 'ProtocolError' })
  })
})
