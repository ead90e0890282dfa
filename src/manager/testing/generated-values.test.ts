/** Values that are generated once: passwords and certificates in a Secret with the policy create-only. */
import { describe, expect, it } from 'vitest'
import {
  type App,
  App as AppKind,
  app,
  conditionsOf,
  faultyTransport,
  openAppEnvironment,
  read,
} from '../../../test/app-operator.ts'
import type { JsonObject } from '../../kube/json.ts'
import { Secret } from '../../kube/kinds.ts'
import { defineDependent, type Dependent, type DependentOptions } from '../../operator/dependent/dependent.ts'
import { generatePassword } from '../../operator/dependent/generated-values.ts'
import type { TestEnvironment } from './test-environment.ts'

const ref = { name: 'a', namespace: 'default' }

describe('a generated value', () => {
  const secret = (renewWhen?: DependentOptions<App, Secret, unknown>['renewWhen']): Dependent<App, Secret> =>
    defineDependent({
      for: AppKind,
      kind: Secret,
      policy: 'create-only',
      initial: () => ({ stringData: { password: generatePassword() } }),
      ...(renewWhen && { renewWhen }),
    })
  const password = async (testEnv: TestEnvironment): Promise<unknown> =>
    ((await read(testEnv.client, Secret, 'a'))['data'] as JsonObject)['password']

  it('is kept over reconciles and restarts', async () => {
    const testEnv = await openAppEnvironment({ dependents: [secret()] })
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    const first = await password(testEnv)
    await testEnv.restart()
    await testEnv.client.patch(AppKind, ref, { spec: { text: 'new' } }, { type: 'merge' })
    await testEnv.settle()
    expect(await password(testEnv)).toBe(first)
    await testEnv.close()
  })

  it('is not overwritten by a controller whose cache has not seen it yet', async () => {
    const faulty = faultyTransport()
    const testEnv = await openAppEnvironment({ dependents: [secret()] }, { wire: faulty.through })
    // As after a failover: the Secret of the former leader is on its way.
    const arrival = Promise.withResolvers<void>()
    faulty.late = { plural: 'secrets', until: arrival.promise }
    const theirs = { name: 'a', namespace: 'default', annotations: { 'muster.dev/desired': 'kit.app:0' } }
    await testEnv.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata: theirs, data: { password: 'b2xk' } })
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    expect(await password(testEnv)).toBe('b2xk')
    arrival.resolve()
    await testEnv.settle(60_000)
    expect(await password(testEnv)).toBe('b2xk')
    expect((await conditionsOf(testEnv.client, 'a'))['Reconciled']?.status).toBe('True')
    await testEnv.close()
  })

  it('is generated anew when its author says so, once', async () => {
    const testEnv = await openAppEnvironment({ dependents: [secret(({ data }) => data?.['password'] === 'b2xk')] })
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    await testEnv.client.patch(Secret, ref, { data: { password: 'b2xk' } }, { type: 'merge' })
    await testEnv.settle()
    const second = await password(testEnv)
    expect(second).not.toBe('b2xk')
    await testEnv.restart()
    await testEnv.settle()
    expect(await password(testEnv)).toBe(second)
    await testEnv.close()
  })
})
