import { describe, expect, it } from 'vitest'
import { builtinDefinitions, builtinSchema } from '../builtin.ts'
import type { Json } from '../json.ts'
import { kindOf } from '../kind.ts'
import type { KubeObject, ManagedFieldsEntry } from '../object.ts'
import type { Schema } from '../schema.ts'
import { applyObject, type ConvertObject, updateObject } from './apply.ts'
import { type FieldSet, fieldSet } from './field-set.ts'
import { lastAppliedAnnotation } from './last-applied.ts'

type Thing = KubeObject & { readonly data?: Json; readonly spec?: Json; readonly status?: Json }

interface Write {
  readonly as: string
  readonly force?: boolean
  readonly through?: string
  readonly resetFields?: FieldSet
  readonly schema?: Schema
  readonly convert?: ConvertObject
}

/** An object on a server: writes to it one after the other, a second apart. */
function stored(start?: Thing): {
  readonly object: () => Thing
  readonly apply: (applied: Thing, write: Write) => Thing
  readonly update: (updated: Thing | ((live: Thing) => Thing), write: Write) => Thing
  readonly owners: () => Readonly<Record<string, Json | undefined>>
} {
  let live = start
  let now = Date.UTC(2026, 0, 1)
  const options = (of: KubeObject, { as, through, resetFields, schema, convert }: Write) => {
    now += 1000
    const builtin = builtinSchema(kindOf(of))
    return {
      live,
      now,
      manager: as,
      subresource: through,
      schema: schema ?? builtin,
      ...(builtin && { definitions: builtinDefinitions() }),
      ...(resetFields && { resetFields }),
      ...(convert && { convert }),
    }
  }
  const keep = (object: Thing): Thing =>
    (live = object.metadata.uid ? object : { ...object, metadata: { ...object.metadata, uid: 'u' } })
  const object = (): Thing => live as Thing
  return {
    object,
    apply: (applied, write) => keep(applyObject({ ...options(applied, write), applied, force: write.force })),
    update: (updated, write) => {
      const next = typeof updated === 'function' ? updated(object()) : updated
      return keep(updateObject({ ...options(next, write), updated: next }))
    },
    owners: () =>
      Object.fromEntries(
        (live?.metadata.managedFields ?? []).map((entry) => [
          [entry.operation, entry.manager, entry.subresource].filter(Boolean).join(' '),
          entry.fieldsV1,
        ]),
      ),
  }
}

const configMap = (data?: Json, metadata: object = {}): Thing => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'x', namespace: 'default', ...metadata },
  ...(data !== undefined && { data }),
})

describe('an ordinary write', () => {
  it('owns the fields it creates', () => {
    const { update, owners } = stored()
    update(configMap({ a: '1' }, { labels: { l: '1' }, uid: 'u' }), { as: 'creator' })
    expect(owners()).toEqual({
      'Update creator': { 'f:data': { '.': {}, 'f:a': {} }, 'f:metadata': { 'f:labels': { '.': {}, 'f:l': {} } } },
    })
  })

  it('takes changed fields from their owners, and removed fields from all managers', () => {
    const { apply, update, owners } = stored()
    apply(configMap({ a: '1', b: '1', c: '1' }), { as: 'one' })
    apply(configMap({ a: '1', c: '1' }), { as: 'two' })
    update((live) => ({ ...live, data: { a: '2', b: '1', d: '1' } }), { as: 'editor' })
    expect(owners()).toEqual({
      'Apply one': { 'f:data': { 'f:b': {} } },
      'Update editor': { 'f:data': { 'f:a': {}, 'f:d': {} } },
    })
  })

  it('that changes nothing keeps managedFields', () => {
    const { update, object } = stored()
    update(configMap({ a: '1' }), { as: 'one' })
    const before = object()
    expect(update({ ...before }, { as: 'two' }).metadata).toEqual(before.metadata)
  })

  it('keeps the time of managers that gained no field', () => {
    const { update, object } = stored()
    update(configMap({ a: '1' }), { as: 'one' })
    update((live) => ({ ...live, data: { a: '1', b: '1' } }), { as: 'two' })
    update((live) => ({ ...live, data: { a: '1', b: '2' } }), { as: 'one' })
    expect(object().metadata.managedFields?.map(({ manager, time }) => [manager, time])).toEqual([
      ['one', '2026-01-01T00:00:03Z'],
    ])
  })

  it('is attributed to its subresource, and to no manager where the field is read-only', () => {
    const { update, owners } = stored()
    const deployment = (spec: Json, status: Json): Thing => ({
      ...configMap(),
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      spec,
      status,
    })
    update(deployment({ replicas: 1 }, { replicas: 9 }), { as: 'm', resetFields: fieldSet(['status']) })
    update(deployment({ replicas: 9 }, { replicas: 1 }), {
      as: 'm',
      through: 'status',
      resetFields: fieldSet(['spec']),
    })
    expect(owners()).toEqual({
      'Update m': { 'f:spec': { 'f:replicas': {} } },
      'Update m status': { 'f:status': { 'f:replicas': {} } },
    })
  })

  it('does not track an object without managedFields', () => {
    const { update, owners } = stored(configMap({ a: '1' }, { uid: 'u' }))
    update((live) => ({ ...live, data: { a: '2' } }), { as: 'm' })
    expect(owners()).toEqual({})
  })

  it('may write managedFields itself, or clear them', () => {
    const { update, owners, object } = stored()
    update(configMap({ a: '1' }), { as: 'm' })
    const [entry] = object().metadata.managedFields as [ManagedFieldsEntry]
    const record =
      (...managedFields: readonly ManagedFieldsEntry[]) =>
      (live: Thing): Thing => ({
        ...live,
        metadata: { ...live.metadata, managedFields },
      })
    update(record({ ...entry, manager: 'heir' }), { as: 'm' })
    expect(owners()).toEqual({ 'Update heir': entry.fieldsV1 })
    update(record({ ...entry, fieldsType: 'nonsense' as 'FieldsV1' }), { as: 'm' })
    expect(owners()).toEqual({ 'Update heir': entry.fieldsV1 })
    update(record({ ...entry, manager: 'thief' }), { as: 'm', through: 'status' })
    expect(owners()).toEqual({ 'Update heir': entry.fieldsV1 })
    update(record({}), { as: 'm' })
    expect(object().metadata).not.toHaveProperty('managedFields')
  })

  it('that does not match the schema keeps managedFields', () => {
    const { update, owners } = stored()
    update(configMap({ a: '1' }), { as: 'm' })
    const before = owners()
    update((live) => ({ ...live, data: { a: 5 }, bogus: true }), { as: 'm' })
    expect(owners()).toEqual(before)
  })

  it('without a field manager is attributed to unknown', () => {
    const { update, owners } = stored()
    update(configMap({ a: '1' }), { as: '' })
    expect(Object.keys(owners())).toEqual(['Update unknown'])
  })
})

describe('an apply', () => {
  it('creates a missing object and owns exactly the applied fields', () => {
    const { apply, object, owners } = stored()
    apply(configMap({ a: '1' }), { as: 'm' })
    expect(object()).toMatchObject(configMap({ a: '1' }))
    expect(owners()).toEqual({ 'Apply m': { 'f:data': { 'f:a': {} } } })
  })

  it('repeated returns the identical object', () => {
    const { apply, object } = stored()
    apply(configMap({ a: '1' }, { labels: { l: '1' } }), { as: 'm' })
    const before = object()
    expect(apply(configMap({ a: '1' }, { labels: { l: '1' } }), { as: 'm' })).toBe(before)
  })

  it('merges, and keeps fields that it omits', () => {
    const { apply, update, object } = stored()
    update(configMap({ a: '1', b: '1' }), { as: 'editor' })
    apply(configMap({ c: '1' }), { as: 'm' })
    expect(object().data).toEqual({ a: '1', b: '1', c: '1' })
  })

  it('removes fields that it applied before and omits now', () => {
    const { apply, object, owners } = stored()
    apply(configMap({ a: '1', b: '1' }, { labels: { l: '1' } }), { as: 'm' })
    apply(configMap({ a: '1' }), { as: 'm' })
    expect(object()).toMatchObject({ data: { a: '1' } })
    expect(object().metadata).not.toHaveProperty('labels')
    apply(configMap(), { as: 'm' })
    expect(object()).not.toHaveProperty('data')
    expect(owners()).toEqual({})
  })

  it('does not remove fields of others, nor fields without an owner', () => {
    const { apply, update, object } = stored()
    apply(configMap({ a: '1', b: '1', c: '1' }), { as: 'm' })
    apply(configMap({ b: '1' }), { as: 'other' })
    update((live) => ({ ...live, data: { ...(live.data as object), c: '2' } }), { as: 'editor' })
    apply(configMap({}), { as: 'm' })
    expect(object().data).toEqual({ b: '1', c: '2' })
  })

  it('conflicts with fields of others that have another value; the object stays unchanged', () => {
    const { apply, update, object } = stored()
    update(configMap({ a: '1', b: '1' }), { as: 'editor' })
    apply(configMap({ c: '1' }), { as: 'applier' })
    const before = object()
    expect(() => apply(configMap({ a: '2', b: '1', c: '2' }), { as: 'm' })).toThrow(
      expect.objectContaining({
        name: 'ApplyConflict',
        message:
          'Apply failed with 2 conflicts: conflicts with "applier":\n- .data.c\nconflicts with "editor" using v1:\n- .data.a',
      }),
    )
    expect(object()).toBe(before)
  })

  it('by force takes ownership', () => {
    const { apply, update, owners, object } = stored()
    update(configMap({ a: '1', b: '1' }), { as: 'editor' })
    apply(configMap({ a: '2' }), { as: 'm', force: true })
    expect(object().data).toEqual({ a: '2', b: '1' })
    expect(owners()).toEqual({
      'Apply m': { 'f:data': { 'f:a': {} } },
      'Update editor': { 'f:data': { '.': {}, 'f:b': {} } },
    })
  })

  it('of the same value shares the field; shared ownership is not a change, and has no time', () => {
    const { apply, owners, object } = stored()
    apply(configMap({ a: '1' }), { as: 'one' })
    apply(configMap({ a: '1' }), { as: 'two' })
    expect(owners()).toEqual({ 'Apply one': { 'f:data': { 'f:a': {} } }, 'Apply two': { 'f:data': { 'f:a': {} } } })
    expect(object().metadata.managedFields?.map(({ time }) => time)).toEqual([undefined, '2026-01-01T00:00:01Z'])
    apply(configMap(), { as: 'one' })
    expect(object().data).toEqual({ a: '1' })
    apply(configMap(), { as: 'two' })
    expect(object()).not.toHaveProperty('data')
  })

  it('that empties a map and still contains it leaves null, as on the server', () => {
    const { apply, object } = stored()
    apply(configMap({ a: '1' }), { as: 'm' })
    apply(configMap({}), { as: 'm' })
    expect(object().data).toBeNull()
  })

  it('to an object without managedFields attributes the existing fields to one earlier manager', () => {
    const { apply, owners } = stored(configMap({ a: '1', b: '1' }, { uid: 'u' }))
    expect(() => apply(configMap({ a: '2' }), { as: 'm' })).toThrow(
      'conflict with "before-first-apply" using v1: .data.a',
    )
    apply(configMap({ a: '2' }), { as: 'm', force: true })
    expect(owners()).toEqual({
      'Apply m': { 'f:data': { 'f:a': {} } },
      'Update before-first-apply': { 'f:data': { '.': {}, 'f:b': {} } },
    })
  })

  it('uses the keys of lists, with their defaults', () => {
    const service = (ports: Json): Thing => ({ ...configMap(), kind: 'Service', spec: { ports } })
    const { apply, object, owners } = stored()
    apply(service([{ port: 8080 }, { port: 9, name: 'nine' }]), { as: 'one' })
    apply(
      service([
        { port: 9, protocol: 'UDP' },
        { port: 9, protocol: 'TCP', targetPort: 'x' },
      ]),
      { as: 'two' },
    )
    expect(object().spec).toEqual({
      ports: [
        { port: 8080 },
        { port: 9, protocol: 'UDP' },
        { port: 9, name: 'nine', protocol: 'TCP', targetPort: 'x' },
      ],
    })
    expect(JSON.stringify(owners()['Apply one'])).toBe(
      String.raw`{"f:spec":{"f:ports":{"k:{\"port\":9,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{}},"k:{\"port\":8080,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}}`,
    )
  })

  it('removes an item of a list with its last field', () => {
    const deployment = (containers: Json): Thing => ({
      ...configMap(),
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      spec: { template: { spec: { containers } } },
    })
    const { apply, object } = stored()
    apply(
      deployment([
        { name: 'a', image: 'i' },
        { name: 'b', image: 'i' },
      ]),
      { as: 'one' },
    )
    apply(deployment([{ name: 'a', env: [{ name: 'E', value: '1' }] }]), { as: 'two' })
    apply(deployment([{ name: 'b', image: 'i' }]), { as: 'one' })
    expect(object().spec).toEqual({
      template: {
        spec: {
          containers: [
            { name: 'a', env: [{ name: 'E', value: '1' }] },
            { name: 'b', image: 'i' },
          ],
        },
      },
    })
  })

  it('without a schema treats lists as atomic', () => {
    const thing = (spec: Json): Thing => ({ apiVersion: 'x.io/v1', kind: 'Thing', metadata: { name: 'x' }, spec })
    const { apply, object } = stored()
    apply(thing({ list: [1, 2], map: { a: 1 } }), { as: 'one' })
    apply(thing({ map: { b: 1 } }), { as: 'two' })
    expect(object().spec).toEqual({ list: [1, 2], map: { a: 1, b: 1 } })
    expect(() => apply(thing({ list: [3] }), { as: 'two' })).toThrow('conflict with "one": .spec.list')
  })

  it.each<[string, Partial<Thing>, string, string]>([
    ['with managedFields', { metadata: { name: 'x', managedFields: [] } }, 'InvalidObject', 'must be nil'],
    ['of another kind', { kind: 'Secret' }, 'InvalidObject', 'invalid object type: v1, Kind=Secret'],
    ['of another version', { apiVersion: 'v2' }, 'InvalidObject', 'invalid object type: v2, Kind=ConfigMap'],
    ['without a kind', { kind: '' }, 'InvalidObject', 'no kind'],
    ['with a field of the wrong type', { data: { a: 1 } }, 'SchemaMismatch', '.data.a: expected string'],
  ])('%s is refused', (_what, more, name, message) => {
    const { apply } = stored(configMap({}, { uid: 'u' }))
    expect(() =>
      apply({ ...configMap(), ...more }, { as: 'm', schema: builtinSchema(kindOf(configMap())) as Schema }),
    ).toThrow(expect.objectContaining({ name, message: expect.stringContaining(message) }))
  })

  it('is rejected when managedFields are invalid', () => {
    const broken = [
      { manager: 'm', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: { x: {} } },
    ]
    const { apply } = stored(configMap({}, { uid: 'u', managedFields: broken }))
    expect(() => apply(configMap({}), { as: 'm' })).toThrow(expect.objectContaining({ name: 'InvalidFieldSet' }))
  })
})

describe('kubectl, migrating from client-side apply,', () => {
  const past = (data: Json): object => ({ annotations: { [lastAppliedAnnotation]: JSON.stringify(configMap(data)) } })

  it('does not conflict with its own past, and keeps the annotation current', () => {
    const { apply, update, object, owners } = stored()
    update(configMap({ a: '1', b: '1' }, past({ a: '1', b: '1' })), { as: 'kubectl-client-side-apply' })
    apply(configMap({ a: '2', b: '1' }), { as: 'kubectl' })
    expect(object()).toMatchObject({ data: { a: '2', b: '1' } })
    expect(owners()).toMatchObject({ 'Apply kubectl': { 'f:data': { 'f:a': {}, 'f:b': {} } } })
    expect(JSON.parse(object().metadata.annotations?.[lastAppliedAnnotation] ?? '')).toEqual(
      configMap({ a: '2', b: '1' }),
    )
  })

  it('conflicts on fields that changed since', () => {
    const { apply, update } = stored()
    update(configMap({ a: '1', b: '1' }, past({ a: '1', b: '1' })), { as: 'kubectl-client-side-apply' })
    update((live) => ({ ...live, data: { a: '9', b: '1' } }), { as: 'editor' })
    expect(() => apply(configMap({ a: '2', b: '2' }), { as: 'kubectl' })).toThrow(
      'Apply failed with 1 conflict: conflict with "editor" using v1: .data.a',
    )
  })

  it('is the only manager with that exception', () => {
    const { apply, update } = stored()
    update(configMap({ a: '1' }, past({ a: '1' })), { as: 'kubectl-client-side-apply' })
    expect(() => apply(configMap({ a: '2' }), { as: 'flux' })).toThrow('conflict with "kubectl-client-side-apply"')
  })
})

describe('several versions', () => {
  const text: Schema = { type: 'string' }
  const v1: Schema = {
    type: 'object',
    properties: { spec: { type: 'object', properties: { name: text, size: text } } },
  }
  const v2: Schema = {
    type: 'object',
    properties: { spec: { type: 'object', properties: { title: text, size: text } } },
  }
  const thing = (version: string, spec: Json): Thing => ({
    apiVersion: `x.io/${version}`,
    kind: 'Thing',
    metadata: { name: 'x' },
    spec,
  })
  /** `name` is called `title` since v2; v0 is served no longer. */
  const convert: ConvertObject = (object, apiVersion) => {
    if (apiVersion === 'x.io/v0') return undefined
    const {
      name,
      title = name,
      ...rest
    } = (object['spec'] ?? {}) as { readonly name?: string; readonly title?: string }
    const called = title === undefined ? {} : apiVersion === 'x.io/v1' ? { name: title } : { title }
    const schema = apiVersion === 'x.io/v1' ? v1 : v2
    return { object: { ...object, apiVersion, spec: { ...rest, ...called } }, schema }
  }
  const at = (live: Thing, version: string): Thing =>
    convert(live as never, `x.io/${version}`)?.object as unknown as Thing

  it('see each other’s fields by their own names', () => {
    const { apply, object } = stored()
    const first = apply(thing('v1', { name: 'a', size: '1' }), { as: 'old', schema: v1, convert })
    const live = stored(at(first, 'v2'))
    expect(() => live.apply(thing('v2', { title: 'b' }), { as: 'new', schema: v2, convert })).toThrow(
      'conflict with "old": .spec.name',
    )
    live.apply(thing('v2', { title: 'b' }), { as: 'new', schema: v2, convert, force: true })
    expect(live.object().spec).toEqual({ title: 'b', size: '1' })
    expect(live.owners()).toEqual({
      'Apply new': { 'f:spec': { 'f:title': {} } },
      'Apply old': { 'f:spec': { 'f:size': {} } },
    })
    expect(object().spec).toEqual({ name: 'a', size: '1' })
  })

  it('an applier that changes its version stays the same manager, and prunes what it owned at the old version', () => {
    const { apply } = stored()
    const first = apply(thing('v1', { name: 'a', size: '1' }), { as: 'm', schema: v1, convert })
    const live = stored(at(first, 'v2'))
    live.apply(thing('v2', { title: 'a' }), { as: 'm', schema: v2, convert })
    expect(live.object().spec).toEqual({ title: 'a' })
    expect(live.object().metadata.managedFields).toMatchObject([
      { apiVersion: 'x.io/v2', fieldsV1: { 'f:spec': { 'f:title': {} } } },
    ])
  })

  it('entries of a version that is no longer served are removed', () => {
    const entry = {
      manager: 'm',
      operation: 'Update',
      apiVersion: 'x.io/v0',
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:a': {} },
    }
    const { apply, owners } = stored({
      ...thing('v2', { size: '1' }),
      metadata: { name: 'x', uid: 'u', managedFields: [entry as ManagedFieldsEntry] },
    })
    apply(thing('v2', { size: '1' }), { as: 'm', schema: v2, convert })
    expect(owners()).toEqual({ 'Apply m': { 'f:spec': { 'f:size': {} } } })
  })
})
