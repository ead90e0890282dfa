import { describe, expect, it, onTestFinished } from 'vitest'
import { seededRandom } from '../../clock/random.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { ConfigMap, Deployment, Secret } from '../../kube/kinds.ts'
import type { JsonObject } from '../../kube/json.ts'
import type { KubeObject } from '../../kube/object.ts'
import { resourceOf } from '../../kube/typed-resource.ts'
import { openTestEnvironment, type TestEnvironment } from '../../manager/testing/test-environment.ts'
import { Installation, type InstallationObject } from './installation.ts'
import { installationOperator } from './operator.ts'
import { Revision } from './revision.ts'

const operator = installationOperator({ clock: systemClock, random: seededRandom(1) })
const at = (name: string) => ({ name, namespace: 'default' })

async function opened(): Promise<TestEnvironment> {
  const testEnv = await openTestEnvironment(operator, { workloads: true })
  onTestFinished(() => testEnv.close())
  return testEnv
}

const deployment = (image: string, replicas = 1): string => `apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: ${replicas}
  progressDeadlineSeconds: 60
  selector: { matchLabels: { app: web } }
  template: { metadata: { labels: { app: web }, annotations: { simulated.muster.dev/fail-image-pull: "${image.startsWith('missing')}" } }, spec: { containers: [{ name: web, image: "${image}" }] } }
`
const configMap = (name: string, value = 'x'): string =>
  `---\napiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name} }\ndata: { key: "${value}" }\n`

const installation = (spec: JsonObject, name = 'shop'): KubeObject =>
  ({ apiVersion: 'platform.muster.dev/v1alpha1', kind: 'Installation', metadata: at(name), spec }) as KubeObject
const manifests = (text: string, more: JsonObject = {}, name?: string): KubeObject =>
  installation({ source: { manifests: { text } }, ...more }, name)

const change = async ({ client }: TestEnvironment, spec: JsonObject, name = 'shop'): Promise<void> =>
  void (await client.patch(Installation, at(name), { spec }, { type: 'merge', fieldManager: 'kubectl' }))
const read = async ({ client }: TestEnvironment, name = 'shop'): Promise<InstallationObject> =>
  await client.get(Installation, at(name))
const ready = async (testEnv: TestEnvironment, name = 'shop', type = 'Ready'): Promise<string> => {
  const found = (await read(testEnv, name)).status?.conditions?.find((one) => one.type === type)
  return found ? `${found.status} ${found.reason}: ${found.message}` : 'absent'
}

describe('an Installation of manifests', () => {
  it('is installed, at rest writes nothing, and a restart writes nothing', async () => {
    const testEnv = await opened()
    await testEnv.create(Installation, manifests(deployment('web:1') + configMap('a')))
    await testEnv.settle(60_000)
    expect(await ready(testEnv)).toBe('True Ready: All of it is ready.')
    expect((await read(testEnv)).status).toMatchObject({
      revision: 1,
      lastGood: 1,
      objects: 2,
      history: [{ state: 'Deployed' }],
    })
    const { length } = testEnv.writes
    await testEnv.clock.advance(3_600_000)
    await testEnv.restart()
    await testEnv.settle(60_000)
    expect(testEnv.writes.slice(length)).toEqual([])
  })

  it('is put back as declared, piece by piece', async () => {
    const testEnv = await opened()
    await testEnv.create(Installation, manifests(deployment('web:1', 2) + configMap('a')))
    await testEnv.settle(60_000)
    await testEnv.client.setScale(Deployment, at('web'), 0)
    await testEnv.client.delete(ConfigMap, at('a'))
    await testEnv.settle(60_000)
    expect((await testEnv.client.get(Deployment, at('web'))).spec?.replicas).toBe(2)
    expect(await testEnv.client.get(ConfigMap, at('a'))).toMatchObject({ data: { key: 'x' } })
  })

  it('goes back to the last good revision when an upgrade does not become healthy, and tries again, up to a limit', async () => {
    const testEnv = await opened()
    await testEnv.create(
      Installation,
      manifests(deployment('web:1') + configMap('a', '1'), {
        remediation: { retries: 1, retryInterval: '1m' },
        timeout: '2m',
      }),
    )
    await testEnv.settle(60_000)
    await change(testEnv, { source: { manifests: { text: deployment('missing/image:bad') + configMap('a', '2') } } })
    await testEnv.clock.advance(10_000)
    expect((await read(testEnv)).status).toMatchObject({ revision: 2, lastGood: 1 })
    await testEnv.clock.advance(80_000)
    expect((await read(testEnv)).status).toMatchObject({
      revision: 1,
      lastGood: 1,
      attempt: { revision: 2, failures: 1 },
    })
    expect(await testEnv.client.get(Deployment, at('web'))).toMatchObject({
      spec: { template: { spec: { containers: [{ image: 'web:1' }] } } },
    })
    // Its last good revision is healthy; it is not what is wanted, and those that depend on it wait.
    await testEnv.create(Installation, manifests(configMap('b'), { dependsOn: [{ name: 'shop' }] }, 'dependent'))
    await testEnv.settle(1000)
    expect(await ready(testEnv)).toMatch(/^False AttemptFailed: Revision 2 failed: .* Revision 1 is active again/)
    expect(await ready(testEnv, 'dependent')).toContain('Installation default/shop, on which it depends, is not ready')
    await testEnv.clock.advance(600_000)
    expect((await read(testEnv)).status).toMatchObject({ revision: 1, attempt: { revision: 2, failures: 2 } })
    expect(await ready(testEnv)).toContain('False RetriesExhausted')
    expect(await ready(testEnv, 'shop', 'Stalled')).toContain('a change of the spec or the values starts again')
    await change(testEnv, { source: { manifests: { text: deployment('web:3') + configMap('a', '3') } } })
    await testEnv.settle(60_000)
    expect((await read(testEnv)).status).toMatchObject({ revision: 3, lastGood: 3 })
    expect(await ready(testEnv, 'shop', 'Stalled')).toBe('absent')
  })

  it('is not held up by a health wait: a fixing spec is applied at once', async () => {
    const testEnv = await opened()
    await testEnv.create(Installation, manifests(deployment('missing/image:bad')))
    await testEnv.clock.advance(5_000)
    await change(testEnv, { source: { manifests: { text: deployment('web:2') } } })
    await testEnv.settle(60_000)
    expect((await read(testEnv)).status).toMatchObject({ revision: 2, lastGood: 2 })
  })

  it('can be pinned to an earlier revision', async () => {
    const testEnv = await opened()
    await testEnv.create(Installation, manifests(configMap('a', '1')))
    await testEnv.settle()
    await change(testEnv, { source: { manifests: { text: configMap('a', '2') } } })
    await testEnv.settle()
    await change(testEnv, { revision: 1 })
    await testEnv.settle()
    expect(await testEnv.client.get(ConfigMap, at('a'))).toMatchObject({ data: { key: '1' } })
    await change(testEnv, { revision: null })
    await testEnv.settle()
    expect(await testEnv.client.get(ConfigMap, at('a'))).toMatchObject({ data: { key: '2' } })
    await change(testEnv, { revision: 7 })
    await testEnv.settle()
    expect(await ready(testEnv)).toContain('There is no revision 7')
  })

  it('leaves ignored fields to the manager that took them, and reports drift where it is told to', async () => {
    const testEnv = await opened()
    const ignore = [{ paths: ['/spec/replicas'], target: { kind: 'Deployment' } }]
    await testEnv.create(Installation, manifests(deployment('web:1'), { drift: { ignore } }))
    await testEnv.create(Installation, manifests(configMap('warned'), { drift: { mode: 'warn' } }, 'other'))
    await testEnv.settle(60_000)
    const spec = { replicas: 3, template: { spec: { containers: [{ name: 'web', image: 'web:9' }] } } }
    await testEnv.client.patch(Deployment, at('web'), { spec }, { type: 'strategic', fieldManager: 'kubectl-edit' })
    await testEnv.client.patch(
      ConfigMap,
      at('warned'),
      { data: { key: 'z' } },
      { type: 'merge', fieldManager: 'kubectl' },
    )
    await testEnv.settle(60_000)
    expect(await testEnv.client.get(Deployment, at('web'))).toMatchObject({
      spec: { replicas: 3, template: { spec: { containers: [{ image: 'web:1' }] } } },
    })
    expect(await testEnv.client.get(ConfigMap, at('warned'))).toMatchObject({ data: { key: 'z' } })
    expect(await ready(testEnv, 'other', 'Drifted')).toContain('ConfigMap default/warned: data.key')
    const events = async () =>
      (await testEnv.client.list(resourceOf('v1', 'Event'), { namespace: 'default' })).items
        .map((event) => event as { readonly reason?: string; readonly message?: string })
        .filter(({ reason }) => reason === 'Drifted')
        .map(({ message }) => message)
    const changed = 'Another client changed ConfigMap default/warned: data.key. It is left as it is.'
    expect(await events()).toEqual([changed])
    await testEnv.client.delete(ConfigMap, at('warned'))
    await testEnv.settle(60_000)
    await testEnv.restart()
    await testEnv.settle(60_000)
    await expect(testEnv.client.get(ConfigMap, at('warned'))).rejects.toThrow('not found')
    expect(await ready(testEnv, 'other')).toContain('False')
    const gone = 'Another client changed ConfigMap default/warned: deleted, or without its label. It is left as it is.'
    expect(await events()).toEqual([changed, gone])
    await change(testEnv, { drift: { mode: 'correct' } }, 'other')
    await testEnv.settle(60_000)
    expect(await ready(testEnv, 'other', 'Drifted')).toContain('False AsDeclared')
    expect(await testEnv.client.get(ConfigMap, at('warned'))).toMatchObject({ data: { key: 'x' } })
  })

  it('takes over the objects of the release of Helm that it names, and no others', async () => {
    const testEnv = await opened()
    const annotations = (release: string) => ({
      'meta.helm.sh/release-name': release,
      'meta.helm.sh/release-namespace': 'default',
    })
    for (const [name, release] of [
      ['a', 'web'],
      ['b', 'other'],
    ] as const) {
      const metadata = { ...at(name), annotations: annotations(release) }
      await testEnv.create(ConfigMap, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata,
        data: { key: 'old' },
      })
    }
    await testEnv.create(Installation, manifests(configMap('a', 'new'), { adopt: { helmRelease: 'web' } }))
    await testEnv.create(Installation, manifests(configMap('b', 'new'), { adopt: { helmRelease: 'web' } }, 'second'))
    await testEnv.settle(60_000)
    expect(await ready(testEnv)).toContain('True')
    expect(await testEnv.client.get(ConfigMap, at('a'))).toMatchObject({ data: { key: 'new' } })
    expect(await ready(testEnv, 'second')).toContain('False')
    expect(await testEnv.client.get(ConfigMap, at('b'))).toMatchObject({ data: { key: 'old' } })
  })

  it('waits for those that it depends on', async () => {
    const testEnv = await opened()
    await testEnv.create(Installation, manifests(configMap('b'), { dependsOn: [{ name: 'base' }] }))
    await testEnv.settle()
    expect(await ready(testEnv)).toContain('Installation default/base, on which it depends, does not exist')
    await testEnv.create(Installation, manifests(configMap('a'), {}, 'base'))
    await testEnv.settle(60_000)
    expect(await ready(testEnv)).toContain('True')
  })

  it('is removed visibly: the object that is waited for comes first, and is named with its finalizers', async () => {
    const testEnv = await opened()
    const late = configMap('late').replace('name: late', 'name: late, annotations: { platform.muster.dev/wave: "1" }')
    await testEnv.create(Installation, manifests(configMap('first') + late))
    await testEnv.settle(60_000)
    const finalize = async (finalizers: readonly string[] | null) =>
      await testEnv.client.patch(ConfigMap, at('late'), { metadata: { finalizers } }, { type: 'merge' })
    await finalize(['example.com/held'])
    await testEnv.client.delete(Installation, at('shop'))
    await testEnv.settle(60_000)
    expect((await read(testEnv)).status).toMatchObject({
      revision: 1,
      leaving: ['ConfigMap default/late', 'ConfigMap default/first'],
    })
    expect(await ready(testEnv, 'shop', 'Reconciled')).toContain(
      'ConfigMap default/late is still being deleted: it has the finalizers example.com/held',
    )
    await finalize(null)
    await testEnv.settle(60_000)
    await expect(read(testEnv)).rejects.toThrow('not found')
  })

  it('is removed with its objects, after the objects of users whose CRD it would take away', async () => {
    const testEnv = await opened()
    const crd = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: things.example.org }
spec:
  group: example.org
  names: { kind: Thing, plural: things, singular: thing, listKind: ThingList }
  scope: Namespaced
  versions: [{ name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } } }]
`
    const thing = '---\napiVersion: example.org/v1\nkind: Thing\nmetadata: { name: ours }\n'
    const Thing = { group: 'example.org', version: 'v1', kind: 'Thing', plural: 'things', namespaced: true }
    await testEnv.create(Installation, manifests(thing + configMap('a') + crd))
    await testEnv.settle(60_000)
    expect(await ready(testEnv)).toContain('True')
    await testEnv.create(Thing, { apiVersion: 'example.org/v1', kind: 'Thing', metadata: at('users') })
    await testEnv.client.delete(Installation, at('shop'))
    await testEnv.settle(60_000)
    expect(await ready(testEnv, 'shop', 'Reconciled')).toContain('Thing default/users. Delete them first')
    expect(await testEnv.client.get(ConfigMap, at('a'))).toBeDefined()
    await testEnv.client.delete(Thing, at('users'))
    await testEnv.settle(60_000)
    await expect(testEnv.client.get(Installation, at('shop'))).rejects.toThrow('not found')
    await expect(testEnv.client.get(ConfigMap, at('a'))).rejects.toThrow('not found')
    expect((await testEnv.client.list(Revision)).items).toEqual([])
  })
})

describe('an Installation of a chart', () => {
  const files = {
    'Chart.yaml': 'apiVersion: v2\nname: web\nversion: 1.2.3\n',
    'values.yaml': 'greeting: hello\n',
    'templates/config.yaml':
      'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }} }\ndata: { greeting: {{ .Values.greeting | quote }} }\n',
    'templates/secret.yaml':
      'apiVersion: v1\nkind: Secret\nmetadata: { name: {{ .Release.Name }} }\nstringData: { password: {{ randAlphaNum 20 }} }\n',
    'templates/NOTES.txt': 'Enjoy {{ .Release.Name }}.',
  }

  it('keeps what the chart generates, and takes values from ConfigMaps and Secrets', async () => {
    const testEnv = await opened()
    const valuesFrom = [{ kind: 'ConfigMap', name: 'settings' }]
    await testEnv.create(Installation, installation({ source: { chart: { files } }, valuesFrom }))
    await testEnv.settle()
    expect(await ready(testEnv)).toContain('ConfigMap default/settings of valuesFrom does not exist')
    const data = { 'values.yaml': 'greeting: hi\n' }
    await testEnv.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: at('settings'), data })
    await testEnv.settle(60_000)
    expect((await read(testEnv)).status).toMatchObject({ version: '1.2.3', notes: 'Enjoy shop.' })
    const password = (await testEnv.client.get(Secret, at('shop'))).data?.['password']
    expect(password).toMatch(/^[A-Za-z0-9=]{20,}$/)
    await testEnv.client.patch(
      ConfigMap,
      at('settings'),
      { data: { 'values.yaml': 'greeting: moin\n' } },
      { type: 'merge' },
    )
    await testEnv.settle(60_000)
    expect(await testEnv.client.get(ConfigMap, at('shop'))).toMatchObject({ data: { greeting: 'moin' } })
    expect((await testEnv.client.get(Secret, at('shop'))).data?.['password']).toBe(password)
    expect((await read(testEnv)).status).toMatchObject({ revision: 2, lastGood: 2 })
  })

  it('runs hooks by weight before and after, and goes on when they have completed', async () => {
    const testEnv = await opened()
    const hook = (name: string, event: string, weight: number): string => `apiVersion: batch/v1
kind: Job
metadata:
  name: ${name}
  annotations: { helm.sh/hook: ${event}, helm.sh/hook-weight: "${weight}", helm.sh/hook-delete-policy: "before-hook-creation,hook-succeeded" }
spec: { template: { spec: { restartPolicy: Never, containers: [{ name: a, image: a }] } } }
`
    const own = {
      ...files,
      'templates/pre.yaml': hook('pre', 'pre-install', 0),
      'templates/post.yaml': hook('post', 'post-install', 5),
    }
    await testEnv.create(Installation, installation({ source: { chart: { files: own } } }))
    await testEnv.clock.advance(120_000)
    expect(await ready(testEnv)).toContain('True')
    const created = testEnv.ledgers.flatMap(({ entries }) =>
      entries.filter(({ operation }) => operation === 'created').map(({ subject }) => subject),
    )
    const order = created.filter((subject) => /^(Job|ConfigMap) /.test(subject))
    expect(order).toEqual(['Job default/pre', 'ConfigMap default/shop', 'Job default/post'])
  })
})
