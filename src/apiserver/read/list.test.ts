import { describe, expect, it } from 'vitest'
import { configMap, configMaps, embedded } from '../../../test/embedded.ts'

async function filled(): Promise<ReturnType<typeof embedded>> {
  const cluster = embedded()
  for (const name of ['c', 'a', 'e', 'b', 'd']) {
    await cluster.client.create(configMaps, configMap(name, {}, { labels: { vowel: String('ae'.includes(name)) } }))
  }
  return cluster
}

const names = (list: {
  readonly items: readonly { readonly metadata: { readonly name?: string } }[]
}): readonly (string | undefined)[] => list.items.map(({ metadata }) => metadata.name)

describe('list', () => {
  it('is sorted by name, and its items omit their kind', async () => {
    const { raw } = await filled()
    const { json } = await raw('GET', '/api/v1/namespaces/default/configmaps')
    expect(json).toMatchObject({ kind: 'ConfigMapList', apiVersion: 'v1' })
    const { items } = json as unknown as { readonly items: readonly { readonly metadata: { readonly name: string } }[] }
    expect(names({ items })).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(items[0]).not.toHaveProperty('kind')
  })

  it('selects by labels and fields', async () => {
    const { client } = await filled()
    expect(names(await client.list(configMaps, { labelSelector: 'vowel=true' }))).toEqual(['a', 'e'])
    expect(names(await client.list(configMaps, { fieldSelector: 'metadata.name=c' }))).toEqual(['c'])
    expect(names(await client.list(configMaps, { namespace: 'kube-system' }))).toEqual([])
  })

  it('is consistent over all pages, whatever changes meanwhile', async () => {
    const { client } = await filled()
    const first = await client.listPage(configMaps, { limit: 2 })
    expect(names(first)).toEqual(['a', 'b'])
    expect(first.metadata.remainingItemCount).toBe(3)
    await client.delete(configMaps, { namespace: 'default', name: 'd' })
    await client.create(configMaps, configMap('cc'))
    await client.patch(configMaps, { namespace: 'default', name: 'e' }, { data: { new: 'yes' } }, { type: 'merge' })
    const rest = await client.listPage(configMaps, { limit: 9, continue: first.metadata.continue })
    expect(names(rest)).toEqual(['c', 'd', 'e'])
    expect(rest.items.at(-1)).not.toHaveProperty('data.new')
    expect(rest.metadata.resourceVersion).toBe(first.metadata.resourceVersion)
    expect(rest.metadata.continue).toBeUndefined()
  })

  it('serves an exact resourceVersion until it is compacted', async () => {
    const { client, server } = await filled()
    const { metadata } = await client.list(configMaps)
    await client.delete(configMaps, { namespace: 'default', name: 'a' })
    const exact = { resourceVersion: metadata.resourceVersion, resourceVersionMatch: 'Exact' } as const
    expect(names(await client.listPage(configMaps, exact))).toEqual(['a', 'b', 'c', 'd', 'e'])
    const { metadata: page } = await client.listPage(configMaps, { limit: 1 })
    await client.create(configMaps, configMap('z'))
    server.compact()
    await expect(client.listPage(configMaps, exact)).rejects.toMatchObject({ name: 'Gone' })
    await expect(client.listPage(configMaps, { continue: page.continue })).rejects.toMatchObject({ name: 'Gone' })
  })

  it('continues at the latest revision after a compaction, with the token of the error', async () => {
    const { client, raw, clock, server } = await filled()
    const page = async (
      token: string | undefined,
    ): Promise<{
      readonly code?: number
      readonly metadata: { readonly continue?: string; readonly resourceVersion?: string }
      readonly items: readonly { readonly metadata: { readonly name: string } }[]
    }> =>
      (await raw('GET', `/api/v1/namespaces/default/configmaps?limit=2${token ? `&continue=${token}` : ''}`))
        .json as never
    const first = await page(undefined)
    await clock.advance(6 * 60_000)
    // Nothing has changed, so the revision is still the latest.
    expect(names(await page(first.metadata.continue))).toEqual(['c', 'd'])
    await client.create(configMaps, configMap('bb'))
    const refused = await page(first.metadata.continue)
    expect(refused).toMatchObject({ code: 410, reason: 'Expired' })
    const second = await page(refused.metadata.continue)
    expect(names(second)).toEqual(['bb', 'c'])
    expect(second.metadata.resourceVersion).not.toBe(first.metadata.resourceVersion)
    await client.create(configMaps, configMap('cc'))
    expect(names(await page(second.metadata.continue))).toEqual(['d', 'e'])

    server.compact()
    const compacted = await page(second.metadata.continue)
    expect(compacted.code).toBe(410)
    expect(names(await page(compacted.metadata.continue))).toEqual(['cc', 'd'])
  })

  it('rejects a future resourceVersion, and contradictory options', async () => {
    const { raw } = await filled()
    const get = async (query: string): Promise<unknown> => (await raw('GET', `/api/v1/configmaps?${query}`)).json
    expect(await get('resourceVersion=9999')).toMatchObject({ code: 504, reason: 'Timeout' })
    expect(await get('resourceVersionMatch=Exact')).toMatchObject({ code: 422 })
    expect(await get('resourceVersion=x')).toMatchObject({ code: 400 })
    expect(await get('continue=x')).toMatchObject({
      code: 400,
      message: 'invalid continue token: continue key is not valid',
    })
  })
})
