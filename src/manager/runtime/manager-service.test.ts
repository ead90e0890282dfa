import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { configMap, crds, type Embedded } from '../../../test/embedded.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { createApiServer } from '../../apiserver/server/api-server.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import type { JsonObject } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { defineController } from '../../operator/controller.ts'
import { integer } from '../../operator/kind/field.ts'
import { defineKind } from '../../operator/kind/kind.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import { defineOperator } from '../../operator/operator.ts'
import { defineDependent } from '../../operator/dependent/dependent.ts'
import { type ManagerService, type ManagerServiceOptions, startManagerService } from './manager-service.ts'

const Thing = defineKind({
  group: 'service.example.com',
  version: 'v1',
  kind: 'Thing',
  spec: { size: integer({ default: 1 }) },
})
const operator = defineOperator({
  name: 'things',
  controllers: [
    defineController({
      for: Thing,
      dependents: [
        defineDependent({
          for: Thing,
          kind: ConfigMap,
          fromCR: ({ cr }) => ({ data: { size: String(cr.spec.size) } }),
        }),
      ],
    }),
  ],
})

const events = { group: '', version: 'v1', kind: 'Event', plural: 'events', namespaced: true }

interface Scene {
  readonly client: Embedded['client']
  readonly lines: JsonObject[]
  readonly start: (options?: Partial<ManagerServiceOptions>) => Promise<ManagerService>
  /** Resolves when a line says so, or something else does. */
  readonly until: (holds: () => boolean | Promise<boolean>) => Promise<void>
}

async function open(): Promise<Scene> {
  const server = createApiServer({ clock: systemClock })
  const transport = inProcessTransport(server)
  const client = createClient({ transport })
  await client.create(crds, Thing.crd() as unknown as UntypedObject)
  const lines: JsonObject[] = []
  return {
    client,
    lines,
    async start(options = {}) {
      const service = await startManagerService({
        // Nothing of the machine's.
        environment: { MUSTER__health__port: '0', MUSTER__metrics__port: '0' },
        declared: () => Promise.resolve([operator]),
        load: () => Promise.resolve({ operator }),
        connect: (_, { around }) => {
          const through = around!(inProcessTransport(server), 'embedded')
          const own = createClient({ transport: through })
          return Promise.resolve({ client: own, as: () => own })
        },
        reach: () => Promise.reject(new Error('there is no other')),
        identity: 'alone',
        log: (line) => void lines.push(line),
        ...options,
      })
      onTestFinished(() => service.stop())
      return service
    },
    async until(holds) {
      while (!(await holds())) await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

const said = (lines: readonly JsonObject[], words: string): boolean => JSON.stringify(lines).includes(words)

describe('a manager service', () => {
  it('starts without any input, and serves its status', async () => {
    const { client, start, until } = await open()
    const service = await start({ from: { configMap: 'default/muster' } })
    const { data } = await client.get(ConfigMap, { namespace: 'default', name: 'muster' })
    expect(data?.['muster.yaml']).toContain('operators:')
    await client.create(Thing, Thing.draft({ name: 'a', namespace: 'default' }, {}) as unknown as UntypedObject)
    await until(() => service.report().operators[0]!.cost.writes >= 2)
    const ask = async (what: string): Promise<string> => await (await fetch(`${service.statusUrl}${what}`)).text()
    expect(await ask('/readyz')).toBe('ok\n')
    expect(await ask('/metrics')).toMatch(/controller_runtime_reconcile_total\{controller="things\/thing".*\} \d/)
    expect(await ask('/metrics')).toMatch(/rest_client_requests_total\{code="200",method="GET",host="embedded"\} \d/)
    expect(JSON.parse(await ask('/report'))).toMatchObject({
      operators: [
        {
          name: 'things',
          controllers: [{ name: 'thing', group: 'service.example.com', kind: 'Thing' }],
          recentRuns: [{ key: 'default/a' }],
        },
      ],
    })
    // A second one asks for the same port, which is taken.
    const statusPort = Number(new URL(service.statusUrl).port)
    const second = await start({ identity: 'second', statusPort })
    expect(second.statusUrl).toMatch(/^http:/)
    expect(second.statusUrl).not.toBe(service.statusUrl)
  })

  it('follows a ConfigMap: an invalid one is reported and has no effect, a fixed one takes effect', async () => {
    const { client, lines, start, until } = await open()
    const service = await start({ from: { configMap: 'default/muster' } })
    const name = { namespace: 'default', name: 'muster' }
    const put = async (text: string): Promise<unknown> =>
      await client.patch(ConfigMap, name, { data: { 'muster.yaml': text } }, { type: 'merge' })
    await put('operators: { things: { gates: { debuonce: 1s } } }')
    await until(() => said(lines, 'operators.things.gates.debuonce'))
    expect(service.runtime.assignments()).toMatchObject([{ id: 'things', state: 'active' }])
    await put('operators: { things: { paused: true } }')
    await until(() => service.runtime.assignments()[0]?.lane?.isPaused === true)
    expect(said(lines, 'operators.things.paused')).toBe(true)
  })

  it('counts changes of the leader, and reports the heap and the event loop of its process', async () => {
    const { start, until } = await open()
    const service = await start({ flags: ['leaderElection.leaderElect=true'] })
    await until(() => service.runtime.isLeader)
    const text = await (await fetch(`${service.statusUrl}/metrics`)).text()
    expect(text).toContain('muster_leader_changes_total{name="default/muster"} 1\n')
    const value = (name: string): number => Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1])
    expect(value('nodejs_heap_size_used_bytes')).toBeGreaterThan(1e6)
    expect(value('nodejs_heap_size_limit_bytes')).toBeGreaterThan(value('nodejs_heap_size_used_bytes'))
    expect(value('nodejs_eventloop_active_seconds_total')).toBeGreaterThan(0)
    expect(value('process_start_time_seconds')).toBeCloseTo(performance.timeOrigin / 1000, 3)
  })

  it('reports a rejected configuration in the report, the metrics, /readyz, the log and an Event until it is mended', async () => {
    const { client, lines, start, until } = await open()
    const service = await start({ from: { configMap: 'default/muster' } })
    const ask = async (what: string): Promise<string> => await (await fetch(`${service.statusUrl}${what}`)).text()
    const put = async (text: string): Promise<unknown> =>
      await client.patch(
        ConfigMap,
        { namespace: 'default', name: 'muster' },
        { data: { 'muster.yaml': text } },
        { type: 'merge' },
      )
    const condition = (): unknown => service.report().configuration?.condition
    const reasons = async (): Promise<readonly unknown[]> => {
      const { items } = await client.list(events, { namespace: 'default' })
      return items.flatMap((event) => ('reason' in event ? [event['reason']] : []))
    }
    expect(condition()).toMatchObject({ type: 'Reconfigured', status: 'True', reason: 'InForce' })
    await put('operators: { things: { gates: { debuonce: 1s } } }')
    await until(async () => (await reasons()).includes('ConfigurationRejected'))
    expect(condition()).toMatchObject({
      status: 'False',
      reason: 'Rejected',
      message: expect.stringMatching(
        /operators\.things\.gates\.debuonce.*The last valid configuration stays in force\.$/s,
      ),
    })
    expect(service.report()).toMatchObject({ isReady: true, problems: [expect.stringContaining('debuonce')] })
    expect(await ask('/readyz?verbose')).toContain('[!]configuration warning: ')
    expect(await ask('/metrics')).toContain('\nmuster_config_last_reload_successful 0\n')
    expect(await ask('/metrics')).toContain('muster_config_reloads_total{result="failure"} 1')

    // Broken and taken back: no setting changed, and the configuration is valid again.
    await put('{}')
    await until(() => said(lines, 'Configuration is valid again'))
    expect(condition()).toMatchObject({ status: 'True', reason: 'InForce' })
    await put('webhooks: { servicePort: 8443 }')
    await until(async () => (await reasons()).includes('RestartRequired'))
    expect(await reasons()).toContain('ConfigurationAccepted')
    expect(condition()).toMatchObject({
      reason: 'RestartRequired',
      message: expect.stringContaining('webhooks.servicePort: changed'),
    })
    expect(await ask('/metrics')).toContain('\nmuster_config_last_reload_successful 1\n')
    expect(await ask('/metrics')).toContain('\nmuster_config_restart_required 1\n')
  })

  it('starts paused with an invalid ConfigMap, and requires a restart when leases were enabled since', async () => {
    const { client, lines, start } = await open()
    await client.create(ConfigMap, configMap('muster', { 'muster.yaml': 'leaderElction: { leaderElect: true }' }))
    const service = await start({ from: { configMap: 'default/muster' } })
    expect(said(lines, 'leaderElction')).toBe(true)
    expect(service.configuration.current.settings.paused).toBe(true)
    const mended = { data: { 'muster.yaml': 'leaderElection: { leaderElect: true }' } }
    await client.patch(ConfigMap, { namespace: 'default', name: 'muster' }, mended, { type: 'merge' })
    await expect(service.outdated).resolves.toBeUndefined()
  })

  it('does not start with an invalid file, and leaves nothing open', async () => {
    const { start } = await open()
    const folder = await mkdtemp(path.join(tmpdir(), 'muster-service-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const file = path.join(folder, 'muster.yaml')
    await writeFile(file, 'operators: { things: { isolation: inlien } }')
    await expect(start({ from: { file } })).rejects.toThrow('operators.things.isolation')
  })

  it('starts nothing once its start was aborted', async () => {
    const { client, start } = await open()
    await client.create(Thing, Thing.draft({ name: 'one', namespace: 'default' }, {}) as unknown as UntypedObject)
    const given = new AbortController()
    const loading = Promise.withResolvers<void>()
    const asked = Promise.withResolvers<void>()
    const over = Promise.withResolvers<void>()
    let loads = 0
    const starting = start({
      signal: given.signal,
      declared: async () => {
        asked.resolve()
        await loading.promise
        over.resolve()
        return [operator]
      },
      load: () => {
        loads++
        return Promise.resolve({ operator })
      },
    })
    await asked.promise
    given.abort(new Error('enough'))
    await expect(starting).rejects.toThrow('enough')
    loading.resolve()
    await over.promise
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect(loads).toBe(0)
  })
})
