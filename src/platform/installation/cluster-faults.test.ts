/** A cluster that refuses: quotas, webhooks, namespaces that leave, rights that are revoked in between. Named, and gone on with. */
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
  objectsIn,
  opened,
  read,
  retries,
  uninstall,
} from '../../../test/installation-environment.ts'
import { ConfigMap, Namespace } from '../../kube/kinds.ts'
import type { Resource } from '../../kube/kind.ts'
import { resourceOf } from '../../kube/typed-resource.ts'
import type { TestEnvironment } from '../../manager/testing/test-environment.ts'
import { Installation } from './installation.ts'

const rbac = (kind: string): Resource => resourceOf('rbac.authorization.k8s.io/v1', kind)
const wave = (name: string, number: number): string =>
  configMap(name, 'x', `, annotations: { platform.muster.dev/wave: "${number}" }`)

async function account(
  testEnv: TestEnvironment,
): Promise<{ readonly revoke: () => Promise<void>; readonly grant: () => Promise<void> }> {
  const [own, role, binding] = objectsIn(`apiVersion: v1
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
  await testEnv.create(resourceOf('v1', 'ServiceAccount'), own!)
  await testEnv.create(rbac('Role'), role!)
  await testEnv.create(rbac('RoleBinding'), binding!)
  return {
    revoke: async () => void (await testEnv.client.delete(rbac('RoleBinding'), at('deployer'))),
    grant: async () => void (await testEnv.create(rbac('RoleBinding'), binding!)),
  }
}

describe('a quota', () => {
  it('that is exceeded is named, with what is missing, and it goes on when the quota is raised', async () => {
    const testEnv = await opened()
    const quotas = resourceOf('v1', 'ResourceQuota')
    const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: at('few'), spec: { hard: { configmaps: '1' } } }
    await testEnv.create(quotas, quota)
    await testEnv.settle()
    await install(testEnv, manifests(wave('a', 0) + wave('b', 1), { timeout: '1h' }), 10_000)
    expect(await condition(testEnv)).toMatch(/^False .*ConfigMap default\/b: .*exceeded quota: few/)
    expect(await configMaps(testEnv)).toEqual({ a: 'x' })
    await expectRest(testEnv, retries)
    await testEnv.client.patch(quotas, at('few'), { spec: { hard: { configmaps: '5' } } }, { type: 'merge' })
    await testEnv.clock.advance(600_000)
    expect(await condition(testEnv)).toContain('True')
    expect(await configMaps(testEnv)).toEqual({ a: 'x', b: 'x' })
  })
})

describe('a webhook', () => {
  it('that cannot be reached is named, and it goes on when the webhook is gone', async () => {
    const testEnv = await opened()
    const webhooks = resourceOf('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration')
    const [webhook] = objectsIn(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: { name: guard }
webhooks:
  - name: guard.example.com
    admissionReviewVersions: [v1]
    sideEffects: None
    clientConfig: { url: "https://127.0.0.1:1/guard" }
    rules: [{ apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps] }]
`)
    await testEnv.create(webhooks, webhook!)
    await install(testEnv, manifests(configMap('a'), { timeout: '1h' }), 10_000)
    expect(await condition(testEnv)).toMatch(/^False .*ConfigMap default\/a: .*guard\.example\.com/)
    // Each try is repeated by the client.
    await expectRest(testEnv, 2 * retries)
    await testEnv.client.delete(webhooks, { name: 'guard' })
    await testEnv.clock.advance(600_000)
    expect(await condition(testEnv)).toContain('True')
  })
})

describe('a namespace that is stuck', () => {
  it('in deletion does not keep an Installation in it from being removed', async () => {
    const testEnv = await opened()
    const metadata = { name: 'leaving' }
    await testEnv.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata })
    await install(testEnv, manifests(configMap('a'), { targetNamespace: 'leaving' }))
    expect(await condition(testEnv)).toContain('True')
    const pin = { name: 'pin', namespace: 'leaving', finalizers: ['example.com/wait'] }
    await testEnv.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: pin })
    await testEnv.client.delete(Namespace, metadata)
    await testEnv.settle(60_000)
    await expectRest(testEnv, retries)
    await uninstall(testEnv)
    await expect(read(testEnv)).rejects.toThrow('not found')
  })
})

describe('rights that are revoked', () => {
  it('between two phases of an install are named; what is written stays, and the rest follows when they are back', async () => {
    const testEnv = await opened()
    const { revoke, grant } = await account(testEnv)
    const current = "self.metadata.name == 'b' || has(self.metadata.labels.go)"
    const health = [{ apiVersion: 'v1', kind: 'ConfigMap', current }]
    const spec = { serviceAccountName: 'deployer', timeout: '1h', health }
    await install(testEnv, manifests(wave('a', 0) + wave('b', 1), spec), 10_000)
    expect(Object.keys(await configMaps(testEnv))).toEqual(['a'])
    await revoke()
    const go = { metadata: { labels: { go: 'yes' } } }
    await testEnv.client.patch(ConfigMap, at('a'), go, { type: 'merge', fieldManager: 'kubectl' })
    await testEnv.settle(10_000)
    expect(await condition(testEnv)).toMatch(/^False .*ConfigMap default\/b: .*deployer.*cannot/)
    expect(Object.keys(await configMaps(testEnv))).toEqual(['a'])
    await expectRest(testEnv, retries)
    await grant()
    await testEnv.clock.advance(600_000)
    expect(await condition(testEnv)).toContain('True')
    expect(Object.keys(await configMaps(testEnv)).toSorted()).toEqual(['a', 'b'])
  })

  it('before a removal keep it from ending, are named, and nothing is lost or forgotten', async () => {
    const testEnv = await opened()
    const { revoke, grant } = await account(testEnv)
    await install(testEnv, manifests(configMap('a'), { serviceAccountName: 'deployer' }))
    await revoke()
    await uninstall(testEnv)
    expect(await condition(testEnv, 'Reconciled')).toMatch(/^False Forbidden: .*ConfigMap default\/a.*deployer.*cannot/)
    expect(await configMaps(testEnv)).toEqual({ a: 'x' })
    await expectRest(testEnv, retries)
    await grant()
    await testEnv.clock.advance(600_000)
    await expect(read(testEnv)).rejects.toThrow('not found')
    expect(await configMaps(testEnv)).toEqual({})
  })
})

describe('an object that two Installations claim', () => {
  it('is taken by the second when the first is removed', async () => {
    const testEnv = await opened()
    await install(testEnv, manifests(configMap('a', 'first'), {}, 'first'))
    await install(testEnv, manifests(configMap('a', 'second'), { timeout: '24h' }))
    expect(await condition(testEnv)).toMatch(
      /belongs to default.first .*Remove it there, adopt it, or leave it out here/,
    )
    await testEnv.client.delete(Installation, at('first'))
    await testEnv.clock.advance(3_600_000)
    expect(await configMaps(testEnv)).toEqual({ a: 'second' })
    expect(await condition(testEnv)).toContain('True')
  })
})

describe('a chart', () => {
  it('that explodes is stopped and named, and a correction is applied', async () => {
    const testEnv = await opened()
    const grow = '{{ $x := "xxxxxxxx" }}{{ range until 40 }}{{ $x = cat $x $x }}{{ end }}{{ $x }}'
    await install(testEnv, chart({ 'templates/a.yaml': grow }))
    expect(await condition(testEnv)).toMatch(/^False .*templates\/a\.yaml/)
    await expectRest(testEnv)
    await change(testEnv, { source: { chart: { files: { 'templates/a.yaml': configMap('a').slice(4) } } } })
    expect(await configMaps(testEnv)).toEqual({ a: 'x' })
    expect(await condition(testEnv)).toContain('True')
  })
})
