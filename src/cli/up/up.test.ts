import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../../test/free-port.ts'
import { emptyFolder, muster } from '../../../test/project.ts'
import type { Client } from '../../client/client.ts'
import { connect } from '../../client/connect.ts'
import type { Resource } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { isConditionTrue } from '../../kube/meta/condition.ts'
import { Deployment, Node } from '../../kube/kinds.ts'
import { readReport } from '../../manager/observability/report.ts'
import type { StandardStatus } from '../../operator/kind/kind.ts'
import { Platform, type PlatformStatus } from '../../platform/components/platform.ts'
import { Installation } from '../../platform/installation/installation.ts'
import { AppWrapper } from '../../workloads/appwrapper/appwrapper.ts'
import { readManagerFile } from '../manager/manager-file.ts'

const example = (group: string, kind: string, plural: string): Resource => ({
  group,
  version: 'v1alpha1',
  kind,
  plural,
  namespaced: true,
})
const memcacheds = example('cache.example.com', 'Memcached', 'memcacheds')
const databases = example('db.example.com', 'Database', 'databases')

interface Started {
  readonly child: ChildProcess
  readonly out: readonly string[]
  /** The first line that holds it. */
  line(part: string): Promise<string>
  end(): Promise<number | null>
}

const up = (folder: string, ...words: readonly string[]): Started => start(folder, 'up', ...words)

function start(folder: string, ...words: readonly string[]): Started {
  const main = fileURLToPath(new URL('../main.ts', import.meta.url))
  const child = spawn(process.execPath, ['--conditions=muster-source', main, ...words], { cwd: folder })
  onTestFinished(() => void child.kill('SIGKILL'))
  const out: string[] = []
  const waiting = new Set<() => void>()
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      out.push(line)
      for (const look of waiting) look()
    })
  }
  const line = (part: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = out.find((each) => each.includes(part))
        if (found !== undefined) resolve(found)
      }
      waiting.add(look)
      child.once('close', () => reject(new Error(`it has ended: ${out.join('\n')}`)))
      look()
    })
  return {
    child,
    out,
    line,
    async end() {
      const ended = once(child, 'close')
      child.kill('SIGINT')
      return ((await ended) as [number | null])[0]
    },
  }
}

/** Resolves with the object as soon as it is so. */
async function until(
  client: Client,
  resource: Resource,
  name: string,
  holds: (object: UntypedObject) => boolean,
): Promise<UntypedObject> {
  for (;;) {
    const namespace = resource.namespaced ? { namespace: 'default' } : {}
    const watch = client.watch(resource, { ...namespace, fieldSelector: `metadata.name=${name}` })
    for await (const { type, object } of watch) {
      if ((type === 'ADDED' || type === 'MODIFIED') && holds(object)) return object
    }
  }
}

const statesOf = (status: unknown): string =>
  ((status ?? {}) as PlatformStatus).components?.map(({ name, state }) => `${name} ${state}`).join(', ') ?? ''
const replicasOf = ({ spec }: UntypedObject): unknown => (spec as { readonly replicas?: number }).replicas
const isReadyShop = ({ metadata, status }: UntypedObject): boolean => {
  const { observedGeneration, conditions } = (status ?? {}) as StandardStatus
  return observedGeneration === metadata.generation && isConditionTrue(conditions, 'Ready')
}
const lifeOf = ({ status }: UntypedObject): unknown =>
  (status as { readonly lifecycle?: { readonly state?: string } } | undefined)?.lifecycle?.state

const phaseOf = ({ status }: UntypedObject): unknown => (status as { readonly phase?: string } | undefined)?.phase

describe('muster up', { timeout: 120_000 }, () => {
  it('shows running operators, things to try, and no writes after a restart', async () => {
    const folder = await emptyFolder()
    const first = up(folder)
    expect(await first.line('at rest')).toMatch(/^at rest: the cluster was new, \d\d writes since this start$/)
    const [, kubeconfig = ''] = /export KUBECONFIG=(\S+)/.exec(first.out.join('\n')) ?? []
    const client = await connect({ kubeconfig })
    onTestFinished(() => client.close())
    await until(client, databases, 'orders', (object) => lifeOf(object) === 'running')

    // The words that were printed, taken apart as a shell and kubectl would.
    const [patch, scale, upgrade, , rollback, switched, listing] = first.out.filter((line) =>
      line.startsWith('  kubectl '),
    )
    const [, kind, name, body] = /^  kubectl patch (\w+) (\w+) --type=merge -p '(.*)'$/.exec(patch!)!
    expect(kind).toBe('memcached')
    await client.patch(memcacheds, { name: name!, namespace: 'default' }, JSON.parse(body!), { type: 'merge' })
    await until(client, Deployment, name!, (object) => replicasOf(object) === 5)
    const [, target, replicas] = /^  kubectl scale deployment (\w+) --replicas=(\d)$/.exec(scale!)!
    await client.setScale(Deployment, { name: target!, namespace: 'default' }, Number(replicas))
    await until(client, Deployment, target!, (object) => replicasOf(object) === 5)
    expect(await first.line('corrected deployment')).toMatch(
      /^\d\d:\d\d:\d\d memcached default\/sample: corrected deployment \(spec\.replicas\)/,
    )
    // The installation of a chart is upgraded, and goes back.
    for (const [line, image] of [
      [upgrade, 'shop:2'],
      [rollback, 'shop:1'],
    ] as const) {
      const [, wanted] = /^  kubectl patch installation shop --type=merge -p '(.*)'$/.exec(line!)!
      await until(client, Installation, 'shop', isReadyShop)
      await client.patch(Installation, { name: 'shop', namespace: 'default' }, JSON.parse(wanted!), { type: 'merge' })
      await until(client, Deployment, 'shop', ({ spec }) => JSON.stringify(spec).includes(`"image":"${image}"`))
    }
    await until(client, Installation, 'shop', isReadyShop)
    // A component is switched on, another off.
    const [, spec] = /^  kubectl patch platform default --type=merge -p '(.*)'$/.exec(switched!)!
    await client.patch(Platform, { name: 'default' }, JSON.parse(spec!), { type: 'merge' })
    await until(client, Platform, 'default', ({ status }) => statesOf(status) === 'notices Ready')
    // One AppWrapper has run. The other one says why it waits, until there is a node for it.
    expect(listing).toBe('  kubectl get appwrappers -o wide')
    await until(client, AppWrapper, 'training', (object) => phaseOf(object) === 'Succeeded')
    await until(client, AppWrapper, 'large', (object) => phaseOf(object) === 'Suspended')
    const queue = first.out.find((line) => line.startsWith('  bin/muster queue'))!
    const why = await muster(folder, ...queue.trim().split(' ').slice(1), '--kubeconfig', kubeconfig)
    expect(why).toMatchObject({ code: 1, stderr: '' })
    expect(why.stdout).toMatch(/why: needs room for 14 pods, the nodes have room for \d+: of 14 cpu that it requests/)
    const [, node] = /^  echo '(.*)' \| kubectl create -f -$/.exec(
      first.out.find((line) => line.startsWith('  echo '))!,
    )!
    await client.create(Node, JSON.parse(node!))
    await until(client, AppWrapper, 'large', (object) => phaseOf(object) === 'Succeeded')
    const settled = await until(client, memcacheds, 'sample', ({ status }) => {
      const { nodes } = status as { readonly nodes?: readonly string[] }
      return nodes?.length === 5 && JSON.stringify(status).includes('"reason":"Ready"')
    })

    // Others find it, and so does a browser.
    const { url } = readManagerFile(folder)!
    expect(first.out).toContain(`  ${url}`)
    expect(await (await fetch(url)).text()).toContain('<title>Muster</title>')
    expect(await (await fetch(`${url}/console.js`)).text()).toContain("from './report-text.js'")
    expect(first.out.filter((line) => line.includes('Warning'))).toEqual([])
    expect(statSync(path.join(folder, '.muster', 'manager.json')).mode & 0o777).toBe(0o600)
    const table = await muster(folder, 'top', '--once')
    expect(table.stdout).toMatch(/^OPERATOR +STATE +WAITING.*\ndatabase +\w+ .*\nmemcached +\w+ /)
    const report = readReport(JSON.parse((await muster(folder, 'top', '-o', 'json', '--url', url)).stdout))
    expect(report).toMatchObject({
      isReady: true,
      coLocated: { name: 'an embedded cluster' },
      operators: [{ name: 'database' }, { name: 'memcached' }, { name: 'muster-platform' }, { name: 'workloads' }],
    })
    expect(JSON.stringify(report)).not.toMatch(/open sesame|simulated-sidecar/)
    expect((await muster(folder, 'cost', '--over', '24h')).stdout).toContain('as 4 separate processes')
    const pausing = await muster(folder, 'pause', 'memcached', '--kubeconfig', kubeconfig)
    expect(pausing).toMatchObject({ code: 0, stdout: 'operator memcached is paused (ConfigMap default/muster)\n' })
    expect(await muster(folder, 'resume', 'memcached', '--kubeconfig', kubeconfig)).toMatchObject({ code: 0 })
    expect((await muster(folder, 'up')).stderr).toMatch(/^MUS1603 StorageInUse: .* is used by process \d+/)

    expect(await first.end()).toBe(0)
    expect(existsSync(path.join(folder, '.muster', 'manager.json'))).toBe(false)
    await expect(fetch(`${url}/healthz`)).rejects.toThrow('fetch failed')
    expect((await muster(folder, 'top')).stderr).toMatch(/^MUS1507 ManagerNotFound/)

    // The console has the port of the last start. One that was closed just now may be taken, so the file gets another one.
    const identity = path.join(folder, '.muster', 'data', 'identity.json')
    const kept = await readFile(identity, 'utf8')
    expect(kept).toContain(`"consolePort":${new URL(url).port}`)
    const port = await freePort()
    await writeFile(identity, kept.replace(`"consolePort":${new URL(url).port}`, `"consolePort":${port}`))
    const second = up(folder)
    expect(await second.line('at rest')).toBe('at rest: 0 writes since this start')
    expect(second.out).toContain(`  http://127.0.0.1:${port}`)
    const again = await connect({ kubeconfig })
    onTestFinished(() => again.close())
    const found = await again.get(memcacheds, { name: 'sample', namespace: 'default' })
    expect(found.metadata.resourceVersion).toBe(settled.metadata.resourceVersion)
    expect(await second.end()).toBe(0)
  })

  it('keeps all data in the folder of --data, and `top` without a terminal prints lines', async () => {
    const folder = await emptyFolder()
    const first = up(folder, '--data', 'kept')
    await first.line('at rest')
    const top = start(folder, 'top')
    await top.line('memcached')
    const client = await connect({ kubeconfig: path.join(folder, '.muster', 'kubeconfig') })
    onTestFinished(() => client.close())
    await client.create(memcacheds, {
      apiVersion: 'cache.example.com/v1alpha1',
      kind: 'Memcached',
      metadata: { name: 'mine', namespace: 'default' },
      spec: { size: 1 },
    })
    expect(await top.line('default/mine')).toMatch(/^\d\d:\d\d:\d\d memcached default\/mine: created \w/)
    // A table once, then lines: nothing that moves a cursor.
    expect(top.out[0]).toMatch(/^OPERATOR +STATE /)
    expect(top.out.filter((line) => line.startsWith('OPERATOR'))).toHaveLength(1)
    expect(top.out.join('')).not.toContain('\u001b')
    expect(await top.end()).toBe(0)
    const made = await until(client, memcacheds, 'mine', ({ status }) => {
      const { nodes } = (status ?? {}) as { readonly nodes?: readonly string[] }
      return nodes?.length === 1 && JSON.stringify(status).includes('"reason":"Ready"')
    })
    await until(client, AppWrapper, 'training', (object) => phaseOf(object) === 'Succeeded')
    expect(await first.end()).toBe(0)
    expect(first.out.at(-1)).toBe('stopped; everything is kept in kept')
    expect(existsSync(path.join(folder, '.muster', 'data'))).toBe(false)

    // From elsewhere: what is kept is in that folder alone.
    const elsewhere = await emptyFolder()
    const second = up(elsewhere, '--data', path.join(folder, 'kept'))
    expect(await second.line('at rest')).toBe('at rest: 0 writes since this start')
    const again = await connect({ kubeconfig: path.join(elsewhere, '.muster', 'kubeconfig') })
    onTestFinished(() => again.close())
    const { items } = await again.list(memcacheds, { namespace: 'default' })
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['mine', 'sample', 'small'])
    expect(items[0]!.metadata).toMatchObject({
      uid: made.metadata.uid,
      resourceVersion: made.metadata.resourceVersion,
    })
    expect(await second.end()).toBe(0)
  })

  it('reports errors in one line', async () => {
    const folder = await emptyFolder()
    const { createServer } = await import('node:net')
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    onTestFinished(() => void taken.close())
    const { port } = taken.address() as { readonly port: number }
    const [busy, ...failures] = await Promise.all([
      muster(folder, 'up', '--memory', '--port', String(port)),
      muster(folder, 'up', 'x'),
      muster(folder, 'up', '--memory', '--data', 'x'),
      muster(folder, 'up', '--memory', '--nodes', 'x'),
    ])
    expect(busy).toMatchObject({ code: 1, stdout: '' })
    expect(busy.stderr).toMatch(/^MUS1607 ListenFailed: .*another program uses it.*\n$/)
    for (const { code, stdout, stderr } of failures) {
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toMatch(/^MUS1503 InvalidFlag: .*\n$/)
    }
  })
})
