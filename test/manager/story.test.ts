/**
 * From nothing to an operated cluster, as the documents say: a project is made, its operator is that of a page of the handbook, its
 * chart installs a manager, whose image runs as the service account of the chart; its metrics feed the dashboard; a mistake in its configuration is found; it is upgraded and
 * uninstalled, and nothing stays. On the embedded server in `npm test`; on a real one, with Helm, in `npm run test:real`.
 */
import { execFile } from 'node:child_process'
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { realHelm } from '../../scripts/real-binaries.ts'
import type { Client } from '../../src/client/client.ts'
import { builtinResources } from '../../src/kube/builtin.ts'
import { isJsonObject, type Json, type JsonObject } from '../../src/kube/json.ts'
import type { Resource } from '../../src/kube/kind.ts'
import { ConfigMap, Deployment } from '../../src/kube/kinds.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { resourceOf } from '../../src/kube/typed-resource.ts'
import { readYamlDocuments } from '../../src/kube/yaml/yaml.ts'
import { canStartContainers, makeImageRoot, startContainer } from '../image-root.ts'
import { apply, type Replica, startPod, uninstall } from '../kubelet.ts'
import { emptyFolder, install, muster } from '../project.ts'
import { createWaiters, openProcessEnvironment } from './process-environment.ts'

const isReal = Boolean(process.env['MUSTER_TEST_REAL'])
const suffix = `s${Math.floor(performance.timeOrigin).toString(36)}`
const name = `book-${suffix}`
const namespace = `${name}-system`
const group = `${suffix}.example.com`
const guestbooks: Resource = { group, version: 'v1', kind: 'Guestbook', plural: 'guestbooks', namespaced: true }

const { notice, until } = createWaiters()

/** The release of the chart: installed by Helm on a real server, by the manifests, which are equal, on an embedded one. */
interface Release {
  /** Installs the chart, or upgrades the release to it. */
  install(): Promise<void>
  uninstall(): Promise<void>
}

function openRelease(project: string, admin: Client, kubeconfig: string): Release {
  const deploy = path.join(project, 'deploy')
  if (isReal) {
    const run = promisify(execFile)
    const helm = async (...words: readonly string[]): Promise<unknown> =>
      await run(await realHelm(), [...words, '--namespace', namespace, '--kubeconfig', kubeconfig])
    const chart = [name, path.join(deploy, 'helm', name), '--create-namespace', '--set', 'crds.keep=false']
    return {
      async install() {
        await helm('upgrade', '--install', ...chart)
      },
      async uninstall() {
        await helm('uninstall', name)
      },
    }
  }
  let objects: readonly JsonObject[] = []
  return {
    async install() {
      const files = ['crds.yaml', 'install.yaml'].map((file) => path.join(deploy, 'manifests', file))
      const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')))
      objects = texts.flatMap((text) => readYamlDocuments(text)) as readonly JsonObject[]
      await apply(admin, objects)
    },
    uninstall: () => uninstall(admin, objects),
  }
}

/** Names of series in the queries of the dashboard. */
function namesIn(value: Json | undefined): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item: Json) => namesIn(item))
  if (!isJsonObject(value)) return []
  const { expr } = value
  const own =
    typeof expr === 'string'
      ? (expr.match(/\b(?:muster|controller_runtime|workqueue|rest_client|leader_election|process|nodejs)_\w+/g) ?? [])
      : []
  return [...own, ...Object.values(value).flatMap((member) => namesIn(member))]
}

/** Everything of the installation that a cluster still has, Events aside, which expire. */
async function leftovers(admin: Client): Promise<readonly string[]> {
  const found: string[] = []
  for (const resource of builtinResources()) {
    if (resource.kind === 'Event' || resource.kind === 'Namespace') continue
    // Reviews and their like cannot be listed.
    const { items } = await admin.list(resource, {}).catch(() => ({ items: [] as readonly KubeObject[] }))
    for (const { namespace: space = '', name: called = '' } of items.map(({ metadata }) => metadata)) {
      const isOwn = space === namespace || called.includes(name) || called.includes(group)
      // Every namespace has these.
      const isUsual = called === 'kube-root-ca.crt' || called === 'default'
      if (isOwn && !isUsual) found.push(`${resource.kind} ${space}/${called}`)
    }
  }
  return found
}

/** The operator of docs/operators/testing-unit.md. Its group is another one: the cluster may have other users. */
async function writeHandbookOperator(project: string): Promise<void> {
  const page = await readFile(new URL('../../docs/operators/testing-unit.md', import.meta.url), 'utf8')
  const [, code = ''] = /^```ts guestbook\.ts\n([^]*?)^```$/m.exec(page) ?? []
  expect(code).toContain("group: 'example.com'")
  await rm(path.join(project, 'src'), { recursive: true })
  await mkdir(path.join(project, 'src'))
  await writeFile(path.join(project, 'src/guestbook.ts'), code.replace("group: 'example.com'", `group: '${group}'`))
  await writeFile(path.join(project, 'muster.yaml'), 'operators:\n  guestbook: { from: ./src/guestbook.ts }\n')
}

it(
  'a project is installed, operated, upgraded and uninstalled by its documents',
  { timeout: 180_000 },
  async ({ skip }) => {
    skip(!canStartContainers(), 'this user may not change the root of a process')
    const folder = await emptyFolder()
    await chmod(folder, 0o755)
    const environment = await openProcessEnvironment(`story-${suffix}`, [])
    onTestFinished(() => environment.close())
    const { client: admin, kubeconfig } = environment

    // A project as muster init makes it, with the operator of a page instead of the template's.
    const project = path.join(folder, name)
    expect(await muster(folder, 'init', name, '--group', group, '--dir', name)).toMatchObject({ code: 0 })
    await writeHandbookOperator(project)
    await install(project)
    const generate = async (): Promise<void> => {
      expect(await muster(project, 'generate', 'deploy')).toMatchObject({ code: 0, stderr: '' })
    }
    await generate()
    await rm(path.join(project, 'node_modules'), { recursive: true })
    const root = path.join(folder, 'image')
    await makeImageRoot(project, root)
    const release = openRelease(project, admin, kubeconfig)
    await release.install()
    const start = startContainer(root)
    const kubelet = { admin, name, namespace, folder, kubeconfig, start, notice }
    const one = await startPod(kubelet, 'one')
    const said = (replica: Replica, text: string): Promise<void> =>
      until(
        () => replica.lines.some((line) => line.includes(text)),
        () => `${text}, in ${replica.lines.join('\n')}`,
      )
    await said(one, 'console: ')
    await said(one, 'leads')

    // It works.
    const demo = { name: 'demo', namespace }
    await admin.create(guestbooks, {
      apiVersion: `${group}/v1`,
      kind: 'Guestbook',
      metadata: demo,
      spec: { replicas: 2 },
    })
    await said(one, 'Reconciled')
    const made = await admin.get(Deployment, demo)
    expect(made.spec?.replicas).toBe(2)
    expect(await one.ask('/readyz')).toBe('ok\n')

    // It is seen: each metric that the dashboard asks for, and the table of muster top.
    const dashboard = JSON.parse(await readFile(path.join(project, 'deploy/monitoring/dashboard.json'), 'utf8')) as Json
    const scrape = await one.metrics()
    const families = new Set([...scrape.matchAll(/^# TYPE (\S+)/gm)].map(([, family]) => family!))
    const asked = new Set(namesIn(dashboard).map((series) => series.replace(/_(?:bucket|sum|count)$/, '')))
    expect(asked.size).toBeGreaterThan(10)
    expect([...asked].filter((family) => !families.has(family))).toEqual([])
    expect(scrape).toContain('muster_config_last_reload_successful 1')
    expect(await one.exec('top', '--once')).toMatch(/^guestbook /m)

    // A mistake in its configuration is found wherever an administrator looks.
    const configMap = { namespace, name }
    const right = (await admin.get(ConfigMap, configMap)).data!['muster.yaml']!
    const configure = (text: string): Promise<unknown> =>
      admin.patch(ConfigMap, configMap, { data: { 'muster.yaml': text } }, { type: 'merge' })
    await configure(`${right}loging: { level: debug }\n`)
    await said(one, 'loging')
    expect(await one.ask('/readyz?verbose')).toMatch(/\[!\].*loging/)
    expect(await one.metrics()).toContain('muster_config_last_reload_successful 0')
    expect(await one.exec('top', '--once')).toContain('loging')
    const report = JSON.parse(await one.exec('top', '-o', 'json')) as { readonly configuration: JsonObject }
    expect(JSON.stringify(report.configuration)).toContain('loging')
    const events = async (): Promise<readonly string[]> => {
      const { items } = await admin.list(resourceOf('v1', 'Event'), {
        namespace,
        fieldSelector: `involvedObject.name=${name}`,
      })
      return items.map((event) => JSON.stringify(event))
    }
    for (let told: readonly string[] = []; !told.some((message) => message.includes('loging'));) told = await events()
    await configure(right)
    await until(
      () => one.lines.some((line) => line.includes('valid again')),
      () => `the mended configuration is logged, in ${one.lines.join('\n')}`,
    )
    expect(await one.ask('/readyz?verbose')).not.toContain('loging')

    // An upgrade: the new Pod comes, then the old one goes. Nothing that is right is written again.
    const manifest = path.join(project, 'package.json')
    await writeFile(manifest, (await readFile(manifest, 'utf8')).replace('"version": "0.0.0"', '"version": "0.0.1"'))
    await install(project)
    await generate()
    await release.install()
    const { spec } = await admin.get(Deployment, { namespace, name })
    expect(spec?.template.spec?.containers[0]?.image).toBe(`${name}:0.0.1`)
    const two = await startPod(kubelet, 'two')
    await said(two, 'console: ')
    await one.stop()
    await said(two, 'leads')
    await admin.patch(guestbooks, demo, { spec: { replicas: 3 } }, { type: 'merge' })
    await said(two, 'Reconciled')
    expect((await admin.get(Deployment, demo)).spec?.replicas).toBe(3)
    expect((await admin.get(Deployment, demo)).metadata.uid).toBe(made.metadata.uid)

    // Nothing was forbidden.
    for (const replica of [await two.metrics(), scrape]) {
      expect(replica).toContain('rest_client_requests_total')
      expect(replica).not.toMatch(/rest_client_requests_total\{[^}]*code="40[13]"/)
    }
    await two.stop()
    await admin.delete(guestbooks, demo)
    await admin.delete(Deployment, demo).catch(() => undefined)
    await release.uninstall()
    // A CRD is gone when its custom resources are.
    let left = await leftovers(admin)
    for (let looks = 0; looks < 20 && left.length > 0; looks++) left = await leftovers(admin)
    expect(left).toEqual([])
  },
)
