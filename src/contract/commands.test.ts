import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { memcached } from '../../test/examples.ts'
import type { KubeObject } from '../kube/object.ts'
import { readYaml } from '../kube/yaml/yaml.ts'
import { defineController } from '../operator/controller.ts'
import type { Json } from '../kube/json.ts'
import { anything, integer, optional } from '../operator/kind/field.ts'
import { exactly, generated, labelled, referenced } from '../operator/view/input.ts'
import { defineKind } from '../operator/kind/kind.ts'
import { ConfigMap, Namespace, Secret } from '../kube/kinds.ts'
import { defineDependent } from '../operator/dependent/dependent.ts'
import { defineOperator, type Operator } from '../operator/operator.ts'
import { inRole } from '../operator/placement-role.ts'
import { runContractCommand } from './commands.ts'
import { actionOf, mutationHash } from './declaration/mutation.ts'
import { readOutput } from './directory/output-reader.ts'

const input = 'examples/memcached/tests/creates/input-dir'
const now = '2026-01-31T12:00:00Z'

interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
  readonly folder: string
}

function folderOf(files: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-contract-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    writeFileSync(path.join(folder, name), text)
  }
  return folder
}

async function run(operator: Operator, ...words: readonly string[]): Promise<Ran> {
  const out: string[] = []
  const err: string[] = []
  const folder = path.join(folderOf(), 'out')
  const isRun = words[0]?.startsWith('apply-') && !words.includes('--output-dir')
  const code = await runContractCommand(operator, isRun ? [...words, '--output-dir', folder] : words, {
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
  })
  return { code, out: out.join('\n'), err: err.join('\n'), folder }
}

const Wish = defineKind({
  group: 'test.example.com',
  version: 'v1',
  kind: 'Wish',
  plural: 'wishes',
  spec: { size: integer({ default: 1 }) },
  status: { again: optional(anything()) },
})
const wish = (name: string): string =>
  `apiVersion: test.example.com/v1\nkind: Wish\nmetadata: {name: ${name}, namespace: shop, uid: ${name}, generation: 1}\nspec: {}\n`
const wishes = (...names: readonly string[]): string =>
  folderOf(
    Object.fromEntries(names.map((name) => [`namespaces/shop/test.example.com/wishes/${name}.yaml`, wish(name)])),
  )

describe('input-resources and output-resources', () => {
  it('print the declaration, with every kind of entry', async () => {
    const operator = defineOperator({
      name: 'wisher',
      controllers: [
        defineController({
          for: Wish,
          reads: [
            exactly(ConfigMap, { namespace: 'shop', name: 'a' }),
            labelled(Secret, { namespace: 'shop', labels: { tier: 'db' } }),
            referenced(Secret, { from: Wish, namePath: '$.spec.secret', namespacePath: '$.metadata.namespace' }),
            referenced(Namespace, {
              from: exactly(ConfigMap, { namespace: 'shop', name: 'a' }),
              namePath: '$.data.ns',
            }),
          ],
          writes: [generated(ConfigMap, { namespace: 'shop', prefix: 'made-' }), inRole(Namespace, 'userWorkload')],
          reconcile: () => ({}),
        }),
      ],
    })
    const inputs = await run(operator, 'input-resources')
    expect(inputs.code).toBe(0)
    const own = { matchLabels: { 'app.kubernetes.io/managed-by': 'wisher' } }
    expect(readYaml(inputs.out)).toEqual({
      applyConfigurationResources: {
        exactResources: [{ group: '', version: 'v1', resource: 'configmaps', namespace: 'shop', name: 'a' }],
        generatedNameResources: [
          { group: '', version: 'v1', resource: 'configmaps', namespace: 'shop', name: 'made-' },
        ],
        labelSelectedResources: [
          { group: '', version: 'v1', resource: 'configmaps', labelSelector: own },
          { group: '', version: 'v1', resource: 'namespaces', labelSelector: own },
          {
            group: '',
            version: 'v1',
            resource: 'secrets',
            namespace: 'shop',
            labelSelector: { matchLabels: { tier: 'db' } },
          },
          { group: 'test.example.com', version: 'v1', resource: 'wishes', labelSelector: {} },
        ],
        resourceReferences: [
          {
            referringResource: { group: '', version: 'v1', resource: 'configmaps', namespace: 'shop', name: 'a' },
            type: 'ClusterScopedReference',
            clusterScopedReference: { group: '', version: 'v1', resource: 'namespaces', nameJSONPath: '$.data.ns' },
          },
          {
            referringResource: { group: 'test.example.com', version: 'v1', resource: 'wishes' },
            type: 'ExplicitNamespacedReference',
            explicitNamespacedReference: {
              group: '',
              version: 'v1',
              resource: 'secrets',
              namespaceJSONPath: '$.metadata.namespace',
              nameJSONPath: '$.spec.secret',
            },
          },
        ],
      },
    })
    expect(readYaml((await run(operator, 'output-resources')).out)).toEqual({
      configurationResources: {
        eventingNamespaces: ['*'],
        generatedNameResources: [
          { group: '', version: 'v1', resource: 'configmaps', namespace: 'shop', name: 'made-' },
        ],
        kindResources: [{ group: 'test.example.com', version: 'v1', resource: 'wishes' }],
      },
      managementResources: {},
      userWorkloadResources: { kindResources: [{ group: '', version: 'v1', resource: 'namespaces' }] },
    })
  })
})

describe('apply-configuration', () => {
  it('writes the mutations of an operator, in order, with the upstream names and format', async () => {
    const { code, folder } = await run(memcached, 'apply-configuration', '--input-dir', input, '--now', now)
    expect(code).toBe(0)
    const { mutations } = readOutput(folder)
    const told = mutations.filter(({ mutation }) => mutation.type.resource !== 'events')
    expect(told.toSorted((a, b) => a.sequence! - b.sequence!).map(({ mutation }) => mutation.type.resource)).toEqual([
      'configmaps',
      'secrets',
      'deployments',
      'memcacheds',
    ])
    // A name holds the hash of the bytes that the file was written with, whatever a formatter has made of them since.
    const expected = readdirSync('examples/memcached/tests/creates/expected-output', {
      recursive: true,
      encoding: 'utf8',
    })
    for (const { file, mutation } of told) {
      expect(expected).toContain(file)
      expect(path.basename(file)).toContain(
        `${mutationHash(readFileSync(path.join(folder, file), 'utf8'), '')}-body-sample`,
      )
      expect(readFileSync(path.join(folder, file.replace('-body-', '-metadata-')), 'utf8')).toBe(
        `action: ${actionOf(mutation)}\ncontrollerInstanceName: memcached\nfieldManager: memcached\ngenerateName: ""\nname: sample\nnamespace: default\nresourceType:\n  Group: ${mutation.type.group || '""'}\n  Resource: ${mutation.type.resource}\n  Version: ${mutation.type.version}\n`,
      )
    }
    expect(readFileSync(path.join(folder, 'controller-results.yaml'), 'utf8')).toBe(
      'controllerResults:\n- controllerName: memcached\n  status: Succeeded\n',
    )
  })

  it('runs only the selected controllers', async () => {
    const at = ['apply-configuration', '--input-dir', input, '--controllers'] as const
    const results = async (words: string): Promise<readonly string[]> => {
      const { folder, code } = await run(memcached, ...at, words)
      expect(code).toBe(0)
      return readOutput(folder).results!.map(({ status }) => status)
    }
    expect(await results('memcached')).toEqual(['Succeeded'])
    expect(await results('-memcached,*')).toEqual(['Skipped'])
    // What names a controller goes before what means all.
    expect(await results('*,-memcached')).toEqual(['Skipped'])
    expect(await results('*')).toEqual(['Succeeded'])
    // Nothing says that it runs.
    expect(await results('-memcached')).toEqual(['Skipped'])
    const unknown = await run(memcached, ...at, 'memcache')
    expect(unknown).toMatchObject({ code: 1, err: expect.stringContaining('Did you mean "memcached"?') as string })
    expect(existsSync(unknown.folder)).toBe(false)
  })

  it('keeps successful writes where another failed, and reports the failure', async () => {
    const operator = defineOperator({
      name: 'wisher',
      controllers: [
        defineController({
          for: Wish,
          writes: [ConfigMap],
          reconcile({ cr }) {
            if (cr.metadata.name === 'bad') throw new Error('no such wish')
            const metadata = { name: cr.metadata.name, namespace: 'shop' }
            return { objects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata }] }
          },
        }),
      ],
    })
    const { code, err, folder } = await run(operator, 'apply-configuration', '--input-dir', wishes('bad', 'good'))
    expect(code).toBe(1)
    expect(err).toContain('shop/bad: ObjectsGetter, cr: no such wish')
    const { results, mutations } = readOutput(folder)
    expect(results).toMatchObject([{ controller: 'wish', status: 'Failed' }])
    expect(mutations.find(({ mutation }) => mutation.type.resource === 'configmaps')?.mutation.name).toBe('good')
  })

  it('rejects and lists undeclared reads and writes', async () => {
    const operator = defineOperator({
      name: 'wisher',
      controllers: [
        defineController({
          for: Wish,
          reads: [ConfigMap, exactly(Secret, { namespace: 'shop', name: 'mine' })],
          writes: [exactly(ConfigMap, { namespace: 'shop', name: 'mine' })],
          dependents: [defineDependent({ for: Wish, kind: ConfigMap })],
          check({ cr, view }) {
            if (cr.metadata.name === 'reader') view.get(Secret, { namespace: 'shop', name: 'other' })
          },
        }),
      ],
    })
    const wrote = await run(operator, 'apply-configuration', '--input-dir', wishes('mine', 'yours'))
    expect(wrote.code).toBe(1)
    expect(wrote.err).toBe(
      'error: wish: shop/yours: ObjectsGetter, cr: wisher, controller wish wants ConfigMap shop/yours, but declares configmaps/v1 shop/mine only.',
    )
    const { mutations } = readOutput(wrote.folder)
    const named = mutations.filter(({ mutation }) => mutation.type.resource === 'configmaps')
    expect(named.map(({ folder, mutation }) => `${folder} ${mutation.name}`)).toEqual(['Configuration mine'])
    const read = await run(operator, 'apply-configuration', '--input-dir', wishes('reader'))
    expect(read.code).toBe(1)
    expect(read.err).toContain('undeclared input: wish reads secrets/v1 shop/other')
  })

  it('lists all undeclared writes, and executes none of them', async () => {
    const reconcile = ({ cr }: { readonly cr: KubeObject }) => {
      const named = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'shop' } })
      return { objects: [named('mine'), named(cr.metadata.name!)] }
    }
    const honest = defineOperator({
      name: 'wisher',
      controllers: [defineController({ for: Wish, writes: [ConfigMap], reconcile })],
    })
    // Its controllers may write more than it says to others.
    const mine = exactly(ConfigMap, { namespace: 'shop', name: 'mine' })
    const others = honest.declaredOutputs.filter(({ resource }) => resource.kind !== 'ConfigMap')
    const operator = { ...honest, declaredOutputs: [...others, mine] }
    const { code, err, folder } = await run(operator, 'apply-configuration', '--input-dir', wishes('a', 'b'))
    expect(code).toBe(1)
    expect(err.split('\n').at(-1)).toBe(
      'error: 2 output-resource were produced, but not present in the specified output: Apply-ConfigMap.v1./a[shop], Apply-ConfigMap.v1./b[shop]',
    )
    const { mutations } = readOutput(folder)
    const written = mutations.filter(({ mutation }) => mutation.type.resource === 'configmaps')
    expect([...new Set(written.map((each) => `${each.folder} ${each.mutation.name}`))].toSorted()).toEqual([
      'Configuration mine',
      'Unspecified a',
      'Unspecified b',
    ])
  })

  it('distinguishes a panicked controller from a failed one, and runs the others', async () => {
    const Other = defineKind({ group: 'test.example.com', version: 'v1', kind: 'Other', spec: {} })
    // Fits its schema when it is checked, and contains itself when it is serialised.
    let reads = 0
    const endless = {
      get again(): Json {
        return reads++ < 1 ? null : endless
      },
    }
    const operator = defineOperator({
      name: 'wisher',
      controllers: [
        defineController({ for: Wish, status: () => endless }),
        defineController({ for: Other, name: 'other', reconcile: () => ({}) }),
      ],
    })
    const { code, err, folder } = await run(operator, 'apply-configuration', '--input-dir', wishes('a'))
    // Not 0, as upstream has it: see docs/limits.md.
    expect({ code, err }).toEqual({ code: 1, err: 'error: wish: Maximum call stack size exceeded' })
    const { results } = readOutput(folder)
    expect(results).toMatchObject([
      { controller: 'other', status: 'Succeeded', errors: [] },
      { controller: 'wish', status: 'Panicked', errors: ['Maximum call stack size exceeded'] },
    ])
    expect(results?.[1]?.panicStack).toMatch(/^RangeError: .*\n +at /)
  })

  it('combines several --controllers flags, as upstream does', async () => {
    const both = ['--controllers', '*', '--controllers', '-memcached']
    const { folder } = await run(memcached, 'apply-configuration', '--input-dir', input, ...both)
    expect(readOutput(folder).results!.map(({ status }) => status)).toEqual(['Skipped'])
  })

  it('does not write into its input, nor into a non-empty or unwritable directory, and reports the content', async () => {
    const folder = folderOf({ 'in/a.yaml': '', file: '', 'old/controller-results.yaml': '', 'logs/stdout.log': '' })
    const into = async (place: string): Promise<Ran> =>
      await run(memcached, 'apply-configuration', '--input-dir', `${folder}/in`, '--output-dir', `${folder}/${place}`)
    for (const place of ['in', 'in/out', 'in/../in/./x']) {
      expect(await into(place)).toMatchObject({
        code: 1,
        err: expect.stringContaining('lies in --input-dir') as string,
      })
    }
    for (const place of ['file', 'file/out']) {
      expect(await into(place)).toMatchObject({
        code: 1,
        err: expect.stringMatching(/MUS2007 .*cannot be written/) as string,
      })
    }
    expect((await into('old')).err).toContain('controller-results.yaml of an earlier run')
    // A runner puts these there before it starts the operator.
    expect(await into('logs')).toMatchObject({ code: 0, err: '' })
    expect(await into('a/b/c')).toMatchObject({ code: 0, err: '' })
  })

  it.each(['2026-02-30T00:00:00Z', '2026-13-01T00:00:00Z', '2026-01-31', '2026-01-31T25:00:00Z', '', 'now'])(
    'rejects an invalid time: %j',
    async (time) => {
      const ran = await run(memcached, 'apply-configuration', '--input-dir', input, '--now', time)
      expect(ran).toMatchObject({ code: 1, err: expect.stringContaining(`--now is "${time}"`) as string })
    },
  )

  it('treats a missing directory as empty, names a malformed file, and is strict on request', async () => {
    const nowhere = await run(memcached, 'apply-configuration', '--input-dir', '/nowhere/at/all')
    expect(nowhere).toMatchObject({ code: 0, err: expect.stringContaining('read as empty') as string })
    const broken = folderOf({ 'namespaces/default/core/secrets.yaml': 'kind: [' })
    expect(await run(memcached, 'apply-configuration', '--input-dir', broken)).toMatchObject({
      code: 0,
      err: expect.stringContaining('secrets.yaml is left out') as string,
    })
    const strict = await run(memcached, 'apply-configuration', '--input-dir', broken, '--strict')
    expect(strict).toMatchObject({ code: 1, err: expect.stringContaining('MUS1604') as string })
    expect(existsSync(strict.folder)).toBe(false)
  })

  it.each([
    [['apply-configuration', '--output-dir', 'x'], /--input-dir is required/],
    [['apply-configuration', '--input-dir', 'x', '--output-dir', ''], /--output-dir is required/],
    [['apply-configuration', '--input-dir', 'x', '--output-dir', 'y', '--now', 'noon'], /--now is "noon"/],
    [['apply-configuration', '--input-dir', 'x', '--output-dir', 'y', '--nwo', 'noon'], /--nwo/],
    [['check-health'], /unknown command "check-health"/],
  ])('exits with 1 for an invalid command line: %j', async (words, why) => {
    const { code, err } = await run(memcached, ...words)
    expect(code).toBe(1)
    expect(err).toMatch(why)
  })
})

describe('apply-configuration-live', () => {
  it('does the same, and author code may make live calls', async () => {
    const operator = defineOperator({
      name: 'wisher',
      controllers: [
        defineController({
          for: Wish,
          writes: [ConfigMap],
          reconcile({ cr, live }) {
            const metadata = { name: cr.metadata.name, namespace: 'shop' }
            return {
              objects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { live: String(live.available) } }],
            }
          },
        }),
      ],
    })
    const kubeconfig = path.join(
      folderOf({
        kubeconfig:
          'clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]\nusers: [{name: u, user: {}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n',
      }),
      'kubeconfig',
    )
    const isLive = async (...words: readonly string[]): Promise<unknown> => {
      const { folder, code, err } = await run(operator, ...words, '--input-dir', wishes('a'))
      expect({ code, err }).toEqual({ code: 0, err: '' })
      return readOutput(folder).mutations.find(({ mutation }) => mutation.type.resource === 'configmaps')?.content
    }
    expect(await isLive('apply-configuration')).toMatchObject({ data: { live: 'false' } })
    expect(await isLive('apply-configuration-live', '--kubeconfig', kubeconfig)).toMatchObject({
      data: { live: 'true' },
    })
  })
})
