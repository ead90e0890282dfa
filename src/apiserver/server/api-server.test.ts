import { describe, expect, it } from 'vitest'
import {
  configMap,
  configMaps,
  crds,
  deployments,
  embedded,
  namespaces,
  widget,
  widgetCrd,
  widgets,
} from '../../../test/embedded.ts'
import { ApiError } from '../../client/api-error.ts'
import type { UntypedObject } from '../../kube/object.ts'

const at = (name: string): { readonly namespace: string; readonly name: string } => ({ namespace: 'default', name })

async function refusal(promise: Promise<unknown>): Promise<ApiError['status']> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof ApiError)) throw new Error(`expected a refusal, got ${String(error)}`)
  return error.status
}

function deployment(name: string): UntypedObject {
  const labels = { app: name }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'default' },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'app:1' }] } },
    },
  }
}

describe('create', () => {
  it('sets uid, creationTimestamp, resourceVersion and managedFields', async () => {
    const { client } = embedded()
    const created = await client.create(configMaps, configMap('a', { x: '1' }), { fieldManager: 'me' })
    expect(created.metadata).toMatchObject({
      name: 'a',
      namespace: 'default',
      creationTimestamp: '2026-01-01T00:00:00Z',
    })
    expect(created.metadata.uid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(created.metadata.generation).toBeUndefined()
    expect(created.metadata.managedFields).toMatchObject([
      { manager: 'me', operation: 'Update', apiVersion: 'v1', fieldsV1: { 'f:data': { '.': {}, 'f:x': {} } } },
    ])
    expect(await client.get(configMaps, at('a'))).toEqual(created)
  })

  it('starts with generation 1 where the kind has one, and without status', async () => {
    const { client } = embedded()
    const created = await client.create(deployments, { ...deployment('web'), status: { replicas: 9 } })
    expect(created.metadata.generation).toBe(1)
    expect(created['status']).toEqual({})
  })

  it('generates names from generateName', async () => {
    const { client } = embedded()
    const prefixed = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'job-', namespace: 'default' } }
    const [one, two] = [await client.create(configMaps, prefixed), await client.create(configMaps, prefixed)]
    expect(one.metadata).toMatchObject({ name: expect.stringMatching(/^job-[a-z0-9]{5}$/) as string })
    expect(one.metadata.uid).not.toBe(two.metadata.uid)
  })

  it('rejects invalid objects with the messages of kube-apiserver', async () => {
    const { client, raw } = embedded()
    await client.create(configMaps, configMap('a'))
    expect(await refusal(client.create(configMaps, configMap('a')))).toMatchObject({
      code: 409,
      reason: 'AlreadyExists',
      message: 'configmaps "a" already exists',
      details: { name: 'a', kind: 'configmaps' },
    })
    expect(await refusal(client.create(configMaps, configMap('a', {}, { namespace: 'nowhere' })))).toMatchObject({
      code: 404,
      message: 'namespaces "nowhere" not found',
    })
    expect(await refusal(client.create(configMaps, configMap('Wrong_Name')))).toMatchObject({
      code: 422,
      reason: 'Invalid',
    })
    const posted = async (body: object | string, headers = {}): Promise<unknown> =>
      (await raw('POST', '/api/v1/namespaces/default/configmaps', { body, headers })).json
    expect(await posted({ metadata: {} })).toMatchObject({
      code: 422,
      message: 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
    })
    expect(await posted({ apiVersion: 'v2', metadata: { name: 'b' } })).toMatchObject({
      code: 400,
      message:
        'ConfigMap in version "v2" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "v2" in scheme "pkg/runtime/scheme.go:111"',
    })
    expect(await posted({ metadata: { name: 'b', namespace: 'other' } })).toMatchObject({ code: 400 })
    expect(await posted('{"metadata":')).toMatchObject({ code: 400, reason: 'BadRequest' })
    expect(await posted({ metadata: { name: 'b' }, data: { x: 1 } })).toMatchObject({ code: 400 })
    expect(await posted('x', { 'content-type': 'application/vnd.kubernetes.protobuf' })).toMatchObject({
      code: 400,
      reason: 'BadRequest',
      message: expect.stringContaining('does not appear to be a protobuf message') as string,
    })
    expect(await posted('x', { 'content-type': 'text/plain' })).toMatchObject({
      code: 415,
      reason: 'UnsupportedMediaType',
      message: expect.stringContaining('application/json, application/yaml') as string,
    })
  })

  it('accepts and returns YAML', async () => {
    const { raw } = embedded()
    const body = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: from-yaml}\ndata: {x: "yes"}\n'
    const headers = { 'content-type': 'application/yaml', accept: 'application/yaml' }
    const answer = await raw('POST', '/api/v1/namespaces/default/configmaps', { body, headers })
    expect(answer.status).toBe(201)
    expect(answer.text).toContain('name: from-yaml')
  })

  it('drops unknown fields with a warning, or rejects them with strict field validation', async () => {
    const { raw } = embedded()
    const path = '/api/v1/namespaces/default/configmaps'
    const body = { metadata: { name: 'a' }, dta: { x: '1' } }
    expect((await raw('POST', `${path}?fieldValidation=Strict`, { body })).json).toMatchObject({
      code: 400,
      message: 'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "dta"',
    })
    const created = await raw('POST', path, { body })
    expect(created.headers['warning']).toBe('299 - "unknown field \\"dta\\""')
    expect(created.json).not.toHaveProperty('dta')
  })

  it('stores nothing in a dry run', async () => {
    const { client } = embedded()
    const answer = await client.create(configMaps, configMap('a'), { dryRun: true })
    expect(answer.metadata.uid).toBeDefined()
    expect(await refusal(client.get(configMaps, at('a')))).toMatchObject({ message: 'configmaps "a" not found' })
  })

  it('turns stringData of a Secret into data', async () => {
    const { raw } = embedded()
    const body = { metadata: { name: 's' }, stringData: { key: 'value' } }
    const { json } = await raw('POST', '/api/v1/namespaces/default/secrets', { body })
    expect(json).toMatchObject({ type: 'Opaque', data: { key: 'dmFsdWU=' } })
    expect(json).not.toHaveProperty('stringData')
  })
})

describe('update', () => {
  it('rejects an outdated resourceVersion', async () => {
    const { client } = embedded()
    const first = await client.create(configMaps, configMap('a', { x: '1' }))
    await client.update(configMaps, { ...first, data: { x: '2' } })
    expect(await refusal(client.update(configMaps, { ...first, data: { x: '3' } }))).toMatchObject({
      code: 409,
      reason: 'Conflict',
      message:
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
    })
  })

  it('keeps the resourceVersion if nothing changes', async () => {
    const { client, clock } = embedded()
    const first = await client.create(configMaps, configMap('a', { x: '1' }))
    await clock.advance(5000)
    const again = await client.update(configMaps, first)
    expect(again.metadata.resourceVersion).toBe(first.metadata.resourceVersion)
    const patched = await client.patch(configMaps, at('a'), { data: { x: '1' } }, { type: 'merge' })
    expect(patched.metadata.resourceVersion).toBe(first.metadata.resourceVersion)
  })

  it('increments the generation for changes of the spec, not of labels', async () => {
    const { client } = embedded()
    await client.create(deployments, deployment('web'))
    const labelled = await client.patch(deployments, at('web'), { metadata: { labels: { a: 'b' } } }, { type: 'merge' })
    expect(labelled.metadata.generation).toBe(1)
    const scaled = await client.patch(deployments, at('web'), { spec: { replicas: 3 } }, { type: 'merge' })
    expect(scaled.metadata.generation).toBe(2)
  })

  it('separates status and spec by subresource', async () => {
    const { client } = embedded()
    const created = await client.create(deployments, deployment('web'))
    const ignored = await client.update(deployments, { ...created, status: { replicas: 2 } })
    expect(ignored.metadata.resourceVersion).toBe(created.metadata.resourceVersion)
    const status = { ...created, spec: { ...(created['spec'] as object), replicas: 9 }, status: { replicas: 2 } }
    const updated = await client.update(deployments, status, { subresource: 'status' })
    expect(updated).toMatchObject({ status: { replicas: 2 }, spec: { replicas: 2 }, metadata: { generation: 1 } })
    const owners = updated.metadata.managedFields?.map(({ subresource }) => subresource)
    expect(owners).toEqual([undefined, 'status'])
  })

  it('cannot change the identity of an object', async () => {
    const { client, raw } = embedded()
    const created = await client.create(configMaps, configMap('a'))
    const forged = { ...created, metadata: { ...created.metadata, creationTimestamp: '2000-01-01T00:00:00Z' } }
    expect((await client.update(configMaps, forged)).metadata.creationTimestamp).toBe('2026-01-01T00:00:00Z')
    const other = { ...created, metadata: { ...created.metadata, uid: 'x' } }
    expect(await refusal(client.update(configMaps, other))).toMatchObject({ code: 409 })
    const renamed = await raw('PUT', '/api/v1/namespaces/default/configmaps/a', { body: configMap('b') })
    expect(renamed.json).toMatchObject({
      code: 400,
      message: 'the name of the object (b) does not match the name on the URL (a)',
    })
  })

  it('scales by the scale subresource', async () => {
    const { client } = embedded()
    await client.create(deployments, deployment('web'))
    expect(await client.getScale(deployments, at('web'))).toMatchObject({
      kind: 'Scale',
      spec: { replicas: 2 },
      status: { replicas: 0, selector: 'app=web' },
    })
    expect((await client.setScale(deployments, at('web'), 5)).spec.replicas).toBe(5)
    expect(await client.get(deployments, at('web'))).toMatchObject({
      spec: { replicas: 5 },
      metadata: { generation: 2 },
    })
  })
})

describe('patch', () => {
  it('supports four patch types', async () => {
    const { client } = embedded()
    await client.create(deployments, deployment('web'))
    const ref = at('web')
    await client.patch(deployments, ref, [{ op: 'replace', path: '/spec/replicas', value: 4 }], { type: 'json' })
    await client.patch(deployments, ref, { metadata: { labels: { a: '1' } } }, { type: 'merge' })
    const container = { name: 'main', image: 'app:2' }
    await client.patch(
      deployments,
      ref,
      { spec: { template: { spec: { containers: [container] } } } },
      { type: 'strategic' },
    )
    const applied = await client.apply(
      deployments,
      { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { ...ref, labels: { b: '2' } } },
      { fieldManager: 'applier' },
    )
    expect(applied).toMatchObject({
      metadata: { labels: { a: '1', b: '2' }, generation: 3 },
      spec: { replicas: 4, template: { spec: { containers: [container] } } },
    })
  })

  it('rejects a strategic merge patch of a custom object, and a failed test operation', async () => {
    const { client, clock } = embedded()
    await client.create(crds, widgetCrd())
    await client.create(widgets, widget('w'))
    await clock.settle()
    expect(await refusal(client.patch(widgets, at('w'), {}, { type: 'strategic' }))).toMatchObject({ code: 415 })
    const test = [{ op: 'test', path: '/spec/replicas', value: 7 }]
    expect(await refusal(client.patch(widgets, at('w'), test, { type: 'json' }))).toMatchObject({ code: 422 })
  })

  it('applies: creates, shares ownership, conflicts, forces, and removes omitted fields', async () => {
    const { client } = embedded()
    const apply = (
      data: Readonly<Record<string, string>>,
      fieldManager: string,
      force = false,
    ): Promise<UntypedObject> => client.apply(configMaps, configMap('a', data), { fieldManager, force })
    const created = await apply({ x: '1', y: '1' }, 'one')
    expect(created.metadata.uid).toBeDefined()
    expect((await apply({ x: '1', y: '1' }, 'one')).metadata.resourceVersion).toBe(created.metadata.resourceVersion)
    expect(await refusal(apply({ x: '2' }, 'two'))).toMatchObject({
      code: 409,
      message: 'Apply failed with 1 conflict: conflict with "one": .data.x',
      details: { causes: [{ reason: 'FieldManagerConflict', field: '.data.x' }] },
    })
    expect(await apply({ x: '2' }, 'two', true)).toMatchObject({ data: { x: '2', y: '1' } })
    expect((await apply({}, 'one'))['data']).toEqual({ x: '2' })
    const { fieldManager: _none, ...anonymous } = { fieldManager: '' }
    const unnamed = client.patch(configMaps, at('a'), configMap('a'), { type: 'apply', ...anonymous })
    expect(await refusal(unnamed)).toMatchObject({
      code: 422,
      message: 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    })
  })
})

describe('delete', () => {
  it('returns a Status with the deleted object', async () => {
    const { client } = embedded()
    const { metadata } = await client.create(configMaps, configMap('a'))
    expect(await client.delete(configMaps, at('a'))).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: { name: 'a', kind: 'configmaps', uid: metadata.uid },
    })
    expect(await refusal(client.delete(configMaps, at('a')))).toMatchObject({ code: 404 })
  })

  it('sets deletionTimestamp until the last finalizer is removed', async () => {
    const { client } = embedded()
    await client.create(configMaps, configMap('a', {}, { finalizers: ['example.com/hold'] }))
    expect(await client.delete(configMaps, at('a'))).toMatchObject({
      metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' },
    })
    const more = { metadata: { finalizers: ['example.com/hold', 'example.com/more'] } }
    expect(await refusal(client.patch(configMaps, at('a'), more, { type: 'merge' }))).toMatchObject({ code: 422 })
    await client.patch(configMaps, at('a'), { metadata: { finalizers: null } }, { type: 'merge' })
    expect(await refusal(client.get(configMaps, at('a')))).toMatchObject({ code: 404 })
  })

  it('honours preconditions', async () => {
    const { client } = embedded()
    await client.create(configMaps, configMap('a'))
    for (const preconditions of [{ uid: 'x' }, { resourceVersion: '1' }]) {
      expect(await refusal(client.delete(configMaps, at('a'), { preconditions }))).toMatchObject({ code: 409 })
    }
    expect(await client.get(configMaps, at('a'))).toBeDefined()
  })

  it('deletes a collection by selector', async () => {
    const { client } = embedded()
    for (const name of ['a', 'b', 'c'])
      await client.create(configMaps, configMap(name, {}, { labels: { first: String(name === 'a') } }))
    await client.deleteCollection(configMaps, { namespace: 'default', labelSelector: 'first=false' })
    expect((await client.list(configMaps)).items.map(({ metadata }) => metadata.name)).toEqual(['a'])
  })

  it('does not delete in a dry run', async () => {
    const { client } = embedded()
    await client.create(configMaps, configMap('a'))
    await client.delete(configMaps, at('a'), { dryRun: true })
    expect(await client.get(configMaps, at('a'))).toBeDefined()
  })
})

describe('representations', () => {
  it('include partial metadata and tables', async () => {
    const { client, clock } = embedded()
    await client.create(configMaps, configMap('a', { x: '1' }))
    await clock.advance(90_000)
    const metadata = await client.listMetadata(configMaps)
    expect(metadata.items.map((item) => item.metadata.name)).toEqual(['a'])
    expect(metadata.items[0]).not.toHaveProperty('data')
    expect((await client.getMetadata(configMaps, at('a'))).metadata.name).toBe('a')
    const table = await client.table(configMaps)
    expect(table.columnDefinitions.map(({ name }) => name)).toEqual(['Name', 'Data', 'Age'])
    expect(table.rows.map(({ cells }) => cells)).toEqual([['a', 1, '90s']])
  })

  it('are listed in the error if none is acceptable', async () => {
    const { raw } = embedded()
    const answer = await raw('GET', '/api/v1/namespaces/default', { headers: { accept: 'text/html' } })
    expect(answer.json).toMatchObject({ code: 406, reason: 'NotAcceptable' })
  })
})

describe('a new cluster', () => {
  it('has four namespaces, of which the system ones cannot be deleted', async () => {
    const { client } = embedded()
    const names = (await client.list(namespaces)).items.map(({ metadata }) => metadata.name)
    expect(names).toEqual(['default', 'kube-node-lease', 'kube-public', 'kube-system'])
    expect(await refusal(client.delete(namespaces, { name: 'default' }))).toMatchObject({
      code: 403,
      message: 'namespaces "default" is forbidden: this namespace may not be deleted',
    })
  })

  it('has health, version and identity endpoints', async () => {
    const { raw } = embedded()
    for (const path of ['/healthz', '/readyz', '/livez/ping']) expect((await raw('GET', path)).text).toBe('ok')
    expect((await raw('GET', '/version')).json).toMatchObject({ major: '1', minor: '37' })
    const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
    const review = await raw('POST', path, { body: {} })
    expect(review).toMatchObject({ status: 201, json: { status: { userInfo: { username: 'kubernetes-admin' } } } })
    const other = await raw('POST', path, { body: {}, headers: { 'impersonate-user': 'jane' } })
    expect(other.json).toMatchObject({ status: { userInfo: { username: 'jane' } } })
  })
})

describe('bad input', () => {
  it('gets an error response, never a crash', async () => {
    const { raw, client } = embedded()
    const path = '/api/v1/namespaces/default/configmaps'
    const deep = `{"metadata":{"name":"d"},"data":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
    expect((await raw('POST', path, { body: deep })).status).toBe(400)
    expect((await raw('POST', path, { body: 'x'.repeat(4_000_000) })).status).toBe(413)
    expect((await raw('POST', path, { body: new Uint8Array([0xff, 0xfe]) })).status).toBe(400)
    expect((await raw('POST', path, { body: '[]' })).status).toBe(400)
    expect((await raw('GET', `${path}?labelSelector=%3D%3D`)).status).toBe(400)
    expect((await raw('GET', `${path}?fieldSelector=spec.x%3D1`)).json).toMatchObject({
      message: '"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
    })
    expect((await raw('GET', `${path}/%E0%A4%A`)).status).toBe(400)
    expect((await raw('GET', '/api/v1/unicorns')).status).toBe(404)
    expect((await raw('POST', `${path}/a`, { body: {} })).json).toMatchObject({ code: 405, reason: 'MethodNotAllowed' })
    const polluting =
      '{"metadata":{"name":"p","labels":{"constructor":"x"}},"data":{"__proto__":"y","constructor":"z"}}'
    expect((await raw('POST', path, { body: polluting })).status).toBe(201)
    expect(({} as { readonly x?: unknown }).x).toBeUndefined()
    expect(Object.keys((await client.get(configMaps, at('p')))['data'] as object).toSorted()).toEqual([
      '__proto__',
      'constructor',
    ])
  })
})
