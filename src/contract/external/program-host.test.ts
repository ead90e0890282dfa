import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
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
import { describeError } from '../../kube/errors.ts'
import type { JsonObject } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { readConfiguration } from '../../manager/config/configuration.ts'
import { describeFinding, type Finding } from '../../manager/findings/finding.ts'
import type { Host, HostOptions } from '../../manager/host.ts'
import { createManager, type HostedOptions, type Manager, type ManagerOptions } from '../../manager/manager.ts'
import { createMetrics } from '../../manager/metrics.ts'
import { standalone } from '../../manager/placement/placement.ts'
import { createScheduler, openGates } from '../../manager/scheduler.ts'
import { defineController } from '../../operator/controller.ts'
import { defineKind } from '../../operator/kind.ts'
import { ConfigMap } from '../../operator/kinds.ts'
import type { Ledger } from '../../operator/ledger.ts'
import { defineOperator } from '../../operator/operator.ts'
import { defineResource } from '../../operator/resource.ts'
import { bare, programOf } from './load-program.ts'
import { networkTrouble, tryWalls } from './program.ts'
import { driveProgram } from './drive-program.ts'
import { hostProgram } from './program-host.ts'
import type { HostedProgram } from './program-run.ts'

const shell = fileURLToPath(new URL('../../../test/contract/shell-operator.sh', import.meta.url))
const hostile = fileURLToPath(new URL('../../../test/contract/hostile-operator.sh', import.meta.url))

interface Stage {
  readonly client: Client
  readonly host: Host
  /** Where its inputs are: known when it has started. */
  input(this: void): string
  readonly lines: readonly JsonObject[]
  readonly findings: readonly Finding[]
  /** `POST /api/v1/…`: whatever was sent to change something, since the host is there. */
  readonly sent: readonly string[]
  /** The next run, from now on. */
  next(this: void): Promise<Ledger>
}

async function stage(
  env: Readonly<Record<string, string>> = {},
  hosted: Partial<HostedProgram> = {},
  options: Partial<HostOptions> = {},
): Promise<Stage> {
  const server = createApiServer({ clock: systemClock })
  const transport = inProcessTransport(server)
  const sent: string[] = []
  const client = createClient({
    transport: {
      ...transport,
      send(request) {
        if (request.method !== 'GET') sent.push(`${request.method} ${request.path}`)
        return transport.send(request)
      },
    },
  })
  const cache = createSharedCache({ client })
  await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } })
  await client.create(configMaps, wish('3'))
  sent.length = 0
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-external-'))
  const seen = path.join(folder, 'seen')
  const lines: JsonObject[] = []
  const findings: Finding[] = []
  let waiting: PromiseWithResolvers<Ledger> | undefined
  const host = hostProgram(
    {
      program: { command: shell, env: { ...env, SEEN: seen } },
      // Not every machine can cut one off; where that is what matters, a test says otherwise.
      allowNetwork: true,
      ...hosted,
    },
    {
      operator: bare('shell'),
      client,
      cache,
      // Nothing waits for quiet.
      schedule: {
        scheduler: createScheduler({ clock: systemClock, concurrency: 1 }),
        gates: { ...openGates, concurrency: 1 },
      },
      log: (line) => void lines.push(line),
      onLedger: (ledger) => waiting?.resolve(ledger),
      onFinding: (finding) => void findings.push(finding),
      ...options,
    },
  )
  onTestFinished(async () => {
    await host.stop()
    cache.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    client,
    host,
    lines,
    findings,
    sent,
    input: () => readFileSync(seen, 'utf8').trim(),
    next() {
      waiting = Promise.withResolvers()
      return waiting.promise
    },
  }
}

interface Managed {
  readonly client: Client
  readonly manager: { readonly all: Manager; add(options?: HostedOptions): Promise<void> }
  next(this: void): Promise<Ledger>
}

/** The same, by a manager. */
async function managed(hosted: Partial<HostedProgram>, options: Partial<ManagerOptions> = {}): Promise<Managed> {
  const client = createClient({ transport: inProcessTransport(createApiServer({ clock: systemClock })) })
  await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } })
  await client.create(configMaps, wish('3'))
  let waiting: PromiseWithResolvers<Ledger> | undefined
  const all = createManager({ client, onLedger: (ledger) => waiting?.resolve(ledger), ...options })
  onTestFinished(() => all.stop())
  const program = { command: shell }
  const host = (hosting: HostOptions): Host => hostProgram({ program, ...hosted }, hosting)
  return {
    client,
    manager: { all, add: (more) => all.add(bare('shell'), { host, run: driveProgram, ...more }) },
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

/** Without walls: where it is not about them, runs take less time. */
const open: Partial<HostedProgram> = { canary: () => Promise.resolve('none'), allowNetwork: true }

const things = {
  group: 'things.example.com',
  version: 'v1',
  kind: 'Thing',
  plural: 'things',
  namespaced: true,
} as const
const crds = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
} as const
const definition: UntypedObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things.things.example.com' },
  spec: {
    group: things.group,
    scope: 'Namespaced',
    names: { kind: 'Thing', plural: 'things', singular: 'thing', listKind: 'ThingList' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
}

describe('an operator that is a program', () => {
  it('runs when its inputs change, and what it wants is carried out as it declared', async () => {
    const { host, client, next, input, lines } = await stage({ WHO: 'us' })
    const first = next()
    await host.start()
    expect(await first).toMatchObject({
      operator: 'shell',
      path: ['Run', 'Check', 'CarryOut'],
      entries: [{ operation: 'created', kind: 'v1 ConfigMap', name: answer }],
    })
    const made = await client.get(configMaps, answer)
    expect(made).toMatchObject({ data: { for: 'us', amount: '3' } })
    expect(made.metadata.managedFields).toMatchObject([{ manager: 'shell', operation: 'Apply' }])
    await host.idle()
    const second = next()
    await client.apply(configMaps, wish('5'), { fieldManager: 'person', force: true })
    expect(await second).toMatchObject({ entries: [{ operation: 'updated', fields: ['data.amount'] }] })
    await host.idle()
    expect(await client.get(configMaps, answer)).toMatchObject({ data: { amount: '5' } })
    // What it reads is there in the form that programs in Go read: lists, Namespaces, discovery.
    expect(readdirSync(input()).toSorted()).toEqual([
      'aggregated-discovery-api.yaml',
      'aggregated-discovery-apis.yaml',
      'namespaces',
    ])
    const list = readFileSync(path.join(input(), 'namespaces/shop/core/configmaps.yaml'), 'utf8')
    expect(list).toContain('kind: ConfigMapList')
    expect(list).toContain('managedFields')
    expect(statSync(path.join(input(), 'namespaces/shop/shop.yaml')).isFile()).toBe(true)
    expect(lines.map(({ done }) => done).filter(Boolean)).toEqual([
      ['created configmap shop/answer'],
      ['updated configmap shop/answer (data.amount)'],
    ])
  })

  it('is run by changes of what it declares and by nothing else; of its directory, only what changed is written', async () => {
    const { host, client, next, input } = await stage({}, open)
    const first = next()
    await host.start()
    await first
    await host.idle()
    const files = ['namespaces/shop/shop.yaml', 'aggregated-discovery-api.yaml', 'namespaces/shop/core/configmaps.yaml']
    const times = (): readonly number[] => files.map((file) => statSync(path.join(input(), file)).mtimeMs)
    const before = times()
    let runs = 0
    void next().then(() => runs++)
    const metadata = { name: 'other', namespace: 'shop' }
    await client.create(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata })
    await client.apply(
      namespaces,
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'elsewhere' } },
      { fieldManager: 'person' },
    )
    await host.idle()
    expect([runs, times()]).toEqual([0, before])
    const second = next()
    await client.apply(configMaps, wish('5'), { fieldManager: 'person', force: true })
    await second
    await host.idle()
    expect(times().map((time, index) => time === before[index])).toEqual([true, true, false])
  })

  it('works as docs/contract.md writes it', async () => {
    const doc = readFileSync(new URL('../../../docs/contract.md', import.meta.url), 'utf8')
    const [, script = ''] = /```sh\n(#![^]*?)```/.exec(doc) ?? []
    const command = path.join(mkdtempSync(path.join(tmpdir(), 'muster-program-')), 'greeter.sh')
    writeFileSync(command, script, { mode: 0o755 })
    onTestFinished(() => rmSync(path.dirname(command), { recursive: true, force: true }))
    const { host, client, next } = await stage({}, { ...open, program: { command } })
    const run = next()
    await host.start()
    expect((await run).failure).toBeUndefined()
    await host.idle()
    const second = next()
    const metadata = { name: 'ann', namespace: 'default', labels: { greet: 'please' } }
    await client.create(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { who: 'Ann' } })
    expect(await second).toMatchObject({ entries: [{ operation: 'updated' }] })
    expect(await client.get(configMaps, { namespace: 'default', name: 'greeting' })).toMatchObject({
      data: { text: 'Hello, Ann' },
    })
  })

  it('is a partial success when it fails with results: what is there is carried out, and it is told', async () => {
    const { host, client, next, lines } = await stage({ HOSTILE: 'partial' }, open)
    const run = next()
    await host.start()
    expect(await run).toMatchObject({
      entries: [{ operation: 'created' }],
      failure: { reason: 'ExternalFailed', message: 'shell: of its controllers shell-Answer failed.' },
    })
    expect(await client.get(configMaps, answer)).toMatchObject({ data: { amount: '3' } })
    expect(lines).toContainEqual({ operator: 'shell', controller: 'shell-Answer', error: 'half of it' })
  })

  it('is slowed to a crawl when it goes round in circles: its own writes wake it, and it writes again', async () => {
    const found = Promise.withResolvers<Finding>()
    const { host } = await stage({ HOSTILE: 'loop' }, open, { onFinding: found.resolve })
    await host.start()
    expect(await found.promise).toMatchObject({ kind: 'hotLoop', operator: 'shell', fields: ['data.amount'], times: 8 })
  })

  it('names who undoes what it writes', async () => {
    const found = Promise.withResolvers<Finding>()
    const { host, client } = await stage({}, open, {
      onFinding: found.resolve,
      onLedger: () => {
        const metadata = { ...answer }
        const undone = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { amount: 'none' } }
        void client.apply(configMaps, undone, { fieldManager: 'rival', force: true })
      },
    })
    await host.start()
    expect(await found.promise).toMatchObject({ kind: 'conflict', fields: ['data.amount'], with: ['rival'] })
  })

  it('and an operator beside it that undo each other are both found, each names the other, and neither storms', async () => {
    const findings: Finding[] = []
    const both = Promise.withResolvers<void>()
    const ledgers: Ledger[] = []
    const { client, manager } = await managed(open, {
      onLedger: (ledger) => void ledgers.push(ledger),
      onFinding(finding) {
        findings.push(finding)
        if (new Set(findings.map(({ operator }) => operator)).size === 2) both.resolve()
      },
    })
    const own = defineKind({ group: 'rivals.example.com', version: 'v1', kind: 'Rival', spec: {} })
    const kept = defineResource({ for: own, kind: ConfigMap, name: () => 'answer', initial: { data: { amount: '7' } } })
    const rival = defineOperator({ name: 'rival', controllers: [defineController({ for: own, resources: [kept] })] })
    await client.create(crds, own.crd() as unknown as UntypedObject)
    await manager.all.add(rival)
    await client.create(own, own.draft({ name: 'a', namespace: 'shop' }, {}) as unknown as UntypedObject)
    await manager.add()
    await both.promise
    const found = Object.fromEntries(findings.map((finding) => [finding.operator, finding]))
    expect(found['rival']).toMatchObject({ kind: 'conflict', fields: ['data.amount'], with: ['shell'] })
    expect(found['shell']).toMatchObject({ kind: 'conflict', fields: ['data.amount'], with: ['rival'] })
    expect(findings).toHaveLength(2)
    const written = ledgers.flatMap(({ entries }) => entries.filter(({ operation }) => operation === 'corrected'))
    expect(written.length).toBeLessThan(25)
  })

  it('waits while a kind that it reads is not served, and runs as soon as it is', async () => {
    const { host, client, next } = await stage({ READS: 'things' }, open)
    const waiting = next()
    await host.start()
    expect(await waiting).toMatchObject({
      waiting: 'things.things.example.com/v1, which the cluster does not serve',
      entries: [],
    })
    const run = next()
    await client.create(crds, definition)
    expect(await run).toMatchObject({ path: ['Run', 'Check', 'CarryOut'], entries: [{ operation: 'created' }] })
    await host.idle()
    // And when it goes, nothing is done on what is no longer seen.
    const gone = next()
    await client.delete(crds, { name: definition.metadata.name! })
    expect((await gone).waiting).toContain('things')
  })

  it('is asked again what it declares when there is another version of it, and that one is run', async () => {
    const copy = path.join(mkdtempSync(path.join(tmpdir(), 'muster-program-')), 'operator.sh')
    copyFileSync(shell, copy)
    onTestFinished(() => rmSync(path.dirname(copy), { recursive: true, force: true }))
    const { host, client, next, lines } = await stage({}, { ...open, program: { command: copy } })
    const first = next()
    await host.start()
    await first
    const second = next()
    writeFileSync(
      `${copy}.new`,
      readFileSync(copy, 'utf8').replaceAll('name: answer', 'name: reply').replaceAll('Apply answer', 'Apply reply'),
      { mode: 0o755 },
    )
    renameSync(`${copy}.new`, copy)
    expect(await second).toMatchObject({ entries: [{ operation: 'created', name: { name: 'reply' } }] })
    expect(await client.get(configMaps, { ...answer, name: 'reply' })).toMatchObject({ data: { amount: '3' } })
    expect(lines).toContainEqual({ operator: 'shell', replaced: true })
  })

  it('writes to the cluster that has the role it declared, and reads where people ask for things', async () => {
    const workload = createClient({ transport: inProcessTransport(createApiServer({ clock: systemClock })) })
    await workload.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } })
    const text = readFileSync(shell, 'utf8')
      .replace('userWorkloadResources: {}', '')
      .replace('configurationResources:', 'userWorkloadResources:')
      .replace('/Configuration/', '/UserWorkload/')
    const copy = path.join(mkdtempSync(path.join(tmpdir(), 'muster-program-')), 'operator.sh')
    writeFileSync(copy, text, { mode: 0o755 })
    const other = createSharedCache({ client: workload })
    onTestFinished(() => {
      other.close()
      rmSync(path.dirname(copy), { recursive: true, force: true })
    })
    const { client, manager, next } = await managed({ ...open, program: { command: copy } })
    const here = { name: 'here', client, cache: createSharedCache({ client }) }
    onTestFinished(() => here.cache.close())
    const run = next()
    const placement = standalone(here)
    await manager.add({ placement: { ...placement, userWorkload: { name: 'there', client: workload, cache: other } } })
    expect(await run).toMatchObject({ entries: [{ operation: 'updated' }] })
    expect(await workload.get(configMaps, answer)).toMatchObject({ data: { amount: '3' } })
    await expect(client.get(configMaps, answer)).rejects.toThrow(/not found/)
  })

  it('is to its manager as others are: metrics, gates, pauses, budgets, and an end', async () => {
    const metrics = createMetrics()
    const found = Promise.withResolvers<Finding>()
    const hears = { metrics, observer: metrics, onFinding: found.resolve }
    const { client, manager, next } = await managed(open, hears)
    const run = next()
    await manager.add()
    await run
    await manager.all.idle()
    const told = metrics.render()
    expect(told).toContain('controller_runtime_reconcile_total{controller="shell/program",result="requeue_after"}')
    expect(told).toContain('muster_operations_total{controller="shell/program",operation="created"} 1')
    expect(told).toContain('workqueue_adds_total{name="shell",controller="shell"}')
    manager.all.pause('shell')
    await client.apply(configMaps, wish('5'), { fieldManager: 'person', force: true })
    await client.list(configMaps)
    expect(manager.all.lanes().get('shell')).toMatchObject({ isPaused: true, running: 0, heldBy: 'pause' })
    expect(await client.get(configMaps, answer)).toMatchObject({ data: { amount: '3' } })
    const second = next()
    manager.all.resume('shell')
    await second
    // Its requests are counted as everybody's are.
    manager.all.regate('shell', { budget: { requestsPerMinute: 1 } })
    await client.apply(configMaps, wish('6'), { fieldManager: 'person', force: true })
    expect(await found.promise).toMatchObject({ kind: 'overBudget', operator: 'shell', budget: 'requests' })
    await manager.all.remove('shell')
    expect(manager.all.lanes().size).toBe(0)
  })

  it('writes nothing outside of its term, not even what it has worked out within it', async () => {
    let isOurs = true
    // It ends when the program has run, and before anything is carried out.
    const term = { begin: () => () => isOurs }
    const { host, client, next } = await stage({}, open, {
      term,
      run: async (situation, execute) => {
        return await driveProgram(situation, async (wave) => {
          isOurs = false
          return await execute(wave)
        })
      },
    })
    const run = next()
    await host.start()
    expect(await run).toMatchObject({ failure: { reason: 'TermOver' }, entries: [{ operation: 'failed' }] })
    await expect(client.get(configMaps, answer)).rejects.toThrow(/not found/)
  })

  it('that runs live has a proxy for its only way out, and a kubeconfig to one cluster', async () => {
    const text = 'clusters: [{name: c, cluster: {server: "https://127.0.0.1:6443"}}]\n'
    const kubeconfig = (): Promise<string> => Promise.resolve(text)
    const { host, client, next, input } = await stage(
      {},
      { live: { allow: ['api.example.com'] }, allowNetwork: false },
      { kubeconfig },
    )
    const run = next()
    const outcome = await host.start().then(
      async () => {
        const { failure } = await run
        await host.idle()
        const { data = {} } = (await client.get(configMaps, answer)) as { readonly data?: Record<string, string> }
        // It is there for the run, and not longer.
        return [failure, data['for'], existsSync(path.join(input(), '../user-workload.kubeconfig'))]
      },
      ({ code }: { readonly code: string }) => code,
    )
    const isCut = (await networkTrouble(systemClock)) === undefined
    expect(outcome).toEqual(isCut ? [undefined, 'http://127.0.0.1:3128', false] : 'MUS2004')
  })

  it('is refused where its walls do not hold: the canary got out, so the program is never started', async () => {
    // As it would be, if namespaces were made and led out all the same.
    const canary = (): Promise<string | undefined> => tryWalls(systemClock, 'open')
    const folder = mkdtempSync(path.join(tmpdir(), 'muster-program-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const program = { command: '/bin/sh', args: ['-c', `touch ${folder}/started`] }
    const { host } = await stage({}, { canary, program, allowNetwork: false })
    const refusal = await host.start().then(() => 'started', describeError)
    expect(refusal).toContain('MUS2004 NetworkNotCut: shell: its walls do not hold: it reached a port of this machine.')
    expect(refusal).toContain('With allowUnenforced: true it would be run all the same')
    expect(readdirSync(folder)).toEqual([])
  })

  it('is refused where its network cannot be cut off, unless somebody says that it may have one', async () => {
    const canary = (): Promise<string> => Promise.resolve('there are no namespaces')
    const refused = await stage({}, { canary, allowNetwork: false })
    await expect(refused.host.start()).rejects.toThrow(expect.objectContaining({ code: 'MUS2004' }) as Error)
    const allowed = await stage({}, { canary, allowNetwork: true })
    const run = allowed.next()
    await allowed.host.start()
    expect((await run).failure).toBeUndefined()
  })

  it.each([
    ['hang', /did not end within 700 ms/, { limits: { timeoutMs: 700 } }],
    ['crash', /exit code 2/, {}],
    ['silent', /left no results/, {}],
  ])('changes nothing when it misbehaves: %s', async (HOSTILE, why, options) => {
    const { host, next, findings, sent } = await stage({ HOSTILE }, { ...open, ...options })
    const run = next()
    await host.start()
    const { failure, entries } = await run
    expect(failure?.message).toMatch(why)
    expect([entries, findings, sent]).toEqual([[], [], []])
  })

  it('has nothing applied of an output that is hostile, not even what is in order there; file and cause are found', async () => {
    const bad = 'Configuration/Apply/namespaces/shop/core/configmaps/bad'
    const cases: readonly (readonly [how: string, kind: Finding['kind'], why: string])[] = [
      ['escaping-name', 'refusedOutput', `${bad}-body-x.yaml: its name "../../../secrets/other" must not contain "/".`],
      ['absolute-name', 'refusedOutput', `${bad}-body-x.yaml: its name "/etc/passwd" must not contain "/".`],
      [
        'escaping-namespace',
        'refusedOutput',
        `${bad}-body-x.yaml lies in Apply/namespaces/shop/core/configmaps, but is about Apply/kube-system/core/configmaps by its metadata.`,
      ],
      ['escaping-subresource', 'refusedOutput', `${bad}-body-x.yaml: "../../secrets/other" is no subresource.`],
      ['escaping-order', 'refusedOutput', 'Configuration/order.yaml names ../../outside.yaml, which is not below it.'],
      ['link', 'refusedOutput', 'Configuration/link.yaml is neither a file nor a folder.'],
      ['bomb-in-body', 'refusedOutput', `${bad}-body-x.yaml: its aliases stand for too many values.`],
      ['bomb-in-metadata', 'refusedOutput', `${bad}-metadata-x.yaml: its aliases stand for too many values.`],
      ['bomb-in-options', 'refusedOutput', `${bad}-options-x.yaml: its aliases stand for too many values.`],
      ['bomb-in-order', 'refusedOutput', 'Configuration/order.yaml: its aliases stand for too many values.'],
      ['bomb-in-results', 'refusedOutput', 'controller-results.yaml: its aliases stand for too many values.'],
      ['long-bomb-in-body', 'refusedOutput', `${bad}-body-x.yaml: its aliases stand for more than 3145728 bytes.`],
      [
        'long-bomb-in-results',
        'refusedOutput',
        'controller-results.yaml: its aliases stand for more than 3145728 bytes.',
      ],
      ['large-body', 'refusedOutput', `${bad}-body-x.yaml is larger than 3145728 bytes.`],
      ['other-kind', 'refusedOutput', `${bad}-body-x.yaml holds a Secret, and configmaps are of kind ConfigMap.`],
      ['other-group', 'refusedOutput', `${bad}-body-x.yaml: its group is "apps", by its metadata "".`],
      [
        'other-in-body',
        'refusedOutput',
        `${bad}-body-x.yaml: its name is "kube-root-ca.crt", by its metadata "answer".`,
      ],
      [
        'other-manager',
        'refusedOutput',
        `${bad}-body-x.yaml: it would be written as "neighbour", a field manager that belongs to the operator of that name.`,
      ],
      [
        'other-name',
        'undeclaredWrite',
        `${bad}-body-x.yaml: Apply-ConfigMap.v1./kube-root-ca.crt[shop] is not among its declared outputs for Configuration.`,
      ],
      [
        'other-namespace',
        'undeclaredWrite',
        `${bad.replace('shop', 'kube-system')}-body-x.yaml: Apply-ConfigMap.v1./answer[kube-system] is not among its declared outputs for Configuration.`,
      ],
    ]
    const others = (): readonly string[] => ['shell', 'neighbour']
    const { host, client, next, findings, sent } = await stage({}, { ...open, others, program: { command: hostile } })
    const found: (readonly [string, string, string])[] = []
    for (const [index, [how]] of cases.entries()) {
      // What it does beside, it does as the wish says.
      await client.apply(configMaps, wish(how), { fieldManager: 'person', force: true })
      const run = next()
      if (index === 0) await host.start()
      const { failure, entries } = await run
      const finding = findings.at(-1)!
      found.push([how, finding.kind, failure!.message])
      expect(describeFinding(finding)).toContain(failure!.message)
      expect([findings.length, entries]).toEqual([index + 1, []])
    }
    expect(found).toEqual(cases)
    expect(sent.filter((each) => !each.includes('/configmaps/wish?'))).toEqual([])
    const { items } = await client.list(configMaps)
    expect(items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)).toEqual(['shop/wish'])
  })

  it('gets the memory that program.memory says, and it is named when that is not enough', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'muster-program-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    // It has begun by then, and tail keeps all that it is given until a line ends.
    const greedy = `touch "${folder}/started"; head -c 150000000 /dev/zero | tail >/dev/null\n  results\n  [`
    const text = readFileSync(shell, 'utf8').replace('results\n  [', greedy)
    writeFileSync(path.join(folder, 'greedy.sh'), text, { mode: 0o755 })
    const withMemory = async (memory: string): Promise<Ledger> => {
      const value = { operators: { shell: { program: { command: './greedy.sh', memory } } } }
      const section = readConfiguration([{ source: 'test', value }]).settings.operators['shell']!
      const hosted = await programOf({ ...section, program: section.program! }, folder)
      const { host, next } = await stage({}, { ...hosted, ...open })
      const run = next()
      await host.start()
      return await run
    }
    expect((await withMemory('1Gi')).failure).toBeUndefined()
    rmSync(path.join(folder, 'started'))
    expect((await withMemory('64Mi')).failure?.message).toMatch(
      /^shell: it ran out of memory, and may have 64 MiB for each process \(program\.memory\): .*memory exhausted/,
    )
    expect(existsSync(path.join(folder, 'started'))).toBe(true)
  })

  it('is ended while it writes a file that no output may have: nothing is applied then, either', async () => {
    const misled = { ...open, program: { command: hostile, env: { HOSTILE: 'gigabyte-body' } } }
    const { host, next, sent } = await stage({}, misled)
    const run = next()
    await host.start()
    expect((await run).failure?.message).toMatch(/^shell: it wrote a file of more than 268435456 bytes, and was ended/)
    expect(sent).toEqual([])
  })

  it('has the rest applied of an output in which it says itself what it did not declare; that is a finding', async () => {
    const honest = { ...open, program: { command: hostile, env: { HOSTILE: 'unspecified' } } }
    const { host, client, next, findings, sent } = await stage({}, honest)
    const run = next()
    await host.start()
    expect(await run).toMatchObject({ entries: [{ operation: 'created', name: answer }] })
    expect(findings.map(describeFinding)).toEqual([
      expect.stringMatching(/it wants to write what it does not declare: Unspecified\/Apply\/.*-body-answer\.yaml$/),
    ])
    expect(sent).toHaveLength(1)
    expect(await client.get(configMaps, answer)).toMatchObject({ data: { amount: '3' } })
  })

  it('may have field managers of its own, and none of another operator', async () => {
    const others = (): readonly string[] => ['shell', 'neighbour']
    const copy = path.join(mkdtempSync(path.join(tmpdir(), 'muster-program-')), 'operator.sh')
    const text = readFileSync(shell, 'utf8').replaceAll('fieldManager: shell', 'fieldManager: ConfigObserver')
    writeFileSync(copy, text, { mode: 0o755 })
    onTestFinished(() => rmSync(path.dirname(copy), { recursive: true, force: true }))
    const { host, client, next } = await stage({}, { ...open, others, program: { command: copy } })
    const run = next()
    await host.start()
    expect((await run).failure).toBeUndefined()
    const { metadata } = await client.get(configMaps, answer)
    expect(metadata.managedFields).toMatchObject([{ manager: 'ConfigObserver', operation: 'Apply' }])
  })
})
