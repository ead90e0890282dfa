/**
 * OpenAPI documents: everything that is built in, definition by definition and path by path, by the hash of what the
 * real server says; and what a CRD adds.
 */
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { isJsonObject, type Json, type JsonObject, parseJson } from '../../src/kube/json.ts'
import { isJsonArray } from '../../src/kube/json-member.ts'
import { at, openServer } from './server.ts'

const server = openServer()

/** The same for what is the same, in whatever order members come. */
function fingerprint(value: Json | undefined): string {
  return createHash('sha256')
    .update(JSON.stringify(ordered(value)))
    .digest('hex')
    .slice(0, 12)
}

function ordered(value: Json | undefined): unknown {
  if (isJsonArray(value)) return value.map(ordered)
  if (!isJsonObject(value)) return value ?? null
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => [name, ordered(member)]),
  )
}

function fingerprints(members: Json | undefined): Readonly<Record<string, string>> {
  const entries = Object.entries(members as JsonObject).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([name, member]) => [name, fingerprint(member)]))
}

/** One for all that belongs together: v2 tells what v3 does, for which there is one each. */
function fingerprintsBy(
  entries: readonly (readonly [string, Json | undefined])[],
  groupOf: (name: string) => string,
): Readonly<Record<string, string>> {
  const groups = Object.groupBy(entries, ([name]) => groupOf(name))
  return fingerprints(
    Object.fromEntries(Object.entries(groups).map(([group, own = []]) => [group, Object.fromEntries(own)])),
  )
}

/** What both servers serve without being told to: no custom resources of other files, no alpha and beta versions. */
function isBuiltIn(key: string): boolean {
  const [, group = '', version = 'v1'] = key.split('/')
  const isOurs = !group.includes('.') || group.endsWith('.k8s.io')
  return !key.startsWith('apis/') || (isOurs && /^v\d+$/.test(version) && !/^(?:internal|lifecycle)\./.test(group))
}

async function index(): Promise<Readonly<Record<string, { readonly serverRelativeURL: string }>>> {
  const { body } = await server.call('GET', '/openapi/v3')
  return (parseJson(body as string) as unknown as { paths: Record<string, { serverRelativeURL: string }> }).paths
}

describe('the index of OpenAPI v3', () => {
  it('lists a document for every group and version', async () => {
    const paths = await index()
    const keys = Object.keys(paths).filter(isBuiltIn)
    expect(keys).toMatchSnapshot()
    for (const key of keys) {
      expect(paths[key]?.serverRelativeURL).toMatch(new RegExp(`^/openapi/v3/${key}\\?hash=[0-9A-F]{128}$`))
    }
  })

  it('is served as JSON text', async () => {
    const { headers } = await server.call('GET', '/openapi/v3')
    expect(headers['content-type']).toBe('text/plain; charset=utf-8')
  })
})

describe('a document of OpenAPI v3', () => {
  it('is the same as on a real server, for every group and version', async () => {
    const found: Record<string, object> = {}
    for (const key of Object.keys(await index()).filter(isBuiltIn)) {
      const { body } = await server.call('GET', `/openapi/v3/${key}`)
      const { paths, components, ...head } = body as JsonObject
      const { schemas = {}, ...rest } = (components ?? {}) as JsonObject
      found[key] = {
        head: fingerprint({ ...head, ...rest }),
        paths: fingerprints(paths),
        schemas: fingerprint(schemas),
      }
    }
    expect(found).toMatchSnapshot()
  })

  it('has the schemas of a real server, with descriptions, types, defaults, enumerations and extensions', async () => {
    const schemas: Record<string, Json> = {}
    for (const key of Object.keys(await index()).filter(isBuiltIn)) {
      const { body } = await server.call('GET', `/openapi/v3/${key}`)
      for (const [name, schema] of Object.entries((at(body, 'components', 'schemas') ?? {}) as JsonObject)) {
        // Kinds of every group and version: what they list depends on the document.
        if (!/\.(?:DeleteOptions|WatchEvent)$/.test(name)) schemas[name] = schema!
      }
    }
    expect(fingerprints(schemas)).toMatchSnapshot()
  })

  it('is cacheable with its hash', async () => {
    const url = (await index())['apis/apps/v1']!.serverRelativeURL
    const hash = url.slice(url.indexOf('=') + 1)
    const { status, headers } = await server.call('GET', url)
    expect(status).toBe(200)
    expect(headers).toMatchObject({
      'cache-control': 'public, immutable',
      'content-type': 'application/json',
      etag: `"${hash}"`,
      vary: 'Accept',
      expires: expect.stringMatching(/ UTC$/) as string,
      'last-modified': expect.stringMatching(/ GMT$/) as string,
    })
  })

  it('must be revalidated without a hash', async () => {
    const { headers } = await server.call('GET', '/openapi/v3/apis/apps/v1')
    expect(headers).toMatchObject({ 'cache-control': 'no-cache, private', etag: expect.any(String) as string })
    expect(headers).not.toHaveProperty('expires')
  })

  it('is not sent again to a client that has it', async () => {
    const url = (await index())['apis/apps/v1']!.serverRelativeURL
    const { headers } = await server.call('GET', url)
    const again = await server.call('GET', url, { headers: { 'if-none-match': headers['etag'] ?? '' } })
    expect([again.status, again.body]).toEqual([304, ''])
  })

  it('redirects an old hash to the new one', async () => {
    const { status, headers, body } = await server.call('GET', '/openapi/v3/apis/apps/v1?hash=OLD')
    expect([status, body]).toEqual([301, ''])
    expect(headers['location']).toBe((await index())['apis/apps/v1']!.serverRelativeURL)
  })

  it('is not available as YAML', async () => {
    const { status, body } = await server.call('GET', '/openapi/v3/apis/apps/v1', { accept: 'application/yaml' })
    expect([status, body]).toEqual([406, ''])
  })

  it('does not exist for an unknown group', async () => {
    const { status, body } = await server.call('GET', '/openapi/v3/apis/none.example.com/v1')
    expect([status, body]).toEqual([404, ''])
  })
})

describe('OpenAPI v2', () => {
  it('has the definitions of a real server', async () => {
    const { body, headers } = await server.call('GET', '/openapi/v2')
    expect(headers['content-type']).toBe('application/json')
    const { definitions, paths, parameters: _parameters, ...head } = body as JsonObject
    expect(head).toMatchSnapshot('head')
    const served = new Set<string>()
    for (const key of Object.keys(await index()).filter(isBuiltIn)) {
      const document = await server.call('GET', `/openapi/v3/${key}`)
      for (const name of Object.keys((at(document.body, 'components', 'schemas') ?? {}) as JsonObject)) served.add(name)
    }
    const own = Object.entries(definitions as JsonObject).filter(([name]) => served.has(name))
    expect(fingerprintsBy(own, (name) => name.slice(0, name.lastIndexOf('.')))).toMatchSnapshot('definitions')
    const pathNames = Object.keys(paths as JsonObject).filter((path) => isBuiltIn(path.replace(/^\/|\/$/g, '')))
    expect(fingerprint(pathNames.toSorted())).toMatchSnapshot('paths')
  })

  it('has operations with the parameters of a real server, wherever they are declared', async () => {
    const { body } = await server.call('GET', '/openapi/v2')
    const { paths, parameters } = body as { readonly paths: JsonObject; readonly parameters: JsonObject }
    // Shared parameters have names of each server's own.
    const inline = (value: Json | undefined): Json => {
      if (isJsonArray(value)) return value.map(inline)
      if (!isJsonObject(value)) return value ?? null
      const { $ref, consumes, produces } = value
      if (typeof $ref === 'string' && $ref.startsWith('#/parameters/')) return parameters[$ref.slice(13)] ?? null
      const members = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, inline(member)]))
      const sort = (types: Json | undefined): Json => (isJsonArray(types) ? types.map(String).toSorted() : [])
      return { ...members, ...(produces && { consumes: sort(consumes), produces: sort(produces) }) }
    }
    const own = Object.entries(paths).filter(
      ([path]) => /^\/apis?\//.test(path) && isBuiltIn(path.slice(1).replace(/\/$/, '')),
    )
    const inlined = own.map(([path, item]): [string, Json] => [path, inline(item)])
    expect(fingerprintsBy(inlined, (path) => path.split('/').slice(0, 4).join('/'))).toMatchSnapshot()
  })

  it('is compressed on request', async () => {
    const { headers } = await server.call('GET', '/openapi/v2', { headers: { 'accept-encoding': 'gzip' } })
    expect(headers).toMatchObject({ 'content-encoding': 'gzip', etag: expect.any(String) as string })
  })

  it('is available as protobuf, with two media types', async () => {
    for (const spelling of ['v2@v1.0', 'v2.v1.0']) {
      const accept = `application/com.github.proto-openapi.spec.${spelling}+protobuf`
      const { status, headers, body } = await server.call('GET', '/openapi/v2', { accept })
      expect(status).toBe(200)
      expect(headers['content-type']).toBe('application/com.github.proto-openapi.spec.v2.v1.0+protobuf')
      // `swagger` and `info`, before anything that depends on what is served.
      expect((body as string).slice(0, 25)).toMatchSnapshot(spelling)
    }
  })

  it('is not available as HTML', async () => {
    expect((await server.call('GET', '/openapi/v2', { accept: 'text/html' })).status).toBe(406)
  })
})

describe('a custom resource', () => {
  const schema = {
    type: 'object',
    description: 'A gadget.',
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      spec: {
        type: 'object',
        description: 'What is wanted.',
        required: ['color', 'maybe'],
        'x-kubernetes-validations': [{ rule: 'self.replicas < 10', message: 'few' }],
        properties: {
          replicas: { type: 'integer', format: 'int32', default: 1, minimum: 0 },
          color: { type: 'string', enum: ['red', 'green'], pattern: '^[a-z]+$' },
          maybe: { type: 'object', nullable: true, properties: { a: { type: 'string' } } },
          port: { 'x-kubernetes-int-or-string': true },
          open: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          partlyOpen: {
            type: 'object',
            'x-kubernetes-preserve-unknown-fields': true,
            properties: { a: { type: 'string', default: 'x' } },
          },
          any: { 'x-kubernetes-preserve-unknown-fields': true },
          embedded: {
            type: 'object',
            'x-kubernetes-embedded-resource': true,
            'x-kubernetes-preserve-unknown-fields': true,
          },
          closed: {
            type: 'object',
            'x-kubernetes-embedded-resource': true,
            properties: { spec: { type: 'object', properties: { a: { type: 'string' } } } },
          },
          list: {
            type: 'array',
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': ['name'],
            items: {
              type: 'object',
              required: ['name'],
              properties: { name: { type: 'string' }, value: { type: 'string', nullable: true } },
            },
          },
          names: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
          map: { type: 'object', additionalProperties: { type: 'string' }, 'x-kubernetes-map-type': 'atomic' },
          either: {
            type: 'object',
            properties: { a: { type: 'string' }, b: { type: 'string' } },
            oneOf: [{ required: ['a'] }, { required: ['b'] }],
          },
        },
      },
      status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    },
  }

  it('is described from its creation to its deletion', async () => {
    const group = `${server.unique('openapi')}.example.com`
    const name = `gadgets.${group}`
    const definition = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`
    server.cleanUp(definition)
    const version = { served: true, storage: false, schema: { openAPIV3Schema: schema } }
    const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
    await server.must('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      body: {
        metadata: { name },
        spec: {
          group,
          scope: 'Namespaced',
          names: { plural: 'gadgets', kind: 'Gadget' },
          versions: [
            {
              ...version,
              name: 'v1',
              storage: true,
              subresources: {
                status: {},
                scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.n' },
              },
              selectableFields: [{ jsonPath: '.spec.color' }],
            },
            { ...version, name: 'v1alpha1', schema: { openAPIV3Schema: open } },
          ],
        },
      },
    })
    const path = `/openapi/v3/apis/${group}/v1`
    const { body } = await server.until(path, ({ status }) => status === 200)
    const { paths, components, info } = body as JsonObject
    const schemas = (components as JsonObject)['schemas'] as JsonObject
    const own = (all: JsonObject): JsonObject =>
      Object.fromEntries(Object.entries(all).filter(([key]) => !key.startsWith('io.k8s.')))
    expect(info).toMatchSnapshot('info')
    expect(server.maskedJson(own(schemas))).toMatchSnapshot('schemas')
    expect(Object.keys(schemas).filter((key) => key.startsWith('io.k8s.'))).toMatchSnapshot('referenced schemas')
    const text = JSON.stringify(server.maskedJson(paths!))
    expect(fingerprints(parseJson(text.replaceAll(/(openapi)[0-9a-f]{8}/gi, '$1')))).toMatchSnapshot('paths')

    const alpha = await server.until(`/openapi/v3/apis/${group}/v1alpha1`, ({ status }) => status === 200)
    expect(server.maskedJson(own(at(alpha.body, 'components', 'schemas') as JsonObject))).toMatchSnapshot(
      'schemas of an open version',
    )

    const isKnown = (all: Json): boolean => JSON.stringify(all).includes(`"group":"${group}"`)
    const v2 = await server.until('/openapi/v2', (answer) => isKnown(answer.body))
    const described = Object.entries(at(v2.body, 'definitions') as JsonObject).filter(([, one]) => isKnown(one!))
    expect(server.maskedJson(Object.fromEntries(described))).toMatchSnapshot('definitions in v2')

    await server.must('DELETE', definition)
    await server.until(path, ({ status }) => status === 404)
    expect(Object.keys(await index()).filter((key) => key.includes(group))).toEqual([])
  })
})
