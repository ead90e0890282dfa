/** What goes wrong around an Installation: each a condition that names cause and cure, nothing lost, nothing half-removed. */
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
  deployment,
  expectRest,
  install,
  installation,
  manifests,
  objectsIn,
  opened,
  read,
  retries,
  thing,
  uninstall,
  upgrade,
} from '../../../test/installation-environment.ts'
import { ConfigMap, Deployment, Namespace, Secret } from '../../kube/kinds.ts'
import type { JsonObject } from '../../kube/json.ts'
import { resourceOf } from '../../kube/typed-resource.ts'
import { Revision } from './revision.ts'

describe('the API server refuses', () => {
  it('an object by a policy: the attempt fails, the object and the policy are named, the last good revision returns', async () => {
    const testEnv = await opened()
    const [policy, binding] = objectsIn(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: { name: no-bad }
spec:
  failurePolicy: Fail
  matchConstraints: { resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE", "UPDATE"], resources: ["configmaps"] }] }
  validations: [{ expression: "!has(object.data) || object.data['key'] != 'bad'", message: "bad is not allowed here" }]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: { name: no-bad }
spec: { policyName: no-bad, validationActions: [Deny] }
`)
    const of = (kind: string) => resourceOf('admissionregistration.k8s.io/v1', kind)
    await testEnv.create(of('ValidatingAdmissionPolicy'), policy!)
    await testEnv.create(of('ValidatingAdmissionPolicyBinding'), binding!)
    await install(testEnv, manifests(configMap('a', '1') + configMap('b', '1'), { remediation: { retries: 1 } }))
    expect(await condition(testEnv)).toContain('True')
    await upgrade(testEnv, configMap('a', '2') + configMap('b', 'bad'), 600_000)
    expect(await condition(testEnv, 'Stalled')).toMatch(/ConfigMap default\/b: .*bad is not allowed here/)
    expect(await configMaps(testEnv)).toMatchObject({ a: '1', b: '1' })
    await expectRest(testEnv)
  })

  it('pods by a quota: x of y are shown, and it converges when the quota is gone', async () => {
    const testEnv = await opened(true)
    const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: at('none'), spec: { hard: { pods: '0' } } }
    await testEnv.create(resourceOf('v1', 'ResourceQuota'), quota)
    await install(testEnv, manifests(deployment('web:1', 2), { timeout: '1h' }), 30_000)
    expect(await condition(testEnv)).toMatch(/False .*Deployment default\/web.*0 of 2|0\/2/)
    await testEnv.client.delete(resourceOf('v1', 'ResourceQuota'), at('none'))
    await testEnv.settle(600_000)
    expect(await condition(testEnv)).toContain('True')
  })

  it('writes of a service account whose rights are revoked: named, and continued when they are back', async () => {
    const testEnv = await opened()
    const rbac = (kind: string) => resourceOf('rbac.authorization.k8s.io/v1', kind)
    const [account, role, binding] = objectsIn(`apiVersion: v1
kind: ServiceAccount
metadata: { name: deployer, namespace: default }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: deployer, namespace: default }
rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["*"] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: deployer, namespace: default }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: deployer }
subjects: [{ kind: ServiceAccount, name: deployer, namespace: default }]
`)
    await testEnv.create(resourceOf('v1', 'ServiceAccount'), account!)
    await testEnv.create(rbac('Role'), role!)
    await testEnv.create(rbac('RoleBinding'), binding!)
    await install(testEnv, manifests(configMap('a', '1'), { serviceAccountName: 'deployer' }))
    expect(await condition(testEnv)).toContain('True')
    await testEnv.client.delete(rbac('RoleBinding'), at('deployer'))
    await upgrade(testEnv, configMap('a', '2') + configMap('b', '2'), 10_000)
    expect(await condition(testEnv)).toMatch(/False .*deployer.*cannot/)
    await expectRest(testEnv, retries)
    expect(await configMaps(testEnv)).toMatchObject({ a: '1' })
    await testEnv.create(rbac('RoleBinding'), binding!)
    await testEnv.clock.advance(600_000)
    expect(await configMaps(testEnv)).toMatchObject({ a: '2', b: '2' })
    expect(await condition(testEnv)).toContain('True')
  })

  it('objects in a namespace that is being deleted: named, and uninstalled without hanging', async () => {
    const testEnv = await opened()
    const metadata = { name: 'leaving', finalizers: ['example.com/wait'] }
    await testEnv.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata })
    const pinned = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'pin', namespace: 'leaving', finalizers: ['example.com/wait'] },
    }
    await testEnv.create(ConfigMap, pinned)
    await testEnv.client.delete(Namespace, { name: 'leaving' })
    await install(testEnv, manifests(configMap('a'), { targetNamespace: 'leaving', remediation: { retries: 0 } }))
    expect(await condition(testEnv)).toMatch(/False .*ConfigMap leaving\/a.*being terminated/)
    await expectRest(testEnv, retries)
    await uninstall(testEnv)
    await expect(read(testEnv)).rejects.toThrow('not found')
  })
})

describe('objects of an Installation', () => {
  it('that two Installations claim stay with the first, which is named', async () => {
    const testEnv = await opened()
    await install(testEnv, manifests(configMap('a', 'first'), {}, 'first'))
    await install(testEnv, manifests(configMap('b', '1') + configMap('a', 'second')))
    expect(await condition(testEnv)).toMatch(/ConfigMap default\/a exists already and belongs to default.first/)
    expect(await condition(testEnv, 'Ready', 'first')).toContain('True')
    await expectRest(testEnv, retries)
    await uninstall(testEnv)
    expect(await configMaps(testEnv)).toMatchObject({ a: 'first' })
    expect(await configMaps(testEnv)).not.toHaveProperty('b')
  })

  it('are applied wave by wave, and deleted in the reverse order', async () => {
    const testEnv = await opened()
    const wave = (name: string, number: number): string =>
      configMap(name, 'x', `, annotations: { platform.muster.dev/wave: "${number}" }`)
    await install(testEnv, manifests(wave('c', 1) + wave('a', -1) + wave('b', 0)))
    await uninstall(testEnv)
    const done = testEnv.writes.filter(({ path }) => path.includes('/configmaps/'))
    const names = done.map(({ method, path }) => `${method} ${/configmaps\/(\w+)/.exec(path)?.[1]}`)
    expect(names).toEqual(['PATCH a', 'PATCH b', 'PATCH c', 'DELETE c', 'DELETE b', 'DELETE a'])
  })

  it('that are not to be pruned stay, also when it is removed', async () => {
    const testEnv = await opened()
    const disabled = configMap('disabled', 'x', ', annotations: { platform.muster.dev/prune: disabled }')
    const keep = configMap('keep', 'x', ', annotations: { helm.sh/resource-policy: keep }')
    await install(testEnv, manifests(configMap('a') + configMap('b') + disabled + keep))
    await upgrade(testEnv, configMap('a'))
    expect(Object.keys(await configMaps(testEnv)).toSorted()).toEqual(['a', 'disabled', 'keep'])
    await uninstall(testEnv)
    expect(Object.keys(await configMaps(testEnv)).toSorted()).toEqual(['disabled', 'keep'])
  })

  it('that a user annotates with managed=false are left alone, and survive; managed=true takes ignored fields back', async () => {
    const testEnv = await opened()
    const ignore = [{ paths: ['/data/key'] }]
    await install(testEnv, manifests(configMap('a') + configMap('b') + configMap('c'), { drift: { ignore } }))
    const patch = async (name: string, object: JsonObject): Promise<unknown> =>
      await testEnv.client.patch(ConfigMap, at(name), object, { type: 'merge', fieldManager: 'kubectl' })
    await patch('a', { data: { key: 'users' } })
    await patch('b', { metadata: { annotations: { 'platform.muster.dev/managed': 'false' } }, data: { key: 'users' } })
    await patch('c', { metadata: { annotations: { 'platform.muster.dev/managed': 'true' } }, data: { key: 'users' } })
    await testEnv.settle(60_000)
    expect(await configMaps(testEnv)).toMatchObject({ a: 'users', b: 'users', c: 'x' })
    await expectRest(testEnv)
    await uninstall(testEnv)
    expect(await configMaps(testEnv)).toEqual({ b: 'users' })
  })

  it('are left as they are while it is suspended', async () => {
    const testEnv = await opened()
    await install(testEnv, manifests(configMap('a')))
    await change(testEnv, { suspend: true })
    await testEnv.client.delete(ConfigMap, at('a'))
    await testEnv.settle(60_000)
    expect(await configMaps(testEnv)).toEqual({})
    await change(testEnv, { suspend: false })
    expect(await configMaps(testEnv)).toEqual({ a: 'x' })
  })

  it('may be many', async () => {
    const testEnv = await opened()
    const many = Array.from({ length: 300 }, (_, index) => configMap(`many-${index}`)).join('')
    await install(testEnv, manifests(many))
    expect((await read(testEnv)).status).toMatchObject({ objects: 300, lastGood: 1 })
    expect(testEnv.writes.filter(({ path }) => path.includes('/configmaps/'))).toHaveLength(300)
    await expectRest(testEnv)
    await uninstall(testEnv)
    expect(await configMaps(testEnv)).toEqual({})
  })
})

describe('a revision that', () => {
  it('has an image that does not exist is named with object and reason, and uninstalled', async () => {
    const testEnv = await opened(true)
    await install(
      testEnv,
      manifests(deployment('missing/image:1'), { timeout: '2m', remediation: { retries: 0 } }),
      300_000,
    )
    expect(await condition(testEnv)).toMatch(/^False .*Deployment default\/web/)
    await uninstall(testEnv)
    await expect(testEnv.client.get(Deployment, at('web'))).rejects.toThrow('not found')
    await expect(read(testEnv)).rejects.toThrow('not found')
  })

  it('has a CRD that never becomes established fails by name, and can be removed', async () => {
    const testEnv = await opened()
    await testEnv.create(crds, objectsIn(definition('a: { type: string }'))[0]!)
    await testEnv.settle()
    // The kind is taken by another CRD: this one is never established.
    await install(
      testEnv,
      manifests(definition('a: { type: string }', 'stuffs') + configMap('a'), {
        timeout: '2m',
        remediation: { retries: 0 },
      }),
      300_000,
    )
    expect(await condition(testEnv)).toMatch(/CustomResourceDefinition stuffs\.example\.org/)
    expect(await configMaps(testEnv)).toEqual({})
    await expectRest(testEnv, retries)
    await uninstall(testEnv)
    await expect(read(testEnv)).rejects.toThrow('not found')
  })

  it('drops a field of a CRD is refused: the old one stays active and is kept as it is', async () => {
    const testEnv = await opened()
    await install(testEnv, manifests(definition('a: { type: string }, b: { type: string }') + thing + configMap('a')))
    expect(await condition(testEnv)).toContain('True')
    await upgrade(testEnv, definition('a: { type: string }') + thing + configMap('a', '2'))
    expect(await condition(testEnv)).toMatch(/^False UnsafeCrdChange: CRD things.example.org.*Revision 1 stays active/)
    expect((await read(testEnv)).status).toMatchObject({ revision: 1, lastGood: 1 })
    await testEnv.client.delete(ConfigMap, at('a'))
    await testEnv.settle(60_000)
    expect(await configMaps(testEnv)).toEqual({ a: 'x' })
    await expectRest(testEnv)
  })

  it('has a hook that fails applies nothing of the later phases', async () => {
    const testEnv = await opened(true)
    const hook = `apiVersion: batch/v1
kind: Job
metadata: { name: pre, annotations: { helm.sh/hook: pre-upgrade } }
spec: { backoffLimit: 0, template: { metadata: { annotations: { simulated.muster.dev/exit-code: "1" } }, spec: { restartPolicy: Never, containers: [{ name: a, image: a }] } } }
`
    const config = (value: string): string => configMap('a', value).slice(4)
    await install(testEnv, chart({ 'templates/a.yaml': config('1') }, { remediation: { retries: 0 }, timeout: '5m' }))
    expect(await configMaps(testEnv)).toEqual({ a: '1' })
    await change(
      testEnv,
      { source: { chart: { files: { 'templates/a.yaml': config('2'), 'templates/hook.yaml': hook } } } },
      600_000,
    )
    expect(await condition(testEnv, 'Stalled')).toMatch(/Job default\/pre/)
    expect(await configMaps(testEnv)).toEqual({ a: '1' })
    expect((await read(testEnv)).status).toMatchObject({ revision: 1, lastGood: 1 })
  })

  it('lost its content is named, and cured by a new one', async () => {
    const testEnv = await opened()
    await install(testEnv, manifests(configMap('a', '1'), { remediation: { retries: 0 } }))
    await upgrade(testEnv, configMap('a', '2'))
    await change(testEnv, { revision: 1 })
    await testEnv.client.delete(Secret, at('shop-1.0'))
    await testEnv.settle(60_000)
    expect(await condition(testEnv)).toMatch(/MissingContent: Secret shop-1\.0 with the content of Revision shop-1/)
    expect(await configMaps(testEnv)).toEqual({ a: '1' })
    await expectRest(testEnv)
    await change(testEnv, { revision: null, source: { manifests: { text: configMap('a', '3') } } })
    expect(await configMaps(testEnv)).toEqual({ a: '3' })
    expect(await condition(testEnv)).toContain('True')
    await testEnv.client.delete(Secret, at('shop-3.0'))
    await testEnv.settle(60_000)
    expect(await condition(testEnv)).toContain('True')
    expect((await testEnv.client.list(Revision, { namespace: 'default' })).items).toHaveLength(3)
  })
})

describe('a chart with CRDs whose last good revision lost its content', () => {
  it('is not upgraded unchecked, unless its CRDs allow it', async () => {
    const testEnv = await opened()
    await install(testEnv, manifests(definition('a: { type: string }')))
    await change(testEnv, { suspend: true })
    await testEnv.client.delete(Secret, at('shop-1.0'))
    const next = definition('a: { type: string }, b: { type: string }')
    await change(testEnv, { suspend: false, source: { manifests: { text: next } } })
    expect(await condition(testEnv)).toMatch(/CrdsNotComparable: .*Secret shop-1\.0.*unsafe-changes: allowed/)
    await expectRest(testEnv, retries)
    const allowed = 'annotations: { platform.muster.dev/unsafe-changes: allowed }'
    await upgrade(testEnv, next.replace('name: things.example.org', `name: things.example.org, ${allowed}`))
    expect(await condition(testEnv)).toContain('True')
  })
})

describe('a source that', () => {
  it('is gone after the install does not keep drift from being put right', async () => {
    const testEnv = await opened()
    const data = { 'a.yaml': configMap('a') }
    await testEnv.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: at('source'), data })
    await install(testEnv, installation({ source: { manifests: { configMapRef: { name: 'source' } } } }))
    await testEnv.client.delete(ConfigMap, at('source'))
    await testEnv.client.delete(ConfigMap, at('a'))
    await testEnv.settle(60_000)
    expect(await configMaps(testEnv)).toEqual({ a: 'x' })
    expect(await condition(testEnv)).toMatch(/ConfigMap default\/source of the source does not exist.*stays active/)
    await expectRest(testEnv)
  })

  it('does not fit the schema of its values, fails or loops is named, and the revision before stays', async () => {
    const testEnv = await opened()
    const schema = '{"type":"object","properties":{"size":{"type":"integer"}}}'
    const config = configMap('a', '{{ .Values.size }}').slice(4)
    const files = { 'values.schema.json': schema, 'templates/a.yaml': config }
    await install(testEnv, chart(files, { values: { size: 1 } }))
    expect(await configMaps(testEnv)).toEqual({ a: '1' })
    const broken: readonly (readonly [JsonObject, RegExp])[] = [
      [{ values: { size: 'big' } }, /size/],
      [
        { values: { size: 2 }, source: { chart: { files: { 'templates/b.yaml': '{{ fail "no disk" }}' } } } },
        /no disk/,
      ],
      [
        {
          source: {
            chart: { files: { 'templates/b.yaml': '{{ define "x" }}{{ include "x" . }}{{ end }}{{ include "x" . }}' } },
          },
        },
        /templates\/b.yaml/,
      ],
    ]
    for (const [spec, cause] of broken) {
      await change(testEnv, spec)
      expect(await condition(testEnv)).toMatch(cause)
      expect(await condition(testEnv)).toContain('Revision 1 stays active')
    }
    await expectRest(testEnv)
    await change(testEnv, { source: { chart: { files: { 'templates/b.yaml': null } } } })
    expect(await configMaps(testEnv)).toEqual({ a: '2' })
  })

  it('generates values keeps them over upgrades, restarts and a lost Secret', async () => {
    const testEnv = await opened()
    const secret =
      'apiVersion: v1\nkind: Secret\nmetadata: { name: password }\nstringData: { password: {{ randAlphaNum 20 }} }\n'
    await install(testEnv, chart({ 'templates/secret.yaml': secret }))
    const password = async () => (await testEnv.client.get(Secret, at('password'))).data?.['password']
    const before = await password()
    expect(before).toMatch(/^[A-Za-z0-9=]{20,}$/)
    await change(testEnv, { source: { chart: { files: { 'templates/a.yaml': configMap('a').slice(4) } } } })
    await testEnv.restart()
    await testEnv.settle(60_000)
    expect(await password()).toBe(before)
    await testEnv.client.delete(Secret, at('shop-generated.0'))
    await testEnv.settle(60_000)
    expect(await password()).toBe(before)
    expect((await testEnv.client.get(Secret, at('shop-generated.0'))).immutable).toBe(true)
    expect(await condition(testEnv)).toContain('True')
    await expectRest(testEnv)
  })
})
