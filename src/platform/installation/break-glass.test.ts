/** Objects that people take out of the protection: left alone meanwhile, recorded, and put right afterwards. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { seededRandom } from '../../clock/random.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import type { JsonObject } from '../../kube/json.ts'
import { asJson } from '../../kube/json-object.ts'
import { resourceOf } from '../../kube/typed-resource.ts'
import { openTestEnvironment, type TestEnvironment } from '../../manager/testing/test-environment.ts'
import { Installation, type InstallationStatus } from './installation.ts'
import { installationOperator } from './operator.ts'

const operator = installationOperator({ clock: systemClock, random: seededRandom(1) })
const events = resourceOf('v1', 'Event')
const at = (name: string) => ({ name, namespace: 'default' })
const annotation = 'platform.muster.dev/break-glass'
const configMap = (name: string): string =>
  `---\napiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name} }\ndata: { key: x }\n`

async function installed(): Promise<TestEnvironment> {
  const testEnv = await openTestEnvironment(operator)
  onTestFinished(() => testEnv.close())
  await testEnv.create(Installation, {
    apiVersion: 'platform.muster.dev/v1alpha1',
    kind: 'Installation',
    metadata: at('shop'),
    spec: { source: { manifests: { text: configMap('a') + configMap('b') } } },
  })
  await testEnv.settle(60_000)
  return testEnv
}

const edit = async (testEnv: TestEnvironment, patch: JsonObject): Promise<void> => {
  await testEnv.client.patch(ConfigMap, at('a'), patch, { type: 'merge', fieldManager: 'kubectl' })
  await testEnv.settle(60_000)
}
const open = async (testEnv: TestEnvironment, reason: string | null): Promise<void> =>
  await edit(testEnv, { metadata: { annotations: { [annotation]: reason } } })
const status = async ({ client }: TestEnvironment): Promise<InstallationStatus> =>
  (await client.get(Installation, at('shop'))).status!
const condition = (found: InstallationStatus, type: string) => found.conditions?.find((one) => one.type === type)
const recorded = async ({ client }: TestEnvironment): Promise<readonly unknown[]> => {
  const { items } = await client.list(events, { namespace: 'default' })
  const all = items.map((item) => asJson(item))
  return all.filter(({ reason }) => reason === 'BreakGlass').map(({ message, count }) => [message, count])
}
const key = async ({ client }: TestEnvironment): Promise<string | undefined> =>
  (await client.get(ConfigMap, at('a'))).data?.['key']

describe('an object with the annotation of an emergency', () => {
  it('is left alone until the annotation is removed, and recorded once with its reason', async () => {
    const testEnv = await installed()
    await open(testEnv, 'incident 12')
    await edit(testEnv, { data: { key: 'mine' } })
    await testEnv.restart()
    await testEnv.settle(60_000)
    expect(await key(testEnv)).toBe('mine')
    const found = await status(testEnv)
    expect(found.breakGlass).toEqual([
      { object: 'ConfigMap default/a', reason: 'incident 12', since: expect.any(String) as string },
    ])
    expect(condition(found, 'Ready')).toMatchObject({ status: 'True' })
    expect(condition(found, 'BreakGlass')).toMatchObject({
      status: 'True',
      message: expect.stringContaining(
        `ConfigMap default/a since ${found.breakGlass![0]!.since}: incident 12`,
      ) as string,
    })
    const message = 'ConfigMap default/a was taken out of protection: incident 12'
    expect(await recorded(testEnv)).toEqual([[message, 1]])
    const { length } = testEnv.writes
    await testEnv.clock.advance(3_600_000)
    expect(testEnv.writes.slice(length)).toEqual([])
    await open(testEnv, null)
    expect(await key(testEnv)).toBe('x')
    const after = await status(testEnv)
    expect(after).not.toHaveProperty('breakGlass')
    expect(condition(after, 'BreakGlass')).toBeUndefined()
  })

  it('stays with the Installation gone, and belongs to none then', async () => {
    const testEnv = await installed()
    await open(testEnv, 'incident 13')
    await testEnv.client.delete(Installation, at('shop'))
    await testEnv.settle(60_000)
    expect((await testEnv.client.list(Installation)).items).toEqual([])
    const { metadata } = await testEnv.client.get(ConfigMap, at('a'))
    expect(metadata.labels ?? {}).toEqual({})
    await expect(testEnv.client.get(ConfigMap, at('b'))).rejects.toThrow('not found')
  })

  it('or with that of an object that is left to people for good is recorded, too', async () => {
    const testEnv = await installed()
    const managed = (value: string | null) => ({ metadata: { annotations: { 'platform.muster.dev/managed': value } } })
    await edit(testEnv, managed('false'))
    await edit(testEnv, { data: { key: 'mine' } })
    await testEnv.settle(60_000)
    expect(await key(testEnv)).toBe('mine')
    const found = await status(testEnv)
    const reason = 'platform.muster.dev/managed: "false"'
    expect(found.breakGlass).toMatchObject([{ object: 'ConfigMap default/a', reason }])
    expect(condition(found, 'BreakGlass')).toBeUndefined()
    expect(await recorded(testEnv)).toEqual([[`ConfigMap default/a was taken out of protection: ${reason}`, 1]])
    await edit(testEnv, managed(null))
    await testEnv.settle(60_000)
    expect(await key(testEnv)).toBe('x')
  })

  it('is created again when it is deleted', async () => {
    const testEnv = await installed()
    await open(testEnv, 'incident 14')
    await testEnv.client.delete(ConfigMap, at('a'))
    await testEnv.settle(60_000)
    expect(await key(testEnv)).toBe('x')
    expect(await status(testEnv)).not.toHaveProperty('breakGlass')
  })
})
