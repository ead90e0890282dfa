import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { configMaps, namespaces } from '../../../test/embedded.ts'
import { createApiServer } from '../../apiserver/api-server.ts'
import { createSharedCache } from '../../cache/shared-cache.ts'
import type { Client } from '../../client/client.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import { systemClock } from '../../clock/system-clock.ts'
import type { JsonObject } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { createScheduler, openGates } from '../../manager/scheduler.ts'
import { networkTrouble } from './program.ts'
import { type ExternalHost, hostExternal, type ExternalOptions, type ExternalRun } from './external-operator.ts'

const shell = fileURLToPath(new URL('../../../test/contract/shell-operator.sh', import.meta.url))

interface Stage {
  readonly client: Client
  readonly host: ExternalHost
  readonly folder: string
  readonly lines: readonly JsonObject[]
  /** The next run, from now on. */
  next(this: void): Promise<ExternalRun>
}

async function stage(
  env: Readonly<Record<string, string>> = {},
  options: Partial<ExternalOptions> = {},
): Promise<Stage> {
  const server = createApiServer({ clock: systemClock })
  const client = createClient({ transport: inProcessTransport(server) })
  const cache = createSharedCache({ client })
  await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } })
  await client.create(configMaps, wish('3'))
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-external-'))
  const lines: JsonObject[] = []
  let waiting: PromiseWithResolvers<ExternalRun> | undefined
  const host = hostExternal({
    name: 'shell',
    program: { command: shell, env },
    client,
    cache,
    folder,
    // Not every machine can cut one off; where that is what matters, a test says otherwise.
    allowNetwork: true,
    backOff: { firstMs: 60_000, mostMs: 60_000 },
    // Nothing waits for quiet.
    schedule: {
      scheduler: createScheduler({ clock: systemClock, concurrency: 1 }),
      gates: { ...openGates, concurrency: 1 },
    },
    log: (line) => void lines.push(line),
    onRun: (run) => waiting?.resolve(run),
    ...options,
  })
  onTestFinished(async () => {
    await host.stop()
    cache.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    client,
    host,
    folder,
    lines,
    next() {
      waiting = Promise.withResolvers()
      return waiting.promise
    },
  }
}

function wish(size: string): UntypedObject {
  const metadata = { name: 'wish', namespace: 'shop', labels: { answer: 'wanted' } }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { size } }
}

const answer = { namespace: 'shop', name: 'answer' }

describe('an operator that is a program', () => {
  it('runs when its inputs change, and what it wants is carried out as it declared', async () => {
    const { host, client, next, folder } = await stage({ WHO: 'us' })
    const first = next()
    await host.start()
    expect(await first).toMatchObject({ exitCode: 0, carriedOut: [{ read: { mutation: { verb: 'Apply' } } }] })
    const made = await client.get(configMaps, answer)
    expect(made).toMatchObject({ data: { for: 'us', amount: '3' } })
    expect(made.metadata.managedFields).toMatchObject([{ manager: 'shell', operation: 'Apply' }])
    const second = next()
    await client.apply(configMaps, wish('5'), { fieldManager: 'person', force: true })
    await second
    await host.idle()
    expect(await client.get(configMaps, answer)).toMatchObject({ data: { amount: '5' } })
    // What it reads is there in the form that programs in Go read: lists, Namespaces, discovery.
    expect(readdirSync(path.join(folder, 'input')).toSorted()).toEqual([
      'aggregated-discovery-api.yaml',
      'aggregated-discovery-apis.yaml',
      'namespaces',
    ])
    const list = readFileSync(path.join(folder, 'input/namespaces/shop/core/configmaps.yaml'), 'utf8')
    expect(list).toContain('kind: ConfigMapList')
    expect(list).toContain('managedFields')
    expect(statSync(path.join(folder, 'input/namespaces/shop/shop.yaml')).isFile()).toBe(true)
  })

  it('is not run again when nothing that it reads has changed', async () => {
    const { host, client, next } = await stage()
    const first = next()
    await host.start()
    await first
    await host.idle()
    let runs = 0
    const after = next().then(() => runs++)
    await client.create(configMaps, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'other', namespace: 'shop' },
    })
    await host.idle()
    expect(runs).toBe(0)
    void after
  })

  it('is a partial success when it fails with results: what is there is carried out, and it is told', async () => {
    const { host, client, next, lines } = await stage({ HOSTILE: 'partial' })
    const run = next()
    await host.start()
    expect(await run).toMatchObject({ exitCode: 1, carriedOut: [{}], output: { results: [{ status: 'Failed' }] } })
    expect(await client.get(configMaps, answer)).toMatchObject({ data: { amount: '3' } })
    expect(lines).toContainEqual({ operator: 'shell', controller: 'shell-Answer', error: 'half of it' })
  })

  it('is slowed to a crawl when it goes round in circles: its own writes wake it, and it writes again', async () => {
    const found = Promise.withResolvers<JsonObject>()
    const { host } = await stage(
      { HOSTILE: 'loop' },
      {
        // Eleven runs: without walls they take less time, and it is not about walls.
        canary: () => Promise.resolve('none'),
        allowNetwork: true,
        log: (line) => line['finding'] === 'hotLoop' && found.resolve(line),
      },
    )
    await host.start()
    expect(await found.promise).toMatchObject({
      operator: 'shell',
      message: expect.stringContaining('10 runs') as string,
    })
  })

  it('that runs live has a proxy for its only way out, and a kubeconfig to one cluster', async () => {
    const kubeconfig = 'clusters: [{name: c, cluster: {server: "https://127.0.0.1:6443"}}]\n'
    const live = { kubeconfig, allow: ['api.example.com'] }
    const { host, client, next, folder } = await stage({}, { live, allowNetwork: false })
    const run = next()
    const outcome = await host.start().then(
      async () => {
        const { exitCode, carriedOut } = await run
        const { data = {} } = (await client.get(configMaps, answer)) as { readonly data?: Record<string, string> }
        return [exitCode, carriedOut.length, data['for']]
      },
      ({ code }: { readonly code: string }) => code,
    )
    const isCut = (await networkTrouble(systemClock)) === undefined
    expect(outcome).toEqual(isCut ? [0, 1, 'http://127.0.0.1:3128'] : 'MUS2004')
    expect(existsSync(path.join(folder, 'user-workload.kubeconfig'))).toBe(isCut)
  })

  it('is refused where its network cannot be cut off, unless somebody says that it may have one', async () => {
    const canary = (): Promise<string> => Promise.resolve('there are no namespaces')
    const refused = await stage({}, { canary, allowNetwork: false })
    await expect(refused.host.start()).rejects.toThrow(expect.objectContaining({ code: 'MUS2004' }) as Error)
    const allowed = await stage({}, { canary, allowNetwork: true })
    const run = allowed.next()
    await allowed.host.start()
    expect(await run).toMatchObject({ exitCode: 0 })
  })

  it.each([
    ['hang', /did not end within 1000 ms/, { limits: { timeoutMs: 1000 } }],
    ['crash', /exit code 2/, {}],
    ['silent', /left no results/, {}],
    ['link', /link.yaml is neither a file nor a folder/, {}],
    ['other', /not among its declared outputs/, {}],
  ])('changes nothing when it misbehaves: %s', async (HOSTILE, why, options) => {
    const { host, client, next } = await stage({ HOSTILE }, options)
    const run = next()
    await host.start()
    const { error, carriedOut } = await run
    expect((error as Error).message).toMatch(why)
    expect(carriedOut).toEqual([])
    expect((await client.list(configMaps, { namespace: 'shop' })).items.map(({ metadata }) => metadata.name)).toEqual([
      'wish',
    ])
  })
})
