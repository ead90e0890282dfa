/** The policy `share`: an object that several field managers write. */
import { describe, expect, it } from 'vitest'
import { type App, App as AppKind, app, conditionsOf, openAppEnvironment, read } from '../../../test/app-operator.ts'
import { configMap } from '../../../test/embedded.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import { defineController } from '../../operator/controller.ts'
import { defineDependent } from '../../operator/dependent/dependent.ts'
import { exactly } from '../../operator/view/input.ts'
import type { TestEnvironment } from './test-environment.ts'

const at = { name: 'shared', namespace: 'default' }
const shared = defineDependent<App, ConfigMap>({
  for: AppKind,
  kind: ConfigMap,
  policy: 'share',
  name: () => at.name,
  fromCR: ({ cr }) => ({ data: { [cr.spec.text]: 'ours', common: 'ours' } }),
})

const open = async (): Promise<TestEnvironment> =>
  await openAppEnvironment({ dependents: [shared], writes: [exactly(ConfigMap, at)] })
const data = async ({ client }: TestEnvironment): Promise<unknown> => (await read(client, ConfigMap, at.name))['data']

describe('a shared object', () => {
  it('is created if it is missing, and stays without our fields when the CR goes', async () => {
    const testEnv = await open()
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    expect(await data(testEnv)).toEqual({ hello: 'ours', common: 'ours' })
    await testEnv.client.patch(ConfigMap, at, { data: { more: 'theirs' } }, { type: 'merge', fieldManager: 'kubectl' })
    const { length } = testEnv.writes
    await testEnv.restart()
    await testEnv.settle()
    expect(testEnv.writes.slice(length)).toEqual([])
    await testEnv.client.delete(AppKind, { name: 'a', namespace: 'default' })
    await testEnv.settle()
    const { metadata, ...rest } = await read(testEnv.client, ConfigMap, at.name)
    expect(rest['data']).toEqual({ more: 'theirs' })
    expect(metadata.annotations).toBeUndefined()
    expect(metadata.labels).toBeUndefined()
    await testEnv.close()
  })

  it('keeps fields of another field manager with another value, and takes those that no other manager has', async () => {
    const testEnv = await open()
    await testEnv.create(ConfigMap, configMap(at.name, { common: 'theirs' }))
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    expect(await data(testEnv)).toEqual({ hello: 'ours', common: 'theirs' })
    const { length } = testEnv.writes
    await testEnv.settle(3_600_000)
    expect(testEnv.writes.slice(length)).toEqual([])
    await testEnv.client.patch(ConfigMap, at, { data: { common: null } }, { type: 'merge', fieldManager: 'kubectl' })
    await testEnv.settle()
    expect(await data(testEnv)).toEqual({ hello: 'ours', common: 'ours' })
    await testEnv.close()
  })

  it('has the fields of one CR: a second one is refused, with a message that names the first', async () => {
    const testEnv = await open()
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    await testEnv.create(AppKind, app('b', { text: 'other' }))
    await testEnv.settle()
    const { Reconciled } = await conditionsOf(testEnv.client, 'b')
    expect(Reconciled).toMatchObject({ status: 'False', reason: 'NotOurs' })
    expect(Reconciled?.message).toContain('app default/a')
    expect(await data(testEnv)).toEqual({ hello: 'ours', common: 'ours' })
    await testEnv.client.delete(AppKind, { name: 'b', namespace: 'default' })
    await testEnv.settle()
    expect(await data(testEnv)).toEqual({ hello: 'ours', common: 'ours' })
    await testEnv.close()
  })

  it('must be declared by its name', () => {
    expect(() => defineController({ for: AppKind, dependents: [shared] })).toThrow(
      'Declare its name: writes: [exactly(ConfigMap, { name })]',
    )
  })
})
