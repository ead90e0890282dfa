/** Acceptance scenarios of Installations that concern single kinds, policies and sizes. */
import { describe, expect, it } from 'vitest'
import {
  at,
  change,
  chart,
  condition,
  configMap,
  configMaps,
  expectRest,
  install,
  manifests,
  opened,
  read,
  uninstall,
  upgrade,
} from '../../../test/installation-environment.ts'
import { ConfigMap, Secret } from '../../kube/kinds.ts'
import { resourceOf } from '../../kube/typed-resource.ts'
import { Revision } from './revision.ts'

describe('the policy of an object', () => {
  const withPolicy = (name: string, value: string, policy: string): string =>
    configMap(name, value, `, annotations: { platform.muster.dev/policy: ${policy} }`)

  it('create-only leaves it to its users once it exists; it is created again when it is deleted, and removed at the end', async () => {
    const testEnv = await opened()
    await install(testEnv, manifests(withPolicy('a', '1', 'create-only')))
    await testEnv.client.patch(
      ConfigMap,
      at('a'),
      { data: { key: 'mine' } },
      { type: 'merge', fieldManager: 'kubectl' },
    )
    await upgrade(testEnv, withPolicy('a', '2', 'create-only'))
    expect(await configMaps(testEnv)).toEqual({ a: 'mine' })
    expect(await condition(testEnv)).toContain('True')
    await testEnv.client.delete(ConfigMap, at('a'))
    await testEnv.settle(60_000)
    expect(await configMaps(testEnv)).toEqual({ a: '2' })
    await uninstall(testEnv)
    expect(await configMaps(testEnv)).toEqual({})
  })

  it('ignore never writes it, and does not prune what was written before', async () => {
    const testEnv = await opened()
    await install(testEnv, manifests(configMap('a', '1') + withPolicy('b', '1', 'ignore')))
    expect(await configMaps(testEnv)).toEqual({ a: '1' })
    expect(await condition(testEnv)).toContain('True')
    await upgrade(testEnv, withPolicy('a', '2', 'ignore'))
    expect(await configMaps(testEnv)).toEqual({ a: '1' })
    await testEnv.client.patch(
      ConfigMap,
      at('a'),
      { data: { key: 'mine' } },
      { type: 'merge', fieldManager: 'kubectl' },
    )
    await testEnv.settle(60_000)
    expect(await configMaps(testEnv)).toEqual({ a: 'mine' })
    await expectRest(testEnv)
  })
})

describe('a revision that does not fit into one Secret', () => {
  it('is stored in several, read back, and mended when one is lost', async () => {
    const testEnv = await opened()
    const large = (name: string): string => `apiVersion: v1
kind: ConfigMap
metadata: { name: ${name} }
data: { key: "{{ range until 14000 }}{{ sha256sum (printf "${name} %d" .) }}{{ end }}" }
`
    const files = { 'templates/a.yaml': large('a'), 'templates/b.yaml': large('b') }
    await install(testEnv, chart(files))
    expect(await condition(testEnv)).toContain('True')
    expect(await testEnv.client.get(Revision, at('shop-1'))).toMatchObject({ spec: { chunks: 2 } })
    const before = await configMaps(testEnv)
    await change(testEnv, { source: { chart: { files: { 'templates/b.yaml': configMap('b', 'small').slice(4) } } } })
    expect(await configMaps(testEnv)).toEqual({ a: before['a'], b: 'small' })
    await change(testEnv, { revision: 1 })
    expect(await configMaps(testEnv)).toEqual(before)
    await change(testEnv, { revision: null, source: { chart: { files } } })
    await testEnv.client.delete(Secret, at('shop-3.1'))
    await testEnv.settle(60_000)
    expect(await testEnv.client.get(Secret, at('shop-3.1'))).toBeDefined()
    expect((await read(testEnv)).status).toMatchObject({ revision: 3, lastGood: 3 })
  })
})

describe('a StatefulSet', () => {
  it('whose image does not exist fails its Installation, which is removed cleanly', async () => {
    const testEnv = await opened(true)
    const text = `apiVersion: apps/v1
kind: StatefulSet
metadata: { name: db }
spec:
  serviceName: db
  selector: { matchLabels: { app: db } }
  template:
    metadata: { labels: { app: db }, annotations: { simulated.muster.dev/fail-image-pull: "true" } }
    spec: { containers: [{ name: db, image: "missing:1" }] }
`
    await install(testEnv, manifests(text, { timeout: '2m', remediation: { retries: 0 } }), 300_000)
    expect(await condition(testEnv)).toMatch(/^False/)
    expect(await condition(testEnv, 'Stalled')).toContain('Revision 1 failed')
    await uninstall(testEnv)
    expect((await testEnv.client.list(resourceOf('apps/v1', 'StatefulSet'))).items).toEqual([])
    await expect(read(testEnv)).rejects.toThrow('not found')
  })
})

describe('objects that are deleted by hand', () => {
  it('come back, whatever their kind', async () => {
    const testEnv = await opened()
    const rbac = 'rbac.authorization.k8s.io'
    const text = `apiVersion: v1
kind: ServiceAccount
metadata: { name: web }
---
apiVersion: ${rbac}/v1
kind: Role
metadata: { name: web }
rules: [{ apiGroups: [""], resources: [configmaps], verbs: [get] }]
---
apiVersion: ${rbac}/v1
kind: RoleBinding
metadata: { name: web }
roleRef: { apiGroup: ${rbac}, kind: Role, name: web }
subjects: [{ kind: ServiceAccount, name: web, namespace: default }]
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { selector: { app: web }, ports: [{ port: 80 }] }
`
    await install(testEnv, manifests(text))
    const kinds = [
      resourceOf('v1', 'ServiceAccount'),
      resourceOf('v1', 'Service'),
      resourceOf(`${rbac}/v1`, 'Role'),
      resourceOf(`${rbac}/v1`, 'RoleBinding'),
    ]
    for (const kind of kinds) {
      const { uid } = (await testEnv.client.get(kind, at('web'))).metadata
      await testEnv.client.delete(kind, at('web'))
      await testEnv.settle(60_000)
      const { metadata } = await testEnv.client.get(kind, at('web'))
      expect(metadata).toMatchObject({ labels: { 'platform.muster.dev/installation': 'default.shop' } })
      expect(metadata.uid).not.toBe(uid)
    }
    expect((await read(testEnv)).status).toMatchObject({ revision: 1, objects: 4 })
  })
})

describe('the schema of a chart', () => {
  it('is compared with the values, unless the Installation says otherwise', async () => {
    const testEnv = await opened()
    const schema = '{ "$ref": "https://schemas.example.com/values.json" }'
    const files = { 'values.schema.json': schema, 'templates/a.yaml': configMap('a', '1').slice(4) }
    await install(testEnv, chart(files))
    expect(await condition(testEnv)).toMatch(/^False .*schemas\.example\.com/)
    await change(testEnv, { skipSchemaValidation: true })
    expect(await configMaps(testEnv)).toEqual({ a: '1' })
  })
})
