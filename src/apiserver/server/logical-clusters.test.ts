import { describe, expect, it } from 'vitest'
import { configMap, embedded, widget, widgetCrd } from '../../../test/embedded.ts'
import { virtualClock } from '../../clock/virtual-clock.ts'
import { createApiServer } from './api-server.ts'

const configs = '/api/v1/namespaces/default/configmaps'

describe('logical clusters', () => {
  it('are isolated: objects, revisions, CRDs, watches', async () => {
    const { raw } = embedded()
    for (const [prefix, value] of [
      ['', 'root'],
      ['/clusters/blue', 'blue'],
      ['/clusters/green', 'green'],
    ] as const) {
      expect((await raw('POST', `${prefix}${configs}`, { body: configMap('same', { value }) })).status).toBe(201)
    }
    expect((await raw('GET', `/clusters/blue${configs}/same`)).json).toMatchObject({ data: { value: 'blue' } })
    expect((await raw('GET', `${configs}/same`)).json).toMatchObject({ data: { value: 'root' } })
    const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    expect((await raw('POST', `/clusters/blue${crds}`, { body: widgetCrd() })).status).toBe(201)
    await Promise.resolve()
    const widgets = '/apis/example.com/v1/namespaces/default/widgets'
    expect((await raw('POST', `/clusters/blue${widgets}`, { body: widget('w') })).status).toBe(201)
    expect((await raw('GET', widgets)).status).toBe(404)
    expect((await raw('GET', `/clusters/green${widgets}`)).status).toBe(404)
    expect((await raw('GET', '/clusters/green/apis/example.com')).status).toBe(404)
  })

  it('are removed with their objects', async () => {
    const { raw, server } = embedded()
    await raw('POST', `/clusters/blue${configs}`, { body: configMap('a') })
    expect(server.clusters()).toEqual(['', 'blue'])
    server.removeCluster('blue')
    expect(server.clusters()).toEqual([''])
    expect((await raw('GET', `/clusters/blue${configs}/a`)).status).toBe(404)
    server.removeCluster('')
    expect(server.clusters()).toContain('')
  })

  it('have names like namespaces', async () => {
    const { raw, server } = embedded()
    for (const name of ['UP', 'a..b', '%2e%2e', '-x', 'x'.repeat(64)]) {
      expect((await raw('GET', `/clusters/${name}/api`)).status).toBe(404)
    }
    expect(server.clusters()).toEqual([''])
  })

  it('are only created for users with full access', async () => {
    const tokens = new Map([['t', { username: 'bob', groups: [] }]])
    const server = createApiServer({ clock: virtualClock(), access: { tokens, strangers: 'refused' } })
    const ask = async (headers: Readonly<Record<string, string>>): Promise<number> =>
      (await server.handle({ method: 'GET', path: '/clusters/new/api', headers })).status
    expect(await ask({})).toBe(401)
    expect(await ask({ authorization: 'Bearer t' })).toBe(403)
    expect(server.clusters()).toEqual([''])
  })

  it('are cheap: thousands in one process', () => {
    const server = createApiServer({ clock: virtualClock() })
    for (let index = 0; index < 2000; index++) server.cluster(`c${index}`)
    expect(server.clusters()).toHaveLength(2001)
  })
})
