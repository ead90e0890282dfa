import { describe, expect, it } from 'vitest'
import { app, App, conditionsOf, operations, since, openAppEnvironment } from '../../../test/app-operator.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import { defineDependent } from '../../operator/dependent/dependent.ts'

const config = defineDependent({
  for: App,
  kind: ConfigMap,
  // A label that the API server rejects until a user corrects the CR.
  fromCR: ({ cr }) => ({ metadata: { labels: { text: cr.spec.text } } }),
})

describe('a permanently rejected write', () => {
  it('is not repeated while nothing changed, however often the controller runs', async () => {
    const testEnv = await openAppEnvironment({
      dependents: [config],
      resyncMs: 1000,
      steps: { ErrorManager: ({ requeueAfter }) => requeueAfter(1000) },
    })
    await testEnv.create(App, app('a', { text: 'not a label!' }))
    await testEnv.settle(5000)
    expect(await conditionsOf(testEnv.client, 'a')).toMatchObject({
      Stalled: { status: 'True' },
      Ready: { status: 'False' },
    })
    const after = since(testEnv)
    const looks = testEnv.ledgers.length
    await testEnv.settle(60_000)
    expect(testEnv.ledgers.length).toBeGreaterThan(looks + 10)
    expect(after.writes()).toEqual([])
    await testEnv.client.patch(App, { name: 'a', namespace: 'default' }, { spec: { text: 'fine' } }, { type: 'merge' })
    await testEnv.settle(5000)
    expect(operations(testEnv.ledgers)).toContain('created configMap')
    await testEnv.close()
  })

  it('is visible to the step that manages errors', async () => {
    const seen: (string | undefined)[] = []
    const testEnv = await openAppEnvironment({
      dependents: [config],
      steps: { ErrorManager: ({ failure }) => void seen.push(failure?.reason) },
    })
    await testEnv.create(App, app('a', { text: 'not a label!' }))
    await testEnv.settle(1000)
    expect(seen[0]).toBe('Invalid')
    await testEnv.close()
  })
})
