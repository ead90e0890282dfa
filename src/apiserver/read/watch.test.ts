import { describe, expect, it } from 'vitest'
import { configMap, configMaps, embedded, watching } from '../../../test/embedded.ts'

const at = (name: string): { readonly namespace: string; readonly name: string } => ({ namespace: 'default', name })

describe('watch', () => {
  it('continues from the resourceVersion of a list, without gaps or duplicates', async () => {
    const { client, clock } = embedded()
    await client.create(configMaps, configMap('a'))
    const { metadata } = await client.list(configMaps)
    await client.create(configMaps, configMap('b'))
    const watcher = watching(client, configMaps, { resourceVersion: metadata.resourceVersion })
    await clock.settle()
    await client.patch(configMaps, at('a'), { data: { x: '1' } }, { type: 'merge' })
    await client.delete(configMaps, at('b'))
    await clock.settle()
    expect(watcher.events).toEqual(['ADDED b', 'MODIFIED a', 'DELETED b'])
    const versions = watcher.raw.map(({ object }) =>
      Number((object.metadata as { resourceVersion: string }).resourceVersion),
    )
    expect(versions).toEqual(versions.toSorted((a, b) => a - b))
    watcher.stop()
  })

  it('starts with the current objects if no resourceVersion is given', async () => {
    const { client, clock } = embedded()
    await client.create(configMaps, configMap('a'))
    const watcher = watching(client, configMaps)
    await clock.settle()
    expect(watcher.events).toEqual(['ADDED a'])
    watcher.stop()
  })

  it('streams a list, and marks its end', async () => {
    const { client, clock } = embedded()
    await client.create(configMaps, configMap('b'))
    await client.create(configMaps, configMap('a'))
    const watcher = watching(client, configMaps, { sendInitialEvents: true, allowBookmarks: true })
    await clock.settle()
    expect(watcher.events).toEqual(['ADDED a', 'ADDED b', 'BOOKMARK'])
    expect(watcher.raw.at(-1)?.object.metadata).toMatchObject({
      annotations: { 'k8s.io/initial-events-end': 'true' },
      resourceVersion: (await client.list(configMaps)).metadata.resourceVersion,
    })
    watcher.stop()
  })

  it('sends only matching objects, and those that start or stop matching', async () => {
    const { client, clock } = embedded()
    await client.create(configMaps, configMap('a', { x: '1' }))
    const { metadata } = await client.list(configMaps)
    const watcher = watching(client, configMaps, { labelSelector: 'in=yes', resourceVersion: metadata.resourceVersion })
    await clock.settle()
    const label = (value: string | null): Promise<unknown> =>
      client.patch(configMaps, at('a'), { metadata: { labels: { in: value } } }, { type: 'merge' })
    await label('yes')
    await client.patch(configMaps, at('a'), { data: { x: '2' } }, { type: 'merge' })
    const left = (await label('no')) as { metadata: { resourceVersion: string } }
    await client.delete(configMaps, at('a'))
    await clock.settle()
    expect(watcher.events).toEqual(['ADDED a', 'MODIFIED a', 'DELETED a'])
    // The last matching state, at the revision at which it stopped matching.
    expect(watcher.raw.at(-1)?.object).toMatchObject({
      data: { x: '2' },
      metadata: { labels: { in: 'yes' }, resourceVersion: left.metadata.resourceVersion },
    })
    watcher.stop()
  })

  it('reports that it cannot resume from before a compaction', async () => {
    const { client, clock, server } = embedded()
    const { metadata } = await client.list(configMaps)
    await client.create(configMaps, configMap('a'))
    server.compact()
    const watcher = watching(client, configMaps, { resourceVersion: metadata.resourceVersion })
    await clock.settle()
    expect(watcher.events).toEqual(['ERROR'])
    expect(watcher.raw[0]?.object).toMatchObject({ code: 410, reason: 'Expired' })
    expect(watcher.ended()).toBe(true)
  })

  it('compacts changes beyond its history', async () => {
    const { client, clock } = embedded({ history: 3 })
    const { metadata } = await client.list(configMaps)
    for (let count = 0; count < 10; count++) await client.create(configMaps, configMap(`c${count}`))
    const watcher = watching(client, configMaps, { resourceVersion: metadata.resourceVersion })
    await clock.settle()
    expect(watcher.events).toEqual(['ERROR'])
  })

  it('sends bookmarks at the configured interval', async () => {
    const { client, clock } = embedded({ bookmarkMs: 150_000 })
    const watcher = watching(client, configMaps, { allowBookmarks: true })
    await clock.advance(149_000)
    expect(watcher.events).toEqual([])
    await clock.advance(1000)
    expect(watcher.events).toEqual(['BOOKMARK'])
    watcher.stop()
  })

  it('sends bookmarks while idle, and ends at its timeout', async () => {
    const { client, clock } = embedded()
    const { metadata } = await client.list(configMaps)
    const options = { resourceVersion: metadata.resourceVersion, allowBookmarks: true, timeoutSeconds: 150 }
    const watcher = watching(client, configMaps, options)
    await clock.advance(125_000)
    expect(watcher.events).toEqual(['BOOKMARK', 'BOOKMARK'])
    expect(watcher.ended()).toBe(false)
    await clock.advance(30_000)
    expect(watcher.ended()).toBe(true)
  })

  it('ends when the server ends it', async () => {
    const { client, clock, server } = embedded()
    const watcher = watching(client, configMaps)
    await clock.settle()
    server.endWatches()
    await clock.settle()
    expect(watcher.ended()).toBe(true)
  })

  it('is ended if its reader is too slow, without affecting others', async () => {
    const { client, clock, server } = embedded({ watchBuffer: 10 })
    const { metadata } = await client.list(configMaps)
    const path = `/api/v1/configmaps?watch=true&resourceVersion=${metadata.resourceVersion}`
    const slow = (await server.handle({ method: 'GET', path, headers: {} })).body[Symbol.asyncIterator]()
    const quick = watching(client, configMaps, { resourceVersion: metadata.resourceVersion })
    await clock.settle()
    await client.create(configMaps, configMap('a'))
    const change = (count: number): Promise<unknown> =>
      server.handle({
        method: 'PATCH',
        path: '/api/v1/namespaces/default/configmaps/a',
        headers: { 'content-type': 'application/merge-patch+json' },
        body: `{"data":{"x":"${count}"}}`,
      })
    for (let count = 0; count < 10; count++) await change(count)
    await clock.settle()
    expect(await slow.next()).toEqual({ done: true, value: undefined })
    expect(quick.events).toHaveLength(11)
    quick.stop()
  })

  it('is ended if too many bytes are unread, however few events', async () => {
    const { client, server } = embedded({ watchBufferBytes: 100_000 })
    const path = '/api/v1/configmaps?watch=true'
    const slow = (await server.handle({ method: 'GET', path, headers: {} })).body[Symbol.asyncIterator]()
    for (let count = 0; count < 9; count++) {
      await client.create(configMaps, configMap(`c${count}`, { large: 'x'.repeat(10_000) }))
    }
    // A reader within the limit continues.
    expect(await slow.next()).toMatchObject({ done: false })
    for (let count = 9; count < 20; count++) {
      await client.create(configMaps, configMap(`c${count}`, { large: 'x'.repeat(10_000) }))
    }
    expect(await slow.next()).toEqual({ done: true, value: undefined })
  })

  it("compacts changes beyond the history's size", async () => {
    const { client, clock } = embedded({ historyBytes: 100_000 })
    const { metadata } = await client.list(configMaps)
    for (let count = 0; count < 12; count++) {
      await client.create(configMaps, configMap(`c${count}`, { large: 'x'.repeat(10_000) }))
    }
    const { resourceVersion } = (await client.get(configMaps, at('c10'))).metadata
    const [early, late] = [metadata.resourceVersion, resourceVersion].map((version) =>
      watching(client, configMaps, { resourceVersion: version }),
    )
    await clock.settle()
    expect(early!.raw[0]?.object).toMatchObject({ code: 410, reason: 'Expired' })
    expect(late!.events).toEqual(['ADDED c11'])
    late!.stop()
  })

  it('rejects contradictory options', async () => {
    const { raw } = embedded()
    expect((await raw('GET', '/api/v1/configmaps?watch=true&sendInitialEvents=true')).json).toMatchObject({
      code: 422,
      message:
        'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
    })
  })
})
