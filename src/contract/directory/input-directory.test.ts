import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { memcached as operator } from '../../../test/examples.ts'
import { readInputs } from './input-directory.ts'

function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-input-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    writeFileSync(path.join(folder, name), text)
  }
  return folder
}

const named = (kind: string, name: string): string =>
  JSON.stringify({ apiVersion: 'v1', kind, metadata: { name, namespace: 'shop', labels: { app: 'memcached' } } })
const crd = (plural: string, kind: string, group: string): string =>
  JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: { group, names: { plural, kind }, versions: [] },
  })
const read = async (files: Readonly<Record<string, string>>): Promise<readonly string[]> =>
  (await readInputs(folderOf(files), operator)).map(({ kind, metadata }) => `${kind} ${metadata.name}`).toSorted()

describe('an input directory', () => {
  it('may be the output of kubectl cluster-info dump', async () => {
    const pods = {
      kind: 'PodList',
      apiVersion: 'v1',
      metadata: { resourceVersion: '9' },
      items: [{ metadata: { name: 'p', namespace: 'shop', labels: { app: 'memcached' } } }],
    }
    const nodes = { kind: 'NodeList', apiVersion: 'v1', metadata: {}, items: [{ metadata: { name: 'n' } }] }
    expect(
      await read({
        'shop/pods.json': JSON.stringify(pods),
        'nodes.json': JSON.stringify(nodes),
        'shop/p/logs.txt': 'kind: Pod',
      }),
    ).toEqual(['Pod p'])
  })

  it('may be the output of oc adm inspect, with list files and single files', async () => {
    expect(
      await read({
        'cluster-scoped-resources/apiextensions.k8s.io/customresourcedefinitions/memcacheds.yaml': `---\n${crd('memcacheds', 'Memcached', 'cache.example.com')}`,
        'cluster-scoped-resources/core/nodes/n.yaml': named('Node', 'n'),
        'namespaces/shop/shop.yaml': '---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n',
        'namespaces/shop/cache.example.com/memcacheds/m.yaml':
          '---\napiVersion: cache.example.com/v1alpha1\nkind: Memcached\nmetadata: {name: m, namespace: shop}\n',
        'namespaces/shop/apps/deployments.yaml':
          '---\napiVersion: apps/v1\nkind: DeploymentList\nitems:\n- metadata: {name: d, namespace: shop}\n',
        // Pods are there twice: in a list, and each by itself beside its logs.
        'namespaces/shop/core/pods.yaml':
          '---\napiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: a, namespace: shop, labels: {app: memcached}}\n- metadata: {name: b, namespace: shop, labels: {app: memcached}}\n',
        'namespaces/shop/pods/b/b.yaml': `---\n${named('Pod', 'b')}`,
        'namespaces/shop/pods/b/web/web/logs/current.log': 'kind: Pod',
        'namespaces/shop/core/configmaps/c.yaml': named('ConfigMap', 'c'),
        'namespaces/shop/core/events.yaml': 'apiVersion: v1\nkind: EventList\nitems: []\n',
        'event-filter.html': '<html>',
        timestamp: 'now',
      }),
    ).toEqual([
      'ConfigMap c',
      'CustomResourceDefinition memcacheds.cache.example.com',
      'Deployment d',
      'Memcached m',
      'Namespace shop',
      'Pod a',
      'Pod b',
    ])
  })

  it('keeps the declared objects of its operator, and only their definitions', async () => {
    expect(
      await read({
        'crds/a.yaml': crd('memcacheds', 'Memcached', 'cache.example.com'),
        'crds/b.yaml': crd('others', 'Other', 'example.org'),
        'several.yaml': `kind: List\napiVersion: v1\nitems:\n- ${named('Secret', 's')}\n- ${named('Service', 'x')}\n---\n${named('Pod', 'p')}`,
      }),
    ).toEqual(['CustomResourceDefinition memcacheds.cache.example.com', 'Pod p', 'Secret s'])
  })
})
