import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { configMaps, namespaces } from '../../../test/embedded.ts'
import type { Client } from '../../client/client.ts'
import { connect } from '../../client/connect.ts'
import { loadConnection } from '../../client/load-connection.ts'
import type { Json } from '../../kube/json.ts'
import type { Resource } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { besideEmbeddedCluster } from '../cluster/embedded-cluster.ts'
import inputs from './inputs.ts'

const shell = fileURLToPath(new URL('../../../test/contract/shell-operator.sh', import.meta.url))
const base64 = (text: string): string => Buffer.from(text).toString('base64')

async function run(
  positionals: readonly string[],
  flags: object,
): Promise<{ readonly code: number; readonly out: string }> {
  const lines: string[] = []
  const tell = (line: string): void => void lines.push(line)
  const code = await inputs.run({ flags, positionals, out: tell, err: tell, signal: new AbortController().signal })
  return { code, out: lines.join('\n') }
}

function temporary(files: Readonly<Record<string, Json | string>> = {}): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-cli-inputs-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    writeFileSync(path.join(folder, name), typeof content === 'string' ? content : JSON.stringify(content))
  }
  return folder
}

/** Every file below a folder. */
function filesIn(folder: string): Readonly<Record<string, string>> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted()
  const files = names.filter((name) => statSync(path.join(folder, name)).isFile())
  return Object.fromEntries(files.map((name) => [name, readFileSync(path.join(folder, name), 'utf8')]))
}

interface Held {
  readonly data?: Readonly<Record<string, string>>
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> }
}

/** The objects of a list file, by name. */
function listed(files: Readonly<Record<string, string>>, name: string): Readonly<Record<string, Held>> {
  const { items } = readYaml(files[name] ?? '{items: []}') as unknown as { readonly items: readonly Held[] }
  return Object.fromEntries(items.map((item) => [item.metadata.name, item]))
}

const object = (kind: string, name: string, more: object = {}, metadata: object = {}): UntypedObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace: 'shop', ...metadata },
  ...more,
})

const v1 = { group: '', version: 'v1' }
const everything = {
  applyConfigurationResources: {
    kindResources: [
      { ...v1, resource: 'secrets' },
      { ...v1, resource: 'configmaps' },
    ],
  },
}
const maps = { applyConfigurationResources: { kindResources: [{ ...v1, resource: 'configmaps' }] } }

describe('muster inputs from-must-gather', () => {
  const secret = 'pässword "of" the\nshop'
  const gather = {
    'namespaces/shop/core/secrets.yaml': {
      apiVersion: 'v1',
      kind: 'SecretList',
      items: [
        object('Secret', 's', { data: { password: base64(`${secret}\n`) } }),
        object('Secret', 'short', { data: { pin: base64('7') } }),
      ],
    },
    'namespaces/shop/core/configmaps/c.yaml': object(
      'ConfigMap',
      'c',
      { data: { plain: `it is ${secret}.`, json: JSON.stringify({ secret }), encoded: base64(secret), seven: '7' } },
      { annotations: { note: secret, applied: JSON.stringify(object('ConfigMap', 'c', { data: { secret } })) } },
    ),
    'namespaces/shop/shop.yaml': object('Namespace', 'shop', {}, { annotations: { note: secret } }),
  } as unknown as Readonly<Record<string, Json>>

  it('--redact removes Secret values consistently', async () => {
    const folder = temporary({ ...prefixed('gather', gather), 'declared.yaml': everything })
    const output = path.join(folder, 'out')
    const flags = { 'input-resources': path.join(folder, 'declared.yaml'), 'output-dir': output, redact: true }
    expect(await run(['from-must-gather', path.join(folder, 'gather')], flags)).toMatchObject({ code: 0 })
    const files = filesIn(output)
    const secrets = listed(files, 'namespaces/shop/core/secrets.yaml')
    const standIn = Buffer.from(secrets['s']!.data!['password']!, 'base64').toString().trimEnd()
    expect(standIn).toMatch(/^redacted-[0-9a-f]{16}$/)
    expect(secrets['short']!.data!['pin']).not.toBe(base64('7'))
    const { c } = listed(files, 'namespaces/shop/core/configmaps.yaml')
    expect(c!.data).toEqual({
      plain: `it is ${standIn}.`,
      json: JSON.stringify({ secret: standIn }),
      encoded: base64(standIn),
      seven: '7',
    })
    expect(c!.metadata.annotations!['note']).toBe(standIn)
    expect(c!.metadata.annotations!['applied']).toContain(`"secret":"${standIn}"`)
    expect(readYaml(files['namespaces/shop/shop.yaml']!)).toMatchObject({
      metadata: { annotations: { note: standIn } },
    })
    const everyFile = Object.values(files).join('\n')
    for (const word of ['pässword', base64(secret), 'of\\"']) expect(everyFile).not.toContain(word)
  })

  it('--redact removes the values of undeclared Secrets', async () => {
    const folder = temporary({ ...prefixed('gather', gather), 'declared.yaml': maps })
    const output = path.join(folder, 'out')
    const flags = { 'input-resources': path.join(folder, 'declared.yaml'), 'output-dir': output, redact: true }
    await run(['from-must-gather', path.join(folder, 'gather')], flags)
    const files = filesIn(output)
    expect(Object.keys(files)).toEqual(['namespaces/shop/core/configmaps.yaml', 'namespaces/shop/shop.yaml'])
    expect(Object.values(files).join('\n')).not.toContain('pässword')
  })

  it('--strict turns a skipped file into an error', async () => {
    const broken = { 'namespaces/shop/core/configmaps/broken.yaml': 'kind: ConfigMap\nmetadata: {name: [\n' }
    const folder = temporary({ ...prefixed('gather', { ...gather, ...broken }), 'declared.yaml': maps })
    const from = ['from-must-gather', path.join(folder, 'gather')]
    const flags = { 'input-resources': path.join(folder, 'declared.yaml'), 'output-dir': path.join(folder, 'out') }
    await expect(run(from, { ...flags, strict: true })).rejects.toThrow(/configmaps\/broken\.yaml: /)
    expect(readdirSync(folder)).not.toContain('out')
    const lax = await run(from, flags)
    expect(lax).toMatchObject({ code: 0, out: expect.stringContaining('1 objects in 2 files') as string })
    expect(lax.out).toMatch(/^warning: namespaces\/shop\/core\/configmaps\/broken\.yaml is left out: /)
  })

  it('--binary gets the declaration from a program', async () => {
    const wish = object('ConfigMap', 'wish', {}, { labels: { answer: 'wanted' } }) as unknown as Json
    const folder = temporary(prefixed('gather', { ...gather, 'wish.json': wish }))
    const output = path.join(folder, 'out')
    const flags = { binary: shell, 'output-dir': output }
    expect(await run(['from-must-gather', path.join(folder, 'gather')], flags)).toMatchObject({
      code: 0,
      out: `1 objects in 2 files: ${output}`,
    })
    expect(Object.keys(listed(filesIn(output), 'namespaces/shop/core/configmaps.yaml'))).toEqual(['wish'])
    await expect(run(['from-must-gather', 'x'], { ...flags, 'output-dir': 'x', binary: '/bin/false' })).rejects.toThrow(
      /\/bin\/false input-resources: exit code 1/,
    )
  })
})

describe('muster inputs from-cluster', () => {
  let kubeconfig = ''
  let client: Client
  const end = Promise.withResolvers<void>()
  let ended = Promise.resolve()
  beforeAll(async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'muster-cli-cluster-'))
    kubeconfig = path.join(folder, 'kubeconfig')
    const ready = Promise.withResolvers<void>()
    ended = besideEmbeddedCluster({ port: undefined, kubeconfig, folder: undefined }, async () => {
      ready.resolve()
      await end.promise
    })
    await ready.promise
    client = await connect({ connection: await loadConnection({ kubeconfig }) })
    await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } })
    await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'config' } })
    for (const [resource, made] of cluster) await client.create(resource, made)
    return () => rmSync(folder, { recursive: true })
  })
  afterAll(async () => {
    await client.close()
    end.resolve()
    await ended
  })

  const secretsOf: Resource = { ...v1, kind: 'Secret', plural: 'secrets', namespaced: true }
  const classes: Resource = {
    group: 'storage.k8s.io',
    version: 'v1',
    kind: 'StorageClass',
    plural: 'storageclasses',
    namespaced: false,
  }
  const secret = (name: string, namespace: string, password: string): readonly [Resource, UntypedObject] => [
    secretsOf,
    object('Secret', name, { stringData: { password } }, { namespace }),
  ]
  const storageClass = (name: string): readonly [Resource, UntypedObject] => [
    classes,
    { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name }, provisioner: 'example.com/disk' },
  ]
  const cluster: readonly (readonly [Resource, UntypedObject])[] = [
    [
      configMaps,
      object(
        'ConfigMap',
        'refers',
        {
          data: { cert: 'cert', namespace: 'shop', secret: 'named', class: 'fast', url: 'https://me:open sesame@host' },
        },
        { labels: { answer: 'wanted' } },
      ),
    ],
    [configMaps, object('ConfigMap', 'other', { data: { not: 'declared' } })],
    secret('cert', 'config', 'open sesame'),
    secret('named', 'shop', 'open sesame'),
    secret('other', 'shop', 'never asked for'),
    storageClass('fast'),
    storageClass('slow'),
  ]
  const referring = { ...v1, resource: 'configmaps', namespace: 'shop', name: 'refers' }
  const references = {
    applyConfigurationResources: {
      resourceReferences: [
        {
          referringResource: referring,
          type: 'ImplicitNamespacedReference',
          implicitNamespacedReference: { ...v1, resource: 'secrets', namespace: 'config', nameJSONPath: '$.data.cert' },
        },
        {
          referringResource: referring,
          type: 'ExplicitNamespacedReference',
          explicitNamespacedReference: {
            ...v1,
            resource: 'secrets',
            namespaceJSONPath: '$.data.namespace',
            nameJSONPath: '$.data.secret',
          },
        },
        {
          referringResource: referring,
          type: 'ClusterScopedReference',
          clusterScopedReference: {
            group: 'storage.k8s.io',
            version: 'v1',
            resource: 'storageclasses',
            nameJSONPath: '$.data.class',
          },
        },
        {
          referringResource: referring,
          type: 'ClusterScopedReference',
          clusterScopedReference: { ...v1, resource: 'nodes', nameJSONPath: '$.data.absent' },
        },
      ],
    },
  }

  it('follows references of every type, and with --redact prints no value of a Secret', async () => {
    const folder = temporary({ 'declared.yaml': references })
    const output = path.join(folder, 'out')
    const flags = { kubeconfig, 'input-resources': path.join(folder, 'declared.yaml'), 'output-dir': output }
    expect(await run(['from-cluster'], { ...flags, redact: true })).toEqual({
      code: 0,
      out: `4 objects in 8 files: ${output}`,
    })
    const files = filesIn(output)
    expect(Object.keys(files)).toEqual([
      'aggregated-discovery-api.yaml',
      'aggregated-discovery-apis.yaml',
      'cluster-scoped-resources/storage.k8s.io/storageclasses.yaml',
      'namespaces/config/config.yaml',
      'namespaces/config/core/secrets.yaml',
      'namespaces/shop/core/configmaps.yaml',
      'namespaces/shop/core/secrets.yaml',
      'namespaces/shop/shop.yaml',
    ])
    const { cert } = listed(files, 'namespaces/config/core/secrets.yaml')
    const secrets = listed(files, 'namespaces/shop/core/secrets.yaml')
    expect(Object.keys(secrets)).toEqual(['named'])
    expect(secrets['named']!.data).toEqual(cert!.data)
    const standIn = Buffer.from(cert!.data!['password']!, 'base64').toString()
    expect(listed(files, 'namespaces/shop/core/configmaps.yaml')['refers']!.data).toMatchObject({
      url: `https://me:${standIn}@host`,
      secret: 'named',
      namespace: 'shop',
    })
    const everyFile = Object.values(files).join('\n')
    for (const word of ['open sesame', base64('open sesame')]) expect(everyFile).not.toContain(word)
    expect(files['cluster-scoped-resources/storage.k8s.io/storageclasses.yaml']).toContain('name: fast')
  })

  it('writes the same as from a gather, for a program', async () => {
    const folder = temporary()
    const [live, again] = [path.join(folder, 'live'), path.join(folder, 'again')]
    expect(await run(['from-cluster'], { kubeconfig, binary: shell, 'output-dir': live })).toMatchObject({ code: 0 })
    expect(Object.keys(listed(filesIn(live), 'namespaces/shop/core/configmaps.yaml'))).toEqual(['refers'])
    await run(['from-must-gather', live], { binary: shell, 'output-dir': again, strict: true })
    expect(filesIn(again)).toEqual(filesIn(live))
  })

  it('reports Secrets that --redact may not read', async () => {
    const roles: Resource = {
      group: 'rbac.authorization.k8s.io',
      version: 'v1',
      kind: 'ClusterRole',
      plural: 'clusterroles',
      namespaced: false,
    }
    const bindings: Resource = { ...roles, kind: 'ClusterRoleBinding', plural: 'clusterrolebindings' }
    const made = (kind: string, more: object): UntypedObject => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind,
      metadata: { name: 'reader' },
      ...more,
    })
    const rules = [{ apiGroups: [''], resources: ['configmaps', 'namespaces'], verbs: ['get', 'list'] }]
    await client.create(roles, made('ClusterRole', { rules }))
    await client.create(
      bindings,
      made('ClusterRoleBinding', {
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'reader' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'reader' }],
      }),
    )
    const config = readYaml(readFileSync(kubeconfig, 'utf8')) as unknown as { users: { user: object }[] }
    Object.assign(config.users[0]!.user, { as: 'reader', 'as-groups': ['system:authenticated'] })
    const folder = temporary({ 'declared.yaml': maps, kubeconfig: config as unknown as Json })
    const reader = path.join(folder, 'kubeconfig')
    const flags = { 'input-resources': path.join(folder, 'declared.yaml'), 'output-dir': path.join(folder, 'out') }
    const { code, out } = await run(['from-cluster'], { ...flags, kubeconfig: reader, redact: true })
    expect({ code, out }).toMatchObject({
      code: 0,
      out: expect.stringContaining('warning: not all Secrets may be read') as string,
    })
    expect(out).not.toContain('open sesame')
  })
})

function prefixed(
  folder: string,
  files: Readonly<Record<string, Json | string>>,
): Readonly<Record<string, Json | string>> {
  return Object.fromEntries(Object.entries(files).map(([name, content]) => [`${folder}/${name}`, content]))
}
