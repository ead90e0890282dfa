import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { configMap } from '../../../test/embedded.ts'
import { virtualClock } from '../../clock/virtual-clock.ts'
import type { Handler } from '../../transport/transport.ts'
import type { Json } from '../../kube/json.ts'
import { type DurableApiServer, openApiServer } from './api-server.ts'

async function folderOf(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'muster-durable-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

const open = async (folder: string): Promise<DurableApiServer> => await openApiServer({ clock: virtualClock(), folder })

async function ask(server: Handler, method: 'GET' | 'POST', url: string, body?: object): Promise<Json> {
  const answer = await server.handle({ method, path: url, headers: {}, body: body && JSON.stringify(body) })
  const chunks: Uint8Array[] = []
  for await (const chunk of answer.body) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString()) as Json
}

const names = (list: Json): readonly string[] =>
  (list as unknown as { items: { metadata: { name: string } }[] }).items.map(({ metadata }) => metadata.name)

describe('a durable server', () => {
  it('keeps its state over a restart: objects, default roles, revisions, logical clusters, CRDs', async () => {
    const folder = await folderOf()
    const first = await open(folder)
    const configs = '/api/v1/namespaces/default/configmaps'
    await ask(first, 'POST', configs, configMap('a', { k: 'v' }))
    await ask(first, 'POST', `/clusters/blue${configs}`, configMap('b'))
    const lists = [
      '/api/v1/namespaces',
      '/apis/rbac.authorization.k8s.io/v1/clusterroles',
      '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
      '/apis/scheduling.k8s.io/v1/priorityclasses',
      configs,
    ]
    const before = await Promise.all(lists.map(async (url) => names(await ask(first, 'GET', url))))
    const object = await ask(first, 'GET', `${configs}/a`)
    await first.close()

    const second = await open(folder)
    expect(await Promise.all(lists.map(async (url) => names(await ask(second, 'GET', url))))).toEqual(before)
    expect(await ask(second, 'GET', `${configs}/a`)).toEqual(object)
    expect(second.clusters()).toEqual(['', 'blue'])
    expect(names(await ask(second, 'GET', `/clusters/blue${configs}`))).toEqual(['b'])
    expect(
      names(await ask(second, 'GET', '/clusters/blue/apis/rbac.authorization.k8s.io/v1/clusterroles')).length,
    ).toBe(before[1]!.length)
    second.removeCluster('blue')
    await second.close()

    const third = await open(folder)
    expect(third.clusters()).toEqual([''])
    await third.close()
  })

  it('keeps changes to a default role', async () => {
    const folder = await folderOf()
    const first = await open(folder)
    const url = '/apis/rbac.authorization.k8s.io/v1/clusterroles/view'
    const removed = await first.handle({ method: 'DELETE', path: url, headers: {} })
    expect(removed.status).toBe(200)
    await first.close()
    const second = await open(folder)
    expect((await second.handle({ method: 'GET', path: url, headers: {} })).status).toBe(404)
    await second.close()
  })
})
