/** An Installation that ends and leaves its objects in the cluster: they are let go, and may be taken back. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { seededRandom } from '../../clock/random.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import type { JsonObject } from '../../kube/json.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import { openTestEnvironment, type TestEnvironment } from '../../manager/testing/test-environment.ts'
import { Installation } from './installation.ts'
import { installationOperator } from './operator.ts'

const operator = installationOperator({ clock: systemClock, random: seededRandom(1) })
const at = (name: string) => ({ name, namespace: 'default' })

async function opened(): Promise<TestEnvironment> {
  const testEnv = await openTestEnvironment(operator)
  onTestFinished(() => testEnv.close())
  return testEnv
}

const configMap = (name: string, metadata = ''): string =>
  `---\napiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name}${metadata} }\ndata: { key: x }\n`
const install = async (testEnv: TestEnvironment, text: string, more: JsonObject = {}, name = 'shop'): Promise<void> => {
  const object: UntypedObject = {
    apiVersion: 'platform.muster.dev/v1alpha1',
    kind: 'Installation',
    metadata: at(name),
    spec: { source: { manifests: { text } }, ...more },
  }
  await testEnv.create(Installation, object)
  await testEnv.settle(60_000)
}
const uninstall = async (testEnv: TestEnvironment): Promise<void> => {
  await testEnv.client.delete(Installation, at('shop'))
  await testEnv.settle(60_000)
  expect((await testEnv.client.list(Installation)).items).toEqual([])
}
const metadata = async ({ client }: TestEnvironment, name: string): Promise<KubeObject['metadata']> =>
  (await client.get(ConfigMap, at(name))).metadata
const ready = async ({ client }: TestEnvironment, name = 'shop'): Promise<string> => {
  const { status } = await client.get(Installation, at(name))
  const found = status?.conditions?.find(({ type }) => type === 'Ready')
  return `${found?.status} ${found?.message}`
}
const released = { 'platform.muster.dev/released-by': 'default.shop' }

describe('an Installation that leaves its objects', () => {
  it('lets them go, and one of the same name takes them back and keeps them again', async () => {
    const testEnv = await opened()
    const { client } = testEnv
    await install(testEnv, configMap('a') + configMap('b'), { deletion: 'orphan' })
    const { uid } = await metadata(testEnv, 'a')
    await uninstall(testEnv)
    const after = await metadata(testEnv, 'a')
    expect(after).toMatchObject({ uid, annotations: released })
    expect(after.labels ?? {}).toEqual({})
    expect(Object.keys(after.annotations ?? {})).toEqual(Object.keys(released))
    // It is its own now.
    await client.patch(ConfigMap, at('a'), { data: { key: 'mine' } }, { type: 'merge', fieldManager: 'kubectl' })
    await testEnv.settle(60_000)
    expect((await client.get(ConfigMap, at('a'))).data).toEqual({ key: 'mine' })
    await install(testEnv, configMap('a') + configMap('b'))
    expect(await ready(testEnv)).toContain('True')
    expect(await client.get(ConfigMap, at('a'))).toMatchObject({
      metadata: { uid, labels: { 'platform.muster.dev/installation': 'default.shop' } },
      data: { key: 'x' },
    })
    expect((await metadata(testEnv, 'a')).annotations).not.toHaveProperty(Object.keys(released))
    const { length } = testEnv.writes
    await testEnv.restart()
    await testEnv.settle(60_000)
    expect(testEnv.writes.slice(length)).toEqual([])
    await uninstall(testEnv)
    await expect(client.get(ConfigMap, at('a'))).rejects.toThrow('not found')
  })

  it('is not followed by one of another name, which says who let them go', async () => {
    const testEnv = await opened()
    await install(testEnv, configMap('a'), { deletion: 'orphan' })
    await uninstall(testEnv)
    await install(testEnv, configMap('a'), {}, 'other')
    expect(await ready(testEnv, 'other')).toContain('since default.shop has let it go')
    expect(await metadata(testEnv, 'a')).toMatchObject({ annotations: released })
  })

  it('also lets go the objects that stay by an annotation of theirs', async () => {
    const testEnv = await opened()
    await install(testEnv, configMap('a') + configMap('kept', ', annotations: { helm.sh/resource-policy: keep }'))
    await uninstall(testEnv)
    await expect(testEnv.client.get(ConfigMap, at('a'))).rejects.toThrow('not found')
    const { labels = {}, annotations } = await metadata(testEnv, 'kept')
    expect(labels).toEqual({})
    expect(annotations).toEqual({ 'helm.sh/resource-policy': 'keep', ...released })
  })
})
