/** Watching: what a client hears, from where, and when it must start over. */
import { describe, expect, it } from 'vitest'
import { at, openServer, type Watching } from './server.ts'

const server = openServer()
const merge = 'application/merge-patch+json'

async function collectionOf(...names: readonly string[]): Promise<string> {
  const collection = `/api/v1/namespaces/${await server.namespace()}/configmaps`
  for (const name of names) await server.must('POST', collection, { body: { metadata: { name } } })
  return collection
}

async function take(watching: Watching, count: number): Promise<readonly string[]> {
  const events: string[] = []
  for (let index = 0; index < count; index++) {
    const event = await watching.next()
    events.push(
      event ? `${event.type} ${(at(event.object, 'metadata', 'name') as string | undefined) ?? ''}`.trim() : 'end',
    )
  }
  watching.stop()
  return events
}

const label = async (path: string, labels: object): Promise<unknown> =>
  await server.must('PATCH', path, { body: { metadata: { labels } }, type: merge })

describe('watch', () => {
  it('resumes from a resourceVersion', async () => {
    const collection = await collectionOf('a')
    const version = at((await server.call('GET', collection)).body, 'metadata', 'resourceVersion') as string
    const watching = await server.watch(`${collection}?watch=true&resourceVersion=${version}`)
    await server.must('POST', collection, { body: { metadata: { name: 'b' } } })
    await label(`${collection}/a`, { x: 'y' })
    await server.call('DELETE', `${collection}/b`)
    expect(await take(watching, 3)).toEqual(['ADDED b', 'MODIFIED a', 'DELETED b'])
  })

  it('starts with the existing objects without a version, or with version 0', async () => {
    const collection = await collectionOf('a', 'b')
    for (const version of ['', '&resourceVersion=0']) {
      const watching = await server.watch(`${collection}?watch=1${version}`)
      expect((await take(watching, 2)).toSorted()).toEqual(['ADDED a', 'ADDED b'])
    }
  })

  it('reports objects that enter and leave a selection', async () => {
    const collection = await collectionOf('a')
    const version = at((await server.call('GET', collection)).body, 'metadata', 'resourceVersion') as string
    const watching = await server.watch(`${collection}?watch=true&resourceVersion=${version}&labelSelector=on%3Dyes`)
    await label(`${collection}/a`, { on: 'yes' })
    await label(`${collection}/a`, { on: 'yes', more: 'x' })
    await label(`${collection}/a`, { on: 'no' })
    await label(`${collection}/a`, { on: 'yes' })
    await server.call('DELETE', `${collection}/a`)
    expect(await take(watching, 5)).toEqual(['ADDED a', 'MODIFIED a', 'DELETED a', 'ADDED a', 'DELETED a'])
  })

  it('streams the list with a bookmark at its end', async () => {
    const collection = await collectionOf('a', 'b')
    const watching = await server.watch(
      `${collection}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
    )
    const events = [await watching.next(), await watching.next(), await watching.next()]
    watching.stop()
    expect(events.map((event) => event?.type)).toEqual(['ADDED', 'ADDED', 'BOOKMARK'])
    expect(server.maskedJson(events[2]!.object)).toMatchSnapshot()
  })

  it('watches one object by name', async () => {
    const collection = await collectionOf('a', 'b')
    const watching = await server.watch(`${collection}?watch=true&fieldSelector=metadata.name%3Db`)
    await label(`${collection}/a`, { x: 'y' })
    await label(`${collection}/b`, { x: 'y' })
    expect(await take(watching, 2)).toEqual(['ADDED b', 'MODIFIED b'])
  })

  it('ends at its timeout', async () => {
    const watching = await server.watch(`${await collectionOf('a')}?watch=true&timeoutSeconds=1`)
    expect(await take(watching, 2)).toEqual(['ADDED a', 'end'])
  })

  it('sends metadata only, and tables, on request', async () => {
    const collection = await collectionOf('a')
    for (const as of ['PartialObjectMetadata', 'Table']) {
      const watching = await server.watch(`${collection}?watch=true`, {
        accept: `application/json;as=${as};g=meta.k8s.io;v=v1`,
      })
      const event = await watching.next()
      watching.stop()
      expect(event?.type).toBe('ADDED')
      expect(at(event?.object, 'kind')).toBe(as)
      expect(Object.keys(event!.object).toSorted()).toMatchSnapshot()
    }
  })

  it.each([
    'resourceVersion=abc',
    'resourceVersionMatch=NotOlderThan',
    'sendInitialEvents=true',
    'sendInitialEvents=true&resourceVersionMatch=Exact',
    'resourceVersion=99999999999',
  ])('with %s', async (query) => {
    const answer = await server.watch(`${await collectionOf()}?watch=true&timeoutSeconds=1&${query}`)
    expect(answer.status).toMatchSnapshot()
    answer.stop()
  })
})
