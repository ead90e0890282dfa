/**
 * The Platform and its façades on a real kube-apiserver, hosted by `muster run … --install`: the stories of
 * `test/offline/platform.test.ts`, those that need a façade, and the commands of the pages with the stock kubectl.
 *
 * The server is not shared: a Platform is one in a cluster, and its protection concerns all of it.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { realKubectl } from '../../scripts/real-binaries.ts'
import type { Client } from '../../src/client/client.ts'
import { connect } from '../../src/client/connect.ts'
import { ConfigMap, Deployment, Secret } from '../../src/kube/kinds.ts'
import { findCondition } from '../../src/kube/meta/condition.ts'
import type { UntypedObject } from '../../src/kube/object.ts'
import type { TypedResource } from '../../src/kube/typed-resource.ts'
import { Component } from '../../src/platform/catalogue/component.ts'
import { ComponentVersion } from '../../src/platform/catalogue/component-version.ts'
import { Platform } from '../../src/platform/components/platform.ts'
import { DataScienceCluster } from '../../src/platform/facade/data-science-cluster.ts'
import { Installation } from '../../src/platform/installation/installation.ts'
import { Revision } from '../../src/platform/installation/revision.ts'
import { markDeploymentReady } from '../operator-environment.ts'
import { facadePages, readPage } from '../pages.ts'
import { platformCases, type PlatformPlace } from '../platform-cases.ts'
import { platformWords } from '../platform-words.ts'
import { type Cluster, startCluster } from './cluster.ts'

const namespace = 'muster-system'
const system = (name: string) => ({ name, namespace })

let cluster: Cluster
let client: Client
/** With `.muster/kubeconfig`, as the pages have it, and `bin/kubectl`. */
let folder: string
let manager: ChildProcess
let place: PlatformPlace

/** The work of the controllers that this server lacks: workloads become ready, and dependents go with their owners. */
async function runControllers(): Promise<void> {
  for (const { metadata, status } of (await client.list(Deployment)).items)
    if (status?.observedGeneration !== metadata.generation)
      await markDeploymentReady(client, Deployment, { name: metadata.name, namespace: metadata.namespace! })
  const owners = new Set((await client.list(Installation)).items.map(({ metadata }) => metadata.uid))
  for (const kind of [Revision, Secret] as readonly TypedResource[])
    for (const { metadata } of (await client.list(kind, { namespace })).items)
      if (metadata.ownerReferences?.every(({ uid }) => !owners.has(uid)))
        await client.delete(kind, system(metadata.name))
}

/** All pages say how to start theirs; a Platform has one manager. */
async function startManager(kubeconfig: string): Promise<ChildProcess> {
  const pages = ['installations.md', ...facadePages.map(({ page }) => page)]
  const words = new Set(pages.flatMap((page) => readPage(page).runWords('--install')))
  const own = ['--log-level', 'error', '--set', 'health.port=0', '--set', 'metrics.port=0']
  const env = { PATH: process.env['PATH'], HOME: folder, KUBECONFIG: kubeconfig }
  const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
  const child = spawn(process.execPath, [main, ...words, ...own], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  for await (const line of createInterface({ input: child.stdout })) if (line.includes('running')) return child
  throw new Error('muster run has ended.')
}

beforeAll(async () => {
  cluster = await startCluster()
  folder = await mkdtemp(path.join(tmpdir(), 'muster-platform-'))
  const kubeconfig = path.join(folder, '.muster', 'kubeconfig')
  for (const name of ['.muster', 'bin']) await mkdir(path.join(folder, name))
  await writeFile(kubeconfig, cluster.access.kubeconfig, { mode: 0o600 })
  await symlink(await realKubectl(), path.join(folder, 'bin', 'kubectl'))
  client = await connect({ kubeconfig })
  manager = await startManager(kubeconfig)
  const words = platformWords(client, {
    rested: async () => undefined,
    eventually: async (assertion) =>
      await vi.waitFor(
        async () => {
          await runControllers()
          await assertion()
        },
        { timeout: 60_000, interval: 20 },
      ),
  })
  place = { ...words, client, now: () => Date.now() }
})
afterAll(async () => {
  if (manager) {
    const ended = once(manager, 'exit')
    manager.kill()
    await ended
  }
  await client?.close()
  await cluster?.stop()
  await rm(folder, { recursive: true, force: true })
})
afterEach(async () => {
  for (const kind of [Platform, Component, ComponentVersion] as readonly TypedResource[]) {
    const names = (await client.list(kind)).items.map(({ metadata }) => ({ name: metadata.name }))
    for (const name of names) await client.delete(kind, name)
    for (const name of names) await place.gone(kind, name)
  }
})

describe('on kube-apiserver', () => {
  it.each(platformCases)('$title', { timeout: 120_000 }, async ({ expectStory }) => {
    await expectStory(place)
  })
})

describe('a DataScienceCluster on kube-apiserver', () => {
  const dsc = (managementState: string): UntypedObject => ({
    apiVersion: 'datasciencecluster.opendatahub.io/v1',
    kind: 'DataScienceCluster',
    metadata: { name: 'default-dsc' },
    spec: { components: { codeflare: { managementState }, dashboard: { managementState: 'Removed' } } },
  })
  const v1 = { ...DataScienceCluster, version: 'v1' }
  const ask = (managementState: string) => client.apply(v1, dsc(managementState), { fieldManager: 'kubectl' })
  const status = async () => (await client.get(DataScienceCluster, { name: 'default-dsc' })).status

  it('switches CodeFlare on and off by one field, and shows what is in the way', { timeout: 120_000 }, async () => {
    await place.publish('codeflare', '1.0.0')
    await place.list('codeflare', '1.0.0', { preinstalled: { helmReleases: ['codeflare'] } })
    const labels = { owner: 'helm', name: 'codeflare', status: 'deployed', version: '1' }
    const metadata = { name: 'sh.helm.release.v1.codeflare.v1', namespace: 'default', labels }
    await client.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata, type: 'helm.sh/release.v1' })
    await ask('Managed')
    await place.eventually(async () => {
      const { phase, conditions } = (await status()) ?? {}
      expect(phase).toBe('Not Ready')
      const message = findCondition(conditions, 'CodeFlareReady')?.message
      for (const part of ['Helm release default/codeflare', 'Adopt', 'Unmanaged', 'uninstall it'])
        expect(message).toContain(part)
    })
    expect((await client.list(Installation)).items).toEqual([])

    await client.delete(Secret, { name: metadata.name, namespace: 'default' })
    await place.eventually(async () =>
      expect(await status()).toMatchObject({
        phase: 'Ready',
        components: { codeflare: { managementState: 'Managed', releases: [{ name: 'codeflare', version: '1.0.0' }] } },
        installedComponents: { codeflare: true, dashboard: false },
      }),
    )
    const { conditions } = (await status())!
    for (const type of ['CodeFlareReady', 'ComponentsReady', 'Ready'])
      expect(findCondition(conditions, type)).toMatchObject({ status: 'True' })
    await client.get(ConfigMap, system('codeflare'))

    await ask('Removed')
    await place.gone(ConfigMap, system('codeflare'))
    await place.eventually(async () => {
      const { phase, conditions: after } = (await status())!
      expect(phase).toBe('Ready')
      expect(findCondition(after, 'CodeFlareReady')).toMatchObject({ status: 'False', reason: 'Removed' })
    })
    expect((await client.list(Installation)).items).toEqual([])
    await client.delete(DataScienceCluster, { name: 'default-dsc' })
    await place.gone(DataScienceCluster, { name: 'default-dsc' })
  })
})

describe('with the stock kubectl', () => {
  const shell = async (...lines: readonly string[]): Promise<string> => {
    const env = { PATH: `${path.join(folder, 'bin')}:${process.env['PATH']}`, HOME: folder }
    const script = ['set -e', 'export KUBECONFIG=.muster/kubeconfig', ...lines].join('\n')
    const { stdout } = await promisify(execFile)('sh', ['-c', script], { cwd: folder, env })
    return stdout
  }
  const apply = (manifests: string): string => `kubectl apply -f - <<'END'\n${manifests}END`
  const wait = (path_: string, value: string): string =>
    `kubectl wait platform default --for=jsonpath='{.status.components[0].${path_}}'=${value} --timeout=60s`

  it('docs/platform.md shows manifests and commands that do what it says', { timeout: 120_000 }, async () => {
    const blocks = readPage('platform.md').blocks('yaml')
    const [publish = '', on = '', installedByOthers = '', windows = '', skip = '', off = ''] = blocks
    const version = `kubectl get configmap queue -n queue -o jsonpath='{.data.version}'`
    expect(await shell(apply(publish), apply(on), wait('state', 'Ready'), version)).toMatch(/1\.0\.0$/)
    await shell(apply(installedByOthers), 'kubectl get component kueue')
    expect(await shell('kubectl get platform')).toMatch(/^NAME +STATE +READY +MESSAGE +AGE\ndefault +Ready +True/)
    expect(await shell(apply(windows), wait('target', '1.1.0'), wait('maintenance', 'true'), version)).toMatch(
      /1\.0\.0$/,
    )
    expect(await shell(apply(skip), wait('version', '1.1.0'), wait('state', 'Ready'), version)).toMatch(/1\.1\.0$/)
    await shell(
      apply(off),
      wait('state', 'Removed'),
      'kubectl wait configmap queue -n queue --for=delete --timeout=60s',
    )
    expect(await shell('kubectl delete platform default --timeout=60s')).toContain('"default" deleted')
  })

  it.each(facadePages)('docs/$page shows commands that run', { timeout: 120_000 }, async ({ page, shown }) => {
    const stdout = await shell(...readPage(page).blocks('sh'))
    for (const line of shown) expect(stdout).toContain(line)
    for (const [kind, space] of [
      ['datasciencecluster', 'default'],
      ['kyma', 'kyma-system'],
    ])
      await shell(`kubectl delete ${kind} --all -n ${space} --timeout=60s`)
  })
})
