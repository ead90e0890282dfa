import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { embedded, widgetCrd } from '../../../test/embedded.ts'
import { faultyDisk } from '../../../test/faulty-disk.ts'
import { groundwork, hostileRequests, secretToken, yamlBombs } from '../../../test/hostile-requests.ts'
import { seededRandom } from '../../clock/random.ts'
import { virtualClock } from '../../clock/virtual-clock.ts'
import type { TransportRequest } from '../../transport/transport.ts'
import { isJsonObject, type Json, type JsonObject, parseJson, stringifyJson } from '../../kube/json.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { type ApiServer, createApiServer, openApiServer } from './api-server.ts'
import { openFolder } from '../storage/journal/folder.ts'
import { parseTarget } from '../access/request-target.ts'

interface Answer {
  readonly status: number
  readonly text: string
  readonly json: Json
}

async function read(server: Pick<ApiServer, 'handle'>, request: TransportRequest): Promise<Answer> {
  const stop = new AbortController()
  const { status, headers, body } = await server.handle({ ...request, signal: stop.signal })
  // A watch would never end.
  if (status === 200 && /[?&]watch=/.test(request.path)) {
    stop.abort()
    return { status, text: '', json: null }
  }
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString()
  const type = headers['content-type'] ?? ''
  const json = type.startsWith('application/json') ? parseJson(text) : null
  return { status, text, json: type.startsWith('application/yaml') ? readYaml(text) : json }
}

async function attacked(): Promise<ApiServer> {
  const server = createApiServer({ clock: virtualClock(), random: seededRandom(7) })
  const body = stringifyJson(widgetCrd())
  const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  await read(server, { method: 'POST', path: crds, headers: {}, body })
  for (const request of groundwork()) await read(server, request)
  return server
}

/** The resourceVersion of an empty list is the revision of the whole cluster. */
async function revision(server: ApiServer): Promise<string> {
  const { json } = await read(server, { method: 'GET', path: '/api/v1/namespaces/none/configmaps', headers: {} })
  return (json as unknown as { metadata: { resourceVersion: string } }).metadata.resourceVersion
}

/** Like kube-apiserver, the OpenAPI endpoints return an empty body for missing documents. */
function isValidError({ status, text, json }: Answer, { path: asked }: TransportRequest): boolean {
  if (status === 404 && text === '404 page not found\n') return true
  if (status === 400 && text === '400 Bad Request') return parseTarget(asked) === undefined
  if (text === '' && asked.includes('/openapi/')) return true
  return isJsonObject(json) && json['kind'] === 'Status' && json['code'] === status && json['status'] === 'Failure'
}

const statuses = new Set([
  200, 201, 202, 204, 301, 304, 400, 401, 403, 404, 405, 406, 409, 410, 413, 415, 422, 500, 504,
])

/** Shortened for error messages. */
function shown({ method, path: asked, headers, body }: TransportRequest): string {
  return `${method} ${asked.slice(0, 300)} ${stringifyJson(headers).slice(0, 300)} ${String(body).slice(0, 1000)}`
}

describe('malicious requests', () => {
  // Each seed has its own cluster; a request that violates an invariant is printed completely.
  it.each([11, 12, 13, 14])('each get a valid response, and change nothing when rejected (seed %i)', async (seed) => {
    const server = await attacked()
    let before = await revision(server)
    for (const request of hostileRequests(seed, 500)) {
      const answer = await read(server, request)
      const after = await revision(server)
      const isRefused = answer.status >= 400
      const problem = [
        !statuses.has(answer.status) && `the status is ${answer.status}`,
        isRefused && !isValidError(answer, request) && 'a refusal is no Status',
        isJsonObject(answer.json) && answer.json['reason'] === 'InternalError' && 'the server blames itself',
        isRefused && after !== before && 'a refused request changed something',
        answer.text.includes(secretToken) && 'a credential is told',
        Object.hasOwn(Object.prototype, 'polluted') && 'all objects are polluted',
      ].find((one) => one !== false)
      if (problem !== undefined) throw new Error(`${problem}: ${shown(request)}\n${answer.text.slice(0, 1000)}`)
      before = after
    }
    // The resulting objects can be shown in every representation.
    for (const { path: asked } of groundwork()) {
      for (const accept of ['application/json;as=Table;v=v1;g=meta.k8s.io', 'application/yaml']) {
        expect([200, asked]).toEqual([
          (await read(server, { method: 'GET', path: asked, headers: { accept } })).status,
          asked,
        ])
      }
    }
  })
})

describe('a body', () => {
  const configMaps = '/api/v1/namespaces/default/configmaps'

  it.each([
    ['larger than the limit', `{"metadata":{"name":"x"},"data":{"a":"${'a'.repeat(3 * 1024 * 1024)}"}}`, 413],
    ['nested too deep', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`, 400],
    ['of brackets only', '['.repeat(1_000_000), 400],
    ['with an invalid number', '{"metadata":{"name":"x","generation":1e999}}', 400],
    ['with an integer of a million digits', `{"metadata":{"name":"x","generation":${'9'.repeat(1_000_000)}}}`, 400],
    ['that is truncated', '{"metadata":{"name":"x"', 400],
    ['that is empty', '', 400],
    ['with a lone surrogate in its bytes', Buffer.from([0x7b, 0xed, 0xa0, 0x80, 0x7d]), 400],
  ])('%s is rejected, and the next request is served', async (_name, body, expected) => {
    const { raw } = embedded()
    const { status, json } = await raw('POST', configMaps, { body })
    expect([status, json]).toMatchObject([expected, { kind: 'Status', code: expected }])
    expect((await raw('GET', configMaps)).status).toBe(200)
  })

  it.each(yamlBombs.map((bomb, index) => [index, bomb] as const))(
    'of YAML that expands exponentially is rejected (%i)',
    async (_index, bomb) => {
      const { raw } = embedded()
      const headers = { 'content-type': 'application/yaml' }
      const { status, json } = await raw('POST', configMaps, { headers, body: bomb })
      expect([400, 422]).toContain(status)
      expect(json).toMatchObject({ kind: 'Status', code: status })
    },
  )

  it('may merge YAML mappings, within limits', async () => {
    const { raw } = embedded()
    const keys = (count: number): string => Array.from({ length: count }, (_, at) => `k${at}: x`).join(', ')
    const body = (count: number, times: number): string =>
      `metadata: {name: a}\nx-base: &base {${keys(count)}}\nx-all:\n${'- <<: *base\n'.repeat(times)}`
    const headers = { 'content-type': 'application/yaml' }
    expect((await raw('POST', configMaps, { headers, body: body(10, 10) })).status).toBe(201)
    expect((await raw('POST', configMaps, { headers, body: body(2000, 2000) })).json).toMatchObject({
      code: 400,
      message: expect.stringContaining('merges stand for too many values') as string,
    })
  })

  it("with JavaScript's special keys is stored unchanged, without side effects", async () => {
    const { raw, client } = embedded()
    await client.create(
      {
        group: 'apiextensions.k8s.io',
        version: 'v1',
        kind: 'CustomResourceDefinition',
        plural: 'customresourcedefinitions',
        namespaced: false,
      },
      widgetCrd(),
    )
    const free = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"toString":1}'
    const at = '/apis/example.com/v1/namespaces/default/widgets'
    const created = await raw('POST', at, {
      body: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"p"},"spec":{"free":${free}}}`,
    })
    expect(created.status).toBe(201)
    const patches: readonly (readonly [string, string])[] = [
      ['application/merge-patch+json', `{"spec":{"free":${free}}}`],
      ['application/json-patch+json', '[{"op":"add","path":"/spec/free/__proto__/more","value":1}]'],
      [
        'application/apply-patch+yaml',
        `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"p"},"spec":{"free":${free}}}`,
      ],
    ]
    for (const [type, body] of patches) {
      const { status } = await raw('PATCH', `${at}/p?fieldManager=m${type.includes('apply') ? '&force=true' : ''}`, {
        headers: { 'content-type': type },
        body,
      })
      expect([type, status]).toEqual([type, 200])
    }
    const { text } = await raw('GET', `${at}/p`)
    expect(text).toContain('"__proto__":{')
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
  })
})

describe('an empty CRD', () => {
  it.each([
    '{}',
    '{"spec":null}',
    '{"spec":{}}',
    '{"spec":{"names":null,"versions":null,"conversion":{"strategy":"Webhook"}}}',
  ])('gets a validation error: %s', async (text) => {
    const { raw } = embedded()
    const body = { ...(JSON.parse(text) as object), metadata: { name: 'b' } }
    const { status, json } = await raw('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { body })
    expect([status, json]).toMatchObject([422, { kind: 'Status', reason: 'Invalid' }])
  })
})

describe('a JSON patch', () => {
  const at = '/api/v1/namespaces/default/configmaps'
  const headers = { 'content-type': 'application/json-patch+json' }

  it('has at most ten thousand operations, at linear cost', async () => {
    const { raw } = embedded()
    const data = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`k${index}`, '']))
    await raw('POST', at, { body: { metadata: { name: 'a' }, data } })
    const adds = (count: number): object =>
      Array.from({ length: count }, (_, index) => ({ op: 'replace', path: `/data/k${index}`, value: 'x' }))
    expect((await raw('PATCH', `${at}/a`, { headers, body: adds(10_000) })).status).toBe(200)
    const { status, json } = await raw('PATCH', `${at}/a`, { headers, body: adds(10_001) })
    const why = 'The allowed maximum operations in a JSON patch is 10000, got 10001'
    expect([status, json]).toMatchObject([413, { message: `Request entity too large: ${why}` }])
  })

  it('cannot exhaust memory or the stack by copying itself', async () => {
    const { raw } = embedded()
    const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    await raw('POST', crds, { body: widgetCrd() })
    const widgets = '/apis/example.com/v1/namespaces/default/widgets'
    const widget = {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: 'a' },
      spec: { free: { a: { a: {} } } },
    }
    await raw('POST', widgets, { body: widget })
    // Each copy is twice as deep as the last.
    const deeper = Array.from({ length: 20 }, (_, index) => ({
      op: 'copy',
      from: '/spec/free/a',
      path: `/spec/free/a${'/a'.repeat(2 ** Math.min(index + 1, 10))}`,
    }))
    const wider = Array.from({ length: 40 }, (_, index) => ({
      op: 'copy',
      from: '/spec/free',
      path: `/spec/free/b${index}`,
    }))
    for (const body of [deeper, wider]) {
      const { status, json } = await raw('PATCH', `${widgets}/a`, { headers, body })
      expect([400, 422]).toContain(status)
      expect(json).toMatchObject({ kind: 'Status' })
    }
    expect((await raw('GET', `${widgets}/a`)).json).toMatchObject({ spec: { free: { a: { a: {} } } } })
  })
})

describe('an unknown or duplicate field', () => {
  it('is reported up to a limit, in a header that clients accept', async () => {
    const { raw } = embedded()
    const keys = Array.from({ length: 20_000 }, (_, index) => `"k${index}":1`).join()
    const body = `{"metadata":{"name":"a"},${keys},${keys}}`
    const warned = await raw('POST', '/api/v1/namespaces/default/configmaps', { body })
    expect(warned.status).toBe(201)
    expect(warned.headers['warning']?.length).toBeLessThan(10_000)
    const strict = await raw('POST', '/api/v1/namespaces/default/configmaps?fieldValidation=Strict', { body })
    expect(strict.status).toBe(400)
    expect(((strict.json as JsonObject)['message'] as string).match(/(?:unknown|duplicate) field "/g)).toHaveLength(100)
  })
})

describe('a watch', () => {
  it('may start with more events than its buffer holds', async () => {
    const { server, raw } = embedded({ watchBuffer: 10 })
    for (let count = 0; count < 30; count++) {
      await raw('POST', '/api/v1/namespaces/default/configmaps', { body: { metadata: { name: `c${count}` } } })
    }
    const stop = new AbortController()
    const asked = '/api/v1/namespaces/default/configmaps?watch=true&labelSelector=!x'
    const { body } = await server.handle({ method: 'GET', path: asked, headers: {}, signal: stop.signal })
    const { value } = await body[Symbol.asyncIterator]().next()
    expect(
      Buffer.from(value as Uint8Array)
        .toString()
        .match(/"type":"ADDED"/g)?.length,
    ).toBeGreaterThanOrEqual(30)
    stop.abort()
  })
})

describe('a foreign continue token', () => {
  const token = (text: string): string => Buffer.from(text).toString('base64url')

  it.each([
    ['nonsense', '!!', 400],
    ['no object', token('[['), 400],
    ['a part of a version', token('{"v":"meta.k8s.io/v1","rv":1.5,"start":"x"}'), 400],
    ['no version', token('{"v":"meta.k8s.io/v1","rv":0,"start":"x"}'), 400],
    ['another format', token('{"v":"x","rv":5,"start":"x"}'), 400],
    ['no start', token('{"v":"meta.k8s.io/v1","rv":5,"start":""}'), 400],
    ['the future', token('{"v":"meta.k8s.io/v1","rv":999999999,"start":"x"}'), 504],
  ])('%s is rejected', async (_name, text, expected) => {
    const { raw } = embedded()
    const { status, json } = await raw('GET', `/api/v1/configmaps?continue=${encodeURIComponent(text)}`)
    expect([status, json]).toMatchObject([expected, { kind: 'Status' }])
  })
})

describe('a user who may watch but not list', () => {
  it('cannot list by another spelling of false', async () => {
    const access = { tokens: new Map([['t', { username: 'w' }]]) }
    const server = createApiServer({ clock: virtualClock(), access })
    const asRoot = async (kind: string, body: object): Promise<void> => {
      await read(server, {
        method: 'POST',
        path: `/apis/rbac.authorization.k8s.io/v1/${kind}`,
        headers: {},
        body: stringifyJson(body),
      })
    }
    await asRoot('clusterroles', {
      metadata: { name: 'w' },
      rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['watch'] }],
    })
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'w' }
    const subjects = [{ kind: 'User', name: 'w', apiGroup: 'rbac.authorization.k8s.io' }]
    await asRoot('clusterrolebindings', { metadata: { name: 'w' }, roleRef, subjects })
    const headers = { authorization: 'Bearer t' }
    for (const value of ['false', 'FALSE', 'False', '0']) {
      const { status } = await read(server, { method: 'GET', path: `/api/v1/secrets?limit=1&watch=${value}`, headers })
      expect([value, status]).toEqual([value, 403])
    }
  })
})

describe('a full disk', () => {
  const configMaps = '/api/v1/namespaces/default/configmaps'
  const write = (name: string): TransportRequest => ({
    method: 'POST',
    path: configMaps,
    headers: {},
    body: stringifyJson({ metadata: { name }, data: { a: 'x'.repeat(500) } }),
  })
  const get = (name: string): TransportRequest => ({ method: 'GET', path: `${configMaps}/${name}`, headers: {} })

  async function opened(disk: ReturnType<typeof faultyDisk>): Promise<ApiServer & { close(): Promise<void> }> {
    const folder = await mkdtemp(path.join(tmpdir(), 'muster-full-'))
    const kept = await openFolder(folder, disk)
    const server = await openApiServer({ clock: virtualClock(), random: seededRandom(1), folder: kept })
    onTestFinished(async () => {
      await server.close()
      await rm(folder, { recursive: true, force: true })
    })
    return server
  }

  it.each([
    ['that can be repaired', false],
    ['that cannot even be repaired', true],
  ])('%s: writes fail completely, reads continue', async (_name, isStuck) => {
    const disk = faultyDisk()
    const server = await opened(disk)
    expect((await read(server, write('a'))).status).toBe(201)
    const before = await revision(server)
    disk.room = 100
    disk.isStuck = isStuck
    for (let attempt = 0; attempt < 3; attempt++) {
      const { status, json } = await read(server, write('b'))
      expect([status, json]).toMatchObject([500, { kind: 'Status', reason: 'InternalError', code: 500 }])
      expect((await read(server, get('b'))).status).toBe(404)
      expect((await read(server, get('a'))).status).toBe(200)
      expect(await revision(server)).toBe(before)
    }
    disk.room = 1_000_000
    disk.isStuck = false
    expect((await read(server, write('b'))).status).toBe(isStuck ? 500 : 201)
    // A new process finds the state that clients have seen.
    const later = await opened(disk.afterCrash(1))
    expect((await read(later, get('a'))).status).toBe(200)
    expect((await read(later, get('b'))).status).toBe(isStuck ? 404 : 200)
  })

  it('does not make controllers loop', async () => {
    const disk = faultyDisk()
    const server = await opened(disk)
    const owner = (await read(server, write('owner'))).json as unknown as { metadata: { uid: string } }
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.metadata.uid }]
    const body = stringifyJson({ metadata: { name: 'owned', ownerReferences }, data: { a: 'x'.repeat(5000) } })
    await read(server, { method: 'POST', path: configMaps, headers: {}, body })
    // There is room for the deletion of the owner, but not for that of its dependent.
    disk.room = 2000
    await read(server, { method: 'DELETE', path: `${configMaps}/owner`, headers: {} })
    const syncs = disk.syncs()
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect(disk.syncs() - syncs).toBeLessThan(10)
    expect((await read(server, get('owned'))).status).toBe(200)
  })
})

describe('a must-gather directory', () => {
  it('may hold loops, noise and bombs: unreadable files are reported and skipped', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'muster-hostile-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    await symlink(folder, path.join(folder, 'loop'))
    await symlink('nowhere', path.join(folder, 'gone.yaml'))
    await writeFile(
      path.join(folder, 'noise.yaml'),
      Buffer.from(Array.from({ length: 2000 }, (_, at) => (at * 167) & 255)),
    )
    await writeFile(
      path.join(folder, 'good.yaml'),
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: good, namespace: default}\n',
    )
    await writeFile(path.join(folder, 'odd.yaml'), 'apiVersion: 5\nkind: [a]\nmetadata: 7\n')
    await writeFile(
      path.join(folder, 'strange.json'),
      '{"apiVersion":"v1","kind":"ConfigMapList","items":[null,5,{"metadata":null},{"metadata":{"name":7}},{"metadata":{"name":"__proto__","namespace":"constructor"}}]}',
    )
    for (const [index, bomb] of yamlBombs.entries()) await writeFile(path.join(folder, `bomb-${index}.yaml`), bomb)
    const { server, raw } = embedded()
    const imported = await server.importGather(folder)
    expect(imported.skipped).toEqual(expect.arrayContaining(['bomb-0.yaml', 'gone.yaml', 'noise.yaml']))
    expect((await raw('GET', '/api/v1/namespaces/default/configmaps/good')).status).toBe(200)
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
  })
})
