/** Secrets stay where they are: an operator that does its best to tell one, and everything that anybody could read of it. */
import { describe, expect, it } from 'vitest'
import { crds, embedded } from '../../test/embedded.ts'
import { createSharedCache } from '../cache/shared-cache.ts'
import { createClient } from '../client/create-client.ts'
import { inProcessTransport } from '../client/in-process.ts'
import type { TransportRequest } from '../client/transport.ts'
import { seededRandom } from '../clock/random.ts'
import type { UntypedObject } from '../kube/object.ts'
import { defineController } from '../operator/controller.ts'
import { giveUp } from '../operator/failure.ts'
import { string } from '../operator/field.ts'
import { defineKind } from '../operator/kind.ts'
import { ConfigMap, Secret } from '../operator/kinds.ts'
import { defineOperator, type Operator } from '../operator/operator.ts'
import { defineResource } from '../operator/resource.ts'
import type { View } from '../operator/view.ts'
import { createActivity } from './activity.ts'
import { countedTransport } from './counted-transport.ts'
import { drive } from './drive.ts'
import { createManager } from './manager.ts'
import { createMeter, measured } from './measured.ts'
import { createMetrics } from './metrics.ts'
import { createTracing } from './tracing.ts'

const password = 'correct horse battery staple\n'

const Leak = defineKind({ group: 'leak.example.com', version: 'v1', kind: 'Leak', spec: { how: string() } })

/** By every way that author code has into what is told. */
function leaky(): Operator {
  const secretOf = (view: View): string => {
    const found = view.get(Secret, { name: 'password', namespace: 'default' })
    return Buffer.from(found?.data?.['password'] ?? '', 'base64').toString()
  }
  const config = defineResource({
    for: Leak,
    kind: ConfigMap,
    writtenWhen: ({ cr, view }) => cr.spec.how !== 'waiting' || `the password ${secretOf(view)} to be accepted`,
    fromCR({ cr, view }) {
      if (cr.spec.how === 'mutator') throw new Error(`cannot use ${secretOf(view).trim()}`)
      return { data: { how: cr.spec.how } }
    },
  })
  const controller = defineController({
    for: Leak,
    resources: [config],
    reads: [Secret],
    check({ cr, view }) {
      const value = secretOf(view)
      if (cr.spec.how === 'throws') throw new Error(`bad password: ${value}`)
      if (cr.spec.how === 'encoded') throw new TypeError(`bad: ${Buffer.from(value).toString('base64')}`)
      if (cr.spec.how === 'givesUp') giveUp('BadPassword', `"${value.trim()}" is too short`)
    },
  })
  return defineOperator({ name: 'leaky', controllers: [controller] })
}

const hows = ['throws', 'encoded', 'givesUp', 'mutator', 'waiting', 'fine']

describe('what a Secret holds', () => {
  it('is in no log, metric, report, trace, finding, Event or condition, though author code repeats it', async () => {
    const { clock, client: person, server } = embedded()
    await person.create(crds, Leak.crd() as unknown as UntypedObject)
    await person.create(Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'password', namespace: 'default' },
      data: { password: Buffer.from(password).toString('base64') },
    })
    const told: string[] = []
    const tell = (what: unknown): void => void told.push(JSON.stringify(what))
    const metrics = createMetrics()
    const activity = createActivity({ clock })
    const tracing = createTracing({
      url: 'http://collector/v1/traces',
      headers: {},
      serviceName: 'muster',
      clock,
      fetch: (_, init) => {
        told.push(init?.body as string)
        return Promise.resolve(new Response('{}'))
      },
    })
    const requests: TransportRequest[] = []
    const wire = inProcessTransport(server)
    const noting = {
      ...wire,
      send: (request: TransportRequest) => {
        requests.push(request)
        return wire.send(request)
      },
    }
    const transport = tracing.mark(countedTransport(noting, 'embedded', metrics))
    const client = createClient({ transport, clock, random: seededRandom(1) })
    const cache = createSharedCache({ client, clock })
    const manager = createManager({
      client,
      cache,
      clock,
      metrics,
      observer: activity,
      log: tell,
      onFinding(finding) {
        tell(finding)
        activity.find(finding)
      },
      onLedger(ledger) {
        activity.note(ledger)
        tracing.note(ledger)
      },
    })
    const meter = createMeter(() => 0)
    const run = measured(drive, {
      clock,
      random: seededRandom(5),
      meter,
      within: (id, work) => tracing.within(id, work),
    })
    let isAdded = false
    void manager.add(leaky(), { run }).then(() => (isAdded = true))
    await clock.until(() => isAdded)
    for (const how of hows) {
      await person.create(Leak, {
        apiVersion: 'leak.example.com/v1',
        kind: 'Leak',
        metadata: { name: how.toLowerCase(), namespace: 'default' },
        spec: { how },
      })
    }
    await clock.advance(20_000)
    let isClosed = false
    void tracing.close().then(() => (isClosed = true))
    await clock.until(() => isClosed)
    const report = activity.report({ lanes: manager.lanes(), feeds: cache.report() })
    tell(report)
    told.push(metrics.render(report))
    const { items: leaks } = await person.list(Leak as never)
    tell(leaks)
    tell((await person.list({ group: '', version: 'v1', kind: 'Event', plural: 'events', namespaced: true })).items)
    const all = told.join('\n')
    // It was on its way into each of them.
    expect(leaks).toHaveLength(hows.length)
    expect(all).toContain('bad password: ***')
    expect(all).toContain('the password *** to be accepted')
    expect(all).toContain('\\"***\\" is too short')
    expect(report.operators[0]).toMatchObject({ failing: 4, deeds: expect.arrayContaining([expect.anything()]) })
    expect(all).toContain('"startTimeUnixNano"')
    for (const value of [password, password.trim(), Buffer.from(password).toString('base64')])
      expect(all.includes(value) || all.includes(JSON.stringify(value).slice(1, -1))).toBe(false)

    // One id leads through all of it: the log line, the trace, the requests.
    const line = told
      .map((text) => text.trim())
      .find((text) => text.includes('"reconcileID"') && text.includes('created config'))
    const { reconcileID } = JSON.parse(line!) as { reconcileID: string }
    expect(reconcileID).toMatch(/^[0-9a-f]{32}$/)
    const marked = requests.filter(({ headers }) => String(headers['traceparent']).includes(reconcileID))
    expect(marked.map(({ method }) => method)).toEqual(expect.arrayContaining(['PATCH', 'PATCH']))
    expect(all).toContain(`"traceId":"${reconcileID}"`)
    expect(metrics.render()).toMatch(/rest_client_requests_total\{code="20[01]",method="PATCH",host="embedded"\} \d+/)
    let isStopped = false
    void manager.stop().then(() => (isStopped = true))
    await clock.until(() => isStopped)
    cache.close()
  })
})
