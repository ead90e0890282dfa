/** What charts learn about the cluster and the release: the version of the server, what it serves, upgrade or installation. */
import { describe, expect, it } from 'vitest'
import {
  at,
  change,
  chart,
  condition,
  configMap,
  crds,
  definition,
  expectRest,
  install,
  manifests,
  objectsIn,
  opened,
  read,
} from '../../../test/installation-environment.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import type { TestEnvironment } from '../../manager/testing/test-environment.ts'
import { Installation } from './installation.ts'

const facts = (value: string, more = ''): string => `apiVersion: v1
kind: ConfigMap
metadata: { name: facts }
data:
  value: "${value}"
  kube: {{ .Capabilities.KubeVersion.Version | quote }}
  thing: {{ .Capabilities.APIVersions.Has "example.org/v1" | quote }}
  kind: {{ .Capabilities.APIVersions.Has "example.org/v1/Thing" | quote }}
  ingress: {{ .Capabilities.APIVersions.Has "networking.k8s.io/v1/Ingress" | quote }}
  old: {{ .Capabilities.APIVersions.Has "extensions/v1beta1" | quote }}
  release: "{{ .Release.IsUpgrade }} {{ .Release.IsInstall }} {{ .Release.Revision }}"
${more}`
const told = async ({ client }: TestEnvironment): Promise<Readonly<Record<string, string>>> =>
  (await client.get(ConfigMap, at('facts'))).data ?? {}
const [crd] = objectsIn(definition('a: { type: string }'))
const renders = async (testEnv: TestEnvironment): Promise<number> => (await read(testEnv)).status?.history?.length ?? 0

describe('a chart that asks about the cluster', () => {
  it('gets the answers of the cluster, and anew when one of them changes', async () => {
    const testEnv = await opened()
    await install(testEnv, chart({ 'templates/facts.yaml': facts('1') }))
    expect(await told(testEnv)).toEqual({
      value: '1',
      kube: 'v1.37.1+muster',
      thing: 'false',
      kind: 'false',
      ingress: 'true',
      old: 'false',
      release: 'false true 1',
    })
    expect((await read(testEnv)).status?.apis).toEqual({
      'example.org/v1': false,
      'example.org/v1/Thing': false,
      'extensions/v1beta1': false,
      'networking.k8s.io/v1/Ingress': true,
    })
    expect(testEnv.sent.filter(({ path }) => path === '/version')).toHaveLength(1)
    await testEnv.create(crds, crd!)
    await testEnv.settle(60_000)
    expect(await told(testEnv)).toMatchObject({ thing: 'true', kind: 'true', release: 'true false 2' })
    await testEnv.client.delete(crds, { name: 'things.example.org' })
    await testEnv.settle(60_000)
    expect(await told(testEnv)).toMatchObject({ thing: 'false', kind: 'false', release: 'true false 3' })
    const { length } = testEnv.sent
    await expectRest(testEnv)
    expect(testEnv.sent.slice(length)).toEqual([])
    const before = testEnv.writes.length
    await testEnv.restart()
    await testEnv.settle(60_000)
    expect(testEnv.writes.slice(before)).toEqual([])
  })

  it('is not rendered again for a CRD that it did not ask about', async () => {
    const testEnv = await opened()
    const files = { 'templates/facts.yaml': facts('1').replaceAll('example.org', 'example.com') }
    await install(testEnv, chart(files))
    const { length } = testEnv.writes
    const reconciles = testEnv.sent.length
    await testEnv.create(crds, crd!)
    await testEnv.settle(60_000)
    expect(testEnv.writes.slice(length)).toHaveLength(0)
    expect(testEnv.sent.slice(reconciles).filter(({ path }) => path === '/version')).toEqual([])
    expect((await read(testEnv)).status).toMatchObject({ revision: 1 })
  })

  it('may list what the cluster serves', async () => {
    const testEnv = await opened()
    const listing =
      '  found: "{{ range .Capabilities.APIVersions }}{{ if hasPrefix "example.org" . }}{{ . }} {{ end }}{{ end }}"\n'
    await install(testEnv, chart({ 'templates/facts.yaml': facts('1', listing) }))
    expect(await told(testEnv)).toMatchObject({ found: '' })
    expect((await read(testEnv)).status?.apis).toEqual({ '*': true })
    await testEnv.create(crds, crd!)
    await testEnv.settle(60_000)
    expect(await told(testEnv)).toMatchObject({ found: 'example.org/v1 example.org/v1/Thing ', thing: 'true' })
    await expectRest(testEnv)
  })

  it('is refused by a cluster whose version it does not support', async () => {
    const testEnv = await opened()
    const old = 'apiVersion: v2\nname: web\nversion: 1.2.3\nkubeVersion: "< 1.30.0"\n'
    await install(testEnv, chart({ 'Chart.yaml': old, 'templates/facts.yaml': facts('1') }))
    expect(await condition(testEnv)).toMatch(/False .*1\.37\.1/)
  })
})

describe('a chart that asks about its own CRD', () => {
  const used = (has: string, text: string): string => `{{ if ${has} }}\n${text.replace('---\n', '')}{{ end }}\n`

  it('of crds/ is told that it is served, from the first revision on', async () => {
    const testEnv = await opened()
    const has = '.Capabilities.APIVersions.Has "example.org/v1/Thing"'
    const thing = 'apiVersion: example.org/v1\nkind: Thing\nmetadata: { name: ours }\n'
    const files = { 'crds/thing.yaml': definition('a: { type: string }'), 'templates/thing.yaml': used(has, thing) }
    await install(testEnv, chart(files))
    expect((await read(testEnv)).status).toMatchObject({ revision: 1, lastGood: 1, objects: 2 })
    await testEnv.restart()
    await testEnv.settle(60_000)
    expect((await read(testEnv)).status).toMatchObject({ revision: 1, apis: { 'example.org/v1/Thing': true } })
    await expectRest(testEnv)
  })

  it('of a template does not remove it once it is served', async () => {
    const testEnv = await opened()
    const has = 'not (.Capabilities.APIVersions.Has "example.org/v1")'
    const files = {
      'templates/crd.yaml': used(has, definition('a: { type: string }')),
      'templates/a.yaml': configMap('a').slice(4),
    }
    await install(testEnv, chart(files))
    await testEnv.restart()
    await expectRest(testEnv, 5)
    expect((await read(testEnv)).status).toMatchObject({ revision: 1, lastGood: 1, objects: 2 })
    await change(testEnv, { source: { chart: { files: { 'templates/a.yaml': configMap('a', 'y').slice(4) } } } })
    expect((await read(testEnv)).status).toMatchObject({ revision: 2, lastGood: 2, objects: 2 })
    expect(await testEnv.client.get(crds, { name: 'things.example.org' })).toBeDefined()
  })
})

describe('a chart that asks about its release', () => {
  it('is told of an upgrade, and is the same at rest, after a restart and without its Revision', async () => {
    const testEnv = await opened()
    await install(testEnv, chart({ 'templates/facts.yaml': facts('1') }))
    await change(testEnv, { source: { chart: { files: { 'templates/facts.yaml': facts('2') } } } })
    expect(await told(testEnv)).toMatchObject({ value: '2', release: 'true false 2' })
    await testEnv.restart()
    await expectRest(testEnv)
    await testEnv.client.delete({ ...Installation, kind: 'Revision', plural: 'revisions' }, at('shop-2'))
    await testEnv.settle(60_000)
    expect(await told(testEnv)).toMatchObject({ release: 'true false 2' })
    expect((await read(testEnv)).status).toMatchObject({ revision: 2, lastGood: 2 })
    expect(await renders(testEnv)).toBe(2)
  })

  it('is told of no upgrade where nothing is installed', async () => {
    const testEnv = await opened()
    await install(testEnv, chart({ 'templates/facts.yaml': facts('1') }))
    await change(testEnv, { uninstall: true })
    await change(testEnv, { uninstall: false, source: { chart: { files: { 'templates/facts.yaml': facts('2') } } } })
    expect(await told(testEnv)).toMatchObject({ value: '2', release: 'false true 2' })
    await expectRest(testEnv)
  })

  it('is nothing to manifests', async () => {
    const testEnv = await opened()
    await install(testEnv, manifests(configMap('a')))
    expect(testEnv.sent.filter(({ path }) => path === '/version')).toEqual([])
    expect((await read(testEnv)).status).not.toHaveProperty('apis')
  })
})
