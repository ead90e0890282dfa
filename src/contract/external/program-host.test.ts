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
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  answer,
  openManagedProgram,
  open,
  shell,
  openProgramEnvironment,
  wish,
} from '../../../test/contract/program-environment.ts'
import { configMaps, namespaces } from '../../../test/embedded.ts'
import { createApiServer } from '../../apiserver/server/api-server.ts'
import { createSharedCache } from '../../cache/shared-cache.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { virtualClock } from '../../clock/virtual-clock.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { type Finding } from '../../manager/findings/finding.ts'
import { createMetrics } from '../../manager/observability/metrics.ts'
import { standalone } from '../../manager/placement/placement.ts'
import { openGates } from '../../manager/gates/gate-options.ts'
import { createScheduler } from '../../manager/schedule/scheduler.ts'
import { defineController } from '../../operator/controller.ts'
import { defineKind } from '../../operator/kind/kind.ts'
import { noObserver } from '../../manager/run/run-observer.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import type { Ledger } from '../../operator/ledger.ts'
import { defineOperator } from '../../operator/operator.ts'
import { defineDependent } from '../../operator/dependent/dependent.ts'
import { programSandboxProblem } from './program.ts'

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

describe('an operator program', () => {
  it('runs when its inputs change, and its declared mutations are executed', async () => {
    const { host, client, next, input, lines } = await openProgramEnvironment({ WHO: 'us' })
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

  it('is triggered by changes of declared inputs only; only changed files of its directory are rewritten', async () => {
    const { host, client, next, input } = await openProgramEnvironment({}, open)
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

  it('works as documented in docs/contract.md', async () => {
    const doc = readFileSync(new URL('../../../docs/contract.md', import.meta.url), 'utf8')
    const [, script = ''] = /```sh\n(#![^]*?)```/.exec(doc) ?? []
    const command = path.join(mkdtempSync(path.join(tmpdir(), 'muster-program-')), 'greeter.sh')
    writeFileSync(command, script, { mode: 0o755 })
    onTestFinished(() => rmSync(path.dirname(command), { recursive: true, force: true }))
    const { host, client, next } = await openProgramEnvironment({}, { ...open, program: { command } })
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

  it('is a partial success when it fails with results: its output is applied, and the failure is reported', async () => {
    const { host, client, next, lines } = await openProgramEnvironment({ HOSTILE: 'partial' }, open)
    const run = next()
    await host.start()
    expect(await run).toMatchObject({
      entries: [{ operation: 'created' }],
      failure: { reason: 'ExternalFailed', message: 'shell: of its controllers shell-Answer failed.' },
    })
    expect(await client.get(configMaps, answer)).toMatchObject({ data: { amount: '3' } })
    expect(lines).toContainEqual(
      expect.objectContaining({ operator: 'shell', controller: 'shell-Answer', error: 'half of it' }),
    )
  })

  it('is throttled in a hot loop: its own writes trigger it, and it writes again', async () => {
    const found = Promise.withResolvers<Finding>()
    const { host } = await openProgramEnvironment({ HOSTILE: 'loop' }, open, { onFinding: found.resolve })
    await host.start()
    expect(await found.promise).toMatchObject({ kind: 'hotLoop', operator: 'shell', fields: ['data.amount'], times: 8 })
  })

  it('gets a finding that names the manager that reverts its writes', async () => {
    const found = Promise.withResolvers<Finding>()
    const { host, client } = await openProgramEnvironment({}, open, {
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

  it('and an operator that revert each other both get a finding that names the other, and both are throttled', async () => {
    const findings: Finding[] = []
    const both = Promise.withResolvers<void>()
    const ledgers: Ledger[] = []
    const { client, manager } = await openManagedProgram(open, {
      onLedger: (ledger) => void ledgers.push(ledger),
      onFinding(finding) {
        findings.push(finding)
        if (new Set(findings.map(({ operator }) => operator)).size === 2) both.resolve()
      },
    })
    const own = defineKind({ group: 'rivals.example.com', version: 'v1', kind: 'Rival', spec: {} })
    const kept = defineDependent({
      for: own,
      kind: ConfigMap,
      name: () => 'answer',
      initial: { data: { amount: '7' } },
    })
    const rival = defineOperator({ name: 'rival', controllers: [defineController({ for: own, dependents: [kept] })] })
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
    const { host, client, next } = await openProgramEnvironment({ READS: 'things' }, open)
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

  it('of a new version is asked for its declaration again, and runs', async () => {
    const copy = path.join(mkdtempSync(path.join(tmpdir(), 'muster-program-')), 'operator.sh')
    copyFileSync(shell, copy)
    onTestFinished(() => rmSync(path.dirname(copy), { recursive: true, force: true }))
    const { host, client, next, lines } = await openProgramEnvironment({}, { ...open, program: { command: copy } })
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
    expect(lines).toContainEqual({ msg: 'Operator program replaced', operator: 'shell' })
  })

  it('is not asked again during back-off when its new version cannot print its declaration', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'muster-program-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const [copy, asked] = [path.join(folder, 'operator.sh'), path.join(folder, 'asked')]
    copyFileSync(shell, copy)
    const clock = virtualClock()
    const ledgers: Ledger[] = []
    const { host, client, lines } = await openProgramEnvironment(
      { ASKED: asked },
      { ...open, program: { command: copy, env: { ASKED: asked } } },
      {
        clock,
        lane: createScheduler({ clock, concurrency: 1 }).openLane('program', { ...openGates, concurrency: 1 }),
        onLedger: (ledger) => void ledgers.push(ledger),
      },
    )
    await host.start()
    await host.idle()
    const replace = (text: string): void => {
      writeFileSync(`${copy}.new`, text, { mode: 0o755 })
      renameSync(`${copy}.new`, copy)
    }
    const works = readFileSync(copy, 'utf8')
    replace('#!/bin/sh\necho "$1" >>"$ASKED"\nexit 3\n')
    const times = (): number => (existsSync(asked) ? readFileSync(asked, 'utf8').split('\n').length - 1 : 0)
    const failed = (): readonly (number | undefined)[] =>
      ledgers.filter(({ failure }) => failure).map(({ requeueAfterMs }) => requeueAfterMs)
    // Twenty minutes, in which it is looked for another version every two seconds.
    for (let passed = 0; passed < 1_200_000; passed += 2000) {
      await clock.advance(2000)
      await host.idle()
    }
    // 0.5, 1, 2, 4 … 256 seconds, then every 300: nothing but its failures says when.
    expect(failed().slice(0, 4)).toEqual([500, 1000, 2000, 4000])
    expect(times()).toBe(failed().length)
    expect(times()).toBeLessThan(15)
    // What it reads has no part in it.
    const before = times()
    await client.apply(configMaps, wish('5'), { fieldManager: 'person', force: true })
    await host.idle()
    expect(times()).toBe(before)
    // Yet one that works is run as soon as it is seen.
    replace(works.replaceAll('name: answer', 'name: reply').replaceAll('Apply answer', 'Apply reply'))
    await clock.advance(2000)
    await host.idle()
    expect(lines).toContainEqual({ msg: 'Operator program replaced', operator: 'shell' })
    expect(ledgers.at(-1)?.failure).toBeUndefined()
  })

  it('writes to the cluster of the declared role, and reads from the configuration cluster', async () => {
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
    const { client, manager, next } = await openManagedProgram({ ...open, program: { command: copy } })
    const here = { name: 'here', client, cache: createSharedCache({ client }) }
    onTestFinished(() => here.cache.close())
    const run = next()
    const placement = standalone(here)
    await manager.add({ placement: { ...placement, userWorkload: { name: 'there', client: workload, cache: other } } })
    expect(await run).toMatchObject({ entries: [{ operation: 'updated' }] })
    expect(await workload.get(configMaps, answer)).toMatchObject({ data: { amount: '3' } })
    await expect(client.get(configMaps, answer)).rejects.toThrow(/not found/)
  })

  it('has metrics, gates, pauses, budgets and an end like other operators', async () => {
    const metrics = createMetrics()
    const found = Promise.withResolvers<Finding>()
    const hears = { metrics, observer: metrics, onFinding: found.resolve }
    const { client, manager, next } = await openManagedProgram(open, hears)
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
    // The budget counts the requests of a program like those of other operators.
    manager.all.regate('shell', { budget: { requestsPerMinute: 1 } })
    await client.apply(configMaps, wish('6'), { fieldManager: 'person', force: true })
    expect(await found.promise).toMatchObject({ kind: 'overBudget', operator: 'shell', budget: 'requests' })
    await manager.all.remove('shell')
    expect(manager.all.lanes().size).toBe(0)
  })

  it('writes nothing outside of its term, not even output computed within it', async () => {
    let isOurs = true
    // It ends when the program has run, and before anything is carried out.
    const term = { begin: () => () => isOurs }
    const { host, client, next } = await openProgramEnvironment({}, open, {
      term,
      observer: {
        ...noObserver,
        begin: (...run) => ({
          ...noObserver.begin(...run),
          sending(_wave, _hide, send) {
            isOurs = false
            return send()
          },
        }),
      },
    })
    const run = next()
    await host.start()
    expect(await run).toMatchObject({ failure: { reason: 'TermOver' }, entries: [{ operation: 'failed' }] })
    await expect(client.get(configMaps, answer)).rejects.toThrow(/not found/)
  })

  it('in live mode without a sandbox still gets a proxy', async () => {
    const kubeconfig = (): Promise<string> => Promise.resolve('clusters: []\n')
    const { host, client, next } = await openProgramEnvironment({}, { ...open, live: { allow: [] } }, { kubeconfig })
    const run = next()
    await host.start()
    expect((await run).failure).toBeUndefined()
    const { data } = (await client.get(configMaps, answer)) as { readonly data?: Record<string, string> }
    expect(data?.['for']).toMatch(/^http:\/\/127\.0\.0\.1:(?!3128$)\d+$/)
  })

  it('in live mode has a proxy as its only way out, and a kubeconfig for one cluster', async () => {
    const text = 'clusters: [{name: c, cluster: {server: "https://127.0.0.1:6443"}}]\n'
    const kubeconfig = (): Promise<string> => Promise.resolve(text)
    const { host, client, next, input } = await openProgramEnvironment(
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
    const isCut = (await programSandboxProblem(systemClock)) === undefined
    expect(outcome).toEqual(isCut ? [undefined, 'http://127.0.0.1:3128', false] : 'MUS2004')
  })
})
