/** Installations from a registry: what is imported installs, versions that move, private registries, proxies. */
import { createServer, request as sendRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { emptyFolder } from '../../../test/project.ts'
import { packed, startChartServer } from '../../../test/render/chart-server.ts'
import {
  type ArtifactLayer,
  fluxType,
  type RegistryDouble,
  startRegistryDouble,
} from '../../../test/render/registry-double.ts'
import type { Clock } from '../../clock/clock.ts'
import { seededRandom } from '../../clock/random.ts'
import { systemClock } from '../../clock/system-clock.ts'
import type { JsonObject } from '../../kube/json.ts'
import { asJson, asObject } from '../../kube/json-object.ts'
import { ConfigMap, Deployment, Secret } from '../../kube/kinds.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { readYamlDocuments } from '../../kube/yaml/yaml.ts'
import { openTestEnvironment, type TestEnvironment } from '../../manager/testing/test-environment.ts'
import { archiveDigest } from '../../render/source/source-cache.ts'
import { importInstallations } from '../import/import-installations.ts'
import { Installation, type InstallationObject } from './installation.ts'
import { installationOperator } from './operator.ts'
import type { SourceServices } from './render-source.ts'
import { periodAt } from './source-interval.ts'

/** Waits inside of a task pass at once: virtual time stands still meanwhile. */
const impatient: Clock = { ...systemClock, sleep: () => Promise.resolve() }

async function opened(services: Partial<SourceServices> = {}): Promise<TestEnvironment> {
  const operator = installationOperator({ clock: impatient, random: seededRandom(1), ...services })
  const testEnv = await openTestEnvironment(operator, { workloads: true })
  onTestFinished(() => testEnv.close())
  return testEnv
}

const at = (name: string) => ({ name, namespace: 'default' })
const config = (value: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\ndata: { key: "${value}" }\n`
const yaml = (text: string): ArtifactLayer => ({
  mediaType: 'application/yaml',
  data: Buffer.from(text),
  title: 'a.yaml',
})
const installation = (spec: JsonObject, name = 'shop'): UntypedObject => ({
  apiVersion: 'platform.muster.dev/v1alpha1',
  kind: 'Installation',
  metadata: at(name),
  spec,
})
const read = async ({ client }: TestEnvironment, name = 'shop'): Promise<InstallationObject> =>
  await client.get(Installation, at(name))
const condition = async (testEnv: TestEnvironment, type = 'Ready', name?: string): Promise<string> => {
  const found = (await read(testEnv, name)).status?.conditions?.find((one) => one.type === type)
  return found ? `${found.status} ${found.reason}: ${found.message}` : 'absent'
}
const key = async ({ client }: TestEnvironment): Promise<string | undefined> =>
  (await client.get(ConfigMap, at('a'))).data?.['key']

/** Imports the objects, and installs what comes out. */
async function installImported(testEnv: TestEnvironment, objects: string): Promise<readonly string[]> {
  const { installations, notes } = importInstallations(readYamlDocuments(objects))
  for (const one of installations) await testEnv.create(Installation, asObject(asJson(one)))
  await testEnv.settle(60_000)
  return notes.map(({ field }) => field)
}

describe('what is imported', () => {
  it('from an OCIRepository and a Kustomization of Flux installs: overlays, images, a login of docker', async () => {
    const me = { username: 'me', password: 'word' }
    const registry = await startRegistryDouble(me)
    const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec: { selector: { matchLabels: { app: web } }, template: { metadata: { labels: { app: web } }, spec: { containers: [{ name: web, image: "web:1" }] } } }
`
    const files = {
      'base/kustomization.yaml': 'resources: [web.yaml]\n',
      'base/web.yaml': deployment,
      'deploy/kustomization.yaml': 'resources: [../base]\nnamePrefix: my-\n',
    }
    const entries = Object.entries(files).map(([name, text]) => ({ name, text }))
    registry.push('team/app', '1.2.0', [{ mediaType: fluxType, data: packed(entries) }])
    const testEnv = await opened()
    const login = JSON.stringify({ auths: { [registry.host]: { auth: Buffer.from('me:word').toString('base64') } } })
    await testEnv.create(Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: at('login'),
      type: 'kubernetes.io/dockerconfigjson',
      data: { '.dockerconfigjson': Buffer.from(login).toString('base64') },
    })
    const notes = await installImported(
      testEnv,
      `apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: { name: app, namespace: default }
spec: { interval: 10m, url: "oci://${registry.host}/team/app", insecure: true, ref: { semver: 1.x }, secretRef: { name: login } }
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: { name: app, namespace: default }
spec:
  interval: 10m
  prune: true
  path: ./deploy
  sourceRef: { kind: OCIRepository, name: app }
  images: [{ name: web, newName: mirror.example/web, newTag: "2" }]
`,
    )
    expect(notes).toEqual([])
    expect(await condition(testEnv, 'Ready', 'app')).toContain('True')
    expect((await read(testEnv, 'app')).status).toMatchObject({ version: '1.2.0', artifact: { version: '1.2.0' } })
    expect(await testEnv.client.get(Deployment, at('my-web'))).toMatchObject({
      spec: { template: { spec: { containers: [{ image: 'mirror.example/web:2' }] } } },
    })
  })

  it('from a ModuleTemplate of Kyma installs its raw-manifest layer, with localized images', async () => {
    const registry = await startRegistryDouble()
    const manifests = `${config('1')}---
apiVersion: apps/v1
kind: Deployment
metadata: { name: operator }
spec:
  selector: { matchLabels: { app: operator } }
  template:
    metadata: { labels: { app: operator } }
    spec: { containers: [{ name: operator, image: "public.example/kyma/operator:1.0", env: [{ name: WORKER, value: "public.example/kyma/worker:1.0" }] }] }
`
    const layer = { mediaType: 'application/octet-stream', data: Buffer.from(manifests) }
    const descriptor = {
      mediaType: 'application/vnd.ocm.software.component-descriptor.v2+yaml+tar',
      data: packed([{ name: 'component-descriptor.yaml', text: 'meta: {}' }]),
    }
    registry.push('prod/component-descriptors/kyma-project.io/module/web', '1.5.0', [descriptor, layer])
    const testEnv = await opened()
    await installImported(
      testEnv,
      `apiVersion: operator.kyma-project.io/v1beta2
kind: ModuleTemplate
metadata: { name: web-1.5.0, namespace: default }
spec:
  moduleName: web
  version: 1.5.0
  descriptor:
    component:
      name: kyma-project.io/module/web
      version: 1.5.0
      repositoryContexts: [{ baseUrl: "http://${registry.host}/prod", type: OCIRegistry }]
      resources:
        - { name: operator, access: { type: ociArtifact, imageReference: "private.example/operator:1.0" } }
        - { name: worker, access: { type: ociArtifact, imageReference: "private.example/worker:1.0" } }
        - { name: raw-manifest, access: { type: localBlob, localReference: "${archiveDigest(layer.data)}" } }
`,
    )
    expect(await condition(testEnv, 'Ready', 'web')).toContain('True')
    expect((await read(testEnv, 'web')).status?.version).toBe('1.5.0')
    expect(await key(testEnv)).toBe('1')
    expect(await testEnv.client.get(Deployment, at('operator'))).toMatchObject({
      spec: {
        template: {
          spec: {
            containers: [{ image: 'private.example/operator:1.0', env: [{ value: 'private.example/worker:1.0' }] }],
          },
        },
      },
    })
  })
})

describe('an artifact', () => {
  it('may hold a chart in one of its folders', async () => {
    const registry = await startRegistryDouble()
    const entries = [
      { name: 'charts/web/Chart.yaml', text: 'apiVersion: v2\nname: web\nversion: 3.2.1\n' },
      { name: 'charts/web/templates/a.yaml', text: config('{{ .Values.word }}') },
    ]
    registry.push('team/app', 'v1', [{ mediaType: fluxType, data: packed(entries) }])
    const testEnv = await opened()
    const oci = { url: `oci://${registry.host}/team/app:v1`, path: './charts/web', plainHttp: true }
    await testEnv.create(Installation, installation({ source: { oci }, values: { word: 'hi' } }))
    await testEnv.settle(60_000)
    expect(await condition(testEnv)).toContain('True')
    expect([await key(testEnv), (await read(testEnv)).status?.version]).toEqual(['hi', '3.2.1'])
  })

  it('that is malicious is refused whole: nothing of it is applied, and the cause is named', async () => {
    const registry = await startRegistryDouble()
    const entries = [
      { name: 'a.yaml', text: config('1') },
      { name: '../../etc/b.yaml', text: config('2') },
    ]
    registry.push('team/app', 'v1', [{ mediaType: fluxType, data: packed(entries) }])
    const testEnv = await opened()
    const oci = { url: `oci://${registry.host}/team/app:v1`, kind: 'Manifests', plainHttp: true }
    await testEnv.create(Installation, installation({ source: { oci } }))
    await testEnv.settle(60_000)
    expect(await condition(testEnv)).toContain('leads out of the archive')
    await expect(key(testEnv)).rejects.toThrow('not found')
  })
})

const minute = 60_000

describe('an interval', () => {
  const moving = ({ host }: RegistryDouble, interval = '10m'): UntypedObject =>
    installation({
      source: { oci: { url: `oci://${host}/team/app`, version: '1.x', kind: 'Manifests', plainHttp: true }, interval },
    })
  const started = async (services: Partial<SourceServices> = {}) => {
    const registry = await startRegistryDouble()
    registry.push('team/app', '1.0.0', [yaml(config('1'))])
    const testEnv = await opened(services)
    await testEnv.create(Installation, moving(registry))
    await testEnv.settle(minute)
    expect(await key(testEnv)).toBe('1')
    return { registry, testEnv }
  }
  const lists = ({ asked }: RegistryDouble): number => asked.filter(({ path }) => path.includes('/tags/list')).length

  it('resolves the version anew, at rest without a request to the API server, and upgrades when it has moved', async () => {
    const { registry, testEnv } = await started()
    const [before, { length }] = [lists(registry), testEnv.sent]
    await testEnv.clock.advance(60 * minute)
    expect(lists(registry) - before).toBe(6)
    expect(testEnv.sent.slice(length)).toEqual([])
    expect(registry.asked.filter(({ path }) => path.includes('/blobs/'))).toHaveLength(1)
    registry.push('team/app', '1.1.0', [yaml(config('2'))])
    await testEnv.clock.advance(11 * minute)
    expect(await key(testEnv)).toBe('2')
    expect((await read(testEnv)).status).toMatchObject({ version: '1.1.0', revision: 2, lastGood: 2 })
  })

  it('is not needed: without one the version stays until the spec or the request annotation changes', async () => {
    const { registry, testEnv } = await started()
    const patch = async (change: JsonObject): Promise<void> =>
      void (await testEnv.client.patch(Installation, at('shop'), change, { type: 'merge', fieldManager: 'kubectl' }))
    await patch({ spec: { source: { interval: null } } })
    await testEnv.settle(minute)
    registry.push('team/app', '1.1.0', [yaml(config('2'))])
    const { length } = registry.asked
    await testEnv.clock.advance(180 * minute)
    expect(registry.asked).toHaveLength(length)
    expect((await read(testEnv)).status).not.toHaveProperty('artifact')
    await patch({ metadata: { annotations: { 'platform.muster.dev/requestedAt': 'now' } } })
    await testEnv.settle(minute)
    expect(await key(testEnv)).toBe('2')
  })

  it('does no harm when the registry fails: the cause is named, drift is put right, it is asked with back-off', async () => {
    const { registry, testEnv } = await started()
    registry.instead = (_, response) => {
      response.writeHead(503).end()
      return true
    }
    await testEnv.clock.advance(15 * minute)
    expect(await condition(testEnv, 'FetchFailed')).toMatch(
      /^True SourceUnavailable: .*answers 503.*stays installed\.$/,
    )
    expect(await condition(testEnv)).toContain('True')
    await testEnv.client.patch(
      ConfigMap,
      at('a'),
      { data: { key: 'mine' } },
      { type: 'merge', fieldManager: 'kubectl' },
    )
    const { length } = registry.asked
    await testEnv.settle(minute)
    expect(await key(testEnv)).toBe('1')
    const { length: writes } = testEnv.writes
    await testEnv.clock.advance(120 * minute)
    // Every five minutes, once back-off has grown; not anew with each period.
    expect(registry.asked.length - length).toBeLessThan(30)
    expect(testEnv.writes).toHaveLength(writes)
    registry.instead = () => false
    registry.push('team/app', '1.1.0', [yaml(config('2'))])
    await testEnv.clock.advance(11 * minute)
    expect(await condition(testEnv, 'FetchFailed')).toContain('False Fetched')
    expect(await key(testEnv)).toBe('2')
  })

  it('keeps to Retry-After, also beyond the next period', async () => {
    const { registry, testEnv } = await started()
    registry.instead = (_, response) => {
      response.writeHead(429, { 'retry-after': '7200' }).end()
      return true
    }
    const { length } = registry.asked
    await testEnv.clock.advance(110 * minute)
    expect(registry.asked.length - length).toBe(1)
    expect(await condition(testEnv)).toContain('True')
  })

  it('asks again in the next period when a version is gone, and keeps what is installed', async () => {
    const { registry, testEnv } = await started()
    registry.instead = (_, response) => {
      response.writeHead(404).end()
      return true
    }
    await testEnv.clock.advance(21 * minute)
    expect(await condition(testEnv, 'FetchFailed')).toContain('True SourceNotFound')
    const { length } = registry.asked
    await testEnv.clock.advance(60 * minute)
    expect(registry.asked.length - length).toBe(6)
    expect([await key(testEnv), await condition(testEnv)]).toEqual(['1', expect.stringContaining('True')])
  })

  it('follows the index of a chart repository, too', async () => {
    const versions = ['1.0.0']
    const server = await startChartServer((request, response) => {
      if (request.url === '/index.yaml')
        response.end(
          JSON.stringify({ entries: { web: versions.map((version) => ({ version, urls: [`${version}.tgz`] })) } }),
        )
      else {
        const version = request.url?.slice(1, -'.tgz'.length) ?? ''
        const chart = `apiVersion: v2\nname: web\nversion: ${version}\n`
        const entries = [
          { name: 'web/Chart.yaml', text: chart },
          { name: 'web/templates/a.yaml', text: config(version) },
        ]
        response.end(packed(entries))
      }
    })
    const testEnv = await opened()
    const helm = { url: server.url, chart: 'web', version: '^1' }
    await testEnv.create(Installation, installation({ source: { helm, interval: '10m' } }))
    await testEnv.settle(minute)
    expect(await key(testEnv)).toBe('1.0.0')
    const { length } = testEnv.sent
    await testEnv.clock.advance(30 * minute)
    expect(testEnv.sent.slice(length)).toEqual([])
    versions.push('1.1.0', '2.0.0')
    await testEnv.clock.advance(11 * minute)
    expect(await key(testEnv)).toBe('1.1.0')
  })

  it('is for what may move only', async () => {
    const testEnv = await opened()
    const source = { manifests: { text: config('1') }, interval: '10m' }
    await expect(testEnv.create(Installation, installation({ source }))).rejects.toThrow('interval is for oci and helm')
  })

  it('survives a restart without the registry: nothing is written', async () => {
    const { registry, testEnv } = await started({ cache: await emptyFolder() })
    registry.instead = (_, response) => {
      response.socket?.destroy()
      return true
    }
    await testEnv.clock.advance(11 * minute)
    await testEnv.settle(minute)
    const { length } = testEnv.writes
    await testEnv.restart()
    await testEnv.settle(minute)
    expect(testEnv.writes.slice(length)).toEqual([])
    expect(await condition(testEnv)).toContain('True')
  })

  it('has periods that follow each other without a gap, at a moment of its own', () => {
    const interval = fc.integer({ min: 10_000, max: 86_400_000 })
    const phase = fc.double({ min: 0, max: 0.999, noNaN: true })
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 42 }), interval, phase, (now, ms, part) => {
        const { number, leftMs } = periodAt(now, ms, part)
        expect(leftMs > 0 && leftMs <= ms).toBe(true)
        expect(periodAt(now + leftMs, ms, part)).toEqual({ number: number + 1, leftMs: ms })
        expect(periodAt(now + leftMs - 1, ms, part)).toEqual({ number, leftMs: 1 })
      }),
    )
  })
})

describe('scenario 23: a private registry', () => {
  it('is read with credentials, and images are rewritten to localized ones', async () => {
    const me = { username: 'me', password: 'correct-horse' }
    const registry = await startRegistryDouble(me)
    const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      initContainers: [{ name: init, image: "docker.io/library/init:1" }]
      containers:
        - name: web
          image: "public.example/team/web:1.2"
          env: [{ name: RELATED_IMAGE, value: "public.example/team/web:1.2" }, { name: HOST, value: "public.example" }]
`
    registry.push('team/app', 'v1', [yaml(deployment)])
    const testEnv = await opened()
    const oci = {
      url: `oci://${registry.host}/team/app:v1`,
      kind: 'Manifests',
      plainHttp: true,
      secretRef: { name: 'login' },
    }
    const images = [
      { from: 'public.example/team/web', to: 'private.example/web' },
      { from: 'docker.io/library/init:1', to: `private.example/init@sha256:${'a'.repeat(64)}` },
    ]
    const login = (password: string): UntypedObject => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: at('login'),
      stringData: { username: 'me', password },
    })
    await testEnv.create(Secret, login('wrong-password'))
    await testEnv.create(Installation, installation({ source: { oci }, images }))
    await testEnv.settle(minute)
    expect(await condition(testEnv)).toMatch(/False .*refuse/)
    expect(JSON.stringify(await read(testEnv))).not.toContain('wrong-password')
    await testEnv.client.patch(
      Secret,
      at('login'),
      { stringData: { password: me.password } },
      { type: 'merge', fieldManager: 'kubectl' },
    )
    await testEnv.settle(minute)
    expect(await condition(testEnv)).toContain('True')
    const { spec } = await testEnv.client.get(Deployment, at('web'))
    expect(spec?.template.spec).toMatchObject({
      initContainers: [{ image: `private.example/init@sha256:${'a'.repeat(64)}` }],
      containers: [
        {
          image: 'private.example/web:1.2',
          env: [{ value: 'private.example/web:1.2' }, { value: 'public.example' }],
        },
      ],
    })
    // Another rule is another revision.
    await testEnv.client.patch(
      Installation,
      at('shop'),
      { spec: { images: [] } },
      { type: 'merge', fieldManager: 'kubectl' },
    )
    await testEnv.settle(minute)
    expect((await read(testEnv)).status).toMatchObject({ revision: 2, lastGood: 2 })
  })
})

describe('proxies', () => {
  it('of the environment that the operator is given are used, except for what NO_PROXY names', async () => {
    const registry = await startRegistryDouble()
    registry.push('team/app', 'v1', [yaml(config('1'))])
    const asked: string[] = []
    // Names of this registry lead nowhere but through the proxy.
    const proxy = createServer((incoming, response) => {
      asked.push(incoming.url ?? '')
      const { pathname, search } = new URL(incoming.url ?? '', registry.url)
      sendRequest(`${registry.url}${pathname}${search}`, (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers)
        answer.pipe(response)
      }).end()
    })
    await new Promise<void>((resolve) => void proxy.listen(0, '127.0.0.1', resolve))
    onTestFinished(async () => {
      proxy.closeAllConnections()
      await new Promise((resolve) => void proxy.close(resolve))
    })
    const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
    const env = { HTTP_PROXY: address, NO_PROXY: 'direct.invalid' }
    const testEnv = await opened({ env })
    const from = (host: string): JsonObject => ({
      source: { oci: { url: `oci://${host}/team/app:v1`, kind: 'Manifests', plainHttp: true } },
    })
    await testEnv.create(Installation, installation(from('registry.invalid')))
    await testEnv.create(Installation, installation(from('direct.invalid'), 'direct'))
    await testEnv.settle(minute)
    expect(await condition(testEnv)).toContain('True')
    expect(asked).toContain('http://registry.invalid/v2/team/app/manifests/v1')
    expect(asked.some((url) => url.includes('direct.invalid'))).toBe(false)
    expect(await condition(testEnv, 'Ready', 'direct')).toContain('False')
  })
})
