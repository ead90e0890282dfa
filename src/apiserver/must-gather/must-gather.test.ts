import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { configMap, embedded, widgetCrd } from '../../../test/embedded.ts'
import { readGather } from './must-gather.ts'

async function folderWith(files: Readonly<Record<string, string | object>>): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'muster-gather-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(folder, name)
    await mkdir(path.dirname(file), { recursive: true })
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content))
  }
  return folder
}

const route = {
  apiVersion: 'route.example.io/v1',
  kind: 'Route',
  metadata: { name: 'web', namespace: 'shop', uid: 'r1', resourceVersion: '77' },
  spec: { host: 'shop.example.io', anything: { goes: true } },
}

describe('a must-gather directory', () => {
  it('is read in every form: single files, lists, JSON, several documents', async () => {
    const folder = await folderWith({
      'namespaces/shop/shop.yaml': 'apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, uid: n1}\n',
      'namespaces/shop/core/configmaps.yaml':
        'apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: a, namespace: shop, uid: c1}\n  data: {on: yes-please}\n- metadata: {name: b, namespace: shop, uid: c2}\n',
      'namespaces/shop/core/secrets/s.yaml':
        '---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: shop, uid: s1}\n',
      'shop/pods.json': {
        kind: 'List',
        apiVersion: 'v1',
        items: [
          {
            apiVersion: 'v1',
            kind: 'Pod',
            metadata: {
              name: 'p',
              namespace: 'shop',
              uid: 'p1',
              resourceVersion: '9',
              ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'gone', uid: 'gone' }],
            },
            status: { phase: 'Running' },
          },
        ],
      },
      'several.yaml':
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: shop, uid: c3}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: d, namespace: shop, uid: c4}\n',
      'namespaces/shop/pods/p/p.yaml':
        'apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: shop, uid: p1, resourceVersion: "5"}\n',
      'namespaces/shop/pods/p/logs/current.log': 'not: [yaml',
      'aggregated-discovery-apis.yaml':
        'apiVersion: apidiscovery.k8s.io/v2\nkind: APIGroupDiscoveryList\nitems: []\nmetadata: {}\n',
      'version.yaml': '"just text"',
    })
    const { server, raw } = embedded({ collectGarbage: false })
    expect(await server.importGather(folder)).toEqual({ objects: 7, skipped: [], undescribed: [] })
    const { json } = await raw('GET', '/api/v1/namespaces/shop/configmaps')
    expect(
      (json as unknown as { items: { metadata: { name: string } }[] }).items.map(({ metadata }) => metadata.name),
    ).toEqual(['a', 'b', 'c', 'd'])
    // It is kept with status and uid, although its owner is not in the directory.
    expect((await raw('GET', '/api/v1/namespaces/shop/pods/p')).json).toMatchObject({
      metadata: { uid: 'p1' },
      status: { phase: 'Running' },
    })
    const written = await raw('POST', '/api/v1/namespaces/shop/configmaps', { body: { metadata: { name: 'e' } } })
    expect(written.status).toBe(201)
  })

  it('serves custom kinds with their CRD, and others without a schema', async () => {
    const folder = await folderWith({
      'cluster-scoped-resources/apiextensions.k8s.io/customresourcedefinitions/widgets.yaml': {
        ...widgetCrd(),
        status: {
          conditions: [
            { type: 'Established', status: 'True' },
            { type: 'NamesAccepted', status: 'True' },
          ],
          acceptedNames: { plural: 'widgets', kind: 'Widget' },
          storedVersions: ['v1'],
        },
      },
      'namespaces/default/example.com/widgets/w.yaml': {
        apiVersion: 'example.com/v1',
        kind: 'Widget',
        metadata: { name: 'w', namespace: 'default', uid: 'w1' },
        spec: { color: 'red' },
      },
      'namespaces/shop/route.example.io/routes.yaml': {
        apiVersion: 'route.example.io/v1',
        kind: 'RouteList',
        items: [route],
      },
    })
    const { server, raw } = embedded()
    expect(await server.importGather(folder)).toMatchObject({ objects: 3, undescribed: ['routes.route.example.io'] })
    expect((await raw('GET', '/apis/example.com/v1/namespaces/default/widgets/w')).json).toMatchObject({
      spec: { color: 'red', replicas: 1 },
    })
    expect((await raw('GET', '/apis/route.example.io/v1/routes')).json).toMatchObject({
      kind: 'RouteList',
      items: [{ spec: route.spec }],
    })
  })

  it('reports and skips a broken file, or fails if strict', async () => {
    const folder = await folderWith({
      'core/broken.yaml': 'kind: [ConfigMap',
      'core/fine.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default, uid: c1}\n',
    })
    const warnings: string[] = []
    const { server } = embedded()
    const imported = await server.importGather(folder, { warn: (text) => warnings.push(text) })
    expect(imported).toMatchObject({ objects: 1, skipped: [path.join('core', 'broken.yaml')] })
    expect(warnings).toHaveLength(1)
    await expect(embedded().server.importGather(folder, { strict: true })).rejects.toThrow('broken.yaml')
    await expect(server.importGather(path.join(folder, 'nowhere'))).rejects.toThrow('nowhere')
  })

  it('reports broken files outside of the filter, too, unless the directory is large', async () => {
    const wants = (kind: string): boolean => kind === 'ConfigMap'
    const broken = 'apiVersion: v1\nkind: Node\nmetadata: {name: n}\nspec: [\n'
    const namedIn = async (files: Readonly<Record<string, string>>): Promise<readonly string[]> => {
      const warnings: string[] = []
      await embedded().server.importGather(await folderWith(files), { wants, warn: (text) => warnings.push(text) })
      return warnings.map((text) => text.split(' ')[0]!)
    }
    expect(await namedIn({ 'nodes/n.yaml': broken })).toEqual([path.join('nodes', 'n.yaml')])
    const much = Object.fromEntries(
      Array.from({ length: 5 }, (_, at) => [`logs/${at}.yaml`, `kind: Log\ntext: "${'x'.repeat(3.9e6)}"\n`]),
    )
    expect(await namedIn({ ...much, 'nodes/n.yaml': broken })).toEqual([])
  })

  it('of many files is read without blocking the event loop', async () => {
    const names = Array.from({ length: 100 }, (_, at) => `core/configmaps/${at}.json`)
    const folder = await folderWith(Object.fromEntries(names.map((name, at) => [name, configMap(`a-${at}`, {})])))
    let read = 0
    const turns: number[] = []
    const turn = (): void => void turns.push(read)
    setImmediate(turn)
    for await (const _ of readGather(folder)) {
      // Other callbacks run before the import ends.
      if (read++ === 50) setImmediate(turn)
    }
    expect(turns).toHaveLength(2)
    expect(turns.every((at) => at > 0 && at < 100)).toBe(true)
  })

  it('is written by an export, without the values of Secrets', async () => {
    const folder = await folderWith({})
    const { server, client, raw } = embedded()
    await client.create(
      { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true },
      configMap('a', { k: 'v' }),
    )
    await raw('POST', '/api/v1/namespaces/default/secrets', {
      body: { metadata: { name: 's' }, stringData: { password: 'hush' } },
    })
    await server.exportGather(folder)
    const secret = await readFile(path.join(folder, 'namespaces/default/core/secrets/s.yaml'), 'utf8')
    expect(secret).toContain('password')
    expect(secret).not.toContain(Buffer.from('hush').toString('base64'))
    const other = embedded()
    await other.server.importGather(folder)
    expect((await other.raw('GET', '/api/v1/namespaces/default/configmaps/a')).json).toMatchObject({ data: { k: 'v' } })
    const whole = await folderWith({})
    await server.exportGather(whole, { secrets: true })
    expect(await readFile(path.join(whole, 'namespaces/default/core/secrets/s.yaml'), 'utf8')).toContain(
      Buffer.from('hush').toString('base64'),
    )
  })
})
