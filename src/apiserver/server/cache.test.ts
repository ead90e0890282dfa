/** The shared cache against the embedded server. */
import { describe, expect, it } from 'vitest'
import { configMap, configMaps, type Embedded, embedded } from '../../../test/embedded.ts'
import { createSharedCache, type SharedCache } from '../../cache/shared-cache.ts'
import type { Subscription } from '../../cache/subscription.ts'
import { seededRandom } from '../../clock/random.ts'

interface Bench extends Embedded {
  readonly cache: SharedCache
  readonly subscription: Subscription
  readonly events: string[]
}

async function bench(detail: 'full' | 'metadata' = 'full'): Promise<Bench> {
  const cluster = embedded()
  await cluster.client.create(configMaps, configMap('a', { x: '1' }))
  const cache = createSharedCache({ client: cluster.client, clock: cluster.clock, random: seededRandom(3) })
  const events: string[] = []
  const subscription = cache.subscribe(configMaps, {
    consumer: 'me',
    detail,
    onEvent: ({ type, object }) => void events.push(`${type} ${object.metadata.name}`),
  })
  await cluster.clock.settle()
  await subscription.synced()
  return { ...cluster, cache, subscription, events }
}

const at = (name: string): { readonly namespace: string; readonly name: string } => ({ namespace: 'default', name })

describe('a shared cache on the embedded server', () => {
  it.each(['full', 'metadata'] as const)('shows what exists, then each change: %s', async (detail) => {
    const { cache, client, clock, subscription, events } = await bench(detail)
    await client.create(configMaps, configMap('b'))
    await client.patch(configMaps, at('a'), { metadata: { labels: { l: '1' } } }, { type: 'merge' })
    await client.delete(configMaps, at('b'))
    await clock.settle()
    expect(events).toEqual(['added a', 'added b', 'updated a', 'deleted b'])
    expect(subscription.get(at('a'))?.metadata.labels).toEqual({ l: '1' })
    expect(subscription.get(at('a'))?.['data']).toEqual(detail === 'full' ? { x: '1' } : undefined)
    cache.close()
  })

  it('reads its own writes at once, without events for them', async () => {
    const { cache, clock, subscription, events } = await bench()
    const writer = cache.writer('me')
    await writer.apply(configMaps, configMap('mine', { y: '1' }), { fieldManager: 'me' })
    expect(subscription.get(at('mine'))?.['data']).toEqual({ y: '1' })
    await writer.delete(configMaps, at('mine'))
    expect(subscription.get(at('mine'))).toBeUndefined()
    await clock.settle()
    expect(events).toEqual(['added a'])
    cache.close()
  })

  it('recovers after a compaction of its history', async () => {
    const { cache, client, clock, server, subscription, events } = await bench()
    // The watch times out, and the changes before the next one are compacted: it must list again.
    server.endWatches()
    await client.create(configMaps, configMap('b'))
    await client.delete(configMaps, at('a'))
    server.compact()
    await clock.until(() => events.includes('deleted a'))
    expect(subscription.list().map(({ metadata }) => metadata.name)).toEqual(['b'])
    expect(events.toSorted()).toEqual(['added a', 'added b', 'deleted a'])
    cache.close()
  })

  it('stays synced through hours of silence', async () => {
    const { cache, clock, subscription } = await bench()
    await clock.advance(3_600_000)
    expect(subscription.freshness.state).toBe('synced')
    cache.close()
  })
})
