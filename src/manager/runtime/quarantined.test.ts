import { describe, expect, it } from 'vitest'
import { crds, embedded, type Embedded } from '../../../test/embedded.ts'
import { seededRandom } from '../../clock/random.ts'
import type { Client } from '../../client/client.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import { clientErrors } from '../../client/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { Json, JsonObject } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { defineController } from '../../operator/controller.ts'
import { integer } from '../../operator/kind/field.ts'
import { defineKind } from '../../operator/kind/kind.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import { defineOperator, type Operator } from '../../operator/operator.ts'
import { readConfiguration } from '../config/configuration.ts'
import type { OperatorSettings } from '../config/operator-settings.ts'
import type { Settings } from '../config/settings.ts'
import { runReconcile } from '../run/run-reconcile.ts'
import type { Finding } from '../findings/finding.ts'
import { createMetrics } from '../observability/metrics.ts'
import { createQuarantine, type Quarantine } from '../watchdog/quarantine.ts'
import { addEntries, type QuarantineEntry, entryKey } from '../watchdog/quarantine-record.ts'
import { settingsText, codeVersionOf } from '../watchdog/version.ts'
import { type Runtime, type RuntimeOptions, startRuntime } from './runtime.ts'

const kind = defineKind({
  group: 'quarantined.example.com',
  version: 'v1',
  kind: 'App',
  spec: { size: integer({ default: 1 }) },
})
const operatorOf = (name: string): Operator =>
  defineOperator({ name, controllers: [defineController({ for: kind, name })] })
const operators = ['mad', 'sane'].map(operatorOf)
const at = { namespace: 'default', name: 'muster-quarantine' }

const settingsOf = (value: Json = {}): Settings => readConfiguration([{ source: 'test', value }], operators).settings

/** As the watchdog records it. */
async function condemn({ client }: Embedded, settings: Settings): Promise<string> {
  const text = settingsText(settings.operators['mad']!, false)
  const { version } = await codeVersionOf({ module: undefined, settings: text })
  const key = entryKey('mad', version)
  const where = { operator: 'mad', controller: 'mad', key: 'default/a', step: 's', line: '', or: [] }
  const entry: QuarantineEntry = { ...where, heldSeconds: 10, at: '2026-01-01T00:00:00Z', replica: 'gone' }
  await addEntries(client, at, new Map([[key, entry]]), {})
  return key
}

function quarantineOf({ client, clock }: Embedded, over: Partial<Client> = {}): Quarantine {
  return createQuarantine({
    client: { ...client, ...over },
    clock,
    configMap: `${at.namespace}/${at.name}`,
    moduleOf: () => Promise.resolve(undefined),
    isChosen: () => false,
    tell: () => undefined,
    log: () => undefined,
  })
}

interface Scene {
  readonly home: Embedded
  readonly lines: JsonObject[]
  /** `operator level`, in order. */
  readonly loads: string[]
  /** The same, for each run. */
  readonly runs: string[]
  readonly start: (settings: Settings, options?: Partial<RuntimeOptions>) => Runtime
  readonly end: (runtime: Runtime) => Promise<void>
}

async function open(): Promise<Scene> {
  const home = embedded()
  await home.client.create(crds, kind.crd() as unknown as UntypedObject)
  await home.client.create(kind, kind.draft({ name: 'a', namespace: 'default' }, {}) as unknown as UntypedObject)
  const [lines, loads, runs]: [JsonObject[], string[], string[]] = [[], [], []]
  let seed = 3
  const load: RuntimeOptions['load'] = (name, { isolation }: OperatorSettings) => {
    loads.push(`${name} ${isolation}`)
    return Promise.resolve({
      operator: operators.find((each) => each.name === name)!,
      run: (...told) => {
        runs.push(`${name} ${isolation}`)
        return runReconcile(...told)
      },
    })
  }
  return {
    home,
    lines,
    loads,
    runs,
    start(settings, options = {}) {
      const random = seededRandom(seed++)
      const client = createClient({ transport: inProcessTransport(home.server), clock: home.clock, random })
      const log = (line: JsonObject): void => void lines.push(line)
      return startRuntime({
        settings,
        identity: `replica-${seed}`,
        clock: home.clock,
        random,
        local: { client, as: () => client },
        reach: () => Promise.reject(new Error('nobody')),
        load,
        log,
        quarantine: quarantineOf(home),
        ...options,
      })
    },
    async end(runtime) {
      let isOver = false
      const ending = runtime.stop().finally(() => (isOver = true))
      await home.clock.until(() => isOver)
      await ending
    },
  }
}

describe('a runtime with a quarantined operator', () => {
  it('runs it isolated, and reports that in the log, as a finding, in metrics and in its health', async () => {
    const { home, start, lines, loads, runs, end } = await open()
    const key = await condemn(home, settingsOf())
    const metrics = createMetrics()
    const findings: Finding[] = []
    const runtime = start(settingsOf(), { metrics, onFinding: (finding) => void findings.push(finding) })
    await home.clock.advance(1000)
    expect(loads.toSorted()).toEqual(['mad worker', 'sane inline'])
    expect(new Set(runs)).toEqual(new Set(['mad worker', 'sane inline']))
    expect(findings).toMatchObject([{ kind: 'quarantined', operator: 'mad', heldSeconds: 10 }])
    expect(lines).toContainEqual(expect.objectContaining({ operator: 'mad', finding: 'quarantined' }))
    expect(metrics.render()).toContain('muster_findings_total{controller="mad/mad",kind="quarantined"} 1')
    const { isReady, warnings } = runtime.health()
    expect([isReady, warnings]).toEqual([true, [expect.stringContaining(`key ${key}`)]])
    await end(runtime)
  })

  it('pauses an operator at once, before the record is read for the rest of the change', async () => {
    const { home, start, end } = await open()
    const runtime = start(settingsOf())
    await home.clock.advance(1000)
    const paused = (): readonly string[] =>
      runtime.assignments().flatMap(({ id, lane }) => (lane?.isPaused === true ? [id] : []))
    expect(paused()).toEqual([])
    const changing = runtime.reconfigure(settingsOf({ operators: { sane: { paused: true } } }))
    expect(paused()).toEqual(['sane'])
    let isOver = false
    void changing.finally(() => (isOver = true))
    await home.clock.until(() => isOver)
    expect(paused()).toEqual(['sane'])
    await end(runtime)
  })

  it('reads the record once for all operators, and not at rest', async () => {
    const { home, start, end } = await open()
    let asked = 0
    const quarantine = quarantineOf(home, {
      get: (...what) => {
        asked++
        return home.client.get(...what)
      },
    })
    const runtime = start(settingsOf(), { quarantine })
    await home.clock.advance(3_600_000)
    expect(asked).toBe(1)
    await end(runtime)
  })

  it('starts no operator before the record is read, and retries that', async () => {
    const { home, start, loads, lines, end } = await open()
    await condemn(home, settingsOf())
    let isAway = true
    const quarantine = quarantineOf(home, {
      get: (...what) =>
        isAway ? Promise.reject(new MusterError(clientErrors.ServiceUnavailable, 'away')) : home.client.get(...what),
    })
    const runtime = start(settingsOf(), { quarantine })
    await home.clock.advance(30_000)
    expect(loads).toEqual([])
    expect(runtime.health()).toMatchObject({ isReady: false })
    expect(lines).toContainEqual(expect.objectContaining({ operator: 'sane', error: 'away' }))
    isAway = false
    await home.clock.advance(60_000)
    expect(loads.toSorted()).toEqual(['mad worker', 'sane inline'])
    await end(runtime)
  })

  it('does not start an operator that cannot run isolated, says why, and starts it when its entry is removed', async () => {
    const { home, start, loads, lines, end } = await open()
    const key = await condemn(home, settingsOf())
    const runtime = start(settingsOf(), {
      load(name, { isolation }) {
        loads.push(`${name} ${isolation}`)
        if (isolation === 'worker') return Promise.reject(new Error('it is built in'))
        return Promise.resolve({ operator: operators.find((each) => each.name === name)! })
      },
    })
    await home.clock.advance(5000)
    expect(loads).toContain('sane inline')
    expect(loads).not.toContain('mad inline')
    const { error } = lines.find((line) => line['operator'] === 'mad' && line['level'] === 'warn')!
    expect(error).toMatch(
      /^mad, controller mad, for default\/a: held the thread .* is not possible here: it is built in$/,
    )
    await home.client.patch(ConfigMap, at, { data: { [key]: null } }, { type: 'merge' })
    await home.clock.advance(60_000)
    expect(loads).toContain('mad inline')
    expect(runtime.assignments().map(({ id, state }) => [id, state])).toEqual([
      ['mad', 'active'],
      ['sane', 'active'],
    ])
    await end(runtime)
  })

  it('as a standby isolates it before it takes over, and the others start at once', async () => {
    const { home, start, runs, loads, end } = await open()
    const settings = settingsOf({ leaderElection: { leaderElect: true } })
    const [leader, heir] = [start(settings), start(settings)]
    await home.clock.advance(30_000)
    const [first, second] = leader.isLeader ? [leader, heir] : [heir, leader]
    expect([first.isLeader, second.isLeader]).toEqual([true, false])
    await condemn(home, settings)
    loads.length = 0
    await end(first)
    runs.length = 0
    await home.clock.advance(30_000)
    expect(second.isLeader).toBe(true)
    expect(loads).toEqual(['mad worker'])
    expect(new Set(runs)).toEqual(new Set(['mad worker', 'sane inline']))
    await end(second)
  })
})
