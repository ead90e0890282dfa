import { describe, expect, it } from 'vitest'
import type { KubeObject, ManagedFieldsEntry } from '../object.ts'
import { fieldSet, union } from './field-set.ts'
import {
  asksForReset,
  capUpdaters,
  decodeManagers,
  encodeManagers,
  managerId,
  type Managers,
  type Ownership,
  withManagers,
  withoutUnownable,
  withSettledTimes,
} from './managed-fields.ts'
import { formatTime } from '../units/duration.ts'

const at = (second: number): string => formatTime(Date.UTC(2026, 0, 1, 0, 0, second))

const entry = (more: Partial<ManagedFieldsEntry> = {}): ManagedFieldsEntry => ({
  manager: 'm',
  operation: 'Update',
  apiVersion: 'v1',
  time: at(0),
  fieldsType: 'FieldsV1',
  fieldsV1: { 'f:data': {} },
  ...more,
})

const object = (managedFields?: readonly ManagedFieldsEntry[], more: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'x', ...(managedFields && { managedFields }) },
  ...more,
})

describe('entries', () => {
  it('round-trip, in the order of the server', () => {
    const entries = [
      entry({ operation: 'Apply', time: at(9), manager: 'z' }),
      entry({ time: at(1), manager: 'z' }),
      entry({ time: at(2), manager: 'a' }),
      entry({ time: at(2), manager: 'b', apiVersion: 'v1' }),
      entry({ time: at(2), manager: 'b', apiVersion: 'v2' }),
      entry({ time: at(2), manager: 'b', apiVersion: 'v2', subresource: 'status' }),
    ]
    expect(JSON.stringify(encodeManagers(decodeManagers(entries.toReversed())))).toBe(JSON.stringify(entries))
  })

  it('without a time come first', () => {
    const { time: _time, ...timeless } = entry({ manager: 'z' })
    const entries = encodeManagers(decodeManagers([entry({ manager: 'a' }), timeless]))
    expect(entries.map(({ manager }) => manager)).toEqual(['z', 'a'])
  })

  it('are distinguished by manager, operation, subresource and, for updates, version', () => {
    const id = (more: Partial<Ownership>): string =>
      managerId({ manager: 'm', operation: 'Update', apiVersion: 'v1', subresource: '', ...more })
    const ids = [{}, { manager: 'n' }, { operation: 'Apply' }, { apiVersion: 'v2' }, { subresource: 'status' }] as const
    expect(new Set(ids.map(id)).size).toBe(ids.length)
    expect(id({ operation: 'Apply', apiVersion: 'v2' })).toBe(id({ operation: 'Apply' }))
  })

  it.each<[Partial<ManagedFieldsEntry>, string]>([
    [{ operation: 'Delete' as 'Apply' }, 'operation must be `Apply` or `Update`'],
    [{ apiVersion: '' }, 'apiVersion must not be empty'],
    [{ fieldsType: 'FieldsV2' as 'FieldsV1' }, 'fieldsType is "FieldsV2"'],
    [{ fieldsV1: { 'f:data': { nonsense: {} } } }, 'at .data: "nonsense"'],
  ])('that make no sense are refused with their place: %j', (more, message) => {
    expect(() => decodeManagers([entry(), entry({ manager: 'bad', ...more })])).toThrow(
      expect.objectContaining({ name: 'InvalidFieldSet', message: expect.stringContaining(message) }),
    )
    expect(() => decodeManagers([entry(), entry({ manager: 'bad', ...more })])).toThrow('managedFields[1] of "bad"')
  })

  it('times are of whole seconds', () => {
    expect(formatTime(Date.UTC(2026, 1, 3, 4, 5, 6, 789))).toBe('2026-02-03T04:05:06Z')
  })
})

describe('managedFields', () => {
  it('are written to an object, and removed from it when empty', () => {
    const managers = decodeManagers([entry()])
    expect(withManagers(object(), managers)).toEqual(object([entry()]))
    expect(withManagers(object([entry()]), new Map())).toEqual(object())
  })

  it('that equal those of the object keep the object', () => {
    const [tracked, untracked] = [object([entry()]), object()]
    expect(withManagers(tracked, decodeManagers([entry()]))).toBe(tracked)
    expect(withManagers(untracked, new Map())).toBe(untracked)
  })

  it('are reset by an empty list or one empty entry', () => {
    expect([[], [{}]].map(asksForReset)).toEqual([true, true])
    expect([undefined, [entry()], [{}, {}], [{ manager: 'm' }]].map(asksForReset)).toEqual([false, false, false, false])
  })

  it('never list fields that cannot be owned', () => {
    const fields = fieldSet(['apiVersion'], ['metadata'], ['metadata', 'uid'], ['metadata', 'labels', 'a'], ['spec'])
    expect(withoutUnownable(fields)).toEqual(fieldSet(['metadata', 'labels', 'a'], ['spec']))
  })

  it('with changed times only are the old ones', () => {
    const live = object([entry()], { data: { a: '1' } })
    const later = object([entry({ time: at(5) })], { data: { a: '1' } })
    expect(withSettledTimes(live, later)).toBe(live)
    for (const other of [
      object([entry({ time: at(5) })], { data: { a: '2' } }),
      object([entry({ time: at(5), fieldsV1: {} })], { data: { a: '1' } }),
      object([entry(), entry({ manager: 'n' })], { data: { a: '1' } }),
      object(undefined, { data: { a: '1' } }),
    ]) {
      expect(withSettledTimes(live, other)).toBe(other)
    }
  })
})

describe('too many updaters', () => {
  const updater = (index: number, more: Partial<Ownership> = {}): Ownership => ({
    manager: `m${String(index).padStart(2, '0')}`,
    operation: 'Update',
    apiVersion: 'v1',
    subresource: '',
    time: at(index),
    fields: fieldSet(['data', `k${index}`]),
    ...more,
  })
  const record = (...all: readonly Ownership[]): Managers => new Map(all.map((one) => [managerId(one), one]))
  const many = (count: number): readonly Ownership[] => Array.from({ length: count }, (_, index) => updater(index))
  const names = (managers: Managers): readonly (string | undefined)[] =>
    encodeManagers(managers).map(({ manager }) => manager)

  it('ten are not too many', () => {
    const managers = record(...many(10), updater(11, { operation: 'Apply' }))
    expect(capUpdaters(managers)).toBe(managers)
  })

  it('the oldest are merged, with the time of the younger', () => {
    const capped = capUpdaters(record(...many(12)))
    const ancient = [...capped.values()].find(({ manager }) => manager === 'ancient-changes')
    expect(capped.size).toBe(10)
    expect(ancient).toEqual({
      manager: 'ancient-changes',
      operation: 'Update',
      apiVersion: 'v1',
      subresource: '',
      time: at(2),
      fields: fieldSet(['data', 'k0'], ['data', 'k1'], ['data', 'k2']),
    })
  })

  it('the next one joins the merged ones', () => {
    const first = capUpdaters(record(...many(11)))
    const next = capUpdaters(new Map([...first, ...record(updater(12))]))
    expect(next.size).toBe(10)
    expect(names(next)[0]).toBe('ancient-changes')
    expect([...next.values()].map(({ fields }) => fields).reduce(union)).toEqual(
      [...many(11), updater(12)].map(({ fields }) => fields).reduce(union),
    )
  })

  it('only those of one version are merged', () => {
    const capped = capUpdaters(record(updater(0, { apiVersion: 'v0' }), ...many(12).slice(1)))
    const young = many(12).slice(4)
    expect(names(capped)).toEqual(['m00', 'ancient-changes', ...young.map(({ manager }) => manager)])
  })

  it('appliers are never merged', () => {
    const appliers = Array.from({ length: 15 }, (_, index) => updater(index, { operation: 'Apply' }))
    expect(capUpdaters(record(...appliers, ...many(11))).size).toBe(25)
  })
})
