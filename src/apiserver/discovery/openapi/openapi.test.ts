import { describe, expect, it } from 'vitest'
import type { TransportResponse } from '../../../transport/transport.ts'
import { virtualClock } from '../../../clock/virtual-clock.ts'
import { type Catalog, createCatalog, type ServedResource } from '../../catalog/catalog.ts'
import { parseTarget } from '../../access/request-target.ts'
import { openApi } from './openapi.ts'

const clock = virtualClock()

function widgets(properties: object): ServedResource {
  const base = createCatalog().find('apps', 'v1', 'deployments')!
  return {
    ...base,
    group: 'example.com',
    kind: 'Widget',
    listKind: 'WidgetList',
    plural: 'widgets',
    table: 'widgets.example.com',
    subresources: [],
    custom: true,
    schema: { type: 'object', properties: { spec: { type: 'object', properties } } } as never,
  }
}

async function ask(catalog: Catalog, path: string, headers = {}): Promise<TransportResponse & { text: string }> {
  const answer = await openApi({ catalog, clock }, { ...parseTarget(path)!, headers })
  const chunks: Uint8Array[] = []
  for await (const chunk of answer.body) chunks.push(chunk)
  return { ...answer, text: Buffer.concat(chunks).toString() }
}

async function hashes(catalog: Catalog): Promise<Readonly<Record<string, string>>> {
  const { paths } = JSON.parse((await ask(catalog, '/openapi/v3')).text) as {
    paths: Record<string, { serverRelativeURL: string }>
  }
  return Object.fromEntries(Object.entries(paths).map(([key, { serverRelativeURL }]) => [key, serverRelativeURL]))
}

describe('OpenAPI', () => {
  it('is the same for every cluster of a process', async () => {
    expect(await hashes(createCatalog())).toEqual(await hashes(createCatalog()))
  })

  it('changes the hash of a document when its CRD changes, and no other', async () => {
    const catalog = createCatalog()
    const without = await hashes(catalog)
    catalog.replace('widgets.example.com', [widgets({ a: { type: 'string' } })])
    const before = await hashes(catalog)
    catalog.replace('widgets.example.com', [widgets({ a: { type: 'integer' } })])
    const { 'apis/example.com/v1': changed, ...others } = await hashes(catalog)
    expect(changed).not.toBe(before['apis/example.com/v1'])
    expect(others).toEqual(without)
    catalog.replace('widgets.example.com', [])
    expect(await hashes(catalog)).toEqual(without)
  })

  it('has no references outside of the document', async () => {
    const catalog = createCatalog()
    catalog.replace('widgets.example.com', [widgets({ a: { type: 'string' } })])
    for (const key of ['api/v1', 'apis/apps/v1', 'apis/example.com/v1']) {
      const { text } = await ask(catalog, `/openapi/v3/${key}`)
      const { components } = JSON.parse(text) as { components: { schemas: object } }
      const references = [...text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name!)
      expect(references.length).toBeGreaterThan(10)
      expect(references.filter((name) => !Object.hasOwn(components.schemas, name))).toEqual([])
    }
    const { text } = await ask(catalog, '/openapi/v2')
    const { definitions } = JSON.parse(text) as { definitions: object }
    const references = [...text.matchAll(/"#\/definitions\/([^"]+)"/g)].map(([, name]) => name!)
    expect(references.filter((name) => !Object.hasOwn(definitions, name))).toEqual([])
  })

  it('keeps a property called __proto__ a property', async () => {
    const catalog = createCatalog()
    const properties = JSON.parse('{"__proto__":{"type":"string"},"constructor":{"type":"string"}}') as object
    catalog.replace('widgets.example.com', [widgets(properties)])
    expect((await ask(catalog, '/openapi/v3/apis/example.com/v1')).text).toContain('"__proto__":{"type":"string"}')
  })

  it.each(['/openapi', '/openapi/v1', '/openapi/v3/../v2', '/openapi/v3/constructor', '/openapi/v3/__proto__'])(
    'serves a document or 404 at %s, never an error',
    async (path) => {
      expect([200, 404]).toContain((await ask(createCatalog(), path)).status)
    },
  )

  it('serves v2 as protobuf to clients that prefer it', async () => {
    const protobuf = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'
    const catalog = createCatalog()
    const typeFor = async (accept: string): Promise<string | undefined> =>
      (await ask(catalog, '/openapi/v2', { accept })).headers['content-type']
    expect(await typeFor(protobuf)).toBe(protobuf.replace('@', '.'))
    expect(await typeFor(`${protobuf}, application/json`)).toBe(protobuf.replace('@', '.'))
    expect(await typeFor(`application/json, ${protobuf}`)).toBe('application/json')
    expect((await ask(catalog, '/openapi/v3/api/v1', { accept: protobuf })).status).toBe(406)
  })
})
