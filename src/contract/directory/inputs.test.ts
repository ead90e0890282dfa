import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { configMap, configMaps, embedded } from '../../../test/embedded.ts'
import type { Json } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { openGatherFolder } from './gather-folder.ts'
import { inputsOfCluster, inputsOfGather } from './inputs.ts'
import { readInputResources, type ResourceList } from '../declaration/resource-list.ts'

function folderOf(files: Readonly<Record<string, object | string>> = {}): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-inputs-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    writeFileSync(path.join(folder, name), typeof content === 'string' ? content : JSON.stringify(content))
  }
  return folder
}

const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(path.join(folder, name)).isFile())
    .toSorted()

const named = (
  kind: string,
  name: string,
  namespace?: string,
  more: object = {},
  apiVersion = 'v1',
): UntypedObject => ({
  apiVersion,
  kind,
  metadata: { name, ...(namespace !== undefined && { namespace }), uid: `${kind}-${name}`, resourceVersion: '7' },
  ...more,
})

const labelled = (kind: string, name: string, namespace: string, labels: object): UntypedObject => {
  const object = named(kind, name, namespace)
  return { ...object, metadata: Object.assign({}, object.metadata, { labels }) }
}

const list = (value: Json): ResourceList =>
  readInputResources({ applyConfigurationResources: value }, 'test').applyConfigurationResources
const v1 = { group: '', version: 'v1' }

/** What is kept, as `Kind namespace/name`. */
async function kept(folder: string, resources: ResourceList): Promise<readonly string[]> {
  const { selected } = await inputsOfGather(folder, resources)
  return [...selected.values()].flatMap(({ objects }) =>
    objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`),
  )
}

describe('the inputs of an operator', () => {
  const gather = (): string =>
    folderOf({
      'cluster-scoped-resources/config.example.io/apiservers.yaml': {
        apiVersion: 'config.example.io/v1',
        kind: 'APIServerList',
        items: [
          named(
            'APIServer',
            'cluster',
            undefined,
            {
              spec: {
                certs: [{ ref: { name: 'cert-a' } }, { ref: { name: 'cert-b' } }, {}],
                routes: [{ name: 'web', ns: 'shop', secret: 'routed' }],
                class: 'fast',
              },
            },
            'config.example.io/v1',
          ),
        ],
      },
      'namespaces/config/core/secrets.yaml': {
        apiVersion: 'v1',
        kind: 'SecretList',
        items: ['cert-a', 'cert-b', 'cert-c'].map((name) => named('Secret', name, 'config')),
      },
      'namespaces/shop/core/secrets/routed.yaml': named('Secret', 'routed', 'shop'),
      'namespaces/shop/core/configmaps/x.yaml': { ...named('ConfigMap', 'made-x7k2p', 'shop') },
      'namespaces/shop/core/configmaps/y.yaml': named('ConfigMap', 'y', 'shop'),
      'namespaces/shop/core/labelled.yaml': {
        apiVersion: 'v1',
        kind: 'List',
        items: [
          labelled('Service', 'both', 'shop', { tier: 'front', track: 'stable' }),
          labelled('Service', 'one', 'shop', { tier: 'front' }),
          labelled('Service', 'another', 'shop', { tier: 'stable', track: 'front' }),
          labelled('Service', 'elsewhere', 'config', { tier: 'front', track: 'stable' }),
        ],
      },
      'cluster-scoped-resources/storage.k8s.io/storageclasses/fast.yaml': named(
        'StorageClass',
        'fast',
        undefined,
        {},
        'storage.k8s.io/v1',
      ),
      'namespaces/shop/shop.yaml': named('Namespace', 'shop'),
      'namespaces/other/other.yaml': named('Namespace', 'other'),
      'aggregated-discovery-apis.yaml': {
        apiVersion: 'apidiscovery.k8s.io/v2',
        kind: 'APIGroupDiscoveryList',
        metadata: {},
        items: [],
      },
    })
  const apiserver = { group: 'config.example.io', version: 'v1', resource: 'apiservers', name: 'cluster' }

  it('are selected by name, prefix, labels and kind', async () => {
    expect(
      await kept(
        gather(),
        list({
          exactResources: [{ ...v1, resource: 'configmaps', namespace: 'shop', name: 'y' }],
          generatedNameResources: [{ ...v1, resource: 'configmaps', namespace: 'shop', name: 'made-' }],
        }),
      ),
    ).toEqual(['ConfigMap shop/made-x7k2p', 'ConfigMap shop/y'])
    expect(await kept(gather(), list({ kindResources: [{ ...v1, resource: 'secrets' }] }))).toHaveLength(4)
    const services = { ...v1, resource: 'services', labelSelector: { matchLabels: { tier: 'front', track: 'stable' } } }
    expect(await kept(gather(), list({ labelSelectedResources: [services] }))).toEqual([
      'Service config/elsewhere',
      'Service shop/both',
    ])
    expect(await kept(gather(), list({ labelSelectedResources: [{ ...services, namespace: 'shop' }] }))).toEqual([
      'Service shop/both',
    ])
    // What selects nothing away is the whole kind.
    expect(await kept(gather(), list({ labelSelectedResources: [{ ...services, labelSelector: {} }] }))).toHaveLength(4)
  })

  it('follow references of every type; an absent value refers to nothing', async () => {
    const resources = list({
      resourceReferences: [
        {
          referringResource: apiserver,
          type: 'ImplicitNamespacedReference',
          implicitNamespacedReference: {
            ...v1,
            resource: 'secrets',
            namespace: 'config',
            nameJSONPath: '$.spec.certs[*].ref.name',
          },
        },
        {
          referringResource: apiserver,
          type: 'ExplicitNamespacedReference',
          explicitNamespacedReference: {
            ...v1,
            resource: 'secrets',
            namespaceJSONPath: '$.spec.routes[?(@.name == "web" && @.ns == "shop")].ns',
            nameJSONPath: '$.spec.routes[?(@.name == "web" && @.ns == "shop")].secret',
          },
        },
        {
          referringResource: apiserver,
          type: 'ClusterScopedReference',
          clusterScopedReference: {
            group: 'storage.k8s.io',
            version: 'v1',
            resource: 'storageclasses',
            nameJSONPath: '$.spec.class',
          },
        },
        {
          referringResource: apiserver,
          type: 'ImplicitNamespacedReference',
          implicitNamespacedReference: {
            ...v1,
            resource: 'configmaps',
            namespace: 'config',
            nameJSONPath: '$.spec.nope.name',
          },
        },
      ],
    })
    expect(await kept(gather(), resources)).toEqual([
      'APIServer /cluster',
      'Secret config/cert-a',
      'Secret config/cert-b',
      'Secret shop/routed',
      'StorageClass /fast',
    ])
  })

  it('are written as lists, with their namespaces and discovery', async () => {
    const folder = path.join(folderOf(), 'out')
    const content = await inputsOfGather(gather(), list({ kindResources: [{ ...v1, resource: 'configmaps' }] }))
    openGatherFolder(folder).update(content)
    expect(filesIn(folder)).toEqual([
      'aggregated-discovery-apis.yaml',
      'namespaces/shop/core/configmaps.yaml',
      'namespaces/shop/shop.yaml',
    ])
    expect(readYaml(readFileSync(path.join(folder, 'namespaces/shop/core/configmaps.yaml'), 'utf8'))).toMatchObject({
      apiVersion: 'v1',
      kind: 'ConfigMapList',
      metadata: { resourceVersion: '7' },
      items: [{ kind: 'ConfigMap' }, { kind: 'ConfigMap' }],
    })
  })

  it('are updated by rewriting only changed files', async () => {
    const folder = openGatherFolder(path.join(folderOf(), 'out'))
    const at = (version: string, ...names: readonly string[]) => ({
      selected: new Map([
        [
          'configmaps.',
          {
            type: { ...v1, resource: 'configmaps' },
            objects: names.map((name) => ({
              apiVersion: 'v1',
              kind: 'ConfigMap',
              metadata: { name, namespace: name, uid: name, resourceVersion: version },
            })),
          },
        ],
      ]),
    })
    expect(folder.update(at('1', 'a', 'b'))).toBe(2)
    expect(folder.update(at('1', 'a', 'b'))).toBe(0)
    expect(folder.update(at('1', 'a'))).toBe(1)
    expect(folder.update(at('2', 'a'))).toBe(1)
    expect(filesIn(folder.path)).toEqual(['namespaces/a/core/configmaps.yaml'])
  })

  it('have the same form from a cluster', async () => {
    const { client } = embedded()
    await client.create(configMaps, configMap('a', { k: 'v' }))
    await client.create(configMaps, configMap('b', { k: 'v' }))
    const exact = list({ exactResources: [{ ...v1, resource: 'configmaps', namespace: 'default', name: 'a' }] })
    const folder = path.join(folderOf(), 'out')
    openGatherFolder(folder).update(await inputsOfCluster(client, exact))
    expect(filesIn(folder)).toEqual([
      'aggregated-discovery-api.yaml',
      'aggregated-discovery-apis.yaml',
      'namespaces/default/core/configmaps.yaml',
      'namespaces/default/default.yaml',
    ])
    expect(await kept(folder, exact)).toEqual(['ConfigMap default/a'])
  })
})

describe('a gather with a malformed file', () => {
  const maps = list({ kindResources: [{ ...v1, resource: 'configmaps' }] })
  const words = 'words '.repeat(30_000)
  /** A file larger than one read, with a malformed item in the middle. */
  const largeYaml = (broken: string): string => {
    const item = (at: number): string => `- metadata: {name: a-${at}, namespace: shop}\n  data: {text: ${words}}\n`
    const items = Array.from({ length: 26 }, (_, at) => (at === 13 ? broken : item(at)))
    return `apiVersion: v1\nkind: ConfigMapList\nitems:\n${items.join('')}`
  }
  const largeJson = (broken: string): string => {
    const item = (at: number): string => `{"metadata":{"name":"a-${at}","namespace":"shop"},"data":{"text":"${words}"}}`
    const items = Array.from({ length: 26 }, (_, at) => (at === 13 ? broken : item(at)))
    return `{"apiVersion":"v1","kind":"ConfigMapList","items":[${items.join(',')}]}`
  }

  it.each([
    ['b.yaml', 'kind: ConfigMap\nmetadata: {name: [\n', ''],
    ['b.json', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":', ''],
    ['large.yaml', largeYaml('- metadata: {name: [\n'), ' from its object 14 on'],
    ['large.json', largeJson('{"metadata":{"name":"a" "b"}}'), ' from its object 14 on'],
    ['cut.json', largeJson('{"metadata":{}}').slice(0, -100_000), ''],
  ])('is reported: %s is skipped; with --strict it is an error', async (name, text, from) => {
    const folder = folderOf({
      'a.yaml': named('ConfigMap', 'first', 'shop'),
      [name]: text,
      'z.yaml': named('ConfigMap', 'last', 'shop'),
    })
    const warnings: string[] = []
    const { selected } = await inputsOfGather(folder, maps, { warn: (line) => warnings.push(line) })
    expect(warnings).toEqual([expect.stringMatching(`^${name} is left out${from}: `)])
    const names = selected.get('configmaps.')!.objects.map(({ metadata }) => metadata.name)
    expect(names).toEqual(expect.arrayContaining(['first', 'last']))
    expect(names.includes('a-12')).toBe(from !== '')
    await expect(inputsOfGather(folder, maps, { strict: true })).rejects.toThrow(
      expect.objectContaining({ code: 'MUS1604', message: expect.stringContaining(`${name}: `) as string }) as Error,
    )
  })

  it('is an error with --strict, even if the kind of the file is undeclared', async () => {
    const folder = folderOf({ 'pod.yaml': 'kind: Pod\nmetadata: {name: [\n' })
    await expect(inputsOfGather(folder, maps, { strict: true })).rejects.toThrow('pod.yaml: ')
  })
})

describe('a resource list', () => {
  it('reports every invalid entry with its path', () => {
    const wrong = {
      exactResources: [
        { group: 'a', resource: 'b' },
        { ...v1, resource: '../../etc', name: 'x' },
      ],
      labelSelectedResources: [{ ...v1, resource: 'pods', labelSelector: { matchExpressions: [] } }],
      resourceReferences: [
        {
          referringResource: { ...v1, resource: 'pods', name: 'a' },
          type: 'ImplicitNamespacedReference',
          implicitNamespacedReference: { ...v1, resource: 'secrets', nameJSONPath: '$.a[' },
        },
        { referringResource: { ...v1, resource: 'pods' }, type: 'Elsewhere' },
      ],
    }
    expect(() => list(wrong)).toThrow(
      expect.objectContaining({
        code: 'MUS2001',
        message: expect.stringContaining(
          'applyConfigurationResources.exactResources[0].version: Required value: must be present',
        ) as string,
      }) as Error,
    )
    for (const part of [
      'exactResources[0].name: Required value',
      'exactResources[1].resource: Invalid value: "../../etc"',
      'matchExpressions: Forbidden',
      'resourceReferences[0].implicitNamespacedReference.namespace: Required value',
      'resourceReferences[0].implicitNamespacedReference.nameJSONPath: Invalid value',
      'resourceReferences[1].type: Unsupported value: "Elsewhere"',
    ]) {
      expect(() => list(wrong)).toThrow(part)
    }
  })
})
