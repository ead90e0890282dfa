/** Secrets do not leak: operators that try to disclose one, and every output that a user could read it in. */
import { describe, expect, it } from 'vitest'
import { crds, embedded, type Embedded } from '../../../test/embedded.ts'
import { createSharedCache } from '../../cache/shared-cache.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import type { TransportRequest } from '../../transport/transport.ts'
import { seededRandom } from '../../clock/random.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { defineController } from '../../operator/controller.ts'
import { giveUp } from '../../operator/failure.ts'
import { string } from '../../operator/kind/field.ts'
import { exactly } from '../../operator/view/input.ts'
import { defineKind, type Kind } from '../../operator/kind/kind.ts'
import { ConfigMap, Secret } from '../../kube/kinds.ts'
import { defineOperator, type Operator } from '../../operator/operator.ts'
import { defineDependent } from '../../operator/dependent/dependent.ts'
import type { View } from '../../operator/view/view.ts'
import { createActivity } from '../observability/activity.ts'
import { countedTransport } from '../observability/counted-transport.ts'
import type { Finding } from '../findings/finding.ts'
import { createManager } from '../hosting/manager.ts'
import { createRunMeter } from '../run/run-meter.ts'
import { createMetrics } from '../observability/metrics.ts'
import type { ManagerReport } from '../observability/report.ts'
import { createTracing } from '../observability/tracing.ts'

const password = 'correct horse battery staple\n'
const base64 = (text: string): string => Buffer.from(text).toString('base64')

const Leak = defineKind({ group: 'leak.example.com', version: 'v1', kind: 'Leak', spec: { how: string() } })

/** Discloses the password by every way that author code has into the output. */
function leaky(): Operator {
  const secretOf = (view: View): string => {
    const found = view.get(Secret, { name: 'password', namespace: 'default' })
    return Buffer.from(found?.data?.['password'] ?? '', 'base64').toString()
  }
  const config = defineDependent({
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
    dependents: [config],
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

/** A manager of which every output is collected. */
interface Telling {
  readonly cluster: Embedded
  readonly requests: readonly TransportRequest[]
  readonly findings: readonly Finding[]
  readonly lines: readonly string[]
  add(operator: Operator): Promise<void>
  /** All output so far, with the CRs of these kinds and their Events. */
  all(...kinds: readonly Kind[]): Promise<string>
  report(): ManagerReport
  rendered(): string
  stop(): Promise<void>
}

function openTelling(): Telling {
  const cluster = embedded()
  const { clock, client: person, server } = cluster
  const lines: string[] = []
  const findings: Finding[] = []
  const tell = (what: unknown): void => void lines.push(JSON.stringify(what))
  const metrics = createMetrics()
  const activity = createActivity({ clock })
  const tracing = createTracing({
    url: 'http://collector/v1/traces',
    headers: {},
    serviceName: 'muster',
    clock,
    fetch: (_, init) => {
      lines.push(init?.body as string)
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
    meter: createRunMeter({
      clock,
      random: seededRandom(5),
      busyMs: () => 0,
      within: (id, work) => tracing.within(id, work),
    }),
    log: tell,
    onFinding(finding) {
      tell(finding)
      findings.push(finding)
      activity.find(finding)
    },
    onLedger(ledger) {
      activity.note(ledger)
      tracing.note(ledger)
    },
  })
  const until = async (promise: Promise<unknown>): Promise<void> => {
    let isDone = false
    void promise.then(() => (isDone = true))
    await clock.until(() => isDone)
  }
  const report = (): ManagerReport => activity.report({ lanes: manager.lanes(), informers: cache.report() })
  return {
    cluster,
    requests,
    findings,
    lines,
    add: (operator) => until(manager.add(operator)),
    async all(...kinds) {
      await until(tracing.close())
      const now = report()
      const events = { group: '', version: 'v1', kind: 'Event', plural: 'events', namespaced: true }
      const objects = await Promise.all([...kinds, events].map((kind) => person.list(kind)))
      const shown = [now, ...objects.map(({ items }) => items)]
      return [...lines, ...shown.map((one) => JSON.stringify(one)), metrics.render(now)].join('\n')
    },
    report,
    rendered: () => metrics.render(),
    async stop() {
      await until(manager.stop())
      cache.close()
    },
  }
}

/** As it is, as Secrets have it, and as JSON writes it. */
const isToldIn = (all: string, value: string): boolean =>
  [value, value.trim(), base64(value), base64(value.trim())].some(
    (form) => all.includes(form) || all.includes(JSON.stringify(form).slice(1, -1)),
  )

const [Undeclared, Named, Renamed, Flipping, Fought, Several] = [
  'Undeclared',
  'Named',
  'Renamed',
  'Flipping',
  'Fought',
  'Several',
].map((kind) => defineKind({ group: 'found.example.com', version: 'v1', kind, spec: {} })) as [
  Kind,
  Kind,
  Kind,
  Kind,
  Kind,
  Kind,
]
const found = [Undeclared, Named, Renamed, Flipping, Fought, Several]

/** The secret values of these operators: none may appear in any output. */
const values = {
  undeclared: 'undeclared-hunter2',
  name: 'name-hunter2',
  flipping: 'flipping-hunter2',
  fought: 'fought-hunter2',
  rival: 'rival-hunter2',
  several: ['several-hunter2', 'several-swordfish'],
}

/** Each of their controllers does something with a Secret that is found. */
function offending(): readonly Operator[] {
  const secretOf = (name: string, text: string): UntypedObject => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: 'default' },
    data: { token: base64(text) },
  })
  const writes = [exactly(Secret, { name: 'mine', namespace: 'default' })]
  const nameIn = (view: View): string => {
    const { data } = view.get(Secret, { name: 'given', namespace: 'default' }) ?? {}
    return Buffer.from(data?.['name'] ?? '', 'base64').toString()
  }
  const undeclared = defineController({
    for: Undeclared,
    writes,
    reconcile: () => ({ objects: [secretOf('theirs', values.undeclared)] }),
  })
  const named = defineController({
    for: Named,
    reads: [Secret],
    writes,
    // What it read, as the name of what it may not write.
    reconcile: ({ view }) => ({ objects: [secretOf(nameIn(view), 'x')] }),
  })
  const renamed = defineController({
    for: Renamed,
    reads: [Secret],
    writes,
    dependents: [defineDependent({ for: Renamed, kind: Secret, name: () => 'mine' })],
    steps: {
      // What the kit has looked at by then is looked at once more where it would leave.
      async Mutator(context, next) {
        await next()
        for (const [subject, object] of context.wanted)
          context.want(subject, { ...object, metadata: { ...object.metadata, name: nameIn(context.view) } })
      },
    },
  })
  let turn = 0
  const flip = defineDependent({
    for: Flipping,
    kind: Secret,
    fromCR: () => ({ data: { token: base64(`${values.flipping}-${++turn}`) } }),
  })
  const fight = defineDependent({
    for: Fought,
    kind: Secret,
    name: () => 'fought',
    fromCR: () => ({ data: { token: base64(values.fought) } }),
  })
  const both = values.several.map((text, index) =>
    defineDependent({
      for: Several,
      kind: Secret,
      id: `several${index}`,
      name: () => `several${index}`,
      fromCR: () => ({ data: { token: base64(text) } }),
    }),
  )
  const several = defineController({
    for: Several,
    dependents: both,
    steps: {
      // Two dependents of one name are refused; a step of the author's own can still make one of them.
      async Mutator(context, next) {
        await next()
        for (const [subject, object] of context.wanted)
          context.want(subject, { ...object, metadata: { ...object.metadata, name: 'one' } })
      },
    },
  })
  return [
    defineOperator({ name: 'careless', controllers: [undeclared, named, renamed] }),
    defineOperator({
      name: 'quarrelsome',
      controllers: [
        defineController({ for: Flipping, dependents: [flip], resyncMs: 500 }),
        defineController({ for: Fought, dependents: [fight] }),
        several,
      ],
    }),
  ]
}

describe('the content of a Secret', () => {
  it('is in no log, metric, report, trace, finding, Event or condition, even if author code repeats it', async () => {
    const telling = openTelling()
    const { clock, client: person } = telling.cluster
    await person.create(crds, Leak.crd() as unknown as UntypedObject)
    await person.create(Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'password', namespace: 'default' },
      data: { password: base64(password) },
    })
    await telling.add(leaky())
    for (const how of hows) {
      await person.create(Leak, {
        apiVersion: 'leak.example.com/v1',
        kind: 'Leak',
        metadata: { name: how.toLowerCase(), namespace: 'default' },
        spec: { how },
      })
    }
    await clock.advance(20_000)
    const all = await telling.all(Leak)
    // It was on its way into each of them.
    expect((await person.list(Leak as never)).items).toHaveLength(hows.length)
    expect(all).toContain('bad password: ***')
    expect(all).toContain('the password *** to be accepted')
    expect(all).toContain('\\"***\\" is too short')
    expect(telling.report().operators[0]).toMatchObject({
      failing: 4,
      recentRuns: expect.arrayContaining([expect.anything()]),
    })
    expect(all).toContain('"startTimeUnixNano"')
    expect(isToldIn(all, password)).toBe(false)

    // One id leads through all of it: the log line, the trace, the requests.
    const line = telling.lines
      .map((text) => text.trim())
      .find((text) => text.includes('"reconcileID"') && text.includes('created config'))
    const { reconcileID } = JSON.parse(line!) as { reconcileID: string }
    expect(reconcileID).toMatch(/^[0-9a-f]{32}$/)
    const marked = telling.requests.filter(({ headers }) => String(headers['traceparent']).includes(reconcileID))
    expect(marked.map(({ method }) => method)).toEqual(expect.arrayContaining(['PATCH', 'PATCH']))
    expect(all).toContain(`"traceId":"${reconcileID}"`)
    expect(telling.rendered()).toMatch(/rest_client_requests_total\{code="20[01]",method="PATCH",host="embedded"\} \d+/)
    await telling.stop()
  })

  it('is in no finding about it', async () => {
    const telling = openTelling()
    const { clock, client: person } = telling.cluster
    for (const kind of found) await person.create(crds, kind.crd() as unknown as UntypedObject)
    await person.create(Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'given', namespace: 'default' },
      data: { name: base64(values.name) },
    })
    for (const operator of offending()) await telling.add(operator)
    for (const kind of found)
      await person.create(kind, kind.draft({ name: 'a', namespace: 'default' }, {}) as unknown as UntypedObject)
    await clock.advance(200)
    // Another field manager reverts the value again and again.
    for (let round = 0; round < 60; round++) {
      await person.patch(
        Secret,
        { name: 'fought', namespace: 'default' },
        { data: { token: base64(values.rival) } },
        { type: 'merge', fieldManager: 'rival' },
      )
      await clock.advance(100)
    }
    await clock.advance(10_000)
    const all = await telling.all(...found)
    const kinds = new Set(telling.findings.map(({ kind, controller }) => `${controller} ${kind}`))
    expect([...kinds].toSorted()).toEqual([
      'flipping hotLoop',
      'fought conflict',
      'named undeclaredWrite',
      'renamed undeclaredWrite',
      'several severalWrites',
      'undeclared undeclaredWrite',
    ])
    // Each finding is in every output: in a log line, on the CR, as an Event and in the metrics.
    for (const [reason, kind] of [
      ['HotLoop', 'hotLoop'],
      ['Conflict', 'conflict'],
      ['UndeclaredWrite', 'undeclaredWrite'],
      ['SeveralWrites', 'severalWrites'],
    ] as const) {
      expect(all).toContain(`"finding":"${kind}"`)
      expect(all).toContain(`"type":"muster.dev/Finding","status":"True","reason":"${reason}"`)
      expect(all).toMatch(new RegExp(`"reason":"${reason}","message":"(?:careless|quarrelsome), `))
      expect(all).toMatch(new RegExp(`muster_findings_total\\{controller="[^"]+",kind="${kind}"\\} [1-9]`))
    }
    // The output names the path of the field, and not its value.
    expect(all).toContain('data.token')
    const told = Object.values(values)
      .flat()
      .filter((value) => isToldIn(all, value))
    expect(told).toEqual([])
    await telling.stop()
  })
})
