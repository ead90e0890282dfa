/** Each fault does what it says, and nothing else: shown by what the process hears on its connection, and what the server stored. */
import { describe, expect, it } from 'vitest'
import { App, app, appOperator } from '../../../test/app-operator.ts'
import { createSharedCache } from '../../cache/shared-cache.ts'
import { createClient } from '../../client/create-client.ts'
import type { Transport, TransportResponse } from '../../transport/transport.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { ConfigMap, Secret } from '../../kube/kinds.ts'
import { defineDependent } from '../../operator/dependent/dependent.ts'
import { faultTable, formatPlan, parsePlan } from './fault.ts'
import type { Violation } from './judge.ts'
import type { SimulatedRun } from './run.ts'
import { openSimulator, type Simulator } from './simulate.ts'
import { operatorSubject, runOn, type SimulatedSubject } from './subject.ts'
import { bytesOf, type RawEvent, readWatchLines } from './watch-lines.ts'

/** Something that went over the connection of a process, as that process saw it. */
interface Heard {
  readonly process: number
  /** By the clock of the process. */
  readonly at: number
  /** `asks PATCH sample`, `PATCH sample: 201`, `PATCH sample fails: ConnectionLost` */
  readonly text: string
  /** Of a watch. */
  readonly event?: RawEvent
  /** It is of a list, or of how a watch began: no event. */
  readonly isInitial?: boolean
}

/** Keeps a ConfigMap for each App: two writes when one is created, the ConfigMap and the status. */
const operator = appOperator({
  dependents: [defineDependent({ for: App, kind: ConfigMap, fromCR: ({ cr }) => ({ data: { text: cr.spec.text } }) })],
})

const listening = (transport: Transport, hear: (heard: Omit<Heard, 'process' | 'at'>) => void): Transport => ({
  ...transport,
  async send(sent) {
    const [path = '', query = ''] = sent.path.split('?')
    const isWatch = query.includes('watch=')
    const way = query.includes('sendInitialEvents') ? ' anew' : ''
    const name = `${isWatch ? `WATCH${way}` : sent.method} ${path
      .split('/')
      .slice(isWatch ? -1 : -2)
      .join('/')}`
    const fails = (error: unknown): never => {
      hear({ text: `${name} fails: ${(error as Error).name}` })
      throw error
    }
    hear({ text: `asks ${name}` })
    const answer: TransportResponse = await transport.send(sent).catch(fails)
    hear({ text: `${name}: ${answer.status}` })
    if (!isWatch) return answer
    async function* body(): AsyncGenerator<Uint8Array> {
      let isInitial = way !== ''
      const lines = readWatchLines(answer.body)
      try {
        for (;;) {
          await lines.wait().catch(fails)
          const line = lines.take()
          if (!line) return
          const event = JSON.parse(Buffer.from(line).toString()) as RawEvent
          hear({ text: `${name}: ${event.type} ${event.object.metadata?.name ?? ''}`, event, isInitial })
          if (event.type === 'BOOKMARK') isInitial = false
          yield bytesOf(event)
        }
      } finally {
        lines.leave()
      }
    }
    return { ...answer, whole: undefined, body: body() }
  },
})

interface Listened {
  readonly run: SimulatedRun
  readonly violations: readonly Violation[]
  readonly heard: readonly Heard[]
  /** What the process heard, by its number. */
  readonly by: (process: number) => readonly Heard[]
  /** Events of watches, in the order in which they came. */
  readonly events: readonly (Heard & { readonly event: RawEvent })[]
}

async function open(): Promise<(plan: string) => Promise<Listened>> {
  const heard: Heard[] = []
  let processes = 0
  const base = await operatorSubject(() => operator)
  const subject: SimulatedSubject = {
    ...base,
    spawn: () => (around) => {
      const { clock, random } = around
      const process = ++processes
      const hear = (one: Omit<Heard, 'process' | 'at'>): void => void heard.push({ process, at: clock.now(), ...one })
      const client = createClient({ transport: listening(around.client.transport, hear), clock, random })
      return runOn({ ...around, client, cache: createSharedCache({ client, clock, random }) }, operator)
    },
  }
  const simulator: Simulator = await openSimulator({ subject, sample: [app('sample')], workloads: false, mixed: 0 })
  return async (text) => {
    const plan = parsePlan(text)
    // The simulator runs the scenario without faults first; the test discards what it records there.
    await simulator.runPlan({ ...plan, faults: [] })
    heard.length = 0
    processes = 0
    const { run, violations } = await simulator.runPlan(plan)
    const all = [...heard]
    return {
      run,
      violations,
      heard: all,
      by: (number) => all.filter(({ process }) => process === number),
      events: all.flatMap((one) =>
        one.event && !one.isInitial && one.event.type !== 'BOOKMARK' ? [{ ...one, event: one.event }] : [],
      ),
    }
  }
}

let opened: ReturnType<typeof open> | undefined
async function runPlan(plan: string): Promise<Listened> {
  const result = await (await (opened ??= open()))(plan)
  expect(result.run.unreached).toEqual([])
  expect(result.violations).toEqual([])
  return result
}

const versionOf = ({ object }: { readonly object: UntypedObject }): number => Number(object.metadata.resourceVersion)
const textIn = ({ object }: { readonly object: UntypedObject }): string =>
  ((object['spec'] ?? object['data']) as { readonly text: string }).text

/** When it was noted, in milliseconds since the scenario began, and what. */
function noted(run: SimulatedRun, pattern: RegExp): { readonly at: number; readonly match: RegExpExecArray } {
  for (const { at, text } of run.trace) {
    const match = pattern.exec(text)
    if (match) return { at, match }
  }
  throw new Error(`nothing in the trace is ${String(pattern)}`)
}

describe('a fault of a write', () => {
  /** What becomes of the first write of `create`, the one of the ConfigMap; each row is another one. */
  const fates: readonly (readonly [
    fault: string,
    fate: {
      /** What the server answers, if it was asked. */
      readonly status: number
      readonly isStored: boolean
      readonly hears: readonly string[]
      /** Who sends the write that comes then, and what that is. */
      readonly next: string
    },
  ])[] = [
    ['crash-before@1', { status: 0, isStored: false, hears: [], next: '2: patch configmaps default/sample' }],
    ['crash@1', { status: 201, isStored: true, hears: [], next: '2: patch apps/status default/sample' }],
    ['crash-after@1', { status: 201, isStored: true, hears: ['201'], next: '2: patch apps/status default/sample' }],
    ['refuse@1=409', { status: 409, isStored: false, hears: ['409'], next: '1: patch apps/status default/sample' }],
    ['refuse@1=429', { status: 429, isStored: false, hears: ['429'], next: '1: patch configmaps default/sample' }],
    ['refuse@1=500', { status: 500, isStored: false, hears: ['500'], next: '1: patch configmaps default/sample' }],
    ['lost@1', { status: 0, isStored: false, hears: ['ConnectionLost'], next: '1: patch configmaps default/sample' }],
    [
      'unheard@1',
      { status: 201, isStored: true, hears: ['ConnectionLost'], next: '1: patch configmaps default/sample' },
    ],
    [
      'silent@1',
      { status: 201, isStored: true, hears: ['RequestTimeout'], next: '1: patch apps/status default/sample' },
    ],
  ]

  it.each(fates)(
    '%s: whether it is stored, what the process receives, and which process continues',
    async (fault, fate) => {
      const { run, by } = await runPlan(`create: ${fault}`)
      const [first, second] = run.writes
      const answers = by(1).flatMap(
        ({ text }) => /^PATCH configmaps\/sample(?:: | fails: )(\w+)$/.exec(text)?.[1] ?? [],
      )
      expect({
        status: first!.status,
        isStored: second!.revision > first!.revision,
        hears: answers.slice(0, 1),
        next: `${second!.request.process}: ${second!.request.verb} ${second!.request.resource!.plural}${second!.request.subresource && `/${second!.request.subresource}`} default/${second!.request.target!.name}`,
      }).toEqual(fate)
      // A crashed process sends no more requests, and its successor starts only after the crash.
      const isCrash = fault.startsWith('crash')
      expect(new Set(run.writes.map(({ request }) => request.process))).toEqual(
        new Set(fault === 'crash-before@1' || fault === 'crash@1' || fault === 'crash-after@1' ? [1, 2] : [1]),
      )
      expect(by(2).length > 0).toBe(isCrash)
    },
  )

  it('are all distinct', () => {
    const texts = fates.map(([, fate]) => JSON.stringify(fate))
    expect(new Set(texts).size).toBe(fates.length)
  })

  it('silent: the timeout takes long, while a lost response is reported at once', async () => {
    const waitOf = async (fault: string): Promise<number> => {
      const { by } = await runPlan(`create: ${fault}`)
      const asked = by(1).find(({ text }) => text === 'asks PATCH configmaps/sample')!
      return by(1).find(({ text }) => text.startsWith('PATCH configmaps/sample fails'))!.at - asked.at
    }
    expect(await waitOf('silent@1')).toBeGreaterThanOrEqual(5000)
    expect(await waitOf('unheard@1')).toBeLessThan(20)
  })

  it('travel: the next process reads stale data, and then catches up', async () => {
    const { run, by } = await runPlan('change: travel@1=0')
    expect(by(1).filter(({ text }) => text.startsWith('PATCH configmaps/sample:'))).toEqual([])
    const first = by(2).filter(({ event, isInitial }) => isInitial && event?.type === 'ADDED')
    const child = first.find(({ event }) => event?.object.kind === 'ConfigMap')!
    const cr = first.find(({ event }) => event?.object.kind === 'App')!
    // The server has both changes already.
    expect(run.writes[1]!.revision).toBeGreaterThan(versionOf(child.event!))
    expect([textIn(cr.event!), textIn(child.event!)]).toEqual(['hello', 'hello'])
    const later = by(2).filter(({ event, isInitial }) => !isInitial && event?.type === 'MODIFIED')
    const caughtUp = later.filter(({ event }) => textIn(event!) === 'walked')
    expect(new Set(caughtUp.map(({ event }) => event!.object.kind))).toEqual(new Set(['App', 'ConfigMap']))
    for (const { at } of caughtUp) expect(at - child.at).toBeGreaterThanOrEqual(1900)
  })

  it('travel: the named write determines how stale', async () => {
    const shown = async (back: number): Promise<readonly string[]> => {
      const { by } = await runPlan(`create and change: travel@3=${back}`)
      return by(2).flatMap(({ event, isInitial }) =>
        isInitial && event?.type === 'ADDED' && event.object.metadata.name === 'sample'
          ? [`${event.object.kind} ${textIn(event)}`]
          : [],
      )
    }
    // Before anything, before the ConfigMap, before the status, before the ConfigMap is changed.
    expect(await shown(0)).toEqual([])
    expect(await shown(1)).toEqual(['App hello'])
    expect((await shown(2)).toSorted()).toEqual(['App hello', 'ConfigMap hello'])
    expect((await shown(3)).toSorted()).toEqual(['App walked', 'ConfigMap hello'])
  })

  it('slow: from there on each request takes longer in both directions, and none did before', async () => {
    const { by } = await runPlan('create: slow@1=3000')
    const waits = by(1).flatMap(({ text, at }, index) => {
      const [, name] = /^asks ((?:PATCH|GET) .*)$/.exec(text) ?? []
      const answer = name && by(1).find((one, later) => later > index && one.text.startsWith(`${name}: `))
      return answer ? [answer.at - at] : []
    })
    // The first write was under way when it struck: its answer is slow, its way to the server was not.
    const struck = waits.findIndex((ms) => ms > 1000)
    expect(waits.slice(0, struck).every((ms) => ms < 20)).toBe(true)
    expect(waits[struck]).toBeGreaterThanOrEqual(3000)
    expect(waits[struck]).toBeLessThan(3100)
    expect(waits.length).toBeGreaterThan(struck + 1)
    for (const ms of waits.slice(struck + 1)) expect(ms).toBeGreaterThanOrEqual(6000)
  })

  it.each([3_600_000, -3_600_000])('jump: the clock of the process is set by %d ms, and no other', async (jump) => {
    const { run, by } = await runPlan(`create: jump@1=${jump}`)
    const clock = by(1).map(({ at }) => at)
    const steps = clock.slice(1).map((at, index) => at - clock[index]!)
    expect(steps.filter((step) => Math.abs(step - jump) < 1000)).toHaveLength(1)
    // Nothing waits for an hour, and nothing goes back, but the clock of the process.
    expect(steps.filter((step) => step < 0)).toHaveLength(jump < 0 ? 1 : 0)
    expect(run.restedAfterMs).toBeLessThan(120_000)
    expect(run.trace.every(({ at }, index, { [index - 1]: before }) => at >= (before?.at ?? 0))).toBe(true)
  })
})

describe('a fault of an event', () => {
  /** The event of the ConfigMap, when it is created. */
  async function eventOfChild(): Promise<number> {
    const { run } = await runPlan('create')
    return run.events.find(({ object }) => object === 'configmaps default/sample')!.number
  }
  const struck = (run: SimulatedRun): { readonly at: number; readonly version: number } => {
    const { at, match } = noted(run, /^event \d+: configmaps default\/sample ADDED, version (\d+)$/)
    return { at, version: Number(match[1]) }
  }
  /** By the clock of the run. */
  const sinceBegin = ({ heard, run }: Listened, at: number): number => {
    const { at: begun } = noted(run, /^write 1: /)
    const asked = heard.find(({ text }) => text === 'asks PATCH configmaps/sample')!
    return at - asked.at + begun
  }

  it('without a fault: each event arrives once, and no watch restarts', async () => {
    // A clock jump of zero: for a plan without faults the simulator would only return its reference run.
    const { events, heard } = await runPlan('create: jump@1=0')
    const versions = events.map(({ event }) => versionOf(event))
    expect(versions.length).toBeGreaterThan(2)
    expect(new Set(versions).size).toBe(versions.length)
    const watched = heard.map(({ text }) => text).filter((text) => text.startsWith('asks WATCH'))
    expect(watched).toEqual([...new Set(watched)])
  })

  it('lose: the watch breaks, the event is not delivered, and a relist shows the current state', async () => {
    const { run, heard, events } = await runPlan(`create: lose@e${await eventOfChild()}`)
    const { version } = struck(run)
    expect(heard.map(({ text }) => text)).toContain('WATCH anew configmaps fails: ConnectionLost')
    expect(
      events
        .map(({ event }) => event)
        .filter(({ type }) => type !== 'ERROR')
        .map(versionOf),
    ).not.toContain(version)
    const broke = heard.findIndex(({ text }) => text === 'WATCH anew configmaps fails: ConnectionLost')
    const again = heard.slice(broke).find(({ event, isInitial }) => isInitial && event?.type === 'ADDED')
    expect(versionOf(again!.event!)).toBe(version)
    expect(again!.at - heard[broke]!.at).toBeGreaterThanOrEqual(500)
  })

  it('expire: the watch ends with 410 instead, and a relist follows', async () => {
    const { run, heard, events } = await runPlan(`create: expire@e${await eventOfChild()}`)
    const { version } = struck(run)
    const errors = heard.flatMap(({ event }, index) => (event?.type === 'ERROR' ? [index] : []))
    expect(errors).toHaveLength(1)
    expect(heard[errors[0]!]!.event!.object).toMatchObject({ code: 410, reason: 'Expired' })
    expect(heard[errors[0]!]!.text).toContain('WATCH anew configmaps')
    expect(heard.filter(({ text }) => text.endsWith('fails: ConnectionLost'))).toEqual([])
    const after = heard.slice(errors[0])
    expect(after.map(({ text }) => text)).toContain('asks WATCH anew configmaps')
    expect(after.find(({ event, isInitial }) => isInitial && event?.type === 'ADDED')!.event).toMatchObject({
      object: { metadata: { resourceVersion: String(version) } },
    })
    expect(events.filter(({ event }) => event.type === 'ADDED' && versionOf(event) === version)).toEqual([])
  })

  it('delay: the event arrives later, and those of other watches do not', async () => {
    const result = await runPlan(`create: delay@e${await eventOfChild()}=500`)
    const { at, version } = struck(result.run)
    const lateBy = (kind: string): number => {
      const event = result.events.find((one) => one.event.object.kind === kind && versionOf(one.event) >= version)!
      return sinceBegin(result, event.at) - at
    }
    expect(lateBy('ConfigMap')).toBeGreaterThanOrEqual(495)
    expect(lateBy('ConfigMap')).toBeLessThan(520)
    // That of the status.
    expect(lateBy('App')).toBeLessThan(100)
  })

  it('freeze: no event reaches any cache for a while', async () => {
    const result = await runPlan(`create: freeze@e${await eventOfChild()}=2000`)
    const { at } = struck(result.run)
    const moments = result.events.map((event) => sinceBegin(result, event.at) - at)
    expect(moments.filter((ms) => ms > 10 && ms < 1990)).toEqual([])
    const late = result.events.filter((_, index) => moments[index]! >= 1990)
    expect(new Set(late.map(({ event }) => event.object.kind))).toEqual(new Set(['App', 'ConfigMap']))
    // Writes go on.
    const { at: written } = noted(result.run, /^write 2: /)
    expect(written - at).toBeLessThan(1000)
  })

  it('repeat: the same version is delivered twice in a row', async () => {
    const { run, events } = await runPlan(`create: repeat@e${await eventOfChild()}`)
    const { version } = struck(run)
    const versions = events
      .filter(({ event }) => event.object.kind === 'ConfigMap')
      .map(({ event }) => versionOf(event))
    expect(versions.slice(0, 2)).toEqual([version, version])
    expect(new Set(versions).size).toBe(versions.length - 1)
  })

  it('merge: one event is dropped, and the next one of that object replaces it', async () => {
    // The wish is changed when the ConfigMap is written: that is written again a moment later.
    const scenario = 'create and change: hurry@1'
    const ofChild = ({ events }: Listened): readonly RawEvent[] =>
      events.filter(({ event }) => event.object.kind === 'ConfigMap').map(({ event }) => event)
    const usual = ofChild(await runPlan(scenario))
    expect(usual.map((event) => [event.type, textIn(event)])).toEqual([
      ['ADDED', 'hello'],
      ['MODIFIED', 'walked'],
    ])
    const merged = await runPlan(`${scenario}, merge@e${await eventOfChild()}`)
    const seen = ofChild(merged)
    // It was not there before: so it is new.
    expect(seen.map((event) => [event.type, textIn(event)])).toEqual([['ADDED', 'walked']])
    expect(versionOf(seen[0]!)).toBeGreaterThan(struck(merged.run).version)
    expect(merged.heard.filter(({ text }) => /fails|ERROR/.test(text))).toEqual([])
  })
})

describe('a user', () => {
  it('hurry: the next step of the scenario happens at that write, not at rest', async () => {
    const momentOf = async (plan: string): Promise<readonly [step: number, write: number]> => {
      const { run } = await runPlan(plan)
      return [noted(run, /^a user changes App sample: /).at, noted(run, /^write 1: /).at]
    }
    const [step, write] = await momentOf('create and change: hurry@1')
    expect(step - write).toBe(0)
    const [usual, before] = await momentOf('create and change')
    expect(usual - before).toBeGreaterThan(30_000)
  })

  it('remove: the object is deleted, the operator observes it, and recreates it', async () => {
    const { run, events } = await runPlan('create: remove@rest=configmaps default/sample')
    const child = events.filter(({ event }) => event.object.kind === 'ConfigMap').map(({ event }) => event)
    expect(child.map(({ type }) => type)).toEqual(['ADDED', 'DELETED', 'ADDED'])
    expect(child[2]!.object.metadata.uid).not.toBe(child[0]!.object.metadata.uid)
    expect([...run.removed]).toEqual([['configmaps default/sample', 1]])
    expect(run.created.get('configmaps default/sample')).toBe(2)
  })

  it('edit: an owned field has another value until the operator corrects it', async () => {
    const { run, events } = await runPlan('create: edit@rest=configmaps default/sample')
    const child = events.filter(({ event }) => event.object.kind === 'ConfigMap').map(({ event }) => event)
    expect(child.map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED', 'MODIFIED'])
    expect(new Set(child.map(({ object }) => object.metadata.uid)).size).toBe(1)
    const owned = child.map(({ object: { data, metadata } }) => JSON.stringify([data, metadata.labels]))
    expect(owned[1]).not.toBe(owned[0])
    expect(owned[2]).toBe(owned[0])
    expect(run.removed.size).toBe(0)
  })

  it('drift: each owned field is changed, emptied and removed, and corrected each time', async () => {
    const { run, events } = await runPlan('create: drift@rest=configmaps default/sample')
    const edits = run.trace.filter(({ text }) => text.startsWith('another client ')).map(({ text }) => text)
    const ofText = edits.filter((text) => text.includes(' .data.text: ')).map((text) => text.split(' ')[2])
    expect(ofText).toEqual(['changes', 'empties', 'removes'])
    expect(edits.length).toBeGreaterThan(6)
    const child = events.filter(({ event }) => event.object.kind === 'ConfigMap').map(({ event }) => event)
    const owned = child.map(({ object: { data, metadata } }) => JSON.stringify([data, metadata.labels]))
    expect(owned.at(-1)).toBe(owned[0])
    expect(child).toHaveLength(1 + 2 * edits.length)
    expect(run.incidents).toEqual([])
  })

  it('edit and drift: create-only objects are not edited', async () => {
    const made = { for: App, kind: Secret, policy: 'create-only', initial: { stringData: { a: 'b' } } } as const
    const left = { for: App, kind: ConfigMap, initial: { data: { a: 'b', c: 'd' } }, scope: { except: ['data.a'] } }
    const subject = await operatorSubject(() =>
      appOperator({ dependents: [defineDependent(made), defineDependent(left)] }),
    )
    const simulator = await openSimulator({ subject, sample: [app('sample')], workloads: false, mixed: 0 })
    const plans = (await Array.fromAsync(simulator.plans(['person']))).map(formatPlan)
    expect(plans.filter((plan) => /(?:edit|drift)@.*=secrets /.test(plan))).toEqual([])
    expect(plans).toContain('create: remove@rest=secrets default/sample')
    const { run, violations } = await simulator.runPlan(parsePlan('create: drift@rest=configmaps default/sample'))
    expect(violations).toEqual([])
    const edits = run.trace.filter(({ text }) => text.startsWith('another client ')).map(({ text }) => text)
    expect(edits.some((text) => text.includes(' .data.c: '))).toBe(true)
    expect(edits.some((text) => text.includes(' .data.a: '))).toBe(false)
  })

  it('add: added fields stay, and the operator writes nothing', async () => {
    const { run, events } = await runPlan('create: add@rest=configmaps default/sample')
    const child = events.filter(({ event }) => event.object.kind === 'ConfigMap').map(({ event }) => event)
    expect(child.map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED'])
    expect(child[1]!.object).toMatchObject({
      metadata: { annotations: { 'simulation.example.com/another-manager': 'kept' } },
      data: { text: 'hello', 'added-by-another-manager': 'kept' },
    })
    expect(run.writes).toHaveLength((await runPlan('create')).run.writes.length)
  })

  it('remove of a CR: it stays deleted, and the end state is as if deleted at rest', async () => {
    const { run } = await runPlan('create: remove@1=apps.test.example.com default/sample')
    expect(run.removed.get('apps.test.example.com default/sample')).toBe(1)
    expect([...run.end.keys()]).toEqual([])
  })

  it('remove of a CR that is recreated afterwards: the end state is that of the scenario', async () => {
    const { run } = await runPlan('delete and create again: remove@1=apps.test.example.com default/sample')
    expect([...run.end.keys()].length).toBeGreaterThan(0)
  })

  it('edit of a CR: the desired state changes, is followed, and is restored at rest', async () => {
    const { run, events } = await runPlan('create: edit@1=apps.test.example.com default/sample')
    const wishes = events.filter(({ event }) => event.object.kind === 'App').map(({ event }) => event.object['spec'])
    const texts = wishes.map((spec) => JSON.stringify(spec))
    expect(new Set(texts).size).toBe(2)
    expect(texts.at(-1)).toBe(texts[0])
    expect(run.editedCrs).toEqual(['apps.test.example.com default/sample'])
    const [changed, back] = [
      noted(run, /^a user changes apps\.\S+ \S+: /),
      noted(run, /^a user changes apps\.\S+ \S+ back: /),
    ]
    expect(back.at - changed.at).toBeGreaterThanOrEqual(30_000)
  })
})

describe('the faults tested here', () => {
  it('are all but those about leaders, and each of their values takes effect', async () => {
    const simulator = await openSimulator({
      subject: await operatorSubject(() => operator),
      sample: [app('sample')],
      workloads: false,
      mixed: 0,
    })
    const plans = (await Array.fromAsync(simulator.plans())).filter(({ faults }) => faults.length === 1)
    const valueOf = ({ faults: [fault] }: (typeof plans)[number]): string =>
      fault!.kind === 'refuse' || fault!.kind === 'jump' ? `${fault!.kind}=${fault!.value}` : fault!.kind
    const byValue = Map.groupBy(plans, valueOf)
    const values = ['refuse=409', 'refuse=429', 'refuse=500', 'jump=3600000', 'jump=-3600000']
    const kinds = Object.keys(faultTable).filter((kind) => kind !== 'refuse' && kind !== 'jump')
    expect(new Set(byValue.keys())).toEqual(new Set([...kinds, ...values]))
    for (const [first] of byValue.values()) {
      const { run } = await simulator.runPlan(first!)
      expect([formatPlan(first!), run.unreached]).toEqual([formatPlan(first!), []])
    }
  })
})
