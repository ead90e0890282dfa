/** Guests that are played: they say what no guest of ours would, at the moment that hurts most. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { app, appOperator } from '../../../test/app-operator.ts'
import { type VirtualClock, virtualClock } from '../../clock/virtual-clock.ts'
import { type JsonObject, stringifyJson } from '../../kube/json.ts'
import type { KubeObject } from '../../kube/object.ts'
import { ConfigMap, Secret } from '../../kube/kinds.ts'
import type { Ledger } from '../../operator/ledger.ts'
import { offline } from '../../operator/live.ts'
import type { Wave } from '../../operator/plan.ts'
import { noMemory, type Situation } from '../../operator/reconcile.ts'
import { openView } from '../../operator/view/view.ts'
import { openConfined } from './confined-runner.ts'
import { describeOperator } from './protocol/description.ts'
import type { Guest, GuestEvents } from './launch/guest-handle.ts'
import { defaultGuestLimits, type Limits } from './launch/limits.ts'
import type { Runner } from './runner.ts'

const operator = appOperator({ writes: [ConfigMap], reads: [Secret] })
const declaration = describeOperator(operator)
const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, data: { password: btoa('hunter2') } }
const backOff = { firstMs: 100, mostMs: 1000 }

interface Played {
  readonly events: GuestEvents
  /** The messages that the guest received. */
  readonly heard: JsonObject[]
  readonly say: (message: unknown) => void
  readonly leave: (why: string) => void
  isKilled: boolean
}

interface Scene {
  readonly runner: Runner
  readonly clock: VirtualClock
  /** One after the other. */
  readonly guests: readonly Played[]
  readonly lines: readonly JsonObject[]
  /** What was written for it. */
  readonly waves: readonly Wave[]
  readonly run: (name?: string) => Promise<Ledger>
}

async function open(limits: Partial<Limits> = {}, ready: (guest: Played) => void = sayReady): Promise<Scene> {
  const clock = virtualClock()
  const guests: Played[] = []
  const lines: JsonObject[] = []
  const waves: Wave[] = []
  const start = (events: GuestEvents): Guest => {
    const { promise: ended, resolve } = Promise.withResolvers<string>()
    const heard: JsonObject[] = []
    const say = (message: unknown): void => events.onText(stringifyJson(message))
    const played: Played = { events, heard, say, leave: resolve, isKilled: false }
    guests.push(played)
    return {
      ended,
      send(text) {
        const message = JSON.parse(text) as JsonObject
        heard.push(message)
        if (message['say'] === 'load') queueMicrotask(() => ready(played))
      },
      kill() {
        played.isKilled = true
        resolve('killed')
      },
    }
  }
  const runner = await openConfined({
    level: 'worker',
    module: { file: '/operator.ts', exported: 'operator' },
    canary: { port: 1, files: [] },
    start,
    limits: { backOff, ...limits },
    outside: [],
    allowUnenforced: true,
    clock,
    log: (line) => void lines.push(line),
    dispose: () => Promise.resolve(),
  })
  const situationOf = (name: string): Situation<KubeObject> => {
    const [controller] = runner.operator.controllers
    const source = { get: () => secret, list: () => [], byOwner: () => [], serves: () => true }
    return {
      operator: runner.operator.name,
      controller: controller!,
      cr: app(name),
      view: openView({ reader: 'kit', inputs: controller!.inputs, source }),
      clock,
      config: {},
      live: offline,
      memory: noMemory,
    }
  }
  return {
    runner,
    clock,
    guests,
    lines,
    waves,
    run: async (name = 'one') =>
      (
        await runner.run(situationOf(name), (wave) => {
          waves.push(wave)
          return Promise.resolve(wave.map(() => ({ result: 'done' })))
        })
      ).ledger,
  }
}

function sayReady({ say }: Played): void {
  say({ say: 'ready', operator: declaration })
}

const done = {
  path: [],
  entries: [],
  health: [],
  isFinalizing: false,
  memory: { failures: [], settled: [], refused: [] },
}

describe('a guest that', () => {
  it.each<readonly [string, readonly unknown[], RegExp]>([
    ['sends unknown messages', [{ say: 'hello' }], /a message that makes no sense/],
    ['sends no message', [null], /a message that makes no sense/],
    ['sends another answer than requested', [{ say: 'pong', count: 7 }], /a sign of life that makes no sense/],
    ['reports twice that it is ready', [{ say: 'ready', operator: declaration }], /out of turn/],
    ['fails to load after it was loaded', [{ say: 'unloaded', error: {} }], /out of turn/],
    ['finds leaks after it was loaded', [{ say: 'unconfined', leaks: ['network'] }], /out of turn/],
    ['sends a message about an unknown run', [{ say: 'wave', wave: [] }], /an id that makes no sense/],
    ['sends an invalid wave', [{ say: 'wave', id: 1, wave: { length: 1 } }], /a wave that makes no sense/],
    ['sends an invalid conclusion', [{ say: 'done', id: 1, conclusion: 7 }], /a conclusion that makes no sense/],
    [
      'sends waves without an end',
      Array.from({ length: defaultGuestLimits.waves + 1 }, () => ({ say: 'wave', id: 1, wave: [] })),
      /wave 65 of one reconcile/,
    ],
    [
      'makes live calls without an end',
      Array.from({ length: defaultGuestLimits.calls + 1 }, (_, call) => ({
        say: 'call',
        id: 1,
        call,
        what: 'http',
        http: {},
      })),
      /call 1001 of one reconcile/,
    ],
    [
      'sends heartbeats without an end',
      Array.from({ length: defaultGuestLimits.calls + 1 }, () => ({ say: 'pong', count: 0 })),
      /keeps sending messages/,
    ],
    ['sends an invalid answer', [{ say: 'opinion', id: 'one' }], /an id that makes no sense/],
    [
      'sends unrequested answers',
      Array.from({ length: defaultGuestLimits.calls + 1 }, (_, id) => ({ say: 'opinion', id, answer: {} })),
      /keeps sending messages/,
    ],
    [
      'keeps sending messages about a finished run',
      Array.from({ length: defaultGuestLimits.calls + 1 }, () => ({ say: 'done', id: 99, conclusion: done })),
      /keeps sending messages/,
    ],
  ])('%s is ended, reported once, and restarted', async (_what, messages, why) => {
    const { runner, clock, guests, lines, run } = await open()
    const running = run()
    for (const message of messages) guests[0]!.say(message)
    expect((await running).failure).toMatchObject({ reason: 'GuestMisbehaved', retry: 'transient' })
    expect(guests[0]!.isKilled).toBe(true)
    expect(lines).toEqual([
      {
        level: 'warn',
        msg: 'Isolated operator ended and is restarted',
        operator: 'kit',
        isolation: 'worker',
        error: expect.stringMatching(why) as string,
        retryAfterMs: backOff.firstMs,
      },
    ])
    await clock.advance(backOff.firstMs)
    expect(guests).toHaveLength(2)
    const again = run()
    guests[1]!.say({ say: 'done', id: 2, conclusion: done })
    expect((await again).failure).toBeUndefined()
    await runner.close()
  })

  it('sends invalid JSON is ended, and its message is not quoted', async () => {
    const { runner, guests, lines, run } = await open()
    const running = run()
    guests[0]!.events.onText('{"password": hunter2}')
    const { failure } = await running
    expect(failure?.message).toContain('no JSON')
    expect(JSON.stringify([failure, lines])).not.toContain('hunter2')
    await runner.close()
  })

  it('has read a Secret may print it, throw it or end with it: its values are masked', async () => {
    const { runner, guests, lines, run } = await open()
    const running = run()
    const thrown = run('other')
    const [guest] = guests
    for (const id of [1, 2]) {
      const read = stringifyJson({ id, what: 'get', resource: Secret, name: { name: 's', namespace: 'default' } })
      expect(guest!.events.onRead(read)).toContain(btoa('hunter2'))
    }
    guest!.events.onPrinted('the password is hunter2\n')
    guest!.say({ say: 'threw', id: 2, error: { name: 'Error', message: `${btoa('hunter2')} is wrong` } })
    guest!.leave('Error: hunter2 is wrong')
    expect((await running).failure?.message).toContain('ended: Error: *** is wrong.')
    expect((await thrown).failure?.message).toBe('*** is wrong')
    expect(lines[0]).toMatchObject({ output: 'the password is ***' })
    expect(JSON.stringify([lines, await running, await thrown])).not.toMatch(/hunter2|aHVudGVyMg/)
    await runner.close()
  })

  it('sends endlessly nested values is ended, or its wave fails: the manager does not', async () => {
    const { runner, guests, run } = await open()
    const running = run()
    const deep = '['.repeat(100_000) + ']'.repeat(100_000)
    guests[0]!.events.onText(`{"say":"done","id":1,"conclusion":${deep}}`)
    expect((await running).failure).toMatchObject({ reason: 'GuestMisbehaved' })
    await runner.close()
  })

  it('sends special names changes no prototype, neither ours nor of derived objects', async () => {
    const name = fc.constantFrom('__proto__', 'constructor', 'prototype', 'toString', 'say', 'id', 'wave', 'conclusion')
    const poison = fc.letrec<{ value: unknown; object: unknown }>((tie) => ({
      value: fc.oneof({ maxDepth: 4 }, fc.constantFrom(1, 'x', true, null), tie('object'), fc.array(tie('value'))),
      // JSON.parse, as on the wire: there `__proto__` is a name like any other.
      object: fc
        .array(fc.tuple(name, tie('value')), { maxLength: 4 })
        .map((members) =>
          JSON.parse(`{${members.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(',')}}`),
        ),
    })).object
    const before = Object.getOwnPropertyNames(Object.prototype)
    await fc.assert(
      fc.asyncProperty(poison, poison, async (one, other) => {
        const { runner, guests, run, waves } = await open()
        const running = run()
        const object = {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'x', namespace: 'default' },
          data: one,
        }
        const apply = { verb: 'apply', subject: '__proto__', resource: ConfigMap, object, why: 'missing', force: false }
        guests[0]!.say({ say: 'wave', id: 1, wave: [apply] })
        guests[0]!.say({ say: 'call', id: 1, call: 1, what: 'http', http: one })
        guests[0]!.say(other)
        guests[0]!.say({ say: 'done', id: 1, conclusion: { ...done, ...(one as object), health: other } })
        guests[0]!.leave('enough')
        await running
        await runner.close()
        expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before)
        expect(({} as Record<string, unknown>)['say']).toBeUndefined()
        for (const mutation of waves.flat()) expect(Object.getPrototypeOf(mutation)).toBe(Object.prototype)
      }),
      { numRuns: 60 },
    )
  })

  it('sends resources from a prototype is not trusted', async () => {
    const { runner, guests, run } = await open()
    const running = run()
    const text = '{"say":"wave","id":1,"wave":[{"__proto__":{"verb":"delete","why":"pruned","uid":"x"},"subject":"x"}]}'
    guests[0]!.events.onText(text)
    expect((await running).failure?.message).toContain('a resource that makes no sense')
    await runner.close()
  })

  it('exits early is restarted with doubled back-off; one that works for a while starts over', async () => {
    const { runner, clock, guests, lines, run } = await open()
    const delays = (): readonly unknown[] => lines.map((line) => line['retryAfterMs'])
    for (const delay of [100, 200, 400, 800, 1000, 1000]) {
      const running = run()
      // A good reconcile now and then does not make it a good operator.
      guests.at(-1)!.say({ say: 'done', id: guests.length, conclusion: done })
      await running
      guests.at(-1)!.leave('gone')
      await clock.advance(0)
      expect(delays().at(-1)).toBe(delay)
      await clock.advance(delay)
    }
    await clock.advance(2000)
    const running = run()
    guests.at(-1)!.say({ say: 'pong', count: 0 })
    guests.at(-1)!.say({ say: 'done', id: guests.length, conclusion: done })
    await running
    guests.at(-1)!.leave('gone')
    await clock.advance(0)
    expect(delays().at(-1)).toBe(100)
    await runner.close()
  })

  it('is down has its keys requeued, without failures', async () => {
    const { runner, guests, run } = await open()
    guests[0]!.leave('gone')
    await Promise.resolve()
    const { failure, waiting, requeueAfterMs } = await run()
    expect(failure).toBeUndefined()
    expect(waiting).toContain('started again')
    expect(requeueAfterMs).toBeGreaterThan(0)
    await runner.close()
  })

  it('changes its declarations after a restart is rejected: caches and role follow the first declaration', async () => {
    let declares: unknown = declaration
    const { runner, clock, guests, lines } = await open({}, ({ say }) => say({ say: 'ready', operator: declares }))
    declares = { ...declaration, name: 'admin' }
    guests[0]!.leave('gone')
    await clock.advance(backOff.firstMs)
    await clock.advance(0)
    expect(guests[1]!.isKilled).toBe(true)
    expect(lines.at(-1)?.['error']).toContain('Its declarations changed after a restart')
    await runner.close()
  })

  it('exceeds its limit of reads or bytes is ended, and its pending read is answered', async () => {
    const read = stringifyJson({ id: 1, what: 'list', resource: ConfigMap, selection: {} })
    for (const [limits, why] of [
      [{ reads: 2 }, /more than 2 times/],
      [{ readBytes: 4 }, /more than 4 bytes/],
    ] as const) {
      const { runner, guests, run } = await open(limits)
      const running = run()
      const answers = [1, 2, 3].map(() => guests[0]!.events.onRead(read))
      expect((await running).failure?.message).toMatch(why)
      expect(answers.every((answer) => answer.startsWith('{'))).toBe(true)
      await runner.close()
    }
  })

  it('keeps reading outside of a reconcile is ended', async () => {
    const { runner, guests } = await open()
    const read = stringifyJson({ id: 5, what: 'list', resource: ConfigMap, selection: {} })
    for (let times = 0; times <= defaultGuestLimits.calls; times++) guests[0]!.events.onRead(read)
    expect(guests[0]!.isKilled).toBe(true)
    await runner.close()
  })

  it('never answers fails its reconcile at the limit and no other; a late answer is ignored', async () => {
    const { runner, clock, guests, run } = await open({ reconcileMs: 1000 })
    const running = run('slow')
    await clock.advance(500)
    guests[0]!.say({ say: 'pong', count: 1 })
    await clock.advance(500)
    expect((await running).failure).toMatchObject({ reason: 'ReconcileTimeout' })
    expect(guests[0]!.heard).toContainEqual({ say: 'drop', id: 1 })
    guests[0]!.say({ say: 'done', id: 1, conclusion: done })
    expect(guests[0]!.isKilled).toBe(false)
    await runner.close()
  })

  it('blocks is interrupted at the limit of one reconcile, and ended half of that later', async () => {
    const { runner, clock, guests, lines, run } = await open({ reconcileMs: 2000 })
    const running = run('spinning')
    await clock.advance(2000)
    const { failure, requeueAfterMs } = await running
    expect(failure).toMatchObject({ reason: 'ReconcileTimeout', retry: 'transient' })
    expect(requeueAfterMs).toBeGreaterThan(0)
    await clock.advance(1000)
    expect(guests[0]!.isKilled).toBe(true)
    expect(lines).toMatchObject([
      { operator: 'kit', error: expect.stringContaining('blocks its event loop') as string },
    ])
    await runner.close()
  })

  it('blocks fails its current reconcile, and requeues the pending ones, which run first in the next guest', async () => {
    const { runner, clock, guests, run } = await open({ reconcileMs: 2000 })
    const spinning = run('spinning')
    const innocent = run('innocent')
    await clock.advance(2000)
    expect((await spinning).failure).toMatchObject({ reason: 'ReconcileTimeout' })
    const { failure, waiting, requeueAfterMs } = await innocent
    expect({ failure, waiting }).toEqual({ failure: undefined, waiting: 'kit is being started again' })
    expect(requeueAfterMs).toBeGreaterThan(0)
    await clock.advance(1000 + backOff.firstMs)
    expect(guests).toHaveLength(2)

    const again = await run('spinning')
    expect(again).toMatchObject({ waiting: 'kit is being started again' })
    const served = run('innocent')
    guests[1]!.say({ say: 'done', id: 3, conclusion: done })
    expect((await served).failure).toBe(undefined)
    // After the delay no other reconcile is pending in the guest, and the suspect one runs.
    for (let passed = 0, answered = 0; passed < again.requeueAfterMs!; passed += 500) {
      await clock.advance(500)
      const pings = guests[1]!.heard.filter(({ say }) => say === 'ping')
      for (const ping of pings.slice(answered)) guests[1]!.say({ ...ping, say: 'pong' })
      answered = pings.length
    }
    void run('spinning')
    expect(guests[1]!.heard.filter(({ say }) => say === 'run')).toHaveLength(2)
    await runner.close()
  })

  it('has an unenforced restriction that is allowed is reported once for each start', async () => {
    const { runner, lines } = await open({}, (guest) => {
      guest.say({ say: 'unconfined', leaks: ['network'] })
      guest.say({ say: 'unconfined', leaks: ['network'] })
    }).catch((error: unknown) => ({ runner: undefined, lines: [error] }))
    await runner?.close()
    expect(lines).toMatchObject([{ name: 'GuestMisbehaved' }])
  })
})
