import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../kube/object.ts'
import { createIndex, type StoreEntry, ownerUids } from './indexes.ts'

function entry(name: string, ...keys: readonly string[]): StoreEntry {
  return { bytes: 0, object: { apiVersion: 'v1', kind: 'Thing', metadata: { name, finalizers: keys } } }
}

const byFinalizer = ({ metadata }: KubeObject): readonly string[] => metadata.finalizers ?? []

describe('an index', () => {
  it('finds each object once, even under a key given twice', () => {
    const index = createIndex(byFinalizer)
    const one = entry('one', 'a', 'a', 'b')
    const two = entry('two', 'a')
    index.update(one, undefined, one.object)
    index.update(two, undefined, two.object)
    expect(index.find('a')).toEqual([one.object, two.object])
    expect(index.find('b')).toEqual([one.object])
  })

  it('returns the current object of an entry without an update, while its keys stay', () => {
    const index = createIndex(byFinalizer)
    const one = entry('one', 'a')
    index.update(one, undefined, one.object)
    const later = entry('one, later', 'a').object
    one.object = later
    expect(index.find('a')).toEqual([later])
  })

  it('drops unused keys', () => {
    const index = createIndex(byFinalizer)
    const one = entry('one', 'a', 'b')
    const two = entry('two', 'a')
    index.update(one, undefined, one.object)
    index.update(two, undefined, two.object)
    index.update(one, one.object, entry('one', 'c').object)
    expect(index.size()).toBe(2)
    expect(index.find('a')).toEqual([two.object])
    index.update(two, two.object, undefined)
    expect(index.find('a')).toEqual([])
    expect(index.size()).toBe(1)
  })

  it('files an object under the uids of all its owners', () => {
    const owner = (uid: string) => ({ apiVersion: 'v1', kind: 'Owner', name: uid, uid })
    const metadata = { name: 'x', ownerReferences: [owner('u1'), owner('u2')] }
    expect(ownerUids({ apiVersion: 'v1', kind: 'Thing', metadata })).toEqual(['u1', 'u2'])
    expect(ownerUids({ apiVersion: 'v1', kind: 'Thing', metadata: { name: 'y' } })).toEqual([])
  })
})
