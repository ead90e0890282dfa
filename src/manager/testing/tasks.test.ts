import { setTimeout as sleepFor } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { type RenderInput, Site, site, siteOperator } from '../../../test/task-operator.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import { defineController } from '../../operator/controller.ts'
import { giveUp, tryLater } from '../../operator/failure.ts'
import { defineOperator } from '../../operator/operator.ts'
import { defineTask } from '../../operator/task/task.ts'
import { openTestEnvironment, type TestEnvironment } from './test-environment.ts'

let environment: TestEnvironment | undefined
afterEach(() => environment?.close())

async function textOf({ client }: TestEnvironment, name: string): Promise<string | undefined> {
  const { items } = await client.list(ConfigMap, { namespace: 'default' })
  return items.find(({ metadata }) => metadata.name === `${name}-sites`)?.data?.['text']
}

describe('a task in a test environment', () => {
  it('is awaited while virtual time stands still, and worked out once for all CRs', async () => {
    const ran: string[] = []
    const render = defineTask({
      name: 'render',
      async run({ chart }: RenderInput) {
        ran.push(chart)
        // Real time: much longer than the turns of the event loop that virtual time waits for.
        await sleepFor(30)
        return `rendered ${chart}`
      },
    })
    environment = await openTestEnvironment(siteOperator(render))
    const begun = environment.clock.now()
    for (const name of ['a', 'b', 'c']) await environment.create(Site, site(name))
    await environment.create(Site, site('d', 'other'))
    await environment.clock.settle()
    expect(environment.clock.now()).toBe(begun)
    expect(ran).toEqual(['web', 'other'])
    await environment.settle()
    for (const name of ['a', 'b', 'c']) expect(await textOf(environment, name)).toBe('rendered web')
    expect(await textOf(environment, 'd')).toBe('rendered other')
    expect(ran).toHaveLength(2)
    expect(environment.ledgers.filter(({ failure, isSuspended }) => failure ?? isSuspended)).toEqual([])
    // At rest there is neither a write nor an attempt.
    const { length } = environment.writes
    await environment.settle(3_600_000)
    expect([environment.writes.length, ran.length]).toEqual([length, 2])
  })

  it('that fails is reported as a failure of the reconcile, and tried again in virtual time', async () => {
    let attempts = 0
    const render = defineTask({
      name: 'render',
      run: () => (++attempts < 3 ? tryLater('RegistryDown', 'the registry is down') : 'rendered'),
    })
    environment = await openTestEnvironment(siteOperator(render))
    await environment.create(Site, site('a'))
    await environment.settle(100)
    const read = async () => (await environment!.client.get(Site, { name: 'a', namespace: 'default' })).status
    expect((await read())?.conditions?.[0]).toMatchObject({
      reason: 'RegistryDown',
      message: 'ObjectsGetter: the registry is down',
    })
    await environment.settle(10_000)
    expect((await read())?.conditions?.[0]).toMatchObject({ status: 'True' })
    expect(attempts).toBe(3)
  })

  it('may give up', async () => {
    const render = defineTask({ name: 'render', run: () => giveUp('NoSuchChart', 'there is no chart "web"') })
    environment = await openTestEnvironment(siteOperator(render))
    await environment.create(Site, site('a'))
    await environment.settle(3_600_000)
    expect(environment.ledgers.at(-1)!.failure).toMatchObject({ reason: 'NoSuchChart', gaveUp: true })
  })

  it('must be declared', async () => {
    const render = defineTask({ name: 'render', run: () => 'rendered' })
    const controller = defineController({
      for: Site,
      async check({ result }) {
        await result(render, {})
      },
    })
    environment = await openTestEnvironment(defineOperator({ name: 'sites', controllers: [controller] }))
    await environment.create(Site, site('a'))
    await environment.settle()
    expect(environment.ledgers.at(-1)!.failure).toMatchObject({
      reason: 'UndeclaredTask',
      retry: 'terminal',
      message: 'sites, controller site asks for the result of task render, which it does not declare. Add it to tasks.',
    })
  })

  it('serves check, status and finalize', async () => {
    const upper = defineTask({ name: 'upper', run: (text: string) => text.toUpperCase() })
    const seen: string[] = []
    const controller = defineController({
      for: Site,
      tasks: [upper],
      async check({ result }) {
        seen.push(await result(upper, 'check'))
      },
      async status({ result }) {
        seen.push(await result(upper, 'status'))
        return {}
      },
      async finalize({ result }) {
        seen.push(await result(upper, 'finalize'))
        return 'done' as const
      },
      steps: {
        async Updater({ result }, next) {
          seen.push(await result(upper, 'step'))
          await next()
        },
      },
    })
    environment = await openTestEnvironment(defineOperator({ name: 'sites', controllers: [controller] }))
    await environment.create(Site, site('a'))
    await environment.settle()
    await environment.client.delete(Site, { name: 'a', namespace: 'default' })
    await environment.settle()
    expect([...new Set(seen)]).toEqual(['CHECK', 'STEP', 'STATUS', 'FINALIZE'])
  })
})
