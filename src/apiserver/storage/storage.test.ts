import { array, assert, boolean, constantFrom, nat, property, record } from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { UntypedObject } from '../../kube/object.ts'
import { createStorage, type StoredObject } from './storage.ts'

function object(namespace: string, name: string, value: number): UntypedObject {
  return { apiVersion: 'v1', kind: 'Thing', metadata: { namespace, name, uid: `${namespace}/${name}` }, value }
}

const step = record({
  namespace: constantFrom('a', 'a-b', 'b'),
  name: constantFrom('x', 'y', 'z'),
  value: nat(9),
  removes: boolean(),
})

describe('storage', () => {
  it('has the state at every revision of its history, sorted by key', () => {
    assert(
      property(array(step, { maxLength: 40 }), (steps) => {
        const storage = createStorage()
        const table = storage.table('things')
        const states = new Map<number, readonly StoredObject[]>([[storage.revision, []]])
        for (const { namespace, name, value, removes } of steps) {
          const live = table.get(namespace, name)
          if (removes && live) storage.remove('things', live)
          else storage.put('things', object(namespace, name, value))
          states.set(storage.revision, table.objects())
        }
        for (const [revision, objects] of states) {
          expect(table.objectsAt(revision)).toEqual(objects)
          expect(table.objectsAt(revision, 'a')).toEqual(objects.filter(({ metadata }) => metadata.namespace === 'a'))
        }
        const keys = table.objects().map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
        expect(keys).toEqual(keys.toSorted())
      }),
    )
  })

  it('assigns one revision per change over all tables', () => {
    const storage = createStorage()
    const before = storage.revision
    storage.put('things', object('a', 'x', 1))
    storage.put('others', object('a', 'x', 1))
    const { metadata } = storage.remove('things', storage.table('things').get('a', 'x')!)
    expect([storage.revision, metadata.resourceVersion]).toEqual([before + 3, String(before + 3)])
  })

  it('keeps at least the configured history, and reports what was compacted', () => {
    const storage = createStorage({ history: 5 })
    const table = storage.table('things')
    for (let value = 0; value < 100; value++) {
      storage.put('things', object('a', 'x', value))
      expect(table.changesSince(Math.max(table.compacted, storage.revision - 5))).toBeDefined()
    }
    expect(table.changesSince(table.compacted - 1)).toBeUndefined()
    expect(table.objectsAt(table.compacted - 1)).toBeUndefined()
  })

  it('limits the history of all tables by bytes, and every remaining state is correct', () => {
    const large = 'x'.repeat(10_000)
    assert(
      property(array(record({ step, table: constantFrom('things', 'others') }), { maxLength: 60 }), (steps) => {
        const storage = createStorage({ historyBytes: 100_000 })
        const states = new Map<string, ReadonlyMap<number, readonly StoredObject[]>>()
        for (const { step: one, table: name } of steps) {
          const table = storage.table(name)
          const live = table.get(one.namespace, one.name)
          if (one.removes && live) storage.remove(name, live)
          else storage.put(name, { ...object(one.namespace, one.name, one.value), large })
          const known = states.get(name) ?? new Map<number, readonly StoredObject[]>()
          states.set(name, new Map([...known, [storage.revision, table.objects()]]))
        }
        let changes = 0
        for (const [name, known] of states) {
          const table = storage.table(name)
          changes += table.changesSince(table.compacted)!.length
          for (const [revision, objects] of known) {
            expect(table.objectsAt(revision)).toEqual(revision < table.compacted ? undefined : objects)
          }
        }
        expect(changes).toBeLessThan(10)
      }),
    )
  })
})
