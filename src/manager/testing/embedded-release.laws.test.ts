import { describe, expect, it } from 'vitest'
import { faultyTransport } from '../../../test/app-operator.ts'
import { clientErrors } from '../../client/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { ConfigMap, Secret } from '../../kube/kinds.ts'
import { asJson } from '../../kube/json-object.ts'
import { kindOf, type Resource } from '../../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import { defineController } from '../../operator/controller.ts'
import { list, string } from '../../operator/kind/field.ts'
import { defineKind } from '../../operator/kind/kind.ts'
import { defineOperator } from '../../operator/operator.ts'
import { openTestEnvironment, type TestEnvironment } from './test-environment.ts'

const label = 'example.com/parcel'
const releasedAnnotation = 'example.com/released-by'
/** Holds ConfigMaps of these names and a Secret that is created once; lets them go when it is deleted. */
const Parcel = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'Parcel',
  spec: { names: list(string()) },
})

const secret: UntypedObject = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'once' } }
const configMap = (name: string): UntypedObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, labels: { app: 'parcel' } },
  data: { key: 'x' },
})

const operator = defineOperator({
  name: 'parcels',
  controllers: [
    defineController({
      for: Parcel,
      embeds: {
        label,
        releasedAnnotation,
        objects({ cr, isFinalizing }) {
          const held = { holder: cr.metadata.name, namespace: cr.metadata.namespace }
          if (isFinalizing) return { ...held, phases: [], release: { kinds: [ConfigMap, kindOf(secret)] } }
          const objects = [
            ...cr.spec.names.map((name) => ({ object: configMap(name) })),
            { object: secret, policy: 'create-only' as const },
          ]
          return { ...held, phases: [{ name: 'all', objects }] }
        },
      },
    }),
  ],
})

const at = (name: string) => ({ name, namespace: 'default' })
const parcel = (name: string, names: readonly string[]): KubeObject =>
  ({ apiVersion: 'example.com/v1', kind: 'Parcel', metadata: at(name), spec: { names } }) as KubeObject

interface Found {
  readonly name: string
  readonly uid: string | undefined
  readonly labels: object
  readonly annotations: readonly string[]
  readonly content: unknown
}

async function found({ client }: TestEnvironment): Promise<readonly Found[]> {
  const all: Found[] = []
  for (const kind of [ConfigMap as Resource, Secret]) {
    const { items } = await client.list(kind, { namespace: 'default' })
    for (const item of items) {
      const { name, uid, labels = {}, annotations = {} } = item.metadata
      all.push({ name, uid, labels, annotations: Object.keys(annotations), content: asJson(item)['data'] })
    }
  }
  return all
}

const withoutUids = (all: readonly Found[]): unknown => all.map((one) => ({ ...one, uid: '' }))

interface Result {
  readonly released: readonly Found[]
  /** Writes until the first release, and in all. */
  readonly made: number
  readonly writes: number
}

/** Created, released, and taken back; the process ends at one of its writes, before or after it reaches the server. */
async function run(cut?: { readonly write: number; readonly isDone: boolean }): Promise<Result> {
  const line = faultyTransport()
  const testEnv = await openTestEnvironment(operator, { wire: line.through })
  let writes = 0
  let isDead = false
  const lost = (): never => {
    throw new MusterError(clientErrors.Aborted, 'The process is gone.')
  }
  line.hinder = async ({ method, path }) => {
    if (isDead) lost()
    if (method === 'GET' || path.includes('/events')) return
    const isCut = cut?.write === writes
    writes++
    if (!isCut) return
    isDead = true
    if (!cut.isDone) lost()
  }
  const settle = async (): Promise<void> => {
    await testEnv.settle(10_000)
    if (!isDead) return
    await testEnv.stop()
    isDead = false
    await testEnv.start()
    await testEnv.settle(10_000)
  }
  await testEnv.create(Parcel, parcel('one', ['a', 'b']))
  await settle()
  const made = await found(testEnv)
  const atFirst = writes
  await testEnv.client.delete(Parcel, at('one'))
  await settle()
  const released = await found(testEnv)
  expect((await testEnv.client.list(Parcel)).items).toEqual([])
  await testEnv.create(Parcel, parcel('one', ['a', 'b']))
  await settle()
  const retaken = await found(testEnv)
  // Nothing is created anew.
  expect(released.map(({ uid }) => uid)).toEqual(made.map(({ uid }) => uid))
  expect(retaken.map(({ uid }) => uid)).toEqual(made.map(({ uid }) => uid))
  expect(withoutUids(retaken)).toEqual(withoutUids(made))
  await testEnv.close()
  return { released, made: atFirst, writes }
}

describe('objects that a holder lets go', () => {
  it('stay as they are without its marks, and are taken back, wherever the process ends', async () => {
    const whole = await run()
    expect(withoutUids(whole.released)).toEqual([
      ...['a', 'b'].map((name) => ({
        name,
        uid: '',
        labels: { app: 'parcel' },
        annotations: [releasedAnnotation],
        content: { key: 'x' },
      })),
      { name: 'once', uid: '', labels: {}, annotations: [releasedAnnotation], content: undefined },
    ])
    for (let write = whole.made; write < whole.writes; write++) {
      for (const isDone of [true, false]) {
        const { released } = await run({ write, isDone })
        expect(withoutUids(released), `cut at write ${write}`).toEqual(withoutUids(whole.released))
      }
    }
  }, 60_000)

  it('keep a change that another client makes meanwhile', async () => {
    const line = faultyTransport()
    const testEnv = await openTestEnvironment(operator, { wire: line.through })
    await testEnv.create(Parcel, parcel('one', ['a', 'b']))
    await testEnv.settle()
    let isFirst = true
    line.hinder = async ({ method, path }) => {
      if (!isFirst || method !== 'PATCH' || !path.includes('/configmaps/a')) return
      isFirst = false
      await testEnv.client.patch(ConfigMap, at('a'), { data: { more: 'y' } }, { type: 'merge', fieldManager: 'k' })
    }
    await testEnv.client.delete(Parcel, at('one'))
    await testEnv.settle(60_000)
    expect((await testEnv.client.list(Parcel)).items).toEqual([])
    const [a, b] = await found(testEnv)
    expect(a).toMatchObject({ labels: { app: 'parcel' }, content: { key: 'x', more: 'y' } })
    expect([a?.annotations, b?.annotations]).toEqual([[releasedAnnotation], [releasedAnnotation]])
    await testEnv.close()
  })

  it('are not taken by another holder, which names the one that let them go', async () => {
    const testEnv = await openTestEnvironment(operator)
    await testEnv.create(Parcel, parcel('one', ['a']))
    await testEnv.settle()
    await testEnv.client.delete(Parcel, at('one'))
    await testEnv.settle()
    const before = await found(testEnv)
    await testEnv.create(Parcel, parcel('two', ['a']))
    await testEnv.settle()
    const { status } = await testEnv.client.get(Parcel, at('two'))
    expect(JSON.stringify(status?.conditions)).toContain('no owner any more, since one has let it go')
    expect(await found(testEnv)).toEqual(before)
    await testEnv.close()
  })
})
