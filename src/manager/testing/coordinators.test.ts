import { afterEach, describe, expect, it } from 'vitest'
import {
  harbourConfig,
  harbourCoordinator,
  harbourOperator,
  pier,
  Ship,
  ship,
} from '../../../test/coordinator-operator.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import { defineController } from '../../operator/controller.ts'
import { defineOperator } from '../../operator/operator.ts'
import { openTestEnvironment, type TestEnvironment } from './test-environment.ts'

let environment: TestEnvironment | undefined
afterEach(() => environment?.close())

async function statusOf({ client }: TestEnvironment): Promise<Readonly<Record<string, string>>> {
  const { items } = await client.list(Ship, { namespace: 'default' })
  return Object.fromEntries(
    items.map(({ metadata, status }) => [
      metadata.name,
      status?.isDocked === true ? 'docked' : `waits for ${status?.ahead ?? '?'}`,
    ]),
  )
}

describe('a coordinator in a test environment', () => {
  it('decides over many objects, and wakes exactly the readers of changed decisions', async () => {
    const reconciled: string[] = []
    environment = await openTestEnvironment(harbourOperator(harbourCoordinator(), (name) => void reconciled.push(name)))
    const { client } = environment
    await environment.create(ConfigMap, pier('one', 10))
    for (const name of ['a', 'b', 'c']) await environment.create(Ship, ship(name, { length: 6 }))
    await environment.settle()
    expect(await statusOf(environment)).toEqual({ a: 'docked', b: 'waits for 0', c: 'waits for 1' })
    reconciled.length = 0
    // Room for one more: the decisions for b and c change, that for a does not.
    await environment.create(ConfigMap, pier('two', 2))
    await environment.settle()
    expect(await statusOf(environment)).toEqual({ a: 'docked', b: 'docked', c: 'waits for 0' })
    expect([...new Set(reconciled)].toSorted()).toEqual(['b', 'c'])
    reconciled.length = 0
    await client.delete(Ship, { name: 'a', namespace: 'default' })
    await environment.settle()
    expect(await statusOf(environment)).toEqual({ b: 'docked', c: 'docked' })
    // At rest there is no write.
    const { length } = environment.writes
    await environment.settle(3_600_000)
    expect(environment.writes).toHaveLength(length)
  })

  it('decides when embedded objects are written', async () => {
    const coordinator = harbourCoordinator()
    const controller = defineController({
      for: Ship,
      coordinators: [coordinator],
      embeds: {
        label: 'example.com/ship',
        objects({ cr: { metadata }, decision }) {
          if (decision(coordinator, metadata.uid)?.docks !== true) return undefined
          const cargo = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `cargo-${metadata.name}` } }
          const { name, namespace } = metadata
          return {
            holder: name,
            namespace,
            phases: [{ name: 'cargo', objects: [{ object: cargo, policy: 'create' }] }],
          }
        },
      },
    })
    environment = await openTestEnvironment(
      defineOperator({ name: 'harbour', config: harbourConfig, controllers: [controller] }),
    )
    const { client } = environment
    await environment.create(ConfigMap, pier('one', 10))
    for (const name of ['a', 'b']) await environment.create(Ship, ship(name, { length: 6 }))
    await environment.settle()
    const cargo = async (): Promise<readonly string[]> => {
      const { items } = await client.list(ConfigMap, { labelSelector: 'example.com/ship' })
      return items.map(({ metadata }) => metadata.name)
    }
    expect(await cargo()).toEqual(['cargo-a'])
    await client.patch(ConfigMap, { name: 'one', namespace: 'default' }, { data: { length: '12' } }, { type: 'merge' })
    await environment.settle()
    expect(await cargo()).toEqual(['cargo-a', 'cargo-b'])
  })

  it('is asked again at the time that it names', async () => {
    const asked: number[] = []
    environment = await openTestEnvironment(
      harbourOperator(harbourCoordinator({ onDecide: (now) => void asked.push(now) })),
    )
    await environment.create(ConfigMap, pier('one', 10))
    const notBefore = environment.clock.now() + 60_000
    await environment.create(Ship, ship('a', { length: 1, notBefore }))
    await environment.settle()
    expect(await statusOf(environment)).toEqual({ a: 'waits for 0' })
    await environment.settle(60_000)
    expect(await statusOf(environment)).toEqual({ a: 'docked' })
    expect(asked).toContain(notBefore)
  })

  it('makes the same decisions again after a restart, from the objects alone', async () => {
    environment = await openTestEnvironment(harbourOperator())
    await environment.create(ConfigMap, pier('one', 10))
    for (const name of ['a', 'b']) await environment.create(Ship, ship(name, { length: 6 }))
    await environment.settle()
    const { length } = environment.writes
    await environment.restart()
    await environment.settle()
    expect(await statusOf(environment)).toEqual({ a: 'docked', b: 'waits for 0' })
    expect(environment.writes).toHaveLength(length)
  })
})
