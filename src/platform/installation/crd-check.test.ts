/** An upgrade that would break stored objects of a CRD is refused before anything of it is applied, and names them. */
import { describe, expect, it } from 'vitest'
import {
  at,
  change,
  chart,
  condition,
  configMap,
  configMaps,
  crds,
  definition,
  expectRest,
  install,
  manifests,
  objectsIn,
  opened,
  upgrade,
} from '../../../test/installation-environment.ts'
import type { JsonObject } from '../../kube/json.ts'
import type { Resource } from '../../kube/kind.ts'
import { resourceOf } from '../../kube/typed-resource.ts'
import type { TestEnvironment } from '../../manager/testing/test-environment.ts'

const things: Resource = { group: 'example.org', version: 'v1', kind: 'Thing', plural: 'things', namespaced: true }
const wide = 'a: { type: string }, size: { type: integer }'
const store = async (testEnv: TestEnvironment, name: string, spec: JsonObject): Promise<void> =>
  void (await testEnv.create(things, { apiVersion: 'example.org/v1', kind: 'Thing', metadata: at(name), spec }))
const listed = ({ sent }: TestEnvironment): number =>
  sent.filter(({ method, path }) => method === 'GET' && path.includes('/things')).length

describe('a CRD that an upgrade narrows', () => {
  it('is not applied: change, objects and cure are named, and the objects are listed once per look', async () => {
    const testEnv = await opened()
    await install(testEnv, manifests(definition(wide) + configMap('a', '1')))
    await store(testEnv, 'small', { size: 1 })
    await store(testEnv, 'large', { size: 10, a: 'kept' })
    await testEnv.settle(60_000)
    expect(listed(testEnv)).toBe(0)
    await upgrade(testEnv, definition('size: { type: integer, maximum: 5 }') + configMap('a', '2'))
    const ready = await condition(testEnv)
    expect(ready).toMatch(/^False UnsafeCrdChange: CRD things.example.org: .*spec\.a.*spec\.size/)
    expect(ready).toContain(
      '1 of 2 stored objects would break: Thing default/large (loses spec.a, spec.size is refused).',
    )
    expect(ready).toMatch(/change these objects first, or annotate .*unsafe-changes: allowed\. Revision 1 stays active/)
    expect(await configMaps(testEnv)).toEqual({ a: '1' })
    const before = listed(testEnv)
    expect(before).toBeGreaterThan(0)
    await expectRest(testEnv)
    expect(listed(testEnv)).toBe(before)
  })

  it('with many objects is read page by page, and the first few are named', async () => {
    const testEnv = await opened()
    await install(testEnv, manifests(definition(wide)))
    for (let index = 0; index < 7; index++) await store(testEnv, `thing-${index}`, { a: 'x' })
    await upgrade(testEnv, definition('size: { type: integer }'))
    expect(await condition(testEnv)).toMatch(/7 of 7 stored objects would break: Thing default\/thing-0 .* and 2 more/)
  })

  it('without stored objects says so', async () => {
    const testEnv = await opened()
    await install(testEnv, manifests(definition(wide)))
    await upgrade(testEnv, definition('size: { type: integer }'))
    expect(await condition(testEnv)).toContain('No objects of it are stored.')
  })

  it('is read as the service account: without the right the change is named all the same', async () => {
    const testEnv = await opened()
    const [account, role, binding] = objectsIn(`apiVersion: v1
kind: ServiceAccount
metadata: { name: deployer, namespace: default }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: deployer }
rules: [{ apiGroups: ["apiextensions.k8s.io"], resources: ["*"], verbs: ["*"] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: deployer }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: deployer }
subjects: [{ kind: ServiceAccount, name: deployer, namespace: default }]
`)
    await testEnv.create(resourceOf('v1', 'ServiceAccount'), account!)
    await testEnv.create(resourceOf('rbac.authorization.k8s.io/v1', 'ClusterRole'), role!)
    await testEnv.create(resourceOf('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding'), binding!)
    await install(testEnv, manifests(definition(wide), { serviceAccountName: 'deployer' }))
    expect(await condition(testEnv)).toContain('True')
    await upgrade(testEnv, definition('size: { type: integer }'))
    expect(await condition(testEnv)).toMatch(
      /UnsafeCrdChange.*spec\.a.*is unknown\. They could not be read: .*deployer.* cannot list/,
    )
  })

  it('that is only created, or skipped, is not compared: it is not applied', async () => {
    const testEnv = await opened()
    const files = (properties: string, value: string) => ({
      'crds/things.yaml': definition(properties).slice(4),
      'templates/a.yaml': configMap('a', value).slice(4),
    })
    await install(testEnv, chart(files(wide, '1'), { crds: 'create-only' }))
    await change(testEnv, { source: { chart: { files: files('size: { type: integer }', '2') } } })
    expect(await condition(testEnv)).toContain('True')
    expect(await configMaps(testEnv)).toEqual({ a: '2' })
    const live = await testEnv.client.get(crds, { name: 'things.example.org' })
    expect(JSON.stringify(live)).toContain('"a"')
  })
})

describe('a CRD whose change cannot be judged by the schemas', () => {
  const pattern = (text: string): string => `a: { type: string, pattern: "${text}" }`

  it('is applied if all stored objects fit, and refused if one does not', async () => {
    const testEnv = await opened()
    await install(testEnv, manifests(definition(pattern('^[a-z]+$'))))
    await store(testEnv, 'one', { a: 'abc' })
    await upgrade(testEnv, definition(pattern('^[a-d]+$')))
    expect(await condition(testEnv)).toContain('True')
    const before = listed(testEnv)
    await upgrade(testEnv, definition(pattern('^[x-z]+$')))
    expect(await condition(testEnv)).toContain(
      '1 of 1 stored objects would break: Thing default/one (spec.a is refused).',
    )
    await store(testEnv, 'two', { a: 'a' })
    expect(listed(testEnv)).toBeGreaterThan(before)
    await expectRest(testEnv)
  })
})
