/**
 * What the manager promises about the writes of its operators, held against random schedules: responses and watch events
 * arrive late and in any order, and other clients change the same objects meanwhile.
 */
import { describe, expect, it } from 'vitest'
import { App, type App as AppObject, app } from '../../../test/app-operator.ts'
import { crds, embedded } from '../../../test/embedded.ts'
import { createSharedCache } from '../../cache/shared-cache.ts'
import { type Random, seededRandom } from '../../clock/random.ts'
import type { VirtualClock } from '../../clock/virtual-clock.ts'
import type { Client } from '../../client/client.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { defineController } from '../../operator/controller.ts'
import { defineDependent } from '../../operator/dependent/dependent.ts'
import { string } from '../../operator/kind/field.ts'
import { defineKind } from '../../operator/kind/kind.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import { defineOperator } from '../../operator/operator.ts'
import type { ObjectOf } from '../../kube/typed-resource.ts'
import type { Transport } from '../../transport/transport.ts'
import { hostOperator } from '../hosting/host.ts'

const Source = defineKind({ group: 'test.example.com', version: 'v1', kind: 'Source', spec: { text: string() } })
type Source = ObjectOf<typeof Source>

/** How long a response, or a piece of a watch, is on its way. */
type Lag = (path: string) => Promise<void>

function lagging(transport: Transport, lag: Lag): Transport {
  async function* slowly(path: string, body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      await lag(path)
      yield chunk
    }
  }
  return {
    ...transport,
    async send(request) {
      const response = await transport.send(request)
      return { ...response, body: slowly(request.path, response.body), whole: undefined }
    },
  }
}

const randomly =
  (random: Random, clock: VirtualClock): Lag =>
  async () => {
    if (random.next() < 0.6) await clock.sleep(Math.floor(random.next() * 300))
  }

const place = { namespace: 'default' }
const crs = ['a', 'b'] as const

interface World {
  /** How often each key was reconciled. */
  readonly runs: Map<string, number>
  /** What each key saw in its own ConfigMap, beside what it writes there. */
  readonly noted: Map<string, string | undefined>
  readonly foreign: Client
  readonly random: Random
  /** Until nothing happens any more. */
  readonly rest: () => Promise<void>
  readonly pause: () => Promise<void>
  /** The contents of the objects, by name. */
  readonly texts: () => Promise<ReadonlyMap<string, string | undefined>>
  readonly stop: () => Promise<void>
}

/**
 * Two controllers: one writes the ConfigMap `shared`, the other reads it, and writes one ConfigMap for each of its CRs, and
 * their status.
 */
async function open(seed: number, lagOf: (random: Random, clock: VirtualClock) => Lag = randomly): Promise<World> {
  const { clock, server, client: foreign } = embedded()
  const random = seededRandom(seed)
  const runs = new Map<string, number>()
  const noted = new Map<string, string | undefined>()
  const count = (key: string): void => void runs.set(key, (runs.get(key) ?? 0) + 1)
  const shared = defineDependent({
    for: Source,
    kind: ConfigMap,
    name: () => 'shared',
    fromCR: ({ cr }: { readonly cr: Source }) => ({ data: { text: cr.spec.text } }),
  })
  const copy = defineDependent({
    for: App,
    kind: ConfigMap,
    name: ({ cr }: { readonly cr: AppObject }) => cr.metadata.name,
    fromCR({ cr, view }) {
      const { data = {} } = view.get(ConfigMap, { ...place, name: 'shared' }) ?? {}
      return { data: { text: `${cr.spec.text} ${data['text']}` } }
    },
  })
  const operator = defineOperator({
    name: 'kit',
    controllers: [
      defineController({ for: Source, dependents: [shared], check: () => count('source') }),
      defineController({
        for: App,
        dependents: [copy],
        check({ cr, view }) {
          const name = cr.metadata.name
          count(name)
          noted.set(name, view.get(ConfigMap, { ...place, name })?.data?.['note'])
        },
        status: ({ cr }) => ({ seen: cr.spec.text }),
      }),
    ],
  })
  for (const kind of [App, Source]) await foreign.create(crds, kind.crd() as unknown as UntypedObject)
  const metadata = { ...place, name: 'source' }
  await foreign.create(Source, { apiVersion: 'test.example.com/v1', kind: 'Source', metadata, spec: { text: '0' } })
  for (const name of crs) await foreign.create(App, app(name, { text: '0' }))
  await clock.settle()
  const client = createClient({ transport: lagging(inProcessTransport(server), lagOf(random, clock)), clock, random })
  const cache = createSharedCache({ client, clock, random })
  const host = hostOperator({ operator, client, cache, clock })
  const until = async (promise: Promise<unknown>): Promise<void> => {
    let isDone = false
    const ended = promise.finally(() => (isDone = true))
    await clock.until(() => isDone)
    await ended
  }
  await until(host.start())
  return {
    runs,
    noted,
    foreign,
    random,
    async rest() {
      await clock.advance(400_000)
      await until(host.idle())
      await clock.advance(400_000)
    },
    pause: () => clock.advance(1 + Math.floor(random.next() * 200)),
    async texts() {
      const { items } = await foreign.list(ConfigMap)
      return new Map(items.map(({ metadata: { name }, data }) => [name, data?.['text']]))
    },
    async stop() {
      await until(host.stop())
      cache.close()
    },
  }
}

const seeds = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index + 1)

describe('writes of operators', () => {
  it.each(seeds(6))('enqueue the keys that read them, once, and never the key that made them (%i)', async (seed) => {
    const world = await open(seed)
    await world.rest()
    expect(await world.texts()).toEqual(new Map([...crs.map((name) => [name, '0 0'] as const), ['shared', '0']]))
    expect(world.runs.get('source')).toBe(1)
    // Each may have run before `shared` was there.
    for (const name of crs) expect(world.runs.get(name)).toBeLessThanOrEqual(2)
    world.runs.clear()
    await world.foreign.patch(Source, { ...place, name: 'source' }, { spec: { text: '1' } }, { type: 'merge' })
    await world.rest()
    expect(await world.texts()).toEqual(new Map([...crs.map((name) => [name, '0 1'] as const), ['shared', '1']]))
    expect(world.runs).toEqual(new Map([...crs.map((name) => [name, 1] as const), ['source', 1]]))
    await world.stop()
  })

  it.each(seeds(12))('hide no change that another client makes meanwhile (%i)', async (seed) => {
    const world = await open(100 + seed)
    const { foreign, random, pause, rest, texts } = world
    const pick = <T>(items: readonly T[]): T => items[Math.floor(random.next() * items.length)]!
    const wanted = new Map<string, string>([...crs, 'source'].map((name) => [name, '0']))
    for (let step = 1; step <= 12; step++) {
      const name = pick([...crs, 'shared'])
      const cr = pick([...crs, 'source'])
      const acts = [
        async () => {
          wanted.set(cr, `${step}`)
          const kind = cr === 'source' ? Source : App
          await foreign.patch(kind, { ...place, name: cr }, { spec: { text: `${step}` } }, { type: 'merge' })
        },
        () =>
          foreign
            .patch(ConfigMap, { ...place, name }, { data: { text: 'drift' } }, { type: 'merge' })
            .catch(() => undefined),
        () => foreign.delete(ConfigMap, { ...place, name }).catch(() => undefined),
        () =>
          foreign.patch(
            App,
            { ...place, name: pick(crs) },
            { status: { seen: 'drift' } },
            { type: 'merge', subresource: 'status' },
          ),
      ]
      await pick<() => Promise<unknown>>(acts)()
      await pause()
    }
    await rest()
    const expected = crs.map((name) => [name, `${wanted.get(name)} ${wanted.get('source')}`] as const)
    expect(await texts()).toEqual(new Map([...expected, ['shared', wanted.get('source')]]))
    for (const name of crs)
      expect(await foreign.get(App, { ...place, name })).toMatchObject({ status: { seen: wanted.get(name) } })
    await world.stop()
  })

  it('do not hide a change whose watch event arrives after the response of a later write', async () => {
    let arrival = Promise.resolve()
    const world = await open(1, () => (path) => (/configmaps.*watch=/.test(path) ? arrival : Promise.resolve()))
    await world.rest()
    world.runs.clear()
    const late = Promise.withResolvers<void>()
    arrival = late.promise
    await world.foreign.patch(ConfigMap, { ...place, name: 'a' }, { data: { note: 'new' } }, { type: 'merge' })
    await world.foreign.patch(App, { ...place, name: 'a' }, { spec: { text: '1' } }, { type: 'merge' })
    await world.pause()
    expect(world.runs).toEqual(new Map([['a', 1]]))
    expect(world.noted.get('a')).toBeUndefined()
    late.resolve()
    await world.rest()
    // The response showed the note, but only after the reconcile had looked.
    expect(world.runs).toEqual(new Map([['a', 2]]))
    expect(world.noted.get('a')).toBe('new')
    await world.stop()
  })
})
