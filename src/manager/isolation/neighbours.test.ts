/** Many operators under one manager, and one of them misbehaves: what the others notice of it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { crds, embedded } from '../../../test/embedded.ts'
import { events, here, slowTest } from '../../../test/misbehaving-guests.ts'
import { createApiServer } from '../../apiserver/server/api-server.ts'
import type { Client } from '../../client/client.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import type { Clock } from '../../clock/clock.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { type VirtualClock, virtualClock } from '../../clock/virtual-clock.ts'
import type { JsonObject } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { defineController } from '../../operator/controller.ts'
import { integer } from '../../operator/kind/field.ts'
import { defineKind, type Kind } from '../../operator/kind/kind.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import type { Ledger } from '../../operator/ledger.ts'
import { defineOperator, type Operator } from '../../operator/operator.ts'
import { defineDependent } from '../../operator/dependent/dependent.ts'
import { describeFinding, type Finding } from '../findings/finding.ts'
import { createManager, type Manager } from '../hosting/manager.ts'
import { createMetrics } from '../observability/metrics.ts'
import { defaultGuestLimits } from './launch/limits.ts'
import { Misbehaving } from './misbehaving-guest/operator.ts'
import { openRunner } from './open-runner.ts'
import type { Runner } from './runner.ts'

type Good = Operator & { readonly own: Kind }

/** A ConfigMap for each CR. `work` is what its author does in between. */
function good(name: string, work: () => void = () => undefined): Good {
  const own = defineKind({
    group: 'neighbours.example.com',
    version: 'v1',
    kind: name.charAt(0).toUpperCase() + name.slice(1),
    spec: { size: integer({ default: 1 }) },
  })
  const config = defineDependent({
    for: own,
    kind: ConfigMap,
    name: ({ cr }) => `${name}-${cr.metadata.name}`,
    fromCR: ({ cr }) => {
      work()
      return { data: { size: String(cr.spec.size) } }
    },
  })
  return { ...defineOperator({ name, controllers: [defineController({ for: own, dependents: [config] })] }), own }
}

const crOf = ({ own }: Good, name: string): UntypedObject => ({
  apiVersion: 'neighbours.example.com/v1',
  kind: own.kind,
  metadata: { name, namespace: 'default' },
  spec: {},
})

describe('beside an operator in a worker with an endless loop', slowTest, () => {
  const neighbours = [good('calm'), good('busy')]
  const ledgers = events<Ledger>()
  const starts = events<string>()
  const lines: JsonObject[] = []
  let client: Client
  let clock: VirtualClock
  let runner: Runner
  let manager: Manager

  beforeAll(async () => {
    clock = virtualClock()
    const log = (line: JsonObject): void => void lines.push(line)
    runner = await openRunner('worker', { module: here('misbehaving-guest/operator.ts'), clock, log })
    client = createClient({ transport: inProcessTransport(createApiServer({ clock: systemClock })) })
    manager = createManager({ client, onLedger: (ledger) => ledgers.push(ledger) })
    for (const kind of [...neighbours, runner.operator].flatMap(({ kinds }) => kinds)) {
      await client.create(crds, kind.crd() as unknown as UntypedObject)
    }
    for (const operator of neighbours) await manager.add(operator)
    await manager.add(runner.operator, {
      run: (situation, execute) => {
        starts.push(situation.cr.metadata.name ?? '')
        return runner.run(situation, execute)
      },
    })
  }, slowTest.timeout)
  afterAll(async () => {
    await runner.close()
    await manager.stop()
    await client.close()
  })

  it('the others do all of their work; the operator fails alone, and backs off', async () => {
    const mad = ['m1', 'm2', 'm3']
    for (const name of mad) {
      await client.create(Misbehaving, {
        apiVersion: 'test.example.com/v1',
        kind: 'Misbehaving',
        metadata: { name, namespace: 'default' },
        spec: { how: 'spin' },
      })
    }
    // Its reconciles are in progress: the runner has not checked its heartbeat yet.
    const spinning = (): number => manager.runs().filter(({ operator }) => operator === 'misbehaving').length
    await starts.first(() => spinning() === mad.length)
    const names = Array.from({ length: 20 }, (_, index) => `c${index}`)
    for (const name of names) for (const operator of neighbours) await client.create(operator.own, crOf(operator, name))
    for (const name of names) {
      for (const { name: operator } of neighbours) {
        const made = await ledgers.first((ledger) => ledger.operator === operator && ledger.key === `default/${name}`)
        expect(made.failure).toBeUndefined()
        expect(made.entries.some(({ operation }) => operation === 'created')).toBe(true)
      }
    }
    expect(spinning()).toBe(mad.length)
    expect(ledgers.past.filter(({ operator }) => operator === 'misbehaving')).toEqual([])

    await clock.advance(1.5 * defaultGuestLimits.silentMs)
    for (const name of mad) {
      const { failure, requeueAfterMs } = await ledgers.first(
        ({ operator, key }) => operator === 'misbehaving' && key === `default/${name}`,
      )
      expect(failure).toMatchObject({ reason: 'OperatorUnresponsive', retry: 'transient' })
      expect(requeueAfterMs).toBe(3600_000)
    }
    expect(lines).toMatchObject([{ operator: 'misbehaving', retryAfterMs: defaultGuestLimits.backOff.firstMs }])
    expect(manager.lanes().get('misbehaving')).toMatchObject({ running: 0, later: mad.length })
    expect(ledgers.past.filter(({ operator, failure }) => operator !== 'misbehaving' && failure)).toEqual([])
  })
})

describe('an operator in the shared thread', () => {
  it.each([
    ['at once', false, 'Mutator'],
    ['after an await', true, 'CRChecker'],
  ])('that blocks the thread %s is reported, with duration and location', async (_when, isLater, step) => {
    const cluster = embedded()
    let late = 0
    const hold = (): void => void (late += 7000)
    // The clock jumps ahead without a turn of the event loop, as if the thread had been blocked.
    const clock: Clock = { ...cluster.clock, now: () => cluster.clock.now() + late }
    const findings: Finding[] = []
    const lines: JsonObject[] = []
    const metrics = createMetrics()
    const manager = createManager({
      client: cluster.client,
      clock,
      metrics,
      log: (line) => void lines.push(line),
      onFinding: (finding) => void findings.push(finding),
    })
    const calm = good('calm')
    const greedy = isLater ? greedyLater(cluster.clock, hold) : good('greedy', hold)
    for (const operator of [calm, greedy]) {
      await cluster.client.create(crds, operator.own.crd() as unknown as UntypedObject)
      const added = manager.add(operator)
      await cluster.clock.advance(1000)
      await added
    }
    await cluster.client.create(calm.own, crOf(calm, 'a'))
    await cluster.clock.advance(5000)
    expect(findings).toEqual([])
    await cluster.client.create(greedy.own, crOf(greedy, 'b'))
    await cluster.clock.advance(5000)
    expect(findings).toMatchObject([
      { kind: 'blocking', operator: 'greedy', controller: 'greedy', key: 'default/b', step, or: [] },
    ])
    const message = describeFinding(findings[0]!)
    expect(message).toMatch(/^greedy, controller greedy, for default\/b: held the thread for 7\.\d s at step \w+\./)
    expect(lines).toContainEqual({ level: 'warn', msg: message, operator: 'greedy', finding: 'blocking' })
    expect(metrics.render()).toContain('muster_findings_total{controller="greedy/greedy",kind="blocking"} 1')
    const stopped = manager.stop()
    await cluster.clock.advance(1000)
    await stopped
  })
})

/** Waits first. */
function greedyLater(clock: Clock, hold: () => void): Good {
  const { own } = good('greedy')
  const controller = defineController({
    for: own,
    async check() {
      await clock.sleep(1000)
      hold()
      await clock.sleep(1000)
    },
  })
  return { ...defineOperator({ name: 'greedy', controllers: [controller] }), own }
}
