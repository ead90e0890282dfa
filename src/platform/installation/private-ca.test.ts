/** A chart repository whose certificate is signed by a CA of its own. */
import { expect, it } from 'vitest'
import { makeCa } from '../../../test/certificates.ts'
import {
  at,
  condition,
  configMap,
  configMaps,
  install,
  installation,
  opened,
} from '../../../test/installation-environment.ts'
import { packed, startChartServer } from '../../../test/render/chart-server.ts'
import { Secret } from '../../kube/kinds.ts'

it('a CA in the Secret of the source is the CA of its server, with and without a login', async () => {
  const ca = makeCa()
  const archive = packed([
    { name: 'web/Chart.yaml', text: 'apiVersion: v2\nname: web\nversion: 1.0.0\n' },
    { name: 'web/templates/a.yaml', text: configMap('a', '1').slice(4) },
  ])
  const index = 'apiVersion: v1\nentries: { web: [{ name: web, version: 1.0.0, urls: [web.tgz] }] }\n'
  const server = await startChartServer(
    ({ url = '' }, response) => void response.end(url.endsWith('index.yaml') ? index : archive),
    ca.issue({ commonName: 'charts', ips: ['127.0.0.1'], server: true }),
  )
  const testEnv = await opened()
  const data = { 'ca.crt': Buffer.from(ca.cert).toString('base64') }
  await testEnv.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata: at('private'), data: {} })
  const helm = { url: server.url, chart: 'web', secretRef: { name: 'private' } }
  await install(testEnv, installation({ source: { helm } }))
  expect(await condition(testEnv)).toMatch(/False .*certificate/)
  await testEnv.client.patch(Secret, at('private'), { data }, { type: 'merge' })
  await testEnv.settle(60_000)
  expect(await condition(testEnv)).toContain('True')
  expect(await configMaps(testEnv)).toEqual({ a: '1' })
  expect(server.asked.map(({ authorization }) => authorization)).not.toContain('Basic Og==')
  const login = { username: Buffer.from('me').toString('base64'), password: Buffer.from('word').toString('base64') }
  await testEnv.client.patch(Secret, at('private'), { data: login }, { type: 'merge' })
  await testEnv.settle(60_000)
  expect(server.asked.at(-1)?.authorization).toBe(`Basic ${Buffer.from('me:word').toString('base64')}`)
  expect(await condition(testEnv)).toContain('True')
})
