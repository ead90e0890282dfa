/** Installations on the real kube-apiserver, from the real registry: imported, installed, healed, upgraded, rolled back, removed. */
import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { realHelm } from '../../scripts/real-binaries.ts'
import type { Command } from '../../src/cli/command/command.ts'
import adopt from '../../src/cli/platform/adopt.ts'
import upgrade from '../../src/cli/platform/upgrade.ts'
import { systemRandom } from '../../src/clock/random.ts'
import { systemClock } from '../../src/clock/system-clock.ts'
import type { JsonObject } from '../../src/kube/json.ts'
import { asJson, asObject } from '../../src/kube/json-object.ts'
import { ConfigMap, Deployment, Secret } from '../../src/kube/kinds.ts'
import type { UntypedObject } from '../../src/kube/object.ts'
import { resourceOf } from '../../src/kube/typed-resource.ts'
import { readYamlDocuments } from '../../src/kube/yaml/yaml.ts'
import { Installation, type InstallationObject } from '../../src/platform/installation/installation.ts'
import { installationOperator } from '../../src/platform/installation/operator.ts'
import { Revision } from '../../src/platform/installation/revision.ts'
import { importInstallations } from '../../src/platform/import/import-installations.ts'
import { archiveDigest } from '../../src/render/source/source-cache.ts'
import { crds } from '../embedded.ts'
import { installationCases } from '../installation-cases.ts'
import { runCommand } from '../platform-cluster.ts'
import { packed } from '../render/chart-server.ts'
import { fluxType } from '../render/registry-double.ts'
import {
  find,
  markDeploymentReady,
  openOperatorEnvironment,
  type OperatorEnvironment,
  type RunningOperator,
} from '../operator-environment.ts'
import { registryCredentials, type RunningRegistry, startRegistry } from './registry.ts'

const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: gadgets.installation.example.org }
spec:
  group: installation.example.org
  names: { kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList }
  scope: Namespaced
  versions: [{ name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object, properties: { size: { type: integer } } } } }]
`
const Gadget = resourceOf('installation.example.org/v1', 'Gadget', { plural: 'gadgets', namespaced: true })
const Crd = resourceOf('apiextensions.k8s.io/v1', 'CustomResourceDefinition')
const gadget = 'apiVersion: installation.example.org/v1\nkind: Gadget\nmetadata: { name: ours }\nsize: 1\n'
const config = (value: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }} }\ndata: { colour: {{ .Values.colour | default "red" }}, key: "${value}" }\n`
const password =
  'apiVersion: v1\nkind: Secret\nmetadata: { name: password }\nstringData: { password: {{ randAlphaNum 20 }} }\n'
const livePassword = `{{- $live := lookup "v1" "Secret" .Release.Namespace "password" }}
apiVersion: v1
kind: Secret
metadata: { name: password }
data: { password: {{ if $live }}{{ $live.data.password }}{{ else }}{{ fail "it is gone" }}{{ end }} }
`
const found = `apiVersion: v1
kind: ConfigMap
metadata: { name: found }
data:
  namespace: {{ (lookup "v1" "Namespace" "" .Release.Namespace).metadata.name }}
  none: {{ if not (lookup "example.org/v1" "Thing" .Release.Namespace "gone") }}"yes"{{ end }}
`
const service = (port: number): string =>
  `apiVersion: v1\nkind: Service\nmetadata: { name: web, annotations: { platform.muster.dev/wave: "1" } }\nspec: { selector: { app: web }, ports: [{ port: ${port} }] }\n`

let registry: RunningRegistry
let environment: OperatorEnvironment
let namespace: string
let running: RunningOperator

beforeAll(async () => {
  registry = await startRegistry()
  const common = { 'crd.yaml': crd, 'gadget.yaml': gadget, 'password.yaml': password }
  await registry.push('web', '1.0.0', { ...common, 'config.yaml': config('1'), 'service.yaml': service(80) })
  await registry.push('web', '1.1.0', { ...common, 'config.yaml': config('2'), 'service.yaml': service(81) })
  const narrow = { ...common, 'crd.yaml': crd.replace('size: { type: integer }', 'colour: { type: string }') }
  await registry.push('web', '2.0.0', { ...narrow, 'config.yaml': config('2'), 'service.yaml': service(81) })
  const looking = { ...common, 'password.yaml': livePassword, 'found.yaml': found }
  await registry.push('web', '1.1.1', { ...looking, 'config.yaml': config('2'), 'service.yaml': service(81) })
  await registry.push('web', '1.2.0', { ...common, 'config.yaml': config('3'), 'service.yaml': service(99_999) })
  const services = {
    clock: systemClock,
    random: systemRandom,
    ca: registry.ca,
    cache: path.join(registry.folder, 'cache'),
  }
  environment = await openOperatorEnvironment(installationOperator(services))
  namespace = await environment.namespace()
  running = await environment.run(namespace)
}, 240_000)
afterAll(async () => {
  await running.stop()
  // The server is shared: its kinds are part of what other suites compare.
  const { client } = environment
  for (const { plural, group } of [Installation, Revision]) await client.delete(crds, { name: `${plural}.${group}` })
  await environment.until(
    () =>
      client.request({ method: 'GET', path: `/apis/${Installation.group}` }).then(
        () => true,
        () => false,
      ),
    (isServed) => !isServed,
  )
  await environment.close()
  await registry.remove()
})

const at = (name: string) => ({ name, namespace })
const until = async (holds: (one: InstallationObject) => boolean): Promise<InstallationObject> =>
  await environment.until(() => environment.client.get(Installation, at('shop')), holds)
const isReady = (version: string) => (one: InstallationObject) =>
  one.status?.version === version &&
  one.status.observedGeneration === one.metadata.generation &&
  one.status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true
const change = async (spec: JsonObject): Promise<unknown> =>
  await environment.client.patch(Installation, at('shop'), { spec }, { type: 'merge', fieldManager: 'kubectl' })
const upgradeTo = async (version: string): Promise<unknown> => await change({ source: { oci: { version } } })
const key = async (): Promise<string | undefined> =>
  (await find(environment.client, ConfigMap, at('shop')))?.data?.['key']

describe('what is imported', () => {
  const readyWith = (value: string) => async (): Promise<boolean> =>
    (await find(environment.client, ConfigMap, at('imported')))?.data?.['key'] === value
  const imported = (value: string): string =>
    `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: imported }\ndata: { key: "${value}", image: web }\n`
  const removed = async (name: string): Promise<void> => {
    await environment.client.delete(Installation, at(name))
    await environment.until(
      () => find(environment.client, Installation, at(name)),
      (one) => one === undefined,
    )
    expect(await find(environment.client, ConfigMap, at('imported'))).toBeUndefined()
  }
  const isTrue = (held: boolean): boolean => held

  it('from Flux installs with the login of docker, and follows its tag', { timeout: 120_000 }, async () => {
    const { client } = environment
    const push = async (value: string): Promise<void> => {
      const entries = Object.entries({
        'base/kustomization.yaml': 'resources: [a.yaml]\n',
        'base/a.yaml': imported(value),
        'deploy/kustomization.yaml': 'resources: [../base]\n',
      })
      const data = packed(entries.map(([name, text]) => ({ name, text })))
      await registry.pushArtifact('team/app', 'stable', [{ mediaType: fluxType, data }])
    }
    await push('1')
    const { username, password: word } = registryCredentials
    const login = { auths: { [registry.host]: { auth: Buffer.from(`${username}:${word}`).toString('base64') } } }
    await client.create(Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: at('docker'),
      type: 'kubernetes.io/dockerconfigjson',
      stringData: { '.dockerconfigjson': JSON.stringify(login) },
    })
    const { installations } = importInstallations(
      readYamlDocuments(`apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: { name: app, namespace: ${namespace} }
spec: { interval: 10s, url: "oci://${registry.host}/team/app", ref: { tag: stable }, secretRef: { name: docker } }
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: { name: app, namespace: ${namespace} }
spec: { interval: 10m, prune: true, path: ./deploy, sourceRef: { kind: OCIRepository, name: app } }
`),
    )
    for (const one of installations) await client.create(Installation, asObject(asJson(one)))
    await environment.until(readyWith('1'), isTrue)
    await push('2')
    expect(await environment.until(readyWith('2'), isTrue)).toBe(true)
    await removed('app')
  })

  it('from Kyma installs its raw-manifest layer', { timeout: 120_000 }, async () => {
    const layer = { mediaType: 'application/x-tar', data: packed([{ name: 'manifest.yaml', text: imported('kyma') }]) }
    const descriptor = {
      mediaType: 'application/vnd.ocm.software.component-descriptor.v2+yaml+tar',
      data: packed([{ name: 'component-descriptor.yaml', text: 'meta: {}' }]),
    }
    const repository = 'prod/component-descriptors/kyma-project.io/module/web'
    await registry.pushArtifact(repository, '1.5.0', [descriptor, layer])
    const { installations } = importInstallations(
      readYamlDocuments(`apiVersion: operator.kyma-project.io/v1beta2
kind: ModuleTemplate
metadata: { name: web-1.5.0, namespace: ${namespace} }
spec:
  moduleName: web
  version: 1.5.0
  descriptor:
    component:
      name: kyma-project.io/module/web
      version: 1.5.0
      repositoryContexts: [{ baseUrl: "https://${registry.host}/prod", type: OCIRegistry }]
      resources:
        - { name: raw-manifest, access: { type: localBlob, localReference: "${archiveDigest(layer.data)}" } }
`),
    )
    const [one] = installations
    const { oci } = one!.spec.source as { readonly oci: object }
    const source = { oci: { ...oci, secretRef: { name: 'docker' } } }
    await environment.client.create(Installation, asObject(asJson({ ...one!, spec: { ...one!.spec, source } })))
    expect(await environment.until(readyWith('kyma'), isTrue)).toBe(true)
    await removed('web')
  })
})

describe('a release of the real Helm', () => {
  it('is taken over, upgraded, given back, and upgraded by Helm again', { timeout: 120_000 }, async () => {
    const { client } = environment
    const kubeconfig = path.join(registry.folder, 'kubeconfig')
    await writeFile(kubeconfig, inject('cluster').kubeconfig, { mode: 0o600 })
    const program = await realHelm()
    const helm = async (...words: readonly string[]): Promise<string> => {
      const { folder } = registry
      const env = { ...process.env, HELM_CACHE_HOME: folder, HELM_CONFIG_HOME: folder, HELM_DATA_HOME: folder }
      const { stdout } = await promisify(execFile)(
        program,
        [...words, '--kubeconfig', kubeconfig, '--namespace', namespace],
        { env },
      )
      return stdout
    }
    const muster = async (command: Command, ...words: readonly string[]): Promise<string> => {
      const { code, out } = await runCommand(command, ...words, '--kubeconfig', kubeconfig, '-n', namespace)
      expect(code).toBe(0)
      return out
    }
    const chart = async (version: string, data: string): Promise<string> => {
      const folder = path.join(registry.folder, `release-${version}`)
      await mkdir(path.join(folder, 'templates'), { recursive: true })
      await writeFile(path.join(folder, 'Chart.yaml'), `apiVersion: v2\nname: release\nversion: ${version}\n`)
      await writeFile(path.join(folder, 'values.yaml'), 'colour: red\n')
      const template = `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }} }\ndata: { colour: {{ .Values.colour }}, ${data} }\n`
      await writeFile(path.join(folder, 'templates', 'a.yaml'), template)
      return folder
    }
    const content = async () => await client.get(ConfigMap, at('release'))
    const [first, second] = [await chart('1.0.0', 'from: "1"'), await chart('2.0.0', 'since: "2"')]
    await helm('install', 'release', first, '--set', 'colour=blue')
    const { uid } = (await content()).metadata

    expect(await muster(adopt, 'release', 'release', first)).toContain('nothing would change in the objects')
    expect(await muster(adopt, 'release', 'release', first, '--yes')).toContain('version 1.0.0')
    expect(JSON.parse(await helm('list', '--output', 'json'))).toEqual([])
    await muster(upgrade, 'release', second)
    expect((await content()).data).toEqual({ colour: 'blue', since: '2' })
    expect(await muster(adopt, 'release', 'release', '--give-back')).toContain("is Helm's again")

    expect(JSON.parse(await helm('list', '--output', 'json'))).toMatchObject([{ name: 'release', status: 'deployed' }])
    await helm('upgrade', 'release', second, '--reuse-values', '--set', 'colour=green')
    expect(await content()).toMatchObject({ metadata: { uid }, data: { colour: 'green', since: '2' } })
    await helm('rollback', 'release')
    expect((await content()).data).toEqual({ colour: 'blue', since: '2' })
    await helm('uninstall', 'release')
    expect(await find(client, ConfigMap, at('release'))).toBeUndefined()
  })
})

describe('an Installation of a chart from a registry', () => {
  it('is installed with the credentials of a Secret', { timeout: 120_000 }, async () => {
    const { client } = environment
    const spec = {
      source: { oci: { url: `oci://${registry.host}/charts/web`, version: '1.0.0', secretRef: { name: 'login' } } },
      remediation: { retries: 0 },
    }
    const shop: UntypedObject = {
      apiVersion: 'platform.muster.dev/v1alpha1',
      kind: 'Installation',
      metadata: at('shop'),
      spec,
    }
    await client.create(Installation, shop)
    await until(
      (one) => one.status?.conditions?.some(({ message }) => message?.includes('login of the source')) === true,
    )
    const login = { apiVersion: 'v1', kind: 'Secret', metadata: at('login'), stringData: registryCredentials }
    await client.create(Secret, login)
    await until(isReady('1.0.0'))
    expect(await key()).toBe('1')
    expect(await client.get(Gadget, at('ours'))).toMatchObject({ size: 1 })
  })

  it('is put back as it was', { timeout: 120_000 }, async () => {
    const { client } = environment
    await client.patch(ConfigMap, at('shop'), { data: { key: 'mine' } }, { type: 'merge', fieldManager: 'kubectl' })
    await environment.until(key, (value) => value === '1')
    expect(await client.get(Gadget, at('ours'))).toMatchObject({ size: 1 })
    await client.delete(Gadget, at('ours'))
    await environment.until(
      () => find(client, Gadget, at('ours')),
      (one) => one !== undefined,
    )
    await client.patch(Gadget, at('ours'), { size: 9 }, { type: 'merge', fieldManager: 'kubectl' })
    await environment.until(
      () => client.get(Gadget, at('ours')),
      (one) => 'size' in one && one.size === 1,
    )
  })

  it('is upgraded, and keeps what the chart generated', { timeout: 120_000 }, async () => {
    const { client } = environment
    const before = (await client.get(Secret, at('password'))).data
    await upgradeTo('1.1.0')
    await until(isReady('1.1.0'))
    expect(await key()).toBe('2')
    expect((await client.get(Secret, at('password'))).data).toEqual(before)
  })

  it('goes back to the last good revision when the API server refuses an object', { timeout: 120_000 }, async () => {
    await upgradeTo('1.2.0')
    const failed = await until((one) => one.status?.attempt?.failures === 1 && one.status.revision === 2)
    expect(failed.status?.conditions?.find(({ type }) => type === 'Stalled')?.message).toMatch(/Service .*web/)
    await environment.until(key, (value) => value === '2')
    await upgradeTo('1.1.0')
    await until(isReady('1.1.0'))
  })

  it('is not upgraded where a CRD would break stored objects: they are named', { timeout: 120_000 }, async () => {
    const { client } = environment
    await upgradeTo('2.0.0')
    const refused = await until(
      (one) => one.status?.conditions?.some(({ reason }) => reason === 'UnsafeCrdChange') === true,
    )
    const message = refused.status?.conditions?.find(({ type }) => type === 'Ready')?.message
    expect(message).toContain(`1 of 1 stored objects would break: Gadget ${namespace}/ours (loses size)`)
    expect(await client.get(Gadget, at('ours'))).toMatchObject({ size: 1 })
    await upgradeTo('1.1.0')
    await until(isReady('1.1.0'))
  })

  it('finds the password that its chart looks up, over upgrades', { timeout: 120_000 }, async () => {
    const { client } = environment
    const before = (await client.get(Secret, at('password'))).data
    await upgradeTo('1.1.1')
    await until(isReady('1.1.1'))
    expect((await client.get(Secret, at('password'))).data).toEqual(before)
    expect((await client.get(ConfigMap, at('found'))).data).toEqual({ namespace, none: 'yes' })
    await upgradeTo('1.1.0')
    await until(isReady('1.1.0'))
  })

  it('sends nothing at rest, and writes nothing after a restart', { timeout: 120_000 }, async () => {
    await running.idle()
    // The Events of the upgrade before are still under way.
    await new Promise((resolve) => void setTimeout(resolve, 3000))
    const { length } = running.sent
    await new Promise((resolve) => void setTimeout(resolve, 5000))
    expect(running.sent.slice(length)).toEqual([])
    await running.stop()
    registry.stop()
    running = await environment.run(namespace)
    await running.idle()
    await new Promise((resolve) => void setTimeout(resolve, 2000))
    expect(running.writes()).toEqual([])
    expect(running.ledgers.length).toBeGreaterThan(0)
  })

  it('is removed, after the objects of users whose CRD it would take away', { timeout: 120_000 }, async () => {
    const { client } = environment
    await client.create(Gadget, { apiVersion: 'installation.example.org/v1', kind: 'Gadget', metadata: at('users') })
    await client.delete(Installation, at('shop'))
    const names = (one: InstallationObject): boolean =>
      one.status?.conditions?.some(({ message }) => message?.includes(`Gadget ${namespace}/users`)) === true
    await until(names)
    expect(await key()).toBe('2')
    await client.delete(Gadget, at('users'))
    await environment.until(
      () => find(client, Installation, at('shop')),
      (one) => one === undefined,
    )
    expect(await key()).toBeUndefined()
    expect(await find(client, Crd, { name: 'gadgets.installation.example.org' })).toBeUndefined()
    expect((await client.list(Gadget, { namespace }).catch(() => ({ items: [] }))).items).toEqual([])
    // No garbage collector runs here: what owner references tie to it would go by that.
    expect((await client.list(Revision, { namespace })).items.length).toBeGreaterThan(0)
  })
})

describe('on kube-apiserver', () => {
  /** Its workloads become ready: this server has no controllers. */
  const eventually = async (assertion: () => Promise<void>): Promise<void> =>
    await vi.waitFor(
      async () => {
        const { client } = environment
        for (const { metadata, status } of (await client.list(Deployment, { namespace })).items)
          if (status?.observedGeneration !== metadata.generation)
            await markDeploymentReady(client, Deployment, at(metadata.name))
        await assertion()
      },
      { timeout: 60_000, interval: 20 },
    )

  it.each(installationCases)('$title', { timeout: 120_000 }, async ({ expectStory }) => {
    await expectStory({ client: environment.client, namespace, eventually })
  })
})

describe('an Installation that leaves its objects', () => {
  it('lets them go, and one of its name takes them back', { timeout: 120_000 }, async () => {
    const { client } = environment
    const name = 'parcel'
    const text = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: parcel }\ndata: { key: x }\n'
    const parcel = (spec: JsonObject): UntypedObject => ({
      apiVersion: 'platform.muster.dev/v1alpha1',
      kind: 'Installation',
      metadata: at(name),
      spec: { source: { manifests: { text } }, ...spec },
    })
    const label = 'platform.muster.dev/installation'
    const released = 'platform.muster.dev/released-by'
    const look = async () => (await find(client, ConfigMap, at(name)))?.metadata
    const isGone = async (): Promise<unknown> =>
      await environment.until(
        () => find(client, Installation, at(name)),
        (one) => one === undefined,
      )
    await client.create(Installation, parcel({ deletion: 'orphan' }))
    const made = await environment.until(look, (one) => one !== undefined)
    await client.delete(Installation, at(name))
    await isGone()
    const left = await look()
    expect(left).toMatchObject({ uid: made?.uid, annotations: { [released]: `${namespace}.${name}` } })
    expect([left?.labels, Object.keys(left?.annotations ?? {})]).toEqual([undefined, [released]])
    // No garbage collector runs here.
    for (const kind of [Revision, Secret])
      await client.deleteCollection(kind, { namespace, labelSelector: 'app.kubernetes.io/managed-by=muster-platform' })
    await client.create(Installation, parcel({}))
    const back = await environment.until(
      look,
      (one) => one?.labels?.[label] !== undefined && one.annotations?.['muster.dev/desired'] !== undefined,
    )
    expect(back?.uid).toBe(made?.uid)
    expect(back?.annotations).not.toHaveProperty([released])
    await client.delete(Installation, at(name))
    await isGone()
    expect(await look()).toBeUndefined()
  })
})
