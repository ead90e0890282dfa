/**
 * Chart, kustomize base and manifests install the same objects: Helm and kustomize themselves render them, with the values
 * that users set, and the result is what the common source says.
 */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { ownInstallation } from '../../scripts/generate-deploy.ts'
import { realHelm, realKubectl } from '../../scripts/real-binaries.ts'
import type { InstallationDescription } from '../../src/deploy/description.ts'
import { installationFiles } from '../../src/deploy/files.ts'
import { installationObjects, resolvedObjects, releaseScope } from '../../src/deploy/installation.ts'
import { plainObjects } from '../../src/deploy/kustomize.ts'
import { defaultValues, valueTable, withValue } from '../../src/deploy/values.ts'
import { isJsonObject, type Json, type JsonObject } from '../../src/kube/json.ts'
import { readYamlDocuments, writeYaml } from '../../src/kube/yaml/yaml.ts'
import { describeInstallation, gates, roads, wholeInstallation } from '../installation.ts'

const run = promisify(execFile)
const most = { maxBuffer: 2 ** 26 }
let helm: string
let kubectl: string
beforeAll(async () => {
  helm = await realHelm()
  kubectl = await realKubectl()
})

async function written(description: InstallationDescription): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'muster-render-'))
  for (const [name, text] of installationFiles(description)) {
    const file = path.join(folder, name)
    await mkdir(path.dirname(file), { recursive: true })
    await writeFile(file, text)
  }
  return folder
}

const nameOf = (object: Json): string => {
  const { kind, metadata } = object as { readonly kind: string; readonly metadata: Record<string, string> }
  return `${kind} ${metadata['namespace'] ?? ''}/${metadata['name']}`
}
const byName = (objects: readonly Json[]): readonly Json[] =>
  objects.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))

/** What Helm renders, for a release of that name. */
async function rendered(
  chart: string,
  values: JsonObject,
  { name, namespace }: { readonly name: string; readonly namespace: string },
): Promise<readonly Json[]> {
  const file = `${chart}.values.yaml`
  await writeFile(file, writeYaml(values))
  const { stdout } = await run(helm, ['template', name, chart, '--namespace', namespace, '--values', file], most)
  return readYamlDocuments(stdout)
}

/** Values that users set; each changes objects. */
const choices: Readonly<Record<string, fc.Arbitrary<Json>>> = {
  fullnameOverride: fc.constantFrom('', 'another', '123'),
  'image.repository': fc.constantFrom('registry:5000/a/b', 'x'),
  'image.tag': fc.constantFrom('1.0', '20260101', 'latest'),
  'image.digest': fc.constantFrom('', `sha256:${'0a'.repeat(32)}`),
  'image.pullPolicy': fc.constantFrom('Always', 'Never'),
  imagePullSecrets: fc.constantFrom<Json>([], [{ name: 'one' }, { name: 'two' }]),
  replicas: fc.constantFrom(0, 1, 3, 1_000_000),
  sharding: fc.boolean(),
  config: fc.constantFrom<Json>({}, { logging: { level: 'debug' } }, { operators: { a: { from: './a: "b"\n# c' } } }),
  resources: fc.constantFrom<Json>({}, { limits: { cpu: 2, memory: '1Gi' } }),
  podAnnotations: fc.constantFrom<Json>({}, { 'a.b/c': 'yes', d: '{{ no }}' }),
  podLabels: fc.constantFrom<Json>({}, { team: 'true' }),
  nodeSelector: fc.constantFrom<Json>({}, { 'kubernetes.io/os': 'linux' }),
  tolerations: fc.constantFrom<Json>([], [{ key: 'a', operator: 'Exists', tolerationSeconds: 5 }]),
  affinity: fc.constantFrom<Json>({}, { nodeAffinity: {} }),
  priorityClassName: fc.constantFrom('', 'high'),
  env: fc.constantFrom<Json>(
    [],
    [
      { name: 'A', value: '1' },
      { name: 'B', value: 'b\nc' },
    ],
  ),
  volumes: fc.constantFrom<Json>([], [{ name: 'v', emptyDir: {} }]),
  volumeMounts: fc.constantFrom<Json>([], [{ name: 'v', mountPath: '/v' }]),
  'serviceAccount.annotations': fc.constantFrom<Json>({}, { 'iam/role': 'r' }),
  'rbac.rules': fc.constantFrom<Json>([], [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }]),
  'rbac.namespaceRules': fc.constantFrom<Json>([], [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }]),
  'webhooks.enabled': fc.boolean(),
  'podDisruptionBudget.enabled': fc.boolean(),
  'networkPolicy.enabled': fc.boolean(),
  'networkPolicy.egress': fc.constantFrom<Json>([], [{ ports: [{ port: 443 }] }, {}]),
  'crds.install': fc.boolean(),
  'crds.keep': fc.boolean(),
  'serviceMonitor.enabled': fc.boolean(),
  'serviceMonitor.interval': fc.constantFrom('1m', '15s'),
  'serviceMonitor.labels': fc.constantFrom<Json>({}, { release: 'prometheus' }),
  'prometheusRule.enabled': fc.boolean(),
  'prometheusRule.labels': fc.constantFrom<Json>({}, { role: 'alerts' }),
  'dashboard.enabled': fc.boolean(),
  'dashboard.labels': fc.constantFrom<Json>({}, { grafana_dashboard: 'yes' }),
}
const someValues = fc
  .record(choices, { requiredKeys: [] })
  .map((chosen) =>
    Object.entries(chosen).reduce<JsonObject>(
      (all, [name, value]) => withValue(all, name.split('.'), value ?? null),
      {},
    ),
  )

describe.each([
  ['the manager alone', ownInstallation()],
  ['operators with webhooks, accounts and namespaces', wholeInstallation()],
])('an installation of %s', (_what, description) => {
  const { name, namespace } = description
  const table = valueTable(description)
  let folder: string
  let chart: string
  beforeAll(async () => {
    folder = await written(description)
    chart = path.join(folder, 'helm', name)
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('has a chart that Helm accepts', async () => {
    const { stdout } = await run(helm, ['lint', '--strict', chart])
    expect(stdout).toContain('1 chart(s) linted, 0 chart(s) failed')
  })

  it('is rendered by Helm as its source, for any values', { timeout: 300_000 }, async () => {
    expect(Object.keys(choices).toSorted()).toEqual(table.map(({ path: one }) => one).toSorted())
    const release = fc.constantFrom({ name, namespace }, { name: 'other', namespace: 'else-where' })
    await fc.assert(
      fc.asyncProperty(someValues, release, async (set, chosen) => {
        const values = merged(defaultValues(table), set)
        const expected = resolvedObjects(installationObjects(description), releaseScope(values, chosen))
        expect(byName(await rendered(chart, set, chosen))).toEqual(byName(expected))
      }),
      { numRuns: 40 },
    )
  })

  it('rejects misspelt values and values of another type by name', async () => {
    const refused = async (...words: readonly string[]): Promise<string> =>
      await run(helm, ['template', name, chart, ...words]).then(
        () => 'accepted',
        ({ stderr }: { readonly stderr: string }) => stderr,
      )
    expect(await refused('--set', 'replica=3')).toContain('replica')
    expect(await refused('--set', 'image.tagg=3')).toContain('tagg')
    expect(await refused('--set', 'replicas=many')).toContain('replicas')
    expect(await refused('--set', 'image.digest=abc')).toContain('digest')
  })

  it('is the same by kustomize, by the manifests and by Helm', async () => {
    const base = readYamlDocuments(
      (await run(kubectl, ['kustomize', path.join(folder, 'kustomize/base')], most)).stdout,
    )
    const plain = [...plainObjects(description, 'manager').values()].flat()
    expect(byName(base)).toEqual(byName(plain))
    const fromHelm = await rendered(chart, { crds: { install: false } }, { name, namespace })
    expect(byName(base.filter((object) => (object as JsonObject)['kind'] !== 'Namespace'))).toEqual(byName(fromHelm))
  })
})

it('a kustomization on top sets the namespace, the image and the replicas', async () => {
  const config = {
    operators: { 'gate-keeper': { identity: { serviceAccount: 'town-system/gate-keeper' } }, roads: {} },
  }
  const description = describeInstallation([gates, roads], config)
  const { name, namespace } = description
  const folder = await written(description)
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const overlay = path.join(folder, 'kustomize/overlay')
  await mkdir(overlay)
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: ['../base'],
    components: ['../monitoring'],
    namespace: 'ops',
    images: [{ name: description.image.repository, newName: 'mirror/image', newTag: '9' }],
    replicas: [{ name, count: 3 }],
  }
  await writeFile(path.join(overlay, 'kustomization.yaml'), writeYaml(kustomization))
  const objects = readYamlDocuments((await run(kubectl, ['kustomize', overlay], most)).stdout)
  const deployment = objects.find((object) => (object as JsonObject)['kind'] === 'Deployment')
  expect(deployment).toMatchObject({
    metadata: { namespace: 'ops' },
    spec: { replicas: 3, template: { spec: { containers: [{ image: 'mirror/image:9' }] } } },
  })
  const subjects = objects.flatMap((object) => ((object as JsonObject)['subjects'] ?? []) as readonly JsonObject[])
  expect(new Set(subjects.map((subject) => subject['namespace']))).toEqual(new Set(['ops']))
  // Nothing but text for people and the configuration names the former namespace.
  const rest = objects.filter((object) => (object as JsonObject)['kind'] !== 'ConfigMap')
  expect(JSON.stringify(rest)).not.toContain(namespace)
})

/** Helm merges maps of values with their defaults. */
function merged(below: JsonObject, above: JsonObject): JsonObject {
  return Object.fromEntries(
    [...new Set([...Object.keys(below), ...Object.keys(above)])].map((name) => {
      const [one, other] = [below[name], above[name]]
      return [name, isJsonObject(one) && isJsonObject(other) ? merged(one, other) : (other ?? one!)]
    }),
  )
}
