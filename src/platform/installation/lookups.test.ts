/** `lookup` in charts that the controller renders: live objects, read once and recorded. */
import { describe, expect, it } from 'vitest'
import {
  at,
  change,
  chart,
  condition,
  configMap,
  configMaps,
  expectRest,
  install,
  objectsIn,
  opened,
  read,
  retries,
  uninstall,
} from '../../../test/installation-environment.ts'
import { ConfigMap, Namespace, Secret } from '../../kube/kinds.ts'
import { resourceOf } from '../../kube/typed-resource.ts'
import type { TestEnvironment } from '../../manager/testing/test-environment.ts'

/** The usual way to keep a password over upgrades. */
const password = `{{- $live := lookup "v1" "Secret" .Release.Namespace "password" }}
apiVersion: v1
kind: Secret
metadata: { name: password }
data:
{{- if $live }}
  password: {{ $live.data.password }}
{{- else }}
  password: {{ randAlphaNum 16 | b64enc }}
{{- end }}
`
const config = (value: string): string => configMap('a', value).slice(4)
const passwordIn = async ({ client }: TestEnvironment): Promise<string> => {
  const { data = {} } = await client.get(Secret, at('password'))
  return Buffer.from(data['password'] ?? '', 'base64').toString()
}
const names = async ({ client }: TestEnvironment): Promise<readonly string[]> =>
  (await client.list(Secret, { namespace: 'default' })).items.map(({ metadata }) => metadata.name).toSorted()
const readOf = ({ sent }: TestEnvironment, part: string): number =>
  sent.filter(({ method, path }) => method === 'GET' && path.includes(part)).length

describe('a password that a chart looks up', () => {
  it('is generated once, and stays over restarts, upgrades, drift and lost records', async () => {
    const testEnv = await opened()
    await install(testEnv, chart({ 'templates/password.yaml': password, 'templates/a.yaml': config('1') }))
    expect(await condition(testEnv)).toContain('True')
    const first = await passwordIn(testEnv)
    expect(first).toMatch(/^[A-Za-z0-9]{16}$/)
    expect(await names(testEnv)).toEqual(['password', 'shop-1.0', 'shop-generated.0', 'shop-lookups.0'])
    const { length } = testEnv.sent
    await expectRest(testEnv)
    expect(testEnv.sent.slice(length)).toEqual([])

    const before = testEnv.writes.length
    await testEnv.restart()
    await testEnv.settle(60_000)
    expect(testEnv.writes.slice(before)).toEqual([])
    expect((await read(testEnv)).status).toMatchObject({ revision: 1, lastGood: 1 })

    await change(testEnv, { source: { chart: { files: { 'templates/a.yaml': config('2') } } } })
    expect(await condition(testEnv)).toContain('True')
    expect(await configMaps(testEnv)).toEqual({ a: '2' })
    expect(await passwordIn(testEnv)).toBe(first)
    expect(await names(testEnv)).toContain('shop-lookups.1')

    for (const lost of ['shop-lookups.1', 'shop-generated.0', 'password']) {
      await testEnv.client.delete(Secret, at(lost))
      await testEnv.settle(60_000)
      expect(await passwordIn(testEnv)).toBe(first)
      expect(await condition(testEnv)).toContain('True')
    }
    expect((await read(testEnv)).status).toMatchObject({ revision: 2, lastGood: 2 })
    await expectRest(testEnv)
  })

  it('of an object that exists is taken from it', async () => {
    const testEnv = await opened()
    const metadata = { ...at('elsewhere') }
    await testEnv.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata, data: { password: 'c2VjcmV0' } })
    const own = password.replace('.Release.Namespace "password"', '.Release.Namespace "elsewhere"')
    await install(testEnv, chart({ 'templates/password.yaml': own }))
    expect(await passwordIn(testEnv)).toBe('secret')
    expect(await names(testEnv)).not.toContain('shop-generated.0')
    // Read once: a change of it is no change of the source.
    await testEnv.client.patch(Secret, at('elsewhere'), { data: { password: 'bmV3' } }, { type: 'merge' })
    await testEnv.settle(60_000)
    expect(await passwordIn(testEnv)).toBe('secret')
    expect(readOf(testEnv, '/secrets/elsewhere')).toBe(1)
    const requested = { metadata: { annotations: { 'platform.muster.dev/requestedAt': 'now' } } }
    const { client } = testEnv
    const { Installation } = await import('./installation.ts')
    await client.patch(Installation, at('shop'), requested, { type: 'merge', fieldManager: 'kubectl' })
    await testEnv.settle(60_000)
    expect(await passwordIn(testEnv)).toBe('new')
  })
})

describe('a record of lookups', () => {
  it('that a user hides is not written again and again; with it out of the way it goes on', async () => {
    const testEnv = await opened()
    await install(testEnv, chart({ 'templates/password.yaml': password }))
    const first = await passwordIn(testEnv)
    const labels = { 'app.kubernetes.io/managed-by': 'someone' }
    await testEnv.client.patch(Secret, at('shop-lookups.0'), { metadata: { labels } }, { type: 'merge' })
    await testEnv.settle(60_000)
    await expectRest(testEnv, retries)
    await testEnv.client.delete(Secret, at('shop-lookups.0'))
    await change(testEnv, { timeout: '6m' })
    expect(await condition(testEnv)).toContain('True')
    expect(await passwordIn(testEnv)).toBe(first)
    await expectRest(testEnv)
  })
})

describe('lookup', () => {
  it('finds lists, objects of the cluster, nothing, and objects by what it found before', async () => {
    const testEnv = await opened()
    const data = { next: 'third', size: '3' }
    await testEnv.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: at('second'), data })
    await testEnv.create(ConfigMap, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: at('third'),
      data: { end: 'yes' },
    })
    const text = `{{- $second := lookup "v1" "ConfigMap" "default" "second" }}
{{- $third := lookup "v1" "ConfigMap" "default" (required "second is missing" $second.data.next) }}
{{- $all := lookup "v1" "ConfigMap" "default" "" }}
apiVersion: v1
kind: ConfigMap
metadata: { name: found }
data:
  end: {{ $third.data.end | quote }}
  all: {{ range $all.items }}{{ .kind }}.{{ .metadata.name }} {{ end }}
  namespace: {{ (lookup "v1" "Namespace" "" "default").metadata.name }}
  generation: {{ (lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" "revisions.platform.muster.dev").metadata.generation | printf "%d" | quote }}
  none: {{ lookup "v1" "ConfigMap" "default" "gone" | len | quote }}
  unserved: {{ lookup "example.org/v1" "Thing" "default" "gone" | len | quote }}
`
    await install(testEnv, chart({ 'templates/found.yaml': text }))
    expect(await condition(testEnv)).toContain('True')
    const { data: found } = await testEnv.client.get(ConfigMap, at('found'))
    expect(found).toEqual({
      end: 'yes',
      all: 'ConfigMap.second ConfigMap.third',
      namespace: 'default',
      generation: '1',
      none: '0',
      unserved: '0',
    })
    await expectRest(testEnv)
    await uninstall(testEnv)
    expect(await names(testEnv)).toEqual([])
  })

  it('reads as the service account; what it may not read is named, with the cure, and nothing is installed', async () => {
    const testEnv = await opened()
    const [account, role, binding] = objectsIn(`apiVersion: v1
kind: ServiceAccount
metadata: { name: deployer, namespace: default }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: deployer, namespace: default }
rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["*"] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: deployer, namespace: default }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: deployer }
subjects: [{ kind: ServiceAccount, name: deployer, namespace: default }]
`)
    const rbac = (kind: string) => resourceOf('rbac.authorization.k8s.io/v1', kind)
    await testEnv.create(resourceOf('v1', 'ServiceAccount'), account!)
    await testEnv.create(rbac('Role'), role!)
    await testEnv.create(rbac('RoleBinding'), binding!)
    const text = `{{- $s := lookup "v1" "Secret" "default" "db" }}\n${config('{{ $s | len }}')}`
    await install(testEnv, chart({ 'templates/a.yaml': text }, { serviceAccountName: 'deployer' }))
    expect(await condition(testEnv)).toMatch(
      /False LookupFailed: lookup "v1" "Secret" "default" "db" of the chart failed: .*deployer.*cannot get.*Grant this right/,
    )
    expect(await configMaps(testEnv)).toEqual({})
    await testEnv.client.patch(
      rbac('Role'),
      at('deployer'),
      { rules: [{ apiGroups: [''], resources: ['configmaps', 'secrets'], verbs: ['*'] }] },
      { type: 'merge' },
    )
    await testEnv.clock.advance(600_000)
    expect(await configMaps(testEnv)).toEqual({ a: '0' })
    expect(await condition(testEnv)).toContain('True')
  })

  it('that never ends, or finds too much, is named', async () => {
    const testEnv = await opened()
    const endless = `{{- range $i := until 101 }}{{ $x := lookup "v1" "ConfigMap" "default" (printf "c%d" $i) }}{{ end }}`
    await install(testEnv, chart({ 'templates/a.yaml': endless }))
    expect(await condition(testEnv)).toMatch(/TooManyLookups: The chart looks up more than 100 objects/)
    await expectRest(testEnv)
    const data = { text: 'x'.repeat(300_000) }
    for (const name of ['x', 'y'])
      await testEnv.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: at(name), data })
    const large = `{{ $x := lookup "v1" "ConfigMap" "default" "" }}`
    await change(testEnv, { source: { chart: { files: { 'templates/a.yaml': large } } } })
    expect(await condition(testEnv)).toContain('LookupTooLarge')
    const dependent = `{{- range $i := until 12 }}{{ end }}{{ $n := "c" }}{{ range until 12 }}{{ $found := lookup "v1" "ConfigMap" "default" $n }}{{ $n = printf "%s%d" $n (len $found) }}{{ end }}`
    await change(testEnv, { source: { chart: { files: { 'templates/a.yaml': dependent } } } })
    expect(await condition(testEnv)).not.toContain('LookupTooLarge')
  })

  it('of an object in another namespace is asked for by name, and the secret stays out of messages', async () => {
    const testEnv = await opened()
    await testEnv.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } })
    const metadata = { name: 'db', namespace: 'other' }
    const data = { password: Buffer.from('hunter2hunter2').toString('base64') }
    await testEnv.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata, data })
    const text = '{{ fail (index (lookup "v1" "Secret" "other" "db").data "password" | b64dec) }}'
    await install(testEnv, chart({ 'templates/a.yaml': text }))
    expect(await condition(testEnv)).toContain('templates/a.yaml')
    expect(await condition(testEnv)).not.toContain('hunter2')
  })
})
